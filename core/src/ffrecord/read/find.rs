//! The machine that finds a sample: it reads its checksum, its offset and the next offset.

use super::open::Head;
use super::sample::{Row, Sample};
use crate::ffrecord::error::Error;
use crate::ffrecord::raw::{Checksum, Offset};
use crate::span::{Span, Stride};
use crate::step::{ReadMachine, ReadStep};
use zerocopy::FromBytes;

/// Finds a sample by its number: two reads, of 4 and of at most 16 bytes.
#[derive(Debug)]
pub struct Find {
    head: Head,
    number: u64,
    stage: Stage,
}

#[derive(Debug, Clone, Copy)]
enum Stage {
    Checksum,
    /// The checksum is known.
    Offsets(u32),
    Done(Sample),
}

impl Find {
    /// The bytes that the buffer needs.
    pub const WINDOW: usize = 2 * size_of::<Offset>();

    /// Makes a machine that finds sample `number`.
    ///
    /// # Errors
    /// [`Error::NoSample`] if there is no such sample.
    pub fn new(head: &Head, number: u64) -> Result<Self, Error> {
        head.check_number(number)?;
        Ok(Self { head: *head, number, stage: Stage::Checksum })
    }

    /// The places of all entries, before the first read.
    #[inline(always)] // nothing is left of it where a store does not listen
    pub(in crate::ffrecord) fn ahead(&self) -> [Stride; 2] {
        let layout = self.head.layout;
        let len = if self.is_last() { 8 } else { 16 };
        let offsets = Span::new(layout.offset_at(self.number), len);
        let checksum = Span::new(layout.checksum_at(self.number), 4);
        [checksum, offsets].map(|span| Stride::one(span.unwrap_or(Span::ZERO)))
    }

    fn is_last(&self) -> bool {
        self.number.saturating_add(1) >= self.head.layout.n()
    }

    /// The sample with the offsets in `bytes`.
    fn sample(&self, crc: u32, bytes: &[u8]) -> Result<Stage, Error> {
        let mut offsets = offsets_in(bytes);
        let start = offsets.next().unwrap_or(0); // the driver feeds what is needed
        let next = offsets.next().filter(|_| !self.is_last());
        Sample::parse(self.number, Row { crc, start, next }, &self.head).map(Stage::Done)
    }
}

/// The whole entries of a part of the table of offsets.
pub(in crate::ffrecord) fn offsets_in(bytes: &[u8]) -> impl Iterator<Item = i64> + '_ {
    let entries = bytes.chunks_exact(size_of::<Offset>());
    entries.filter_map(|entry| Offset::ref_from_bytes(entry).ok()).map(|entry| entry.offset.get())
}

impl ReadMachine for Find {
    type Output = Sample;
    type Error = Error;

    fn poll(&mut self) -> ReadStep<Sample> {
        let layout = self.head.layout;
        match self.stage {
            Stage::Checksum => {
                ReadStep::Read { offset: layout.checksum_at(self.number), need: 4, want: 4 }
            }
            Stage::Offsets(_) => {
                let (need, want) = if self.is_last() { (8, 8) } else { (16, 16) };
                ReadStep::Read { offset: layout.offset_at(self.number), need, want }
            }
            Stage::Done(sample) => ReadStep::Done(sample),
        }
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.stage = match self.stage {
            Stage::Checksum => {
                let entry = Checksum::ref_from_prefix(bytes);
                Stage::Offsets(entry.map_or(0, |(entry, _)| entry.checksum.get()))
            }
            Stage::Offsets(crc) => self.sample(crc, bytes)?,
            done @ Stage::Done(_) => done,
        };
        Ok(())
    }
}
