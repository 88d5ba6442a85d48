//! Where everything is in a physical SIONlib file: numbers in, spans out (`spec/sion.md#layout`).
//!
//! ```text
//! 0        META1: fixed part, globalrank[N], chunksize[N], commit fields
//! first    block 0: chunk of task 0, chunk of task 1, ... chunk of task N-1
//! +skip    block 1: the same once more, and so on
//! varheader  META2: blockcount[N], blocksize[maxchunks][N]; then the mapping, if there is one
//! ```

use super::meta1::FormatVersion;
use super::raw;
use crate::span::{Span, round_up};
use core::num::{NonZeroU32, NonZeroU64};

/// Bytes of an entry of any table with one entry a task.
pub const ENTRY_LEN: u64 = 8;

/// Bytes that META1 has besides its tables. Data start behind so many bytes, and the tables, in
/// every version, although META1 of fileformat_version 2 is shorter.
const META1_FIXED_LEN: u64 = 1088;

/// The places that META1 fixes: its own tables, and where chunks start.
///
/// Offsets cannot overflow: there are less than 2^31 tasks, and fsblksize is below 2^31.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Layout {
    /// Version of the file format.
    pub version: FormatVersion,
    /// Block size of the file system in bytes.
    pub fsblksize: NonZeroU32,
    /// Tasks in the physical file.
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

    /// The table of global ranks.
    #[must_use]
    pub const fn globalranks(&self) -> Span {
        span(self.fixed().end(), self.table_len())
    }

    /// The table of chunk sizes.
    #[must_use]
    pub const fn chunksizes(&self) -> Span {
        span(self.globalranks().end(), self.table_len())
    }

    /// `maxchunks` and `start_of_varheader`, which are written when the file is closed.
    #[must_use]
    pub const fn commit_fields(&self) -> Span {
        span(self.chunksizes().end(), widen(raw::CommitFields::TABLE.len))
    }

    /// Where the layout takes META1 to end: `1088 + 16 N`, in every version.
    #[must_use]
    pub const fn meta1_end(&self) -> u64 {
        META1_FIXED_LEN.saturating_add(self.table_len().saturating_mul(2))
    }

    /// Where the first chunk of the first task starts.
    #[must_use]
    pub const fn first_chunk(&self) -> u64 {
        match self.align(self.meta1_end()) {
            Some(first) => first,
            None => u64::MAX,
        }
    }

    /// The bytes that a chunk takes in the file if META1 says `chunksize`, or `None` if that is no
    /// `u64`: before fileformat_version 4 it is rounded up to fsblksize when it is read.
    #[must_use]
    #[inline]
    pub const fn stored_chunksize(&self, chunksize: u64) -> Option<u64> {
        match self.version {
            FormatVersion::V2 | FormatVersion::V3 => self.align(chunksize),
            FormatVersion::V4 | FormatVersion::V5 => Some(chunksize),
        }
    }

    /// The table of block counts of a META2 at `start`, or `None` if it has no place in a file.
    #[must_use]
    pub const fn blockcounts(&self, start: u64) -> Option<Span> {
        Span::new(start, self.table_len())
    }

    /// The `maxchunks` rows of block sizes of a META2 at `start`, or `None` if they have no place in
    /// a file.
    #[must_use]
    pub const fn blocksizes(&self, start: u64, maxchunks: u32) -> Option<Span> {
        match self.blockcounts(start) {
            Some(counts) => Span::of_table(counts.end(), widen_u32(maxchunks), self.table_len()),
            None => None,
        }
    }

    /// Bytes of a table with one entry a task.
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
    /// Offset of the task's first chunk in the physical file.
    pub start: u64,
    /// Bytes of each chunk.
    pub chunksize: u64,
    /// Bytes from a chunk to the task's next one, which is the sum of all tasks' chunks; `None` if
    /// it was not read because the task has no second chunk.
    pub globalskip: Option<u64>,
}

impl Chunks {
    /// The whole place of chunk `chunk`, used or not, or `None` if it has no place in a file, or
    /// `globalskip` is not known.
    #[must_use]
    pub fn chunk(&self, chunk: u64) -> Option<Span> {
        let skip = if chunk == 0 { 0 } else { chunk.checked_mul(self.globalskip?)? };
        Span::new(self.start.checked_add(skip)?, self.chunksize)
    }
}

/// The last offset of a file, to SIONlib and to operating systems.
pub const LAST_OFFSET: u64 = i64::MAX.unsigned_abs();

/// The blocks of a physical file: one chunk of every task, side by side, again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Blocks {
    /// Offset of block 0.
    pub first: u64,
    /// Bytes of a block.
    pub globalskip: u64,
}

impl Blocks {
    /// Where the first `count` blocks end, or `None` if that is no offset of a file. SIONlib puts
    /// META2 there when it closes a file.
    #[must_use]
    pub fn end(&self, count: u64) -> Option<u64> {
        let end = self.first.checked_add(self.globalskip.checked_mul(count)?)?;
        (end <= LAST_OFFSET).then_some(end)
    }

    /// Whole blocks in front of `offset`: those that can be written to without touching what stands
    /// there. Any number if no task has any room.
    #[must_use]
    pub fn before(&self, offset: u64) -> u64 {
        offset.saturating_sub(self.first).checked_div(self.globalskip).unwrap_or(u64::MAX)
    }
}

/// Bytes that storage writes as a whole, at least. META2 of a commit starts at a multiple of them,
/// so that it shares none with data.
const SECTOR: NonZeroU64 = match NonZeroU64::new(512) {
    Some(sector) => sector,
    None => NonZeroU64::MIN,
};

/// All that stands at start_of_varheader: META2, the mapping or its size, and the seal
/// (`spec/sion.md#extensions`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Varheader {
    /// Offset of META2.
    pub start: u64,
    /// Tasks in the physical file.
    pub ntasks: u32,
    /// Rows of block sizes.
    pub maxchunks: u32,
    /// Bytes between META2 and the seal: of the mapping, its size, or nothing.
    pub mapping_len: u64,
    /// Whether there is a seal.
    pub sealed: bool,
}

impl Varheader {
    /// The same at another offset, or `None` if it would end behind [`LAST_OFFSET`].
    #[must_use]
    pub fn at(&self, start: u64) -> Option<Self> {
        let moved = Self { start, ..*self };
        moved.checked_span().map(|_| moved)
    }

    /// The same at the start of the first sector from `offset` on, or `None` if it would end behind
    /// [`LAST_OFFSET`].
    #[must_use]
    pub fn behind(&self, offset: u64) -> Option<Self> {
        self.at(round_up(offset, SECTOR)?)
    }

    /// The same behind the first `reach` of `blocks`, at the start of a sector, and not where `old`
    /// is. `None` if it would end behind [`LAST_OFFSET`].
    #[must_use]
    pub fn aside(&self, blocks: &Blocks, reach: u64, old: Option<&Self>) -> Option<Self> {
        let place = self.behind(blocks.end(reach)?)?;
        match old {
            Some(old) if old.span().overlaps(place.span()) => self.behind(old.span().end()),
            _ => Some(place),
        }
    }

    /// Whether there is a place for it behind all `blocks` that it tells of, one aside of that, and one
    /// aside of both: what commits and the close need.
    #[must_use]
    pub fn has_places(&self, blocks: &Blocks) -> bool {
        let behind = |place: Self| self.behind(place.span().end());
        let first = blocks.end(self.maxchunks.into()).and_then(|end| self.behind(end));
        first.and_then(behind).and_then(behind).is_some()
    }

    /// All of it.
    #[must_use]
    pub fn span(&self) -> Span {
        self.checked_span().unwrap_or(Span::ZERO) // `at` checked it
    }

    fn checked_span(&self) -> Option<Span> {
        let entries = self.entries();
        let counts = u64::from(self.ntasks).checked_mul(ENTRY_LEN)?;
        let sizes = entries.checked_mul(ENTRY_LEN)?;
        let seal =
            if self.sealed { entries.checked_mul(CRC_LEN)?.checked_add(TRAILER_LEN)? } else { 0 };
        let len = counts.checked_add(sizes)?.checked_add(self.mapping_len)?.checked_add(seal)?;
        Span::new(self.start, len).filter(|span| span.end() <= LAST_OFFSET)
    }

    /// Entries of a table with `maxchunks` rows.
    fn entries(&self) -> u64 {
        u64::from(self.ntasks).saturating_mul(self.maxchunks.into()) // exact: both are u32
    }

    /// The table of block counts.
    #[must_use]
    pub fn blockcounts(&self) -> Span {
        Span::of_table(self.start, self.ntasks.into(), ENTRY_LEN).unwrap_or(Span::ZERO)
    }

    /// All rows of block sizes.
    #[must_use]
    pub fn blocksizes(&self) -> Span {
        Span::of_table(self.blockcounts().end(), self.entries(), ENTRY_LEN).unwrap_or(Span::ZERO)
    }

    /// The mapping, its size, or nothing.
    #[must_use]
    pub fn mapping(&self) -> Span {
        Span::new(self.blocksizes().end(), self.mapping_len).unwrap_or(Span::ZERO)
    }

    /// All rows of checksums of chunks; empty if there is no seal.
    #[must_use]
    pub fn crcs(&self) -> Span {
        let entries = if self.sealed { self.entries() } else { 0 };
        Span::of_table(self.mapping().end(), entries, CRC_LEN).unwrap_or(Span::ZERO)
    }

    /// The end of the seal; empty if there is none.
    #[must_use]
    pub fn trailer(&self) -> Span {
        let len = if self.sealed { TRAILER_LEN } else { 0 };
        Span::new(self.crcs().end(), len).unwrap_or(Span::ZERO)
    }
}

/// Bytes of an entry of the seal's table.
pub(super) const CRC_LEN: u64 = widen(raw::ChunkCrcEntry::TABLE.len);
/// Bytes of the end of a seal.
pub(super) const TRAILER_LEN: u64 = widen(raw::SealTrailer::TABLE.len);

/// A span that cannot overflow.
const fn span(offset: u64, len: u64) -> Span {
    match Span::new(offset, len) {
        Some(span) => span,
        None => Span::ZERO,
    }
}

#[allow(clippy::as_conversions, reason = "widening; From is not const")]
pub(super) const fn widen(n: u16) -> u64 {
    n as u64
}

#[allow(clippy::as_conversions, reason = "widening; From is not const")]
pub(super) const fn widen_u32(n: u32) -> u64 {
    n as u64
}
