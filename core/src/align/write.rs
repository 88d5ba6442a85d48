//! One write: what a device takes of it, and the file's length behind it.

use super::error::Error;
use super::rules::Rules;
use crate::span::Span;

/// A block at an end of a write that is not wholly overwritten.
///
/// Read the first `read` bytes of it, let the others be zeros, put `len` bytes of what is to be
/// written at `skip`, and write all of the block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    /// The block: a unit of the file.
    pub block: Span,
    /// Bytes of it that the file has, if they are needed; else 0.
    pub read: u64,
    /// Bytes of the block before those that are written.
    pub skip: u64,
    /// Bytes of the write before them.
    pub at: u64,
    /// Bytes that are written.
    pub len: u64,
}

/// A write of any bytes, as blocks (`spec/align.md#writing`).
///
/// First the edges, then the body, then the length of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Write {
    /// The block that the write begins in, if it does not begin with it; if it ends in it, all of
    /// it.
    pub head: Option<Edge>,
    /// Whole blocks: `body.offset() - span.offset()` bytes into the write.
    pub body: Option<Span>,
    /// The block that the write ends in, if it does not end with it.
    pub tail: Option<Edge>,
    /// The length that the file must be set to when all is written, if blocks made it too long.
    pub set_len: Option<u64>,
}

impl Write {
    /// How to write `span` to a file of [`Rules::file_len`] bytes, which may be behind its end.
    ///
    /// # Errors
    /// [`Error::FileTooLong`].
    pub fn new(span: Span, rules: &Rules) -> Result<Self, Error> {
        let (file_len, max) = (rules.file_len(), rules.down(i64::MAX.unsigned_abs()));
        let (start, end) = (span.offset(), span.end());
        if span.is_empty() {
            return Ok(Self { head: None, body: None, tail: None, set_len: None });
        }
        if end > max {
            return Err(Error::FileTooLong { file_len: end, max });
        }
        let edge = |from: u64, to: u64| {
            let block = Span::new(rules.down(from), rules.unit()).unwrap_or(Span::ZERO);
            let there = file_len.saturating_sub(block.offset()).min(block.len());
            let skip = from.saturating_sub(block.offset());
            // Bytes behind the write that the file has not: nothing to keep. Those before it,
            // always.
            let keeps = skip > 0 || to.saturating_sub(block.offset()) < there;
            let (at, len) = (from.saturating_sub(start), to.saturating_sub(from));
            Edge { block, read: if keeps { there } else { 0 }, skip, at, len }
        };
        let (first, last) = (rules.up(start), rules.down(end));
        let (head, tail) = match first > last {
            true => (Some(edge(start, end)), None), // within one block
            false => {
                ((first > start).then(|| edge(start, first)), (end > last).then(|| edge(last, end)))
            }
        };
        let body = last.checked_sub(first).filter(|&len| len > 0);
        let body = body.and_then(|len| Span::new(first, len));
        let becomes = file_len.max(end);
        let set_len = (rules.up(end) > becomes).then_some(becomes);
        Ok(Self { head, body, tail, set_len })
    }
}
