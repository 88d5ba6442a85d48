//! A machine that computes the checksum of a span.

use super::{ReadMachine, ReadStep};
use crate::integrity::Checksum;
use crate::span::Span;
use crate::store::usize_to_u64;
use core::convert::Infallible;

/// Computes the checksum of the bytes in a span, by reads of any length.
#[derive(Debug)]
pub(crate) struct SumOf {
    left: Span,
    crc: u32,
    checksum: Checksum,
}

impl SumOf {
    /// Continues `previous`, the checksum of the bytes before, with the bytes in `span`.
    pub(crate) const fn new(span: Span, previous: u32, checksum: Checksum) -> Self {
        Self { left: span, crc: previous, checksum }
    }
}

impl ReadMachine for SumOf {
    type Output = u32;
    type Error = Infallible;

    fn poll(&mut self) -> ReadStep<u32> {
        match self.left.is_empty() {
            true => ReadStep::Done(self.crc),
            false => ReadStep::Read { offset: self.left.offset(), need: 1, want: self.left.len() },
        }
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Infallible> {
        self.crc = (self.checksum)(self.crc, bytes);
        let len = usize_to_u64(bytes.len()).min(self.left.len());
        self.left = self.left.part(len, self.left.len().saturating_sub(len)).unwrap_or(Span::ZERO);
        Ok(())
    }
}
