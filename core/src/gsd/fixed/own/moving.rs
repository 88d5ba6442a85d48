//! The machine that copies a block to another place.

use crate::span::Span;
use crate::step::{Machine, Step};
use crate::store::{copy_front, usize_to_u64};
use core::convert::Infallible;

/// Bytes that are copied at once.
pub(super) const PIECE: usize = 64;

const ZEROS: [u8; PIECE] = [0; PIECE];

/// Copies bytes to another place, and writes others and then zeros after them. The driver needs a
/// buffer of at most [`PIECE`] bytes.
#[derive(Debug)]
pub(super) struct Move<'b> {
    /// What is still to be read.
    from: Span,
    /// What was read, and how much of it is not written.
    piece: [u8; PIECE],
    unwritten: usize,
    bytes: &'b [u8],
    /// What is still to be written.
    to: Span,
}

impl<'b> Move<'b> {
    /// Makes the machine that fills `to` with the bytes at `from`, then `bytes`, then zeros.
    pub(super) const fn new(from: Span, bytes: &'b [u8], to: Span) -> Self {
        Self { from, piece: ZEROS, unwritten: 0, bytes, to }
    }
}

impl Machine for Move<'_> {
    type Output = ();
    type Error = Infallible;

    fn poll(&mut self) -> Step<'_, ()> {
        let left = self.to.len();
        let bytes = if self.unwritten > 0 {
            self.piece.get(..core::mem::take(&mut self.unwritten))
        } else if !self.from.is_empty() {
            let want = self.from.len().min(usize_to_u64(PIECE));
            return Step::Read { offset: self.from.offset(), need: 1, want };
        } else if !self.bytes.is_empty() {
            Some(core::mem::take(&mut self.bytes))
        } else {
            ZEROS.get(..usize::try_from(left).unwrap_or(PIECE).min(PIECE))
        };
        let (bytes, offset) = (bytes.unwrap_or_default(), self.to.offset());
        self.to = self.to.skip(usize_to_u64(bytes.len()));
        match bytes.is_empty() {
            true => Step::Done(()),
            false => Step::Write { offset, bytes },
        }
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Infallible> {
        self.unwritten = copy_front(bytes, &mut self.piece);
        self.from = self.from.skip(usize_to_u64(bytes.len()));
        Ok(())
    }
}
