//! The numbers of blobs in a variable-centric subfile.

use super::container::bytes_of;
use super::flaw::Flaw;
use super::grammar::{Local, numbers};
use super::subfile::Judge;
use crate::subject::Failed;
use alloc::vec::Vec;
use core::num::NonZeroU32;
use striae_core::blob::{Error, Part, Share};
use striae_core::cdf;
use striae_core::endian::ByteOrder;
use striae_core::step::DriveError;
use striae_core::store::ReadAt;

/// The tables of a decomposition in a variable-centric subfile: `nreqs`, `blob_start` and
/// `blob_count` of each blob.
pub(super) struct Tables([Vec<i64>; 3]);

/// A table in [`Tables`].
pub(super) const TABLES: [Part; 3] = [Part::Nreqs, Part::BlobStart, Part::BlobCount];

impl Tables {
    /// Reads the tables.
    pub(super) fn read<S: ReadAt>(store: &S, local: &Local) -> Result<Self, Failed<S, Flaw>> {
        let file_len = store.size().map_err(DriveError::Store)?;
        let [nreqs, start, count, ..] = local.variables;
        let mut tables = Self([Vec::new(), Vec::new(), Vec::new()]);
        for (placed, table) in [nreqs, start, count].into_iter().zip(&mut tables.0) {
            let span = placed.values;
            if !span.fits(file_len) {
                let (offset, end) = (span.offset(), span.end());
                return Err(DriveError::Format(Flaw::Cdf(cdf::Error::OutOfFile {
                    offset,
                    end,
                    file_len,
                })));
            }
            let bytes = bytes_of(store, span)?;
            let of = |value: Result<u64, i64>| value.map_or_else(|value| value, u64::cast_signed);
            table.extend(numbers(&bytes, placed.nc_type, ByteOrder::Big).map(of));
        }
        Ok(tables)
    }

    /// The numbers of elements that follow from `blob_start`, if it is in order.
    fn counts_by_starts(&self, nelems: u64) -> Option<Vec<u64>> {
        let [_, starts, _] = &self.0;
        let starts = starts.iter().map(|&start| u64::try_from(start).ok());
        let mut starts: Vec<_> = starts.collect::<Option<_>>()?;
        starts.push(nelems);
        let is_first = starts.first() == Some(&0);
        let mut pairs = starts.iter().zip(starts.iter().skip(1));
        let counts = pairs.by_ref().map(|(start, next)| next.checked_sub(*start));
        counts.collect::<Option<_>>().filter(|_| is_first)
    }

    /// The shares of the blobs, which are stored to `into`. The tables say each number twice: if
    /// the numbers of elements do not add up and the sums are in order, the sums count.
    pub(super) fn shares<'a>(
        &self,
        index: usize,
        local: &Local,
        into: impl Iterator<Item = &'a mut Share>,
        judge: Judge<'_>,
    ) -> Result<(), Error> {
        let id = u32::try_from(index).ok().and_then(|index| NonZeroU32::MIN.checked_add(index));
        let id = id.unwrap_or(NonZeroU32::MAX);
        let [nreqs, starts, counts] = &self.0;
        let sum = counts
            .iter()
            .try_fold(0_u64, |sum, &count| sum.checked_add(u64::try_from(count).ok()?));
        let proven = match sum == Some(local.nelems) {
            true => None,
            false => self.counts_by_starts(local.nelems),
        };
        let mut check = |part, blob, value: i64, max| match u64::try_from(value) {
            Err(_) => judge(Error::Negative { id, part, blob, value }).map(|()| 0),
            Ok(value) if value > max => {
                judge(Error::TooLarge { id, part, blob, value, max }).map(|()| 0)
            }
            Ok(value) => Ok(value),
        };
        let [nreqs_part, start_part, count_part] = TABLES;
        let (mut start, mut errors) = (0_u64, Vec::new());
        let rows = nreqs.iter().zip(starts).zip(counts);
        for (blob, (share, ((&nreqs, &begin), &count))) in (0..).zip(into.zip(rows)) {
            let nreqs = check(nreqs_part, blob, nreqs, local.max_nreqs)?;
            let left = local.nelems.saturating_sub(start);
            let place = usize::try_from(blob).unwrap_or(usize::MAX);
            let count = match proven.as_ref().and_then(|proven| proven.get(place)) {
                None => check(count_part, blob, count, left)?,
                Some(&expected) => {
                    if u64::try_from(count) != Ok(expected) {
                        errors.push((count_part, blob, count, expected));
                    }
                    expected
                }
            };
            let mut count = count;
            if u64::try_from(begin) != Ok(start) {
                errors.push((start_part, blob, begin, start));
                if proven.is_none() && sum != Some(local.nelems) {
                    count = 0; // neither number is proven
                }
            }
            *share = Share { nreqs, start, count };
            start = start.saturating_add(count);
        }
        for (part, blob, value, expected) in errors {
            judge(match u64::try_from(value) {
                Ok(value) => Error::Differs { id, part, blob, value, expected },
                Err(_) => Error::Negative { id, part, blob, value },
            })?;
        }
        match start == local.nelems {
            true => Ok(()),
            false => judge(Error::Elements { id, found: start, nelems: local.nelems }),
        }
    }
}
