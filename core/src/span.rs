//! Byte ranges of a file: layouts compute them, stores read and write them.

use core::num::NonZeroU64;
use zerocopy::FromZeros;

/// A range of bytes of a file: `len` bytes from `offset`.
///
/// The end never wraps: a span that would reach past `u64::MAX` cannot be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, FromZeros)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Span {
    offset: u64,
    len: u64,
}

impl Span {
    /// An empty span at offset 0.
    pub const ZERO: Self = Self { offset: 0, len: 0 };

    /// `len` bytes from `offset`, or `None` if the end exceeds `u64::MAX`.
    #[must_use]
    pub const fn new(offset: u64, len: u64) -> Option<Self> {
        match offset.checked_add(len) {
            Some(_) => Some(Self { offset, len }),
            None => None,
        }
    }

    /// A table of `count` entries of `entry_len` bytes from `offset`, or `None` if the end exceeds
    /// `u64::MAX`.
    #[must_use]
    pub const fn of_table(offset: u64, count: u64, entry_len: u64) -> Option<Self> {
        match count.checked_mul(entry_len) {
            Some(len) => Self::new(offset, len),
            None => None,
        }
    }

    /// `len` bytes from `offset`, whose end was checked before: a device needs no code for another
    /// check.
    #[cfg(feature = "gsd")]
    pub(crate) const fn exact(offset: u64, len: u64) -> Self {
        debug_assert!(offset.checked_add(len).is_some(), "the end was checked");
        Self { offset, len }
    }

    /// The bytes from `start` up to `end`, or `None` if `end` is less than `start`.
    #[must_use]
    pub const fn between(start: u64, end: u64) -> Option<Self> {
        match end.checked_sub(start) {
            Some(len) => Some(Self { offset: start, len }),
            None => None,
        }
    }

    /// The first byte, counted from the start of the file.
    #[must_use]
    pub const fn offset(self) -> u64 {
        self.offset
    }

    /// The number of bytes.
    #[must_use]
    pub const fn len(self) -> u64 {
        self.len
    }

    /// Whether the span has no bytes.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.len == 0
    }

    /// The offset after the last byte.
    #[must_use]
    pub const fn end(self) -> u64 {
        self.offset.wrapping_add(self.len) // exact: no span reaches past `u64::MAX`
    }

    /// The part of `len` bytes that starts `skip` bytes into the span, or `None` if it is not
    /// wholly inside the span.
    #[must_use]
    pub const fn part(self, skip: u64, len: u64) -> Option<Self> {
        match skip.checked_add(len) {
            Some(end) if end <= self.len => {
                // exact: it is not past the end
                Some(Self { offset: self.offset.wrapping_add(skip), len })
            }
            _ => None,
        }
    }

    /// The span without its first `skip` bytes, or `None` if it has fewer bytes.
    #[must_use]
    pub const fn rest(self, skip: u64) -> Option<Self> {
        match self.len.checked_sub(skip) {
            Some(len) => Some(Self { offset: self.offset.wrapping_add(skip), len }), // exact, too
            None => None,
        }
    }

    /// The span without its first `len` bytes; the empty span at its end if it has fewer bytes.
    #[must_use]
    pub const fn skip(self, len: u64) -> Self {
        match self.rest(len) {
            Some(rest) => rest,
            None => Self { offset: self.end(), len: 0 },
        }
    }

    /// The span after `part`, which has its first bytes.
    #[cfg(feature = "gsd")]
    pub(crate) const fn after(self, part: &[u8]) -> Self {
        let len = crate::store::usize_to_u64(part.len());
        debug_assert!(len <= self.len, "the span has the part");
        Self { offset: self.offset.wrapping_add(len), len: self.len.wrapping_sub(len) }
    }

    /// Entry `number` of a table of entries of `entry_len` bytes, or `None` if it is not wholly
    /// inside the span.
    #[must_use]
    pub const fn entry(self, number: u64, entry_len: u64) -> Option<Self> {
        match number.checked_mul(entry_len) {
            Some(skip) => self.part(skip, entry_len),
            None => None,
        }
    }

    /// The span of both, or `None` if `next` does not begin where this one ends.
    #[must_use]
    pub const fn joined(self, next: Self) -> Option<Self> {
        match self.end() == next.offset {
            true => Self::between(self.offset, next.end()),
            false => None,
        }
    }

    /// The span in pieces of `len` bytes, in order; the last piece may be shorter. An empty span
    /// has no pieces.
    pub fn pieces(self, len: NonZeroU64) -> impl Iterator<Item = Self> {
        let mut left = self;
        core::iter::from_fn(move || {
            let piece = left.part(0, left.len.min(len.get()))?;
            left = left.rest(piece.len)?;
            (piece.len > 0).then_some(piece)
        })
    }

    /// The front of `buf`: as many bytes as the span has, or all of `buf` if it is shorter.
    pub(crate) fn front_of(self, buf: &mut [u8]) -> &mut [u8] {
        let len = usize::try_from(self.len).unwrap_or(usize::MAX).min(buf.len());
        buf.get_mut(..len).unwrap_or_default()
    }

    /// Whether the two spans share a byte.
    #[must_use]
    pub const fn overlaps(self, other: Self) -> bool {
        self.len != 0 && other.len != 0 && self.offset < other.end() && other.offset < self.end()
    }

    /// Whether the span lies in the first `file_len` bytes.
    #[must_use]
    pub const fn fits(self, file_len: u64) -> bool {
        self.end() <= file_len
    }
}

/// Spans of one length at equal distances: an entry of each row of a table, or one span.
///
/// The last one ends at most at `u64::MAX`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Stride {
    first: Span,
    step: u64,
    count: u64,
}

impl Stride {
    /// No spans.
    pub const NONE: Self = Self { first: Span::ZERO, step: 0, count: 0 };

    /// `count` spans of the length of `first`, each `step` bytes after the one before. `None` if
    /// they overlap, or if the last one ends after `u64::MAX`.
    #[must_use]
    pub const fn new(first: Span, step: u64, count: u64) -> Option<Self> {
        if count > 1 && step < first.len {
            return None;
        }
        match step.checked_mul(count.saturating_sub(1)) {
            Some(skip) if first.end().checked_add(skip).is_some() => {
                Some(Self { first, step, count })
            }
            _ => None,
        }
    }

    /// One span, or none if it is empty.
    #[must_use]
    pub const fn one(span: Span) -> Self {
        if span.is_empty() { Self::NONE } else { Self { first: span, step: 0, count: 1 } }
    }

    /// The first span.
    #[must_use]
    pub const fn first(self) -> Span {
        self.first
    }

    /// The bytes from the start of one span to the start of the next.
    #[must_use]
    pub const fn step(self) -> u64 {
        self.step
    }

    /// The number of spans.
    #[must_use]
    pub const fn count(self) -> u64 {
        self.count
    }

    /// The bytes of all spans.
    #[must_use]
    pub const fn len(self) -> u64 {
        self.first.len.saturating_mul(self.count) // exact: they do not overlap
    }

    /// Whether no span has a byte.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// From the start of the first span to the end of the last one.
    #[must_use]
    pub const fn hull(self) -> Span {
        match self.last() {
            Some(last) => {
                Span { offset: self.first.offset, len: last.end().wrapping_sub(self.first.offset) }
            }
            None => Span { offset: self.first.offset, len: 0 },
        }
    }

    /// The last span, if there is one.
    const fn last(self) -> Option<Span> {
        match self.count.checked_sub(1) {
            Some(before) => self.get(before),
            None => None,
        }
    }

    /// Span `number`, from 0.
    #[must_use]
    pub const fn get(self, number: u64) -> Option<Span> {
        if number >= self.count {
            return None;
        }
        // exact: the last one was checked
        let skip = self.step.wrapping_mul(number);
        Some(Span { offset: self.first.offset.wrapping_add(skip), len: self.first.len })
    }

    /// The spans in order.
    pub fn spans(self) -> impl Iterator<Item = Span> + Clone {
        (0..self.count).filter_map(move |number| self.get(number))
    }

    /// Where the byte at `offset` is in the bytes of all spans, one after another, and how many
    /// bytes follow it in its span; `None` if no span has it.
    pub(crate) const fn find(self, offset: u64) -> Option<(u64, u64)> {
        let Some(skip) = offset.checked_sub(self.first.offset) else { return None };
        let (number, inside) = match (skip.checked_div(self.step), skip.checked_rem(self.step)) {
            (Some(number), Some(inside)) if self.count > 1 => (number, inside),
            _ => (0, skip),
        };
        if number >= self.count || inside >= self.first.len {
            return None;
        }
        let place = number.saturating_mul(self.first.len).saturating_add(inside);
        Some((place, self.first.len.wrapping_sub(inside)))
    }
}

/// The smallest multiple of `unit` that is at least `value`, or `None` if it exceeds `u64::MAX`.
#[must_use]
pub const fn round_up(value: u64, unit: NonZeroU64) -> Option<u64> {
    let unit = unit.get();
    if !cfg!(target_os = "none") && unit.is_power_of_two() {
        // Nearly all units are. A division takes longer than all else here; on a device, code is
        // dearer.
        let low = unit.wrapping_sub(1);
        return match value.checked_add(low) {
            Some(sum) => Some(sum & !low),
            None => None,
        };
    }
    match value.checked_rem(unit) {
        None | Some(0) => Some(value),
        Some(over) => value.checked_add(unit.wrapping_sub(over)), // exact: a rest is less
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
    fn what_is_left_and_what_is_joined_is_exact_or_refused() {
        let span = Span::new(100, 10).unwrap();
        assert_eq!(span.rest(3), Span::new(103, 7));
        assert_eq!(span.rest(10), Span::new(110, 0));
        assert_eq!(span.rest(11), None);
        assert_eq!(Span::between(100, 110), Some(span));
        assert_eq!(Span::between(100, 99), None);
        assert_eq!(span.joined(Span::new(110, 5).unwrap()), Span::new(100, 15));
        assert_eq!(span.joined(Span::new(109, 5).unwrap()), None);
        let last = Span::new(u64::MAX - 1, 1).unwrap();
        assert_eq!(last.joined(Span::new(u64::MAX, 0).unwrap()), Some(last));
    }

    #[test]
    fn an_entry_is_one_of_the_table() {
        let table = Span::of_table(100, 3, 8).unwrap();
        assert_eq!(table.entry(2, 8), Span::new(116, 8));
        for number in [3, u64::MAX / 8, u64::MAX / 8 + 1, u64::MAX] {
            assert_eq!(table.entry(number, 8), None);
        }
    }

    #[test]
    fn pieces_are_the_span() {
        for span in [(7, 0), (7, 1), (7, 9), (7, 10), (0, 30), (u64::MAX - 5, 5)] {
            let span = Span::new(span.0, span.1).unwrap();
            for len in [1, 3, 10, u64::MAX] {
                let mut joined = Span::new(span.offset(), 0).unwrap();
                for piece in span.pieces(NonZeroU64::new(len).unwrap()) {
                    assert!(!piece.is_empty() && piece.len() <= len);
                    assert!(piece.len() == len || piece.end() == span.end());
                    joined = joined.joined(piece).unwrap();
                }
                assert_eq!(joined, span);
            }
        }
    }

    #[test]
    fn a_stride_is_its_spans() {
        let first = Span::new(100, 8).unwrap();
        assert_eq!(Stride::new(first, 7, 2), None);
        assert_eq!(Stride::new(first, u64::MAX, 2), None);
        assert_eq!(Stride::new(first, 1 << 62, 5), None);
        assert!(Stride::one(Span::new(5, 0).unwrap()).is_empty());
        let stride = Stride::new(first, 20, 3).unwrap();
        let spans = [100, 120, 140].map(|at| Span::new(at, 8).unwrap());
        assert!(stride.spans().eq(spans));
        assert_eq!((stride.len(), stride.hull()), (24, Span::new(100, 48).unwrap()));
        for offset in 90..170 {
            let mut place = 0;
            let mut found = None;
            for span in &spans {
                if (span.offset()..span.end()).contains(&offset) {
                    found = Some((place + offset - span.offset(), span.end() - offset));
                }
                place += span.len();
            }
            assert_eq!(stride.find(offset), found, "{offset}");
        }
        assert_eq!(Stride::one(first).find(107), Some((7, 1)));
        assert_eq!(Stride::one(first).find(108), None);
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
