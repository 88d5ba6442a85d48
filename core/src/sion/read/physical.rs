//! [`Physical`]: a closed physical file in a store, and the lengths of its chunks.

use super::locate::{Task, check_blocksize};
#[twin(ReadError = AsyncError)]
use crate::sion::ReadError;
use crate::sion::disk::head::Head;
use crate::sion::disk::meta1::Meta1;
use crate::sion::disk::meta2::{Meta2, entry};
use crate::sion::error::Error;
use crate::span::Span;
#[twin(read_exact)]
use crate::step::read_exact;
#[twin(ReadAt)]
use crate::store::ReadAt;
use striae_twin::twin;

/// Reads a closed physical file in a store.
#[derive(Debug, Clone, Copy)]
pub struct Physical<S> {
    pub(in crate::sion) store: S,
    pub(in crate::sion) head: Head,
    pub(in crate::sion) meta2: Meta2,
}

#[twin(ReadAt, ReadError = AsyncError)]
impl<S: ReadAt> Physical<S> {
    /// The bytes that `task` used of chunk `chunk`.
    ///
    /// # Errors
    /// [`Error::NoChunk`] if the task has no such chunk; [`Error`] if the entry is negative, or
    /// more than the chunk or the file holds; the store's own error.
    pub async fn chunk_len(&self, task: &Task, chunk: u64) -> Result<u64, ReadError<S>> {
        let place = self.len_place(task, chunk)?;
        let mut bytes = [0; 8];
        read_exact(&self.store, place.offset(), &mut bytes).await?;
        Ok(self.len_in(task, chunk, &bytes)?)
    }
}

impl<S> Physical<S> {
    /// The metadata that opening has read.
    #[must_use]
    pub const fn head(&self) -> &Head {
        &self.head
    }

    /// The fixed part of META1.
    #[must_use]
    pub const fn meta1(&self) -> &Meta1 {
        &self.head.meta1
    }

    /// Where META2 is.
    #[must_use]
    pub const fn meta2(&self) -> &Meta2 {
        &self.meta2
    }

    /// The store.
    #[must_use]
    pub const fn store(&self) -> &S {
        &self.store
    }

    /// Returns the store.
    #[must_use]
    pub fn into_store(self) -> S {
        self.store
    }

    /// The place in META2 of the bytes that `task` used of chunk `chunk`.
    pub(in crate::sion) fn len_place(&self, task: &Task, chunk: u64) -> Result<Span, Error> {
        let blockcount = task.blockcount;
        let place = self.meta2.blocksizes(chunk).and_then(|row| entry(row, task.local));
        place.filter(|_| chunk < blockcount).ok_or(Error::NoChunk { chunk, blockcount })
    }

    /// The bytes that `task` used of chunk `chunk`, from the bytes at
    /// [`len_place`](Self::len_place).
    pub(in crate::sion) fn len_in(
        &self,
        task: &Task,
        chunk: u64,
        bytes: &[u8],
    ) -> Result<u64, Error> {
        let offset = self.len_place(task, chunk)?.offset();
        let value = self.head.integer_in(bytes);
        check_blocksize(value, offset, task.chunks.chunk(chunk), self.head.file_len)
    }
}
