//! Logging to an asynchronous store.

use super::super::AsyncFixedError;
use super::form::Own;
use super::moving::{Move, PIECE};
use super::{Desk, OwnLogger, Shape, never};
use crate::gsd::element::Element;
use crate::gsd::header::Version;
use crate::gsd::kind::ChunkType;
use crate::gsd::names::FindName;
use crate::step::{DriveError, drive_async, drive_read_async};
use crate::store::{AsyncReadAt, AsyncWriteAt, Disk};

/// Logging for asynchronous firmware. Dropping a future counts as a failed call: call it again, or
/// [`discard_frame`](OwnLogger::discard_frame).
impl<'s, S: AsyncWriteAt, const N: usize> OwnLogger<'s, S, N> {
    /// [`OwnLogger::open_or_create`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`OwnLogger::open_or_create`].
    pub async fn open_or_create_async(
        store: S,
        shape: &'s Shape<'s, 0>,
    ) -> Result<Self, AsyncFixedError<S>> {
        let mut logger = Self(Desk::new(store, Own::new(shape.base())));
        logger.0.begin_async().await?;
        Ok(logger)
    }

    /// [`OwnLogger::name`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`OwnLogger::name`].
    pub async fn name_async(&mut self, name: &str) -> Result<u16, AsyncFixedError<S>> {
        let name = name.as_bytes();
        let (disk, log) = self.0.known_async().await?;
        let mut find = FindName::new(name, log.form.list(), Version::LAYER);
        let found = drive_read_async(&mut find, disk, &mut [0; PIECE]).await;
        if let Some(id) = found.map_err(|error| error.map_format(never))? {
            return Ok(id);
        }
        let block = log.name_block(name)?;
        let mut moving = log.form.copy_names(block, name);
        run_async(&mut moving, disk).await?;
        Ok(log.add_name(block, name))
    }

    async fn grow_async(&mut self) -> Result<(), AsyncFixedError<S>> {
        let Some(block) = self.0.log.larger_index()? else { return Ok(()) };
        let (disk, log) = self.0.known_async().await?;
        let end = block.offset_of(block.slots);
        if disk.size().await.map_err(DriveError::Store)? < end {
            disk.set_size(end).await.map_err(DriveError::Store)?;
        }
        let mut moving = log.copy_entries(block);
        run_async(&mut moving, disk).await?;
        log.move_index(block);
        Ok(())
    }

    /// [`OwnLogger::chunk`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`OwnLogger::chunk`].
    pub async fn chunk_async(
        &mut self,
        id: u16,
        kind: ChunkType,
        m: u32,
        bytes: &[u8],
    ) -> Result<(), AsyncFixedError<S>> {
        self.0.chunk_async(id, kind, m, bytes).await
    }

    /// [`OwnLogger::write`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`OwnLogger::write`].
    pub async fn write_async<T: Element, const M: usize>(
        &mut self,
        id: u16,
        rows: &[[T; M]],
    ) -> Result<(), AsyncFixedError<S>> {
        self.0.write_async(id, rows).await
    }

    /// [`OwnLogger::end_frame`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`OwnLogger::end_frame`].
    pub async fn end_frame_async(&mut self) -> Result<u64, AsyncFixedError<S>> {
        self.grow_async().await?;
        self.0.end_frame_async().await
    }
}

async fn run_async<S: AsyncWriteAt>(
    moving: &mut Move<'_>,
    disk: &mut Disk<S>,
) -> Result<(), AsyncFixedError<S>> {
    drive_async(moving, disk, &mut [0; PIECE]).await.map_err(DriveError::infallible)
}
