//! [`Samples`] lists samples: both tables are read in order, through a window.

use super::find::offsets_in;
use super::open::Head;
use super::sample::{Row, Sample};
#[twin(ReadError = AsyncError)]
use crate::ffrecord::error::ReadError;
use crate::ffrecord::raw::Checksum;
use crate::span::{Span, Stride};
use crate::step::DriveError;
#[twin(read_exact)]
use crate::step::read_exact;
#[twin(ReadAt)]
use crate::store::ReadAt;
use crate::store::usize_to_u64;
use core::ops::Range;
use striae_twin::twin;
use zerocopy::FromBytes;

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
        Self { store, head: *head, window, have: 0..0, next: numbers.start, end }
    }

    /// The number of the next sample, if there is one.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.next
    }

    /// The number of samples that the window can take at once.
    fn count(&mut self) -> u64 {
        let room = self.window.as_mut().len().saturating_sub(END) / ROW;
        self.end.saturating_sub(self.next).min(usize_to_u64(room))
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

#[twin(ReadAt, ReadError = AsyncError)]
impl<S: ReadAt, W: AsMut<[u8]>> Samples<'_, S, W> {
    /// The next sample: that of the [`Iterator`].
    #[allow(clippy::should_implement_trait, reason = "it does, and this has two forms")]
    pub async fn next(&mut self) -> Option<Result<Sample, ReadError<S>>> {
        let number = self.next;
        if number >= self.end {
            return None;
        }
        if !self.have.contains(&number)
            && let Err(error) = self.load().await
        {
            self.end = number;
            return Some(Err(error));
        }
        let row = self.row(number)?;
        self.next = number.saturating_add(1);
        Some(Sample::parse(number, row, &self.head).map_err(DriveError::Format))
    }

    /// Reads the entries of the next samples into the window.
    async fn load(&mut self) -> Result<(), ReadError<S>> {
        let (store, layout, next, count) = (self.store, self.head.layout, self.next, self.count());
        if count == 0 {
            return Err(DriveError::BufferTooSmall { need: Self::WINDOW });
        }
        let (last, n) = (next.saturating_add(count), layout.n());
        if self.have.end == 0 {
            // Also the offset after the last row, except for the last sample of the file.
            let after = self.end.saturating_add(1).min(n);
            let checksums = Span::between(layout.checksum_at(next), layout.checksum_at(self.end));
            let offsets = Span::between(layout.offset_at(next), layout.offset_at(after));
            let both = [checksums, offsets].map(|span| Stride::one(span.unwrap_or(Span::ZERO)));
            store.will_read(&both).await;
        }
        self.have = 0..0;
        let rows = usize::try_from(count).unwrap_or(usize::MAX);
        let window = self.window.as_mut();
        let (checksums, rest) =
            window.split_at_mut_checked(rows.saturating_mul(4)).unwrap_or_default();
        read_exact(store, layout.checksum_at(next), checksums).await?;
        let offsets = if last >= n { rows } else { rows.saturating_add(1) };
        let offsets = rest.get_mut(..offsets.saturating_mul(8)).unwrap_or_default();
        read_exact(store, layout.offset_at(next), offsets).await?;
        self.have = next..last;
        Ok(())
    }
}

impl<S: ReadAt, W: AsMut<[u8]>> Iterator for Samples<'_, S, W> {
    type Item = Result<Sample, ReadError<S>>;

    fn next(&mut self) -> Option<Self::Item> {
        Samples::next(self)
    }
}
