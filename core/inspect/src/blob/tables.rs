//! The numbers of blobs in a variable-centric subfile.

use super::container::{bytes_of, room};
use super::flaw::Flaw;
use super::grammar::{Local, id_of, numbers};
use crate::subject::Failed;
use alloc::vec::Vec;
use core::num::NonZeroU32;
use striae_core::blob::{Error, Part, Share};
use striae_core::cdf;
use striae_core::endian::ByteOrder;
use striae_core::store::ReadAt;

/// What to do with an error of the tables, or of the places of variables: the first one ends the
/// reading, or it goes on with what is proved otherwise.
pub type Judge<'a> = &'a mut dyn FnMut(Flaw) -> Result<(), Flaw>;

/// The tables of a decomposition in a variable-centric subfile: `nreqs`, `blob_start` and
/// `blob_count` of each blob.
pub(super) struct Tables([Vec<i64>; 3]);

/// A table in [`Tables`].
pub(super) const TABLES: [Part; 3] = [Part::Nreqs, Part::BlobStart, Part::BlobCount];

impl Tables {
    /// Refuses tables that are not in the file.
    pub(super) fn must_fit(local: &Local, file_len: u64) -> Result<(), Flaw> {
        let mut spans = local.variables.iter().take(TABLES.len()).map(|placed| placed.values);
        match spans.find(|span| !span.fits(file_len)) {
            None => Ok(()),
            Some(span) => {
                let (offset, end) = (span.offset(), span.end());
                Err(Flaw::Cdf(cdf::Error::OutOfFile { offset, end, file_len }))
            }
        }
    }

    /// Reads the tables, which are in the file.
    pub(super) fn read<S: ReadAt>(store: &S, local: &Local) -> Result<Self, Failed<S, Flaw>> {
        let [nreqs, start, count, ..] = local.variables;
        let mut tables = Self([Vec::new(), Vec::new(), Vec::new()]);
        for (placed, table) in [nreqs, start, count].into_iter().zip(&mut tables.0) {
            let bytes = bytes_of(store, placed.values)?;
            room(table, bytes.len() / 4)?; // as many or more
            let of = |value: Result<u64, i64>| value.map_or_else(|value| value, u64::cast_signed);
            table.extend(numbers(&bytes, placed.nc_type, ByteOrder::Big).map(of));
        }
        Ok(tables)
    }

    /// The numbers of elements that follow from `blob_start`; `None` where it is out of order.
    fn counts_by_starts(&self, nelems: u64) -> impl Iterator<Item = Option<u64>> {
        let [_, starts, _] = &self.0;
        let ends = starts.iter().skip(1).map(|&start| u64::try_from(start).ok());
        let ends = ends.chain([Some(nelems)]);
        let pairs = starts.iter().map(|&start| u64::try_from(start).ok()).zip(ends);
        pairs.map(|(start, end)| end?.checked_sub(start?))
    }

    /// The shares of the blobs, which are stored to `into`. The tables say each number twice: if
    /// the numbers of elements do not add up and the sums are in order, the sums count.
    pub(super) fn shares<'a>(
        &self,
        index: usize,
        local: &Local,
        into: impl Iterator<Item = &'a mut Share>,
        judge: Judge<'_>,
    ) -> Result<(), Flaw> {
        let mut judge = |error: Error| judge(error.into());
        let id = id_of(index).unwrap_or(NonZeroU32::MAX);
        let [nreqs, starts, counts] = &self.0;
        let sum = counts
            .iter()
            .try_fold(0_u64, |sum, &count| sum.checked_add(u64::try_from(count).ok()?));
        let is_proven = sum != Some(local.nelems)
            && starts.first() == Some(&0)
            && self.counts_by_starts(local.nelems).all(|count| count.is_some());
        let by_starts = self.counts_by_starts(local.nelems);
        let mut start = 0_u64;
        let rows = nreqs.iter().zip(starts).zip(counts.iter().zip(by_starts));
        for (blob, (share, ((&nreqs, &begin), (&stored, by_starts)))) in (0..).zip(into.zip(rows)) {
            let mut check = |part, value: i64, max| match u64::try_from(value) {
                Err(_) => judge(Error::Negative { id, part, blob, value }).map(|()| 0),
                Ok(value) if value > max => {
                    judge(Error::TooLarge { id, part, blob, value, max }).map(|()| 0)
                }
                Ok(value) => Ok(value),
            };
            let [nreqs_part, start_part, count_part] = TABLES;
            let nreqs = check(nreqs_part, nreqs, local.max_nreqs)?;
            let left = local.nelems.saturating_sub(start);
            let proven = by_starts.filter(|_| is_proven);
            let mut count = match proven {
                None => check(count_part, stored, left)?,
                Some(count) => count,
            };
            let mut differs = |part, value, expected| match u64::try_from(value) {
                Ok(value) if value == expected => Ok(()),
                Ok(value) => judge(Error::Differs { id, part, blob, value, expected }),
                Err(_) => judge(Error::Negative { id, part, blob, value }),
            };
            if proven.is_some() {
                differs(count_part, stored, count)?;
            }
            differs(start_part, begin, start)?;
            if u64::try_from(begin) != Ok(start) && !is_proven && sum != Some(local.nelems) {
                count = 0; // neither number is proven
            }
            *share = Share { nreqs, start, count };
            start = start.saturating_add(count);
        }
        match start == local.nelems {
            true => Ok(()),
            false => judge(Error::Elements { id, found: start, nelems: local.nelems }),
        }
    }
}
