//! The machine that computes the checksum of the tables.

use super::open::Head;
use crate::ffrecord::error::Error;
use crate::integrity::Checksum;
use crate::step::{ReadMachine, ReadStep, SumOf};

/// Computes the CRC-32 of the number of samples and of both tables, in reads of any length; see
/// [`Head::check_meta`].
#[derive(Debug)]
pub struct MetaCrc(SumOf);

impl MetaCrc {
    /// Makes a machine for the tables of a file. `checksum` is a CRC-32 like
    /// [`crc32`](crate::integrity::crc32).
    #[must_use]
    pub const fn new(head: &Head, checksum: Checksum) -> Self {
        Self(SumOf::new(head.layout.summed(), 0, checksum))
    }
}

impl ReadMachine for MetaCrc {
    type Output = u32;
    type Error = Error;

    fn poll(&mut self) -> ReadStep<u32> {
        self.0.poll()
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.0.feed(bytes).map_err(|never| match never {})
    }
}
