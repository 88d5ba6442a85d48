//! A sample: its checksum and where its bytes are.

use super::error::Error;
use super::open::Head;
use super::raw;
use crate::integrity::Checksum;
use crate::span::Span;

/// A sample (`spec/ffrecord.md#samples`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Sample {
    /// Its number, from 0.
    pub number: u64,
    /// CRC-32 of its bytes, as the file has it; that of no byte is 0.
    pub crc: u32,
    /// Where its bytes are; they lie in the file, behind the tables.
    pub span: Span,
}

/// What the tables say of a sample: its checksum, its offset and that of the next one, if there is
/// one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) crc: u32,
    pub(super) start: i64,
    pub(super) next: Option<i64>,
}

impl Sample {
    /// Sample `number` of a file, if its row is right: it starts behind the tables, and ends where
    /// the next one starts, or with the file.
    ///
    /// # Errors
    /// [`Error::TooSmall`], [`Error::TooLarge`].
    pub(super) fn parse(number: u64, row: Row, head: &Head) -> Result<Self, Error> {
        let (field, layout) = (raw::Offset::offset, head.layout);
        let last = i64::try_from(head.file_len).unwrap_or(i64::MAX);
        let check = |number, value: i64, min: i64| {
            let offset = layout.offset_at(number);
            if value < min {
                return Err(Error::TooSmall { field, offset, value, min });
            }
            if value > last {
                return Err(Error::TooLarge { field, offset, value, max: last });
            }
            Ok(value.unsigned_abs())
        };
        let min = i64::try_from(layout.header_len()).unwrap_or(i64::MAX);
        let start = check(number, row.start, min)?;
        let end = match row.next {
            Some(next) => check(number.saturating_add(1), next, row.start)?,
            None => head.file_len,
        };
        let span = Span::new(start, end.saturating_sub(start)).unwrap_or(Span::ZERO);
        Ok(Self { number, crc: row.crc, span })
    }

    /// Compares `bytes`, which must be all of the sample's, with its checksum.
    ///
    /// # Errors
    /// [`Error::Checksum`].
    pub fn check(&self, bytes: &[u8], checksum: Checksum) -> Result<(), Error> {
        self.check_crc(checksum(0, bytes))
    }

    /// Compares the CRC-32 of the sample's bytes with its checksum.
    ///
    /// # Errors
    /// [`Error::Checksum`].
    pub fn check_crc(&self, computed: u32) -> Result<(), Error> {
        let stored = self.crc;
        if stored == computed {
            return Ok(());
        }
        // Where checksums are does not depend on how many there are.
        let offset = super::layout::checksum_at(self.number);
        Err(Error::Checksum { field: raw::Checksum::checksum, offset, stored, computed })
    }
}
