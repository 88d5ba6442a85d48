//! Writing to an asynchronous store.

use super::find::Find;
use super::make::Make;
use super::rows::{PIECE, Rows};
use super::streams::Streams;
use super::{Fault, FixedWriter, Shape};
use crate::sion::publish::Publish;
use crate::step::{DriveError, drive_async, drive_read_async};
use crate::store::{AsyncReadAt, AsyncWriteAt, Disk};
use zerocopy::IntoBytes;

/// Why writing to an asynchronous store `S` failed.
pub type AsyncFixedError<S> = DriveError<<S as AsyncReadAt>::Error, Fault>;

/// Writing for asynchronous firmware. Dropping a future counts as an error of the store.
impl<S: AsyncWriteAt, const N: usize> FixedWriter<S, N> {
    /// [`FixedWriter::create`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`FixedWriter::create`].
    pub async fn create_async(mut store: S, shape: &Shape<N>) -> Result<Self, AsyncFixedError<S>> {
        let mut make = Make::new(shape.start.as_bytes());
        drive_async(&mut make, &mut store, &mut []).await.map_err(DriveError::infallible)?;
        Ok(Self::new(store, shape))
    }

    /// [`FixedWriter::open_or_create`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`FixedWriter::open_or_create`].
    pub async fn open_or_create_async(
        mut store: S,
        shape: &Shape<N>,
    ) -> Result<Self, AsyncFixedError<S>> {
        store.sync().await.map_err(DriveError::Store)?;
        let store_len = store.size().await.map_err(DriveError::Store)?;
        let mut writer = Self::new(store, shape);
        let mut find = Find::new(shape, &mut writer.streams, store_len);
        if !drive_read_async(&mut find, writer.disk.store(), &mut [0; PIECE]).await? {
            let mut make = Make::again(shape.start.as_bytes());
            let made = drive_async(&mut make, &mut writer.disk, &mut []).await;
            made.map_err(DriveError::infallible)?;
        }
        Ok(writer)
    }

    /// [`known`](FixedWriter::known) for an asynchronous store.
    async fn known_async(&mut self) -> Result<(&mut Disk<S>, &mut Streams<N>), AsyncFixedError<S>> {
        self.disk.recognise_async(&self.streams.book).await?;
        Ok((&mut self.disk, &mut self.streams))
    }

    /// [`FixedWriter::write`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`FixedWriter::write`].
    pub async fn write_async(
        &mut self,
        local: u32,
        bytes: &[u8],
    ) -> Result<(), AsyncFixedError<S>> {
        let (disk, streams) = self.known_async().await?;
        let mut put = streams.put(local, bytes)?;
        while let Some(block) = put.block()? {
            if streams.must_enter(block) {
                let file_len = disk.size().await.map_err(DriveError::Store)?;
                run(streams.enter(block, file_len), disk).await?;
            }
            let (offset, bytes) = put.part()?;
            disk.put_async(offset, bytes).await.map_err(DriveError::Store)?;
        }
        streams.end(&put);
        Ok(())
    }

    /// [`FixedWriter::commit`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`FixedWriter::commit`].
    pub async fn commit_async(&mut self) -> Result<(), AsyncFixedError<S>> {
        let (disk, streams) = self.known_async().await?;
        let file_len = disk.size().await.map_err(DriveError::Store)?;
        run(streams.commit(file_len), disk).await
    }

    /// [`FixedWriter::close`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`FixedWriter::close`].
    pub async fn close_async(&mut self) -> Result<(), AsyncFixedError<S>> {
        let (disk, streams) = self.known_async().await?;
        let file_len = disk.size().await.map_err(DriveError::Store)?;
        let closed = run(streams.close(file_len), disk).await;
        streams.closed(closed)
    }
}

/// Runs `publish` on `store`.
async fn run<S: AsyncWriteAt>(
    mut publish: Publish<'_, Rows<'_>>,
    store: &mut S,
) -> Result<(), AsyncFixedError<S>> {
    let done = drive_async(&mut publish, store, &mut [0; PIECE]).await;
    done.map_err(DriveError::infallible)?.map_err(|error| Fault::of(error).into())
}
