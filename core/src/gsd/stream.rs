//! A chunk that is written piece by piece.

use super::chunk::Chunk;
use super::writer::{Slot, Sums, WriteError, Writer};
use crate::store::{WriteAt, usize_to_u64};

/// A chunk of unknown length; see [`Writer::begin_chunk`].
///
/// Dropped before it is finished, it was never there.
#[derive(Debug)]
pub struct ChunkWriter<'w, S, B> {
    writer: &'w mut Writer<S, B>,
    chunk: Chunk,
    len: u64,
    crc: u32,
    /// Of what the next commit adds, with the bytes so far.
    sums: Sums,
}

impl<'w, S: WriteAt, B: AsMut<[Slot]>> ChunkWriter<'w, S, B> {
    pub(super) const fn new(writer: &'w mut Writer<S, B>, chunk: Chunk) -> Self {
        let sums = writer.sums();
        Self { writer, chunk, len: 0, crc: 0, sums }
    }

    /// Adds some bytes; rows need not be whole.
    ///
    /// # Errors
    /// [`Error::FileFull`](super::Error::FileFull); the store's own. The bytes are not in the chunk
    /// then.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), WriteError<S>> {
        let offset = self.chunk.span.offset().saturating_add(self.len);
        self.writer.write_at(offset, bytes)?;
        let checksum = self.writer.checksum();
        if self.writer.has_checksums() {
            self.crc = checksum(self.crc, bytes);
        }
        self.sums.add_chunk(offset, bytes, checksum);
        self.len = self.len.saturating_add(usize_to_u64(bytes.len()));
        Ok(())
    }

    /// Adds `len` bytes that `put` brings into the store by itself, as a copy in the kernel does, to the
    /// offset that it is told. In a file with checksums it is also told the CRC-32C of the bytes so far,
    /// and returns that of all; otherwise what it returns does not matter.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn put(
        &mut self,
        len: u64,
        put: impl FnOnce(&mut S, u64, Option<u32>) -> Result<u32, S::Error>,
    ) -> Result<(), WriteError<S>> {
        let offset = self.chunk.span.offset().saturating_add(self.len);
        let crc = Some(self.crc).filter(|_| self.writer.has_checksums());
        self.sums.lose();
        self.crc = self.writer.put_at(offset, len, |store| put(store, offset, crc))?;
        self.len = self.len.saturating_add(len);
        Ok(())
    }

    /// Bytes so far.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are no bytes so far.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds the chunk to the present frame.
    ///
    /// # Errors
    /// [`Error::Rows`](super::Error::Rows) if the bytes are not whole rows: there is no chunk then.
    pub fn finish(self) -> Result<Chunk, WriteError<S>> {
        self.writer.finish_chunk(self.chunk, self.len, self.crc, self.sums)
    }
}
