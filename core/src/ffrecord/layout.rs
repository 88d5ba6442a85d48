//! Where the parts of an ffrecord file are: numbers in, spans out.

use super::raw::{Checksum, Header, Offset};
use crate::span::Span;

/// Bytes of the header.
const START: u64 = 12;

/// Bytes of an entry of the checksums.
const CHECKSUM: u64 = 4;

/// Bytes of an entry of the offsets.
const OFFSET: u64 = 8;

const _: () = assert!(Header::TABLE.len == 12);
const _: () = assert!(Checksum::TABLE.len == 4 && Offset::TABLE.len == 8);

/// The tables of a file of so many samples (`spec/ffrecord.md#header`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Layout {
    n: u64,
}

impl Layout {
    /// Most samples that a file can have: its offsets are `i64`.
    pub const MAX_SAMPLES: u64 = (i64::MAX.unsigned_abs() - START) / (CHECKSUM + OFFSET);

    /// That of a file of `n` samples, or `None` if the tables would end behind all offsets.
    #[must_use]
    pub const fn new(n: u64) -> Option<Self> {
        if n <= Self::MAX_SAMPLES { Some(Self { n }) } else { None }
    }

    /// Most samples of which a file of `file_len` bytes can have the tables.
    #[must_use]
    pub const fn most(file_len: u64) -> u64 {
        let n = file_len.saturating_sub(START) / (CHECKSUM + OFFSET);
        if n <= Self::MAX_SAMPLES { n } else { Self::MAX_SAMPLES }
    }

    /// Number of samples.
    #[must_use]
    pub const fn n(self) -> u64 {
        self.n
    }

    /// Bytes in front of the samples: the header and both tables, `12 + 12 n`.
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

    /// What [`Header::checksum_meta`] covers: all behind it up to the end of the tables.
    #[must_use]
    pub const fn summed(self) -> Span {
        table(CHECKSUM, 1, self.header_len().saturating_sub(CHECKSUM))
    }

    /// Where the checksum of sample `number` stands.
    #[must_use]
    pub const fn checksum_at(self, number: u64) -> u64 {
        checksum_at(number)
    }

    /// Where the offset of sample `number` stands.
    #[must_use]
    pub const fn offset_at(self, number: u64) -> u64 {
        number.saturating_mul(OFFSET).saturating_add(self.checksums().end())
    }
}

/// Where the checksum of sample `number` stands, however many there are.
pub(super) const fn checksum_at(number: u64) -> u64 {
    number.saturating_mul(CHECKSUM).saturating_add(START)
}

/// The table ends before `i64::MAX`: [`Layout::new`] saw to that.
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
