//! [`Samples`] lists samples: both tables are read in order, through a window.

use super::find::offsets_in;
use super::open::Head;
use super::sample::{Row, Sample};
use crate::ffrecord::ReadError;
use crate::ffrecord::error::Error;
use crate::ffrecord::raw::Checksum;
use crate::span::{Span, Stride};
use crate::step::{DriveError, Fill, Need, fill};
use crate::store::{ReadAt, usize_to_u64};
use core::convert::Infallible;
use core::ops::Range;
use zerocopy::FromBytes;
#[cfg(feature = "async")]
use {crate::ffrecord::AsyncError, crate::step::fill_async, crate::store::AsyncReadAt};

/// An iterator over samples in the order of their numbers.
///
/// If the entries of a sample are wrong, the list has an error in its place and goes on with the
/// next sample. An error of the store ends the list.
#[derive(Debug)]
pub struct Samples<'s, S, W> {
    store: &'s S,
    head: Head,
    window: W,
    /// The samples in the window: their checksums come first, then their offsets.
    have: Range<u64>,
    /// Whether the window has the checksums of the next samples, and their offsets are read next.
    is_half: bool,
    next: u64,
    end: u64,
}

/// The bytes of a sample's entries in both tables.
const ROW: usize = 12;

/// The bytes of the offset that ends the last sample of a window.
const END: usize = 8;

impl<'s, S, W: AsMut<[u8]>> Samples<'s, S, W> {
    /// The bytes that the window needs.
    pub const WINDOW: usize = ROW + END;

    pub(in crate::ffrecord) fn new(
        store: &'s S,
        head: &Head,
        numbers: Range<u64>,
        window: W,
    ) -> Self {
        let end = numbers.end.min(head.layout.n());
        Self { store, head: *head, window, have: 0..0, is_half: false, next: numbers.start, end }
    }

    /// The number of the next sample, if there is one.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.next
    }

    const fn is_over(&self) -> bool {
        self.next >= self.end
    }

    /// The number of samples that the window can take at once.
    fn count(&mut self) -> u64 {
        let room = self.window.as_mut().len().saturating_sub(END) / ROW;
        self.end.saturating_sub(self.next).min(usize_to_u64(room))
    }

    /// The next item, if filling the window succeeded.
    fn item<E>(&mut self, filled: Result<(), DriveError<E, Error>>) -> Item<E> {
        let number = self.next;
        if let Err(error) = filled {
            self.end = number;
            return Some(Err(error));
        }
        let row = self.row(number)?;
        self.next = number.saturating_add(1);
        Some(Sample::parse(number, row, &self.head).map_err(DriveError::Format))
    }

    /// The entries of a sample in the window.
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

type Item<E> = Option<Result<Sample, DriveError<E, Error>>>;

impl<S, W: AsMut<[u8]>> Fill for Samples<'_, S, W> {
    type Error = Error;

    fn need(&mut self) -> Result<Option<Need<'_>>, DriveError<Infallible, Error>> {
        if self.have.contains(&self.next) {
            return Ok(None);
        }
        let (layout, next, count) = (self.head.layout, self.next, self.count());
        if count == 0 {
            return Err(DriveError::BufferTooSmall { need: Self::WINDOW });
        }
        self.have = 0..0;
        let rows = usize::try_from(count).unwrap_or(usize::MAX);
        let window = self.window.as_mut();
        let (checksums, rest) =
            window.split_at_mut_checked(rows.saturating_mul(4)).unwrap_or_default();
        if !self.is_half {
            return Ok(Some((layout.checksum_at(next), checksums)));
        }
        // Also the offset after the last row, except for the last sample of the file.
        let is_last = next.saturating_add(count) >= layout.n();
        let offsets = if is_last { rows } else { rows.saturating_add(1) };
        let offsets = rest.get_mut(..offsets.saturating_mul(8)).unwrap_or_default();
        Ok(Some((layout.offset_at(next), offsets)))
    }

    fn ahead(&self) -> Option<[Stride; 2]> {
        let is_first = self.have.end == 0 && !self.is_half;
        is_first.then(|| {
            let (layout, next, end) = (self.head.layout, self.next, self.end);
            let after = end.saturating_add(1).min(layout.n());
            let checksums = Span::between(layout.checksum_at(next), layout.checksum_at(end));
            let offsets = Span::between(layout.offset_at(next), layout.offset_at(after));
            [checksums, offsets].map(|span| Stride::one(span.unwrap_or(Span::ZERO)))
        })
    }

    fn filled(&mut self) {
        if self.is_half {
            self.have = self.next..self.next.saturating_add(self.count());
        }
        self.is_half = !self.is_half;
    }
}

impl<S: ReadAt, W: AsMut<[u8]>> Iterator for Samples<'_, S, W> {
    type Item = Result<Sample, ReadError<S>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over() {
            return None;
        }
        let filled = fill(self, self.store);
        self.item(filled)
    }
}

#[cfg(feature = "async")]
impl<S: AsyncReadAt, W: AsMut<[u8]>> Samples<'_, S, W> {
    /// The next sample: [`Iterator::next`] for an asynchronous store.
    pub async fn next_async(&mut self) -> Option<Result<Sample, AsyncError<S>>> {
        if self.is_over() {
            return None;
        }
        let filled = fill_async(self, self.store).await;
        self.item(filled)
    }
}
