//! The layout of an ffrecord file: numbers in, spans out.

use super::raw::{Checksum, Header, Offset};
use crate::span::Span;

/// The bytes of the header.
const START: u64 = 12;

/// The bytes of an entry of the table of checksums.
const CHECKSUM: u64 = 4;

/// The bytes of an entry of the table of offsets.
const OFFSET: u64 = 8;

const _: () = assert!(Header::TABLE.len == 12);
const _: () = assert!(Checksum::TABLE.len == 4 && Offset::TABLE.len == 8);

/// The places of the tables of a file (`spec/ffrecord.md#header`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Layout {
    n: u64,
}

impl Layout {
    /// The most samples of a file: its offsets are `i64`.
    pub const MAX_SAMPLES: u64 = (i64::MAX.unsigned_abs() - START) / (CHECKSUM + OFFSET);

    /// The layout of a file with `n` samples, or `None` if the tables would end after the largest
    /// offset.
    #[must_use]
    pub const fn new(n: u64) -> Option<Self> {
        if n <= Self::MAX_SAMPLES { Some(Self { n }) } else { None }
    }

    /// The most samples whose tables fit into a file of `file_len` bytes.
    #[must_use]
    pub const fn most(file_len: u64) -> u64 {
        let n = file_len.saturating_sub(START) / (CHECKSUM + OFFSET);
        if n <= Self::MAX_SAMPLES { n } else { Self::MAX_SAMPLES }
    }

    /// The number of samples.
    #[must_use]
    pub const fn n(self) -> u64 {
        self.n
    }

    /// The bytes before the samples: the header and both tables, `12 + 12 n`.
    #[must_use]
    pub const fn header_len(self) -> u64 {
        self.n.saturating_mul(CHECKSUM + OFFSET).saturating_add(START) // exact, as the others
    }

    /// The table of checksums.
    #[must_use]
    pub const fn checksums(self) -> Span {
        table(START, self.n, CHECKSUM)
    }

    /// The table of offsets.
    #[must_use]
    pub const fn offsets(self) -> Span {
        table(self.checksums().end(), self.n, OFFSET)
    }

    /// The bytes that [`Header::checksum_meta`] covers: from its end to the end of the tables.
    #[must_use]
    pub const fn summed(self) -> Span {
        table(CHECKSUM, 1, self.header_len().saturating_sub(CHECKSUM))
    }

    /// The offset of the entry with the checksum of sample `number`.
    #[must_use]
    pub const fn checksum_at(self, number: u64) -> u64 {
        checksum_at(number)
    }

    /// The offset of the entry with the offset of sample `number`.
    #[must_use]
    pub const fn offset_at(self, number: u64) -> u64 {
        number.saturating_mul(OFFSET).saturating_add(self.checksums().end())
    }
}

/// The offset of the entry with the checksum of sample `number`, which does not depend on `n`.
pub(super) const fn checksum_at(number: u64) -> u64 {
    number.saturating_mul(CHECKSUM).saturating_add(START)
}

/// The span of a table. It ends before `i64::MAX`, which [`Layout::new`] has checked.
const fn table(offset: u64, count: u64, entry_len: u64) -> Span {
    match Span::of_table(offset, count, entry_len) {
        Some(span) => span,
        None => Span::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_follow_the_header_without_a_gap() {
        for n in [0, 1, 2, 5, 300, 1 << 40, Layout::MAX_SAMPLES] {
            let layout = Layout::new(n).unwrap();
            assert_eq!(layout.header_len(), 12 + 12 * n);
            assert_eq!(layout.checksums(), Span::new(12, 4 * n).unwrap());
            assert_eq!(layout.offsets(), Span::new(12 + 4 * n, 8 * n).unwrap());
            assert_eq!(layout.summed(), Span::new(4, 8 + 12 * n).unwrap());
            assert_eq!(layout.checksum_at(n), layout.offsets().offset());
            assert_eq!(layout.offset_at(n), layout.header_len());
        }
    }

    #[test]
    fn no_table_ends_behind_the_last_offset() {
        assert!(Layout::new(Layout::MAX_SAMPLES).unwrap().header_len() <= i64::MAX.unsigned_abs());
        for n in [Layout::MAX_SAMPLES + 1, i64::MAX.unsigned_abs(), u64::MAX] {
            assert_eq!(Layout::new(n), None);
        }
        for (file_len, n) in [(0, 0), (12, 0), (23, 0), (24, 1), (35, 1), (36, 2)] {
            assert_eq!(Layout::most(file_len), n);
        }
        assert_eq!(Layout::most(u64::MAX), Layout::MAX_SAMPLES);
    }
}
