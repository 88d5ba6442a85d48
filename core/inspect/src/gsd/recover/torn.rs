//! What a crash of gsd can have left of a frame, in an index without a commit record.
//!
//! gsd writes the entries of a flush with one write, all else of it being durable by then. A crash
//! loses any sectors of that write; what is lost reads as before, as zeros. What is asked here
//! follows from that: `spec/gsd.md#what-a-crash-of-gsd-leaves`.

use striae_core::gsd::Chunk;
use striae_core::span::Span;
use striae_hoomd::schema::{FIELDS, NAME, Rows};

/// Bytes that are kept or lost together; that pages have several of them makes no difference.
const SECTOR: u64 = 512;

/// Where the location of an entry ends, which is never 0.
const LOCATION_END: u64 = 24;

/// Bytes of the slot at `offset` that are in the sector of the byte before it, if not all are.
const fn front(offset: u64) -> Option<u64> {
    let front = offset.wrapping_neg() % SECTOR;
    if front < 32 { Some(front) } else { None }
}

/// Whether an entry of `frame`, of which the one before was kept, can have been in the slot at
/// `offset`, which has nothing but zeros.
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

/// How a slot that two sectors share is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kept {
    /// Its front has something, and the rest nothing: so many bytes of it.
    Front(u64),
    /// Its front, of so many bytes, has nothing.
    Rest(u64),
}

impl Kept {
    /// Of which part of the slot at `offset` nothing can be left; `None` if both have something.
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

/// The bytes from where the chunks of earlier frames end up to the end of the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tail {
    /// Where the chunks of all frames end that were ended by a later one.
    start: u64,
    /// Where those of the last frame end.
    end: u64,
    frame: u64,
    /// Bytes of its chunks.
    used: u64,
}

impl Tail {
    /// That of a file without frames: all but the header.
    pub(super) const fn new() -> Self {
        Self { start: 256, end: 256, frame: 0, used: 0 }
    }

    /// Takes the next chunk in the order of the index.
    pub(super) fn take(&mut self, chunk: &Chunk) {
        if chunk.frame != self.frame {
            (self.start, self.used, self.frame) = (self.end, 0, chunk.frame);
        }
        self.end = self.end.max(chunk.span.end());
        self.used = self.used.saturating_add(chunk.span.len());
    }

    /// Whether bytes are left that neither the last frame nor one of `blocks` has: those of a chunk
    /// whose entry is lost would be among them.
    pub(super) fn has_more(&self, file_len: u64, blocks: &[Span]) -> bool {
        let blocks = blocks.iter().filter(|block| block.offset() >= self.start);
        let blocks = blocks.fold(0, |sum, block| block.len().saturating_add(sum));
        let used = self.used.saturating_add(blocks);
        file_len.saturating_sub(self.start) > used
    }
}

/// Whether a chunk of this name without rows says something. In the schema of hoomd one that has a
/// row for each particle, or bond, has none where there are none, and is the same as no chunk; one
/// that has a fixed number of rows is never without.
pub(super) fn says_something_empty(schema: &str, name: &[u8]) -> bool {
    let field = FIELDS.iter().find(|field| field.name.as_bytes() == name);
    let is_counted = field.is_some_and(|it| matches!(it.rows, Rows::Each(_) | Rows::Fixed(_)));
    schema != NAME || !is_counted
}
