//! The parts of a frame that a crash of gsd can have left, in an index without a commit record.
//!
//! gsd writes the entries of a flush with one write, after everything else of the flush is durable.
//! A crash loses any sectors of that write; a lost sector reads as before, as zeros. The rules here
//! follow from this: `spec/gsd.md#what-a-crash-of-gsd-leaves`.

use striae_core::gsd::Chunk;
use striae_core::span::Span;
use striae_hoomd::schema::{FIELDS, NAME, Rows};

/// The bytes that are kept or lost together; larger pages consist of several of them.
const SECTOR: u64 = 512;

/// The end of the location in an entry, which is never 0.
const LOCATION_END: u64 = 24;

/// Number of bytes of the slot at `offset` in the sector of the byte before it, if not all.
const fn front(offset: u64) -> Option<u64> {
    let front = offset.wrapping_neg() % SECTOR;
    if front < 32 { Some(front) } else { None }
}

/// Whether the slot at `offset`, which is all zeros, can have held an entry of `frame`, if the
/// entry before it was kept.
pub(super) fn may_have_been(frame: u64, offset: u64) -> bool {
    // The last byte of the entry before is 0 in any case: it is the one before that shows
    // something.
    let front = if offset % SECTOR == 1 { Some(0) } else { front(offset) };
    front.is_some_and(|front| front < LOCATION_END && shows(&[0; 32], front, frame))
}

/// Whether the first `front` bytes of `slot` are those of an entry of `frame`.
pub(super) fn shows(slot: &[u8], front: u64, frame: u64) -> bool {
    let bytes = frame.to_le_bytes();
    let front = usize::try_from(front).unwrap_or(8).min(8);
    slot.get(..front) == bytes.get(..front)
}

/// The part of a slot in two sectors that was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kept {
    /// The front, of this number of bytes; the rest is zeros.
    Front(u64),
    /// The rest; the front, of this number of bytes, is zeros.
    Rest(u64),
}

impl Kept {
    /// The part of the slot at `offset` that may be lost; `None` if both parts have other bytes
    /// than zeros.
    pub(super) fn of(slot: &[u8], offset: u64) -> Option<Self> {
        let front = front(offset).filter(|&front| front > 0)?;
        let (start, rest) = slot.split_at_checked(usize::try_from(front).ok()?)?;
        let is_zero = |bytes: &[u8]| bytes.iter().all(|&byte| byte == 0);
        match (is_zero(start), is_zero(rest)) {
            (true, _) => Some(Self::Rest(front)),
            (false, true) => Some(Self::Front(front)),
            (false, false) => None,
        }
    }
}

/// The bytes from the end of the chunks of earlier frames to the end of the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tail {
    /// The end of the chunks of all frames that a later frame follows.
    start: u64,
    /// The end of the chunks of the last frame.
    end: u64,
    frame: u64,
    /// The number of bytes of its chunks.
    used: u64,
}

impl Tail {
    /// The tail of a file without frames: everything after the header.
    pub(super) const fn new() -> Self {
        Self { start: 256, end: 256, frame: 0, used: 0 }
    }

    /// Adds the next chunk in the order of the index.
    pub(super) fn take(&mut self, chunk: &Chunk) {
        if chunk.frame != self.frame {
            (self.start, self.used, self.frame) = (self.end, 0, chunk.frame);
        }
        self.end = self.end.max(chunk.span.end());
        self.used = self.used.saturating_add(chunk.span.len());
    }

    /// Whether there are bytes that belong neither to the last frame nor to one of `blocks`: the
    /// bytes of a chunk whose entry is lost would be among them.
    pub(super) fn has_more(&self, file_len: u64, blocks: &[Span]) -> bool {
        let blocks = blocks.iter().filter(|block| block.offset() >= self.start);
        let blocks = blocks.fold(0, |sum, block| block.len().saturating_add(sum));
        let used = self.used.saturating_add(blocks);
        file_len.saturating_sub(self.start) > used
    }
}

/// Whether a chunk of this name without rows has a meaning. In the schema hoomd, a chunk with a row
/// for each particle or bond has no rows if there are none, which is the same as no chunk; a chunk
/// with a fixed number of rows is never empty.
pub(super) fn says_something_empty(schema: &str, name: &[u8]) -> bool {
    let field = FIELDS.iter().find(|field| field.name.as_bytes() == name);
    let is_counted = field.is_some_and(|it| matches!(it.rows, Rows::Each(_) | Rows::Fixed(_)));
    schema != NAME || !is_counted
}
