//! [`Split`] serves one request: the body is read into the caller's memory, the ends through a
//! bounce buffer.

use super::error::Error;
use super::rules::Rules;
use crate::span::Span;

/// An end of a request, or all of it, that is read into a bounce buffer and copied from there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounce {
    /// The aligned read.
    pub read: Span,
    /// The bytes of the read before the requested bytes.
    pub skip: u64,
    /// The bytes of the request before this part.
    pub at: u64,
    /// The number of requested bytes.
    pub len: u64,
}

/// A request, split into head, body and tail (`spec/align.md#split`).
///
/// Every byte is in one of the three. The body is aligned in the file and in the caller's memory;
/// it may be longer than [`Rules::max_io`], and can be cut at multiples of that. Head and tail are
/// shorter than a granule; without a body, the head is the whole request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Split {
    /// The part before the body.
    pub head: Option<Bounce>,
    /// The part that is read straight into the caller's memory, at `body.offset() -
    /// request.offset()` bytes into it.
    pub body: Option<Span>,
    /// The part after the body.
    pub tail: Option<Bounce>,
}

impl Split {
    /// Splits a request whose first byte goes to `address` in memory.
    ///
    /// # Errors
    /// [`Error::BehindEnd`] if the request ends after the end of the file.
    pub fn new(request: Span, address: u64, rules: &Rules) -> Result<Self, Error> {
        let (end, file_len) = (request.end(), rules.file_len());
        if request.is_empty() {
            return Ok(Self { head: None, body: None, tail: None });
        }
        if end > file_len {
            return Err(Error::BehindEnd { request: 0, end, file_len });
        }
        let bounce = |from: u64, to: u64| {
            let len = to.checked_sub(from).filter(|&len| len > 0)?;
            let read = Span::new(rules.down(from), rules.up(to).saturating_sub(rules.down(from)))?;
            let at = from.saturating_sub(request.offset());
            Some(Bounce { read, skip: from.saturating_sub(read.offset()), at, len })
        };
        let body = first_aligned(request.offset(), address, rules).and_then(|start| {
            let len = rules.down(end).checked_sub(start).filter(|&len| len > 0)?;
            Span::new(start, len)
        });
        Ok(match body {
            None => Self { head: bounce(request.offset(), end), body, tail: None },
            Some(span) => Self {
                head: bounce(request.offset(), span.offset()),
                body,
                tail: bounce(span.end(), end),
            },
        })
    }
}

/// The first offset from `offset` on that is aligned in the file and in memory, if the byte at
/// `offset` goes to `address`.
fn first_aligned(offset: u64, address: u64, rules: &Rules) -> Option<u64> {
    let memory = rules.memory();
    let first = rules.up(offset);
    // Where that is in memory, modulo its alignment: each unit that is left out adds one of these.
    let over = address.wrapping_add(first.saturating_sub(offset)) & memory.wrapping_sub(1);
    let missing = memory.saturating_sub(over) & memory.wrapping_sub(1);
    (rules.down(missing) == missing).then(|| first.saturating_add(missing))
}
