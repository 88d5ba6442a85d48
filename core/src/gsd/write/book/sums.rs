//! Checksums of the bytes that the next commit adds; a commit of one sync needs them.

use crate::exact::Exact;
use crate::gsd::disk::shadow::{Added, MAX_ADDED};
use crate::integrity::Checksum;
use crate::store::usize_to_u64;

/// The checksums of chunks and entries, updated with each write.
#[derive(Debug, Clone, Copy)]
pub(in crate::gsd) struct Sums {
    /// CRC-32C of the bytes from `start` to `end`; `None` if it is not needed, if there are too
    /// many bytes, or if other bytes are among them.
    chunks: Option<u32>,
    /// The end of the last commit.
    start: u64,
    end: u64,
    entries: u32,
}

impl Sums {
    /// No checksums.
    pub(super) const NONE: Self = Self { chunks: None, start: 0, end: 0, entries: 0 };

    /// Checksums of no bytes, after a commit that ended at `data_end`.
    pub(super) const fn behind(data_end: u64) -> Self {
        Self { chunks: Some(0), start: data_end, end: data_end, entries: 0 }
    }

    /// Adds bytes of a chunk that are written at `offset`.
    #[inline]
    pub(in crate::gsd) fn add_chunk(&mut self, offset: u64, bytes: &[u8], checksum: Checksum) {
        if self.chunks.is_some() {
            self.add_wanted(offset, bytes, checksum);
        }
    }

    #[inline(never)]
    fn add_wanted(&mut self, offset: u64, bytes: &[u8], checksum: Checksum) {
        let end = offset.exact_add(usize_to_u64(bytes.len()));
        let follows = offset == self.end && end.exact_sub(self.start) <= MAX_ADDED;
        self.chunks = self.chunks.filter(|_| follows).map(|crc| checksum(crc, bytes));
        self.end = end;
    }

    /// Drops the checksum: bytes were written that it does not cover.
    pub(in crate::gsd) const fn lose(&mut self) {
        self.chunks = None;
    }

    /// Adds entries that are written after the previous ones.
    pub(super) fn add_entries(&mut self, bytes: &[u8], checksum: Checksum) {
        if self.chunks.is_some() {
            self.entries = checksum(self.entries, bytes);
        }
    }

    /// The checksum of everything added by a commit that ends at `data_end`; 0 if it is not known.
    pub(super) fn added_crc(&self, data_end: u64, checksum: Checksum) -> u32 {
        let chunks = self.chunks.filter(|_| self.end == data_end);
        chunks.map_or(0, |crc| Added::crc(crc, self.entries, checksum))
    }
}
