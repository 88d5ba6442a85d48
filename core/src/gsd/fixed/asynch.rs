//! Logging to an asynchronous store.

use super::begin::{Find, Found, Make};
use super::commit::Commit;
use super::log::{Log, Place};
use super::{Fault, FixedLogger, PIECE, Shape};
use crate::gsd::book::count_rows;
use crate::gsd::create::Create;
use crate::gsd::element::Element;
use crate::gsd::kind::ChunkType;
use crate::gsd::open::Open;
use crate::gsd::publish::Publish;
use crate::gsd::raw::Header;
use crate::step::{DriveError, drive_async, drive_read_async};
use crate::store::{AsyncReadAt, AsyncWriteAt, usize_to_u64};
use zerocopy::{FromZeros, IntoBytes};

/// Why logging to an asynchronous store `S` failed.
pub type AsyncFixedError<S> = DriveError<<S as AsyncReadAt>::Error, Fault>;

/// Logging for asynchronous firmware. Dropping a future counts as a failed call: call it again, or
/// [`discard_frame`](FixedLogger::discard_frame).
impl<'s, S: AsyncWriteAt, const N: usize> FixedLogger<'s, S, N> {
    /// [`FixedLogger::open_or_create`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`FixedLogger::open_or_create`].
    pub async fn open_or_create_async(
        store: S,
        shape: &'s Shape<'s, N>,
    ) -> Result<Self, AsyncFixedError<S>> {
        let mut logger = Self { store, log: Log::new(shape) };
        let store_len = logger.store.size().await.map_err(DriveError::Store)?;
        let (store, log) = (&mut logger.store, &mut logger.log);
        let mut find = Find::new(log, store_len);
        match drive_read_async(&mut find, store, &mut [0; Open::WINDOW]).await? {
            Found::None => {
                let mut create = Create::nothing();
                let mut make = Make::new(log, &mut create, store_len);
                drive_async(&mut make, store, &mut [0; PIECE]).await?;
            }
            Found::Whole => store.sync().await.map_err(DriveError::Store)?,
            Found::Torn => logger.commit_async().await?,
            Found::Erased => {
                let mut header = Header::new_zeroed();
                log.fill_header(&mut header);
                store.write_all_at(0, header.as_bytes()).await.map_err(DriveError::Store)?;
                store.sync().await.map_err(DriveError::Store)?;
            }
        }
        Ok(logger)
    }

    /// [`FixedLogger::chunk`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`FixedLogger::chunk`].
    pub async fn chunk_async(
        &mut self,
        id: u16,
        kind: ChunkType,
        m: u32,
        bytes: &[u8],
    ) -> Result<(), AsyncFixedError<S>> {
        let rows = count_rows(kind, m, usize_to_u64(bytes.len()));
        let n = rows.map_err(|_| DriveError::Format(Fault::Rows))?;
        self.put_async(Place { id, kind, n, m }, bytes).await
    }

    /// [`FixedLogger::write`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`FixedLogger::write`].
    pub async fn write_async<T: Element, const M: usize>(
        &mut self,
        id: u16,
        rows: &[[T; M]],
    ) -> Result<(), AsyncFixedError<S>> {
        let place = Place::of(id, rows)?;
        if cfg!(target_endian = "little") {
            return self.put_async(place, rows.as_bytes()).await;
        }
        let (start, end) = self.log.place(&place, size_of_val(rows))?;
        let mut offset = start;
        for value in rows.iter().flatten() {
            let value = value.swap_to_file();
            let written = self.store.write_all_at(offset, value.as_bytes()).await;
            written.map_err(DriveError::Store)?;
            offset = offset.saturating_add(usize_to_u64(size_of::<T>()));
        }
        self.log.add(&place, start, end);
        Ok(())
    }

    async fn put_async(&mut self, place: Place, bytes: &[u8]) -> Result<(), AsyncFixedError<S>> {
        let (start, end) = self.log.place(&place, bytes.len())?;
        self.store.write_all_at(start, bytes).await.map_err(DriveError::Store)?;
        self.log.add(&place, start, end);
        Ok(())
    }

    /// [`FixedLogger::end_frame`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`FixedLogger::end_frame`].
    pub async fn end_frame_async(&mut self) -> Result<u64, AsyncFixedError<S>> {
        self.commit_async().await?;
        Ok(self.log.frames().saturating_sub(1))
    }

    async fn commit_async(&mut self) -> Result<(), AsyncFixedError<S>> {
        let mut publish = Publish::nothing();
        let mut commit = Commit::new(&mut self.log, &mut publish)?;
        let done = drive_async(&mut commit, &mut self.store, &mut []).await;
        done.map_err(DriveError::infallible)
    }
}
