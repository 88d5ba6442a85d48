//! Writing a chunk in pieces.

use super::book::{Book, Slot, Sums, count_rows};
use crate::gsd::disk::chunk::Chunk;
use crate::gsd::error::Error;
#[twin(WriteError = AsyncError)]
use crate::gsd::error::WriteError;
use crate::gsd::layout::MAX_LEN;
use crate::span::Span;
use crate::step::DriveError;
#[twin(WriteAt)]
use crate::store::WriteAt;
use crate::store::{Disk, usize_to_u64};
use striae_twin::twin;

/// A chunk of unknown length that is written in pieces; see
/// [`Writer::begin_chunk`](crate::gsd::Writer::begin_chunk).
///
/// If it is dropped before [`finish`](Self::finish), there is no chunk.
#[derive(Debug)]
pub struct ChunkWriter<'w, S, B> {
    disk: &'w mut Disk<S>,
    book: &'w mut Book<B>,
    chunk: Chunk,
    len: u64,
    crc: u32,
    /// Checksums of what the next commit adds, including the bytes so far.
    sums: Sums,
}

impl<'w, S, B: AsMut<[Slot]>> ChunkWriter<'w, S, B> {
    pub(in crate::gsd) const fn new(
        disk: &'w mut Disk<S>,
        book: &'w mut Book<B>,
        chunk: Chunk,
    ) -> Self {
        let sums = book.sums();
        Self { disk, book, chunk, len: 0, crc: 0, sums }
    }

    /// The offset of the next `len` bytes.
    fn place(&self, len: u64) -> Result<u64, Error> {
        let offset = self.chunk.span.offset().saturating_add(self.len);
        match offset.checked_add(len).is_some_and(|end| end <= MAX_LEN) {
            true => Ok(offset),
            false => Err(Error::FileFull { data_end: self.book.data_end(), len }),
        }
    }

    /// The number of bytes so far.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Whether no bytes were written so far.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

#[twin(WriteAt, WriteError = AsyncError)]
impl<S: WriteAt, B: AsMut<[Slot]>> ChunkWriter<'_, S, B> {
    /// Adds bytes; they need not be whole rows.
    ///
    /// # Errors
    /// [`Error::FileFull`] if the bytes have no place in the file; the store's own error. The bytes
    /// are not in the chunk then.
    pub async fn write(&mut self, bytes: &[u8]) -> Result<(), WriteError<S>> {
        let len = usize_to_u64(bytes.len());
        let offset = self.place(len)?;
        self.disk.recognise(self.book).await?;
        self.disk.put(offset, bytes).await.map_err(DriveError::Store)?;
        let checksum = self.book.checksum();
        if self.book.has_checksums() {
            self.crc = checksum(self.crc, bytes);
        }
        self.sums.add_chunk(offset, bytes, checksum);
        self.len = self.len.saturating_add(len);
        Ok(())
    }

    /// Adds the chunk to the current frame.
    ///
    /// # Errors
    /// [`Error::Rows`] if the bytes are not whole rows: then there is no chunk.
    #[allow(clippy::unused_async, reason = "called as all others are")]
    pub async fn finish(self) -> Result<Chunk, WriteError<S>> {
        let Self { book, chunk, len, crc, sums, .. } = self;
        let n = count_rows(chunk.kind, chunk.m, len)?;
        let start = if len == 0 { book.data_end() } else { chunk.span.offset() };
        let full = Error::FileFull { data_end: book.data_end(), len };
        let span = Span::new(start, len).ok_or(full)?;
        let chunk = Chunk { n, span, ..chunk };
        book.set_sums(sums);
        book.insert(&chunk, crc);
        Ok(chunk)
    }
}

impl<S: WriteAt, B: AsMut<[Slot]>> ChunkWriter<'_, S, B> {
    /// Adds `len` bytes that `put` writes to the store itself, as a copy in the kernel does. `put`
    /// gets the offset to write to. In a file with checksums it also gets the CRC-32C of the bytes
    /// so far and must return the CRC-32C with the new bytes; else its result is ignored.
    ///
    /// # Errors
    /// See [`write`](Self::write).
    pub fn put(
        &mut self,
        len: u64,
        put: impl FnOnce(&mut S, u64, Option<u32>) -> Result<u32, S::Error>,
    ) -> Result<(), WriteError<S>> {
        let offset = self.place(len)?;
        let crc = Some(self.crc).filter(|_| self.book.has_checksums());
        self.disk.recognise(self.book)?;
        self.sums.lose();
        let done = put(self.disk.lend(Span::exact(offset, len)), offset, crc);
        self.crc = self.disk.note(done).map_err(DriveError::Store)?;
        self.len = self.len.saturating_add(len);
        Ok(())
    }
}
