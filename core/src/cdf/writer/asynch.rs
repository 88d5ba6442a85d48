//! Writing to an asynchronous store. [`Book`] decides what is written, and in which order.

use super::{Book, Create, Define, DriveError, Fill, Plan, Reader, Slab, Slot, Values, Writer};
use crate::cdf::AsyncError;
use crate::step::{drive_async, drive_read_async, read_exact_async};
use crate::store::AsyncWriteAt;

/// # Dropping a future
/// Dropping a future before it is ready counts as a failed call: the same call can be repeated.
/// [`create_async`](Writer::create_async) and [`open_async`](Writer::open_async) return no writer
/// then.
///
/// The store must keep the rules of [`AsyncWriteAt`].
impl<S: AsyncWriteAt, B: AsMut<[Slot]>, W: AsMut<[u8]>> Writer<S, B, W> {
    /// [`Writer::create`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`Writer::create`].
    pub async fn create_async<D: Define + ?Sized>(
        mut store: S,
        definition: &D,
        plan: &Plan,
        fill: Fill,
        slots: B,
        mut window: W,
    ) -> Result<Self, AsyncError<S>> {
        let book = Book::create(definition, plan, fill, slots).map_err(DriveError::Format)?;
        let store_len = store.size().await.map_err(DriveError::Store)?;
        let mut create = Create::new(definition, plan, fill, store_len, window.as_mut())
            .map_err(DriveError::Format)?;
        let created = drive_async(&mut create, &mut store, &mut []).await;
        created.map_err(DriveError::infallible)?.map_err(DriveError::Format)?;
        Ok(Self { store, book, window })
    }

    /// [`Writer::open`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`Writer::open`].
    pub async fn open_async(
        mut store: S,
        fill: Fill,
        lengths: &mut [u64],
        slots: B,
        mut window: W,
    ) -> Result<Self, AsyncError<S>> {
        let buf = window.as_mut();
        let file = Reader::open_async(&mut store, lengths, buf).await?;
        let mut book = Book::open(file.head(), fill, slots).map_err(DriveError::Format)?;
        let mut find = book.find_variables(file.head(), file.lengths());
        drive_read_async(&mut find, file.store(), buf).await?;
        drop(find);
        while let Some((varid, at)) = book.next_fill() {
            let mut value = [0; 8];
            read_exact_async(file.store(), at.offset(), at.front_of(&mut value)).await?;
            book.set_fill(varid, value).map_err(DriveError::Format)?;
        }
        let is_streaming = book.is_streaming();
        if fill == Fill::None {
            store.set_size(book.file_len()).await.map_err(DriveError::Store)?;
        }
        let mut writer = Self { store, book, window };
        if is_streaming {
            writer.commit_async().await?;
        }
        Ok(writer)
    }

    /// [`Writer::put`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`Writer::put`].
    pub async fn put_async<'v>(
        &mut self,
        varid: u64,
        values: impl Into<Values<'v>>,
    ) -> Result<(), AsyncError<S>> {
        let work = self.book.put(varid, values.into(), self.window.as_mut());
        work.map_err(DriveError::Format)?.run_async(&mut self.store).await
    }

    /// [`Writer::put_slab`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`Writer::put_slab`].
    pub async fn put_slab_async<'v>(
        &mut self,
        varid: u64,
        slab: Slab<'v>,
        values: impl Into<Values<'v>>,
    ) -> Result<(), AsyncError<S>> {
        let work = self.book.put_slab(varid, slab, values.into(), self.window.as_mut());
        work.map_err(DriveError::Format)?.run_async(&mut self.store).await
    }

    /// [`Writer::end_record`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`Writer::end_record`].
    pub async fn end_record_async(&mut self) -> Result<u64, AsyncError<S>> {
        let number = self.book.records();
        let work = self.book.end_record(self.window.as_mut());
        work.map_err(DriveError::Format)?.run_async(&mut self.store).await?;
        Ok(number)
    }

    /// [`Writer::commit`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`Writer::commit`].
    pub async fn commit_async(&mut self) -> Result<(), AsyncError<S>> {
        if self.book.fill() == Fill::None {
            let len = self.book.file_len(); // no value may lie after the end of the store
            if self.store.size().await.map_err(DriveError::Store)? < len {
                self.store.set_size(len).await.map_err(DriveError::Store)?;
            }
        }
        let work = self.book.commit(self.window.as_mut());
        work.map_err(DriveError::Format)?.run_async(&mut self.store).await
    }

    /// [`Writer::close`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`Writer::close`].
    pub async fn close_async(&mut self) -> Result<(), AsyncError<S>> {
        self.commit_async().await?;
        let len = self.book.file_len();
        if self.store.size().await.map_err(DriveError::Store)? == len {
            return Ok(());
        }
        self.store.set_size(len).await.map_err(DriveError::Store)?;
        self.store.sync().await.map_err(DriveError::Store)
    }
}
