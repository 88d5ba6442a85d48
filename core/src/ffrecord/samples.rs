//! Listing samples: both tables in order, read through a window.

use super::ReadError;
use super::find::offsets_in;
use super::open::Head;
use super::raw::Checksum;
use super::sample::{Row, Sample};
use crate::step::{DriveError, read_exact};
use crate::store::{ReadAt, usize_to_u64};
use core::ops::Range;
use zerocopy::FromBytes;

/// Some samples in the order of their numbers.
///
/// A sample whose row cannot be right is an error in its place, and those behind it follow; an
/// error of the store is the last item.
#[derive(Debug)]
pub struct Samples<'s, S, W> {
    store: &'s S,
    head: Head,
    window: W,
    /// Samples whose rows are in the window: their checksums at its front, their offsets behind.
    have: Range<u64>,
    next: u64,
    end: u64,
}

/// Bytes of a row in both tables.
const ROW: usize = 12;

/// Bytes of the offset that ends the last sample of a window.
const END: usize = 8;

impl<'s, S: ReadAt, W: AsMut<[u8]>> Samples<'s, S, W> {
    /// Bytes that the window needs.
    pub const WINDOW: usize = ROW + END;

    pub(super) fn new(store: &'s S, head: &Head, numbers: Range<u64>, window: W) -> Self {
        let end = numbers.end.min(head.layout.n());
        Self { store, head: *head, window, have: 0..0, next: numbers.start, end }
    }

    /// Number of the sample that comes next, if there is one.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.next
    }

    fn fill(&mut self) -> Result<(), ReadError<S>> {
        let window = self.window.as_mut();
        let room = window.len().saturating_sub(END) / ROW;
        if room == 0 {
            return Err(DriveError::BufferTooSmall { need: Self::WINDOW });
        }
        let layout = self.head.layout;
        let count = self.end.saturating_sub(self.next).min(usize_to_u64(room));
        let behind = self.next.saturating_add(count);
        let rows = usize::try_from(count).unwrap_or(usize::MAX);
        // The offset behind the last row, but for the last sample of the file.
        let offsets = if behind < layout.n() { rows.saturating_add(1) } else { rows };
        let (checksums, rest) =
            window.split_at_mut_checked(rows.saturating_mul(4)).unwrap_or_default();
        let offsets = rest.get_mut(..offsets.saturating_mul(8)).unwrap_or_default();
        self.have = 0..0;
        read_exact(self.store, layout.checksum_at(self.next), checksums)?;
        read_exact(self.store, layout.offset_at(self.next), offsets)?;
        self.have = self.next..behind;
        Ok(())
    }

    /// The row of a sample that is in the window.
    fn row(&mut self, number: u64) -> Option<Row> {
        let all = self.have.end.saturating_sub(self.have.start);
        let all = usize::try_from(all).ok()?;
        let place = usize::try_from(number.checked_sub(self.have.start)?).ok()?;
        let window: &[u8] = self.window.as_mut();
        let (checksums, offsets) = window.split_at_checked(all.checked_mul(4)?)?;
        let (entry, _) = Checksum::ref_from_prefix(checksums.get(place.checked_mul(4)?..)?).ok()?;
        let mut offsets = offsets_in(offsets.get(place.checked_mul(8)?..)?);
        let start = offsets.next()?;
        let is_last = number.saturating_add(1) >= self.head.layout.n();
        let next = if is_last { None } else { Some(offsets.next()?) };
        Some(Row { crc: entry.checksum.get(), start, next })
    }
}

impl<S: ReadAt, W: AsMut<[u8]>> Iterator for Samples<'_, S, W> {
    type Item = Result<Sample, ReadError<S>>;

    fn next(&mut self) -> Option<Self::Item> {
        let number = self.next;
        if number >= self.end {
            return None;
        }
        if !self.have.contains(&number) {
            if let Err(error) = self.fill() {
                self.end = number;
                return Some(Err(error));
            }
        }
        let row = self.row(number)?;
        self.next = number.saturating_add(1);
        Some(Sample::parse(number, row, &self.head).map_err(DriveError::Format))
    }
}
