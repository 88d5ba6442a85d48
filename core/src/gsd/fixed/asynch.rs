//! Logging to an asynchronous store.

use super::{Desk, Fault, FixedLogger, Shape};
use crate::gsd::element::Element;
use crate::gsd::kind::ChunkType;
use crate::step::DriveError;
use crate::store::{AsyncReadAt, AsyncWriteAt};

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
        let mut logger = Self(Desk::new(store, shape));
        logger.0.begin_async().await?;
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
        self.0.chunk_async(id, kind, m, bytes).await
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
        self.0.write_async(id, rows).await
    }

    /// [`FixedLogger::end_frame`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`FixedLogger::end_frame`].
    pub async fn end_frame_async(&mut self) -> Result<u64, AsyncFixedError<S>> {
        self.0.end_frame_async().await
    }
}
