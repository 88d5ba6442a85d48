//! [`Sample`]: the checksum of a sample and the place of its bytes.

use super::open::Head;
use crate::ffrecord::error::Error;
use crate::ffrecord::raw;
use crate::integrity::Checksum;
use crate::span::Span;

/// A sample (`spec/ffrecord.md#samples`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Sample {
    /// The number of the sample, from 0.
    pub number: u64,
    /// The CRC-32 of the sample's bytes as stored; 0 for an empty sample.
    pub crc: u32,
    /// The place of the sample's bytes, which is in the file and after the tables.
    pub span: Span,
}

/// The entries of a sample in the tables: its checksum, its offset and the offset of the next
/// sample, if there is one.
#[derive(Debug, Clone, Copy)]
pub(in crate::ffrecord) struct Row {
    pub(in crate::ffrecord) crc: u32,
    pub(in crate::ffrecord) start: i64,
    pub(in crate::ffrecord) next: Option<i64>,
}

impl Sample {
    /// Makes sample `number` of its entries. It must start after the tables, and it ends where the
    /// next sample starts, or at the end of the file.
    ///
    /// # Errors
    /// [`Error::TooSmall`] and [`Error::TooLarge`] for a wrong offset.
    pub(in crate::ffrecord) fn parse(number: u64, row: Row, head: &Head) -> Result<Self, Error> {
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

    /// Compares `bytes`, which must be all bytes of the sample, with its checksum.
    ///
    /// # Errors
    /// [`Error::Checksum`] if they differ.
    pub fn check(&self, bytes: &[u8], checksum: Checksum) -> Result<(), Error> {
        self.check_crc(checksum(0, bytes))
    }

    /// Compares the CRC-32 of the sample's bytes with its checksum.
    ///
    /// # Errors
    /// [`Error::Checksum`] if they differ.
    pub fn check_crc(&self, computed: u32) -> Result<(), Error> {
        let stored = self.crc;
        if stored == computed {
            return Ok(());
        }
        // Where checksums are does not depend on how many there are.
        let offset = crate::ffrecord::layout::checksum_at(self.number);
        Err(Error::Checksum { field: raw::Checksum::checksum, offset, stored, computed })
    }
}
