//! Checksums of the bytes that the next commit adds; a commit of one sync needs them.

use crate::exact::Exact;
use crate::gsd::disk::shadow::{Added, MAX_ADDED};
use crate::integrity::Checksum;
use crate::store::usize_to_u64;
use zerocopy::FromZeros;

/// The checksums of chunks and entries, updated with each write.
#[derive(Debug, Clone, Copy, FromZeros)]
pub(in crate::gsd) struct Sums {
    /// CRC-32C of the bytes from `start` to `end`.
    chunks: u32,
    /// Whether it is known: not if it is not needed, if there are too many bytes, or if other bytes
    /// are among them.
    is_known: bool,
    /// The end of the last commit.
    start: u64,
    end: u64,
    entries: u32,
}

impl Sums {
    /// No checksums.
    pub(super) const NONE: Self = Self { chunks: 0, is_known: false, start: 0, end: 0, entries: 0 };

    /// Checksums of no bytes, after a commit that ended at `data_end`.
    pub(super) const fn behind(data_end: u64) -> Self {
        Self { is_known: true, start: data_end, end: data_end, ..Self::NONE }
    }

    /// Adds bytes of a chunk that are written at `offset`.
    #[inline]
    pub(in crate::gsd) fn add_chunk(&mut self, offset: u64, bytes: &[u8], checksum: Checksum) {
        if self.is_known {
            self.add_wanted(offset, bytes, checksum);
        }
    }

    #[inline(never)]
    fn add_wanted(&mut self, offset: u64, bytes: &[u8], checksum: Checksum) {
        let end = offset.exact_add(usize_to_u64(bytes.len()));
        let follows = offset == self.end && end.exact_sub(self.start) <= MAX_ADDED;
        (self.is_known, self.end) = (follows, end);
        if follows {
            self.chunks = checksum(self.chunks, bytes);
        }
    }

    /// Whether the checksum of the chunks is known.
    pub(super) const fn is_known(&self) -> bool {
        self.is_known
    }

    /// Drops the checksum: bytes were written that it does not cover.
    pub(in crate::gsd) const fn lose(&mut self) {
        self.is_known = false;
    }

    /// Adds entries that are written after the previous ones.
    pub(super) fn add_entries(&mut self, bytes: &[u8], checksum: Checksum) {
        if self.is_known {
            self.entries = checksum(self.entries, bytes);
        }
    }

    /// The checksum of everything added by a commit that ends at `data_end`; 0 if it is not known.
    pub(super) fn added_crc(&self, data_end: u64, checksum: Checksum) -> u32 {
        match self.is_known && self.end == data_end {
            true => Added::crc(self.chunks, self.entries, checksum),
            false => 0,
        }
    }
}
