//! Byte ranges of a file: the answer of every layout, the question of every store.

use core::num::NonZeroU64;

/// A range of bytes of a file: `len` bytes from `offset`.
///
/// Its end never wraps: a span that would reach past `u64::MAX` cannot be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Span {
    offset: u64,
    len: u64,
}

impl Span {
    /// No byte at all.
    pub const ZERO: Self = Self { offset: 0, len: 0 };

    /// `len` bytes from `offset`, or `None` if the end is no `u64`.
    #[must_use]
    pub const fn new(offset: u64, len: u64) -> Option<Self> {
        match offset.checked_add(len) {
            Some(_) => Some(Self { offset, len }),
            None => None,
        }
    }

    /// A table of `count` entries of `entry_len` bytes from `offset`, or `None` if its end is no
    /// `u64`.
    #[must_use]
    pub const fn of_table(offset: u64, count: u64, entry_len: u64) -> Option<Self> {
        match count.checked_mul(entry_len) {
            Some(len) => Self::new(offset, len),
            None => None,
        }
    }

    /// First byte, counted from the start of the file.
    #[must_use]
    pub const fn offset(self) -> u64 {
        self.offset
    }

    /// Number of bytes.
    #[must_use]
    pub const fn len(self) -> u64 {
        self.len
    }

    /// Whether there is no byte in it.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.len == 0
    }

    /// The byte behind the last one.
    #[must_use]
    pub const fn end(self) -> u64 {
        self.offset.saturating_add(self.len) // exact: `new` checked it
    }

    /// The part of `len` bytes that starts `skip` bytes into the span, or `None` if it is not
    /// wholly inside.
    #[must_use]
    pub const fn part(self, skip: u64, len: u64) -> Option<Self> {
        match skip.checked_add(len) {
            Some(end) if end <= self.len => Self::new(self.offset.saturating_add(skip), len),
            _ => None,
        }
    }

    /// Whether the two share a byte.
    #[must_use]
    pub const fn overlaps(self, other: Self) -> bool {
        self.len != 0 && other.len != 0 && self.offset < other.end() && other.offset < self.end()
    }

    /// Whether all of it lies in the first `file_len` bytes.
    #[must_use]
    pub const fn fits(self, file_len: u64) -> bool {
        self.end() <= file_len
    }
}

/// The smallest multiple of `unit` that is at least `value`, or `None` if that is no `u64`.
#[must_use]
pub const fn round_up(value: u64, unit: NonZeroU64) -> Option<u64> {
    let unit = unit.get();
    match value.checked_rem(unit) {
        None | Some(0) => Some(value),
        Some(over) => value.checked_add(unit.saturating_sub(over)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_never_wraps() {
        assert_eq!(Span::new(u64::MAX, 0).unwrap().end(), u64::MAX);
        assert_eq!(Span::new(u64::MAX, 1), None);
        assert_eq!(Span::of_table(8, u64::MAX / 8, 8), None);
        assert_eq!(Span::of_table(7, u64::MAX / 8, 8).unwrap().end(), u64::MAX);
    }

    #[test]
    fn a_part_is_inside() {
        let span = Span::new(100, 10).unwrap();
        assert_eq!(span.part(3, 7), Span::new(103, 7));
        assert_eq!(span.part(10, 0), Span::new(110, 0));
        assert_eq!(span.part(3, 8), None);
        assert_eq!(span.part(u64::MAX, 2), None);
    }

    #[test]
    fn only_shared_bytes_overlap() {
        let span = |offset, len| Span::new(offset, len).unwrap();
        assert!(span(0, 10).overlaps(span(9, 1)));
        assert!(!span(0, 10).overlaps(span(10, 1)));
        assert!(!span(0, 10).overlaps(span(5, 0)));
    }

    #[test]
    fn rounding_up_is_exact_or_refused() {
        let unit = |n| NonZeroU64::new(n).unwrap();
        assert_eq!(round_up(0, unit(512)), Some(0));
        assert_eq!(round_up(1, unit(512)), Some(512));
        assert_eq!(round_up(1554, unit(777)), Some(1554));
        assert_eq!(round_up(u64::MAX, unit(1)), Some(u64::MAX));
        assert_eq!(round_up(u64::MAX, unit(2)), None);
    }
}
