//! The layout of a physical SIONlib file: numbers in, spans out (`spec/sion.md#layout`).
//!
//! ```text
//! 0        META1: fixed part, globalrank[N], chunksize[N], commit fields
//! first    block 0: chunk of task 0, chunk of task 1, ... chunk of task N-1
//! +skip    block 1: the same once more, and so on
//! varheader  META2: blockcount[N], blocksize[maxchunks][N]; then the mapping, if there is one
//! ```

use super::kind::FormatVersion;
use super::raw;
use crate::span::{Span, round_up};
use core::num::{NonZeroU32, NonZeroU64};

/// The bytes of an entry of any table with one entry for each task.
pub const ENTRY_LEN: u64 = 8;

/// The bytes of META1 besides its tables. Data start after these bytes and the tables in every
/// version, although META1 of fileformat_version 2 is shorter.
const META1_FIXED_LEN: u64 = 1088;

/// The places that META1 fixes: its own tables and the start of the chunks.
///
/// Offsets cannot overflow: ntasks and fsblksize are below 2^31.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Layout {
    /// The version of the file format.
    pub version: FormatVersion,
    /// The block size of the file system in bytes.
    pub fsblksize: NonZeroU32,
    /// The number of tasks in the physical file.
    pub ntasks: NonZeroU32,
}

impl Layout {
    /// META1's fixed part.
    #[must_use]
    pub const fn fixed(&self) -> Span {
        let table = match self.version {
            FormatVersion::V2 => raw::Meta1V2::TABLE,
            _ => raw::Meta1::TABLE,
        };
        span(0, widen(table.len))
    }

    /// The table of globalranks.
    #[must_use]
    pub const fn globalranks(&self) -> Span {
        span(self.fixed().end(), self.table_len())
    }

    /// The table of chunksizes.
    #[must_use]
    pub const fn chunksizes(&self) -> Span {
        span(self.globalranks().end(), self.table_len())
    }

    /// `maxchunks` and `start_of_varheader`, which are written when the file is closed.
    #[must_use]
    pub const fn commit_fields(&self) -> Span {
        span(self.chunksizes().end(), widen(raw::CommitFields::TABLE.len))
    }

    /// The end of META1 for the layout: `1088 + 16 N` in every version.
    #[must_use]
    pub const fn meta1_end(&self) -> u64 {
        META1_FIXED_LEN.saturating_add(self.table_len().saturating_mul(2))
    }

    /// The offset of the first chunk of the first task.
    #[must_use]
    pub const fn first_chunk(&self) -> u64 {
        match self.align(self.meta1_end()) {
            Some(first) => first,
            None => u64::MAX,
        }
    }

    /// The bytes that a chunk takes in the file if META1 stores `chunksize`, or `None` if they
    /// exceed `u64::MAX`. Before fileformat_version 4, a reader rounds the stored chunksize up to
    /// fsblksize.
    #[must_use]
    #[inline]
    pub const fn stored_chunksize(&self, chunksize: u64) -> Option<u64> {
        match self.version {
            FormatVersion::V2 | FormatVersion::V3 => self.align(chunksize),
            FormatVersion::V4 | FormatVersion::V5 => Some(chunksize),
        }
    }

    /// Whether META1 stores the bytes that a chunk takes in the file.
    pub(in crate::sion) const fn stored_chunksize_is_exact(&self) -> bool {
        matches!(self.version, FormatVersion::V4 | FormatVersion::V5)
    }

    /// The table of blockcounts of a META2 at `start`, or `None` if it has no place in a file.
    #[must_use]
    pub const fn blockcounts(&self, start: u64) -> Option<Span> {
        Span::new(start, self.table_len())
    }

    /// The `maxchunks` rows of blocksizes of a META2 at `start`, or `None` if they have no place in
    /// a file.
    #[must_use]
    pub const fn blocksizes(&self, start: u64, maxchunks: u32) -> Option<Span> {
        match self.blockcounts(start) {
            Some(counts) => Span::of_table(counts.end(), widen_u32(maxchunks), self.table_len()),
            None => None,
        }
    }

    /// The bytes of a table with one entry for each task.
    #[must_use]
    pub const fn table_len(&self) -> u64 {
        widen_u32(self.ntasks.get()).saturating_mul(ENTRY_LEN)
    }

    const fn align(&self, value: u64) -> Option<u64> {
        match NonZeroU64::new(widen_u32(self.fsblksize.get())) {
            Some(unit) => round_up(value, unit),
            None => None,
        }
    }
}

/// The chunks of one task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Chunks {
    /// The offset of the task's first chunk in the physical file.
    pub start: u64,
    /// The bytes of each chunk.
    pub chunksize: u64,
    /// The bytes from a chunk to the task's next chunk, which is the sum of all tasks' chunksizes.
    /// `None` if it was not read because the task has only one chunk.
    pub globalskip: Option<u64>,
}

impl Chunks {
    /// The whole chunk `chunk`, used or not, or `None` if it has no place in a file or `globalskip`
    /// is not known.
    #[must_use]
    pub fn chunk(&self, chunk: u64) -> Option<Span> {
        let skip = if chunk == 0 { 0 } else { chunk.checked_mul(self.globalskip?)? };
        Span::new(self.start.checked_add(skip)?, self.chunksize)
    }
}

/// The largest offset of a file in SIONlib and in operating systems.
pub const LAST_OFFSET: u64 = i64::MAX.unsigned_abs();

/// The blocks of a physical file: one chunk of every task, side by side, again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Blocks {
    /// The offset of block 0.
    pub first: u64,
    /// The bytes of a block.
    pub globalskip: u64,
}

impl Blocks {
    /// The end of the first `count` blocks, or `None` if it exceeds [`LAST_OFFSET`]. SIONlib puts
    /// META2 there when it closes a file.
    #[must_use]
    pub const fn end(&self, count: u64) -> Option<u64> {
        let Some(len) = self.globalskip.checked_mul(count) else { return None };
        match self.first.checked_add(len) {
            Some(end) if end <= LAST_OFFSET => Some(end),
            _ => None,
        }
    }

    /// Whether META2 of `maxchunks` rows at `start` is where a close puts it.
    #[must_use]
    pub fn is_close(&self, maxchunks: u32, start: u64) -> bool {
        self.end(maxchunks.into()) == Some(start)
    }

    /// Whether META2 of `maxchunks` rows at `meta2` is where a commit could have put it: at the
    /// start of a sector, and after the end of a block, with room for two others in between. By
    /// other chunksizes, blocks end elsewhere. A set's first file of several may have META2 after
    /// the end of any block, because the length of its mapping is not known here.
    #[must_use]
    pub fn is_commit(&self, maxchunks: u32, meta2: Span, is_first_of_several: bool) -> bool {
        let whole = self.before(meta2.offset()).max(maxchunks.into());
        // Without room for data there is one place for the ends of all blocks.
        let whole = if self.globalskip == 0 { 0 } else { whole };
        let past = self.end(whole).and_then(|end| meta2.offset().checked_sub(end));
        // With a seal, META2 is less than three times as long and a sector.
        let longest = meta2.len().saturating_mul(3).saturating_add(1024);
        let is_near = |past| is_first_of_several || past / 3 <= longest;
        meta2.offset() & 511 == 0 && past.is_some_and(is_near)
    }

    /// The number of whole blocks before `offset`: they can be written without touching the bytes
    /// at `offset`. `u64::MAX` if globalskip is 0.
    #[must_use]
    pub fn before(&self, offset: u64) -> u64 {
        offset.saturating_sub(self.first).checked_div(self.globalskip).unwrap_or(u64::MAX)
    }
}

/// A span whose end cannot overflow.
pub(super) const fn span(offset: u64, len: u64) -> Span {
    match Span::new(offset, len) {
        Some(span) => span,
        None => Span::ZERO,
    }
}

/// The largest number that an `I32` stores.
pub(super) const MAX_I32: u32 = i32::MAX.unsigned_abs();

/// `n` as it is stored and told, or the largest number.
pub(super) const fn signed(n: u64) -> i64 {
    if n < LAST_OFFSET { n.cast_signed() } else { i64::MAX }
}

#[allow(clippy::as_conversions, reason = "widening; From is not const")]
pub(super) const fn widen(n: u16) -> u64 {
    n as u64
}

#[allow(clippy::as_conversions, reason = "widening; From is not const")]
pub(super) const fn widen_u32(n: u32) -> u64 {
    n as u64
}
