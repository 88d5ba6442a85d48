//! [`Write`] splits one write into aligned blocks, and gives the file's length after it.

use super::error::Error;
use super::rules::Rules;
use crate::span::Span;

/// A block at an end of a write that the write does not cover completely.
///
/// Read the first `read` bytes of the block, set the others to zero, copy `len` bytes of the write
/// to `skip`, and write the whole block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    /// The block: a unit of the file.
    pub block: Span,
    /// The bytes of the block that the file has, if they are needed; else 0.
    pub read: u64,
    /// The bytes of the block before the written bytes.
    pub skip: u64,
    /// The bytes of the write before this part.
    pub at: u64,
    /// The number of bytes of the write in this block.
    pub len: u64,
}

/// A write of any span, as aligned blocks (`spec/align.md#writing`).
///
/// Write the edges first, then the body, and then set the length of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Write {
    /// The first block, if the write does not begin at its start; if the write also ends in it, the
    /// whole write.
    pub head: Option<Edge>,
    /// The whole blocks, which are at `body.offset() - span.offset()` bytes into the write.
    pub body: Option<Span>,
    /// The last block, if the write does not end at its end.
    pub tail: Option<Edge>,
    /// The length to which the file must be set after the write, if blocks made it too long.
    pub set_len: Option<u64>,
}

impl Write {
    /// Plans the write of `span` to a file of [`Rules::file_len`] bytes. The span may be after its
    /// end.
    ///
    /// # Errors
    /// [`Error::FileTooLong`] if the end of the span, rounded up, exceeds the largest offset.
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
            // The file has no bytes after the write: nothing to keep. Bytes before it are always
            // kept.
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
