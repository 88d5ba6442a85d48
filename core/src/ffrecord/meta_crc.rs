//! The checksum of the tables, computed through a window.

use super::error::Error;
use super::open::Head;
use crate::integrity::Checksum;
use crate::span::Span;
use crate::step::{ReadMachine, ReadStep};
use crate::store::usize_to_u64;

/// Computes the CRC-32 of the number of samples and of both tables, in reads of any length; see
/// [`Head::check_meta`].
#[derive(Debug)]
pub struct MetaCrc {
    left: Span,
    crc: u32,
    checksum: Checksum,
}

impl MetaCrc {
    /// Sums up the tables of a file with `checksum`, a CRC-32 as
    /// [`crc32`](crate::integrity::crc32) is.
    #[must_use]
    pub const fn new(head: &Head, checksum: Checksum) -> Self {
        Self { left: head.layout.summed(), crc: 0, checksum }
    }
}

impl ReadMachine for MetaCrc {
    type Output = u32;
    type Error = Error;

    fn poll(&mut self) -> ReadStep<u32> {
        match self.left.is_empty() {
            true => ReadStep::Done(self.crc),
            false => ReadStep::Read { offset: self.left.offset(), need: 1, want: self.left.len() },
        }
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.crc = (self.checksum)(self.crc, bytes);
        let len = usize_to_u64(bytes.len()).min(self.left.len());
        self.left = self.left.part(len, self.left.len().saturating_sub(len)).unwrap_or(Span::ZERO);
        Ok(())
    }
}
