//! The search for META2 in a file whose commit fields do not point to it.

use super::evidence::Remains;
use super::judge::{MANY, Near};
use super::scan::Sparse;
use crate::sion::disk::varheader::Varheader;
use crate::sion::error::ReadError;
use crate::sion::raw;
use crate::span::Span;
use crate::step::DriveError;
use crate::store::usize_to_u64;

impl Remains {
    /// Whether the file ends right after META2 at `place` and the mapping.
    pub(super) fn is_end<S: Sparse>(
        &self,
        store: &S,
        place: &Varheader,
    ) -> Result<bool, ReadError<S>> {
        let Some(behind) = self.head.file_len.checked_sub(place.span().end()) else {
            return Ok(false);
        };
        let size_len = u64::from(raw::MappingSize::TABLE.len);
        Ok(match self.head.meta1.is_first_of_several() {
            false => behind == 0 || behind == size_len,
            true => self.mapping_len(store, place)? == behind,
        })
    }

    /// META2 at the end of the file, where a close or a commit would have put it.
    pub(super) fn search<S: Sparse>(
        &self,
        store: &S,
        window: &mut [u8],
    ) -> Result<Option<Varheader>, ReadError<S>> {
        let table_len = self.head.meta1.layout().table_len();
        let rows = self.head.file_len.checked_sub(self.blocks.first.saturating_add(table_len));
        let row_len = self.blocks.globalskip.saturating_add(table_len);
        let most = rows.and_then(|rows| rows.checked_div(row_len)).unwrap_or(0);
        // How long the mapping is, only the mapping says.
        let tries = if self.head.meta1.is_first_of_several() { TRIES } else { 1 };
        let closed = (1..=most).rev().take(tries);
        for place in closed.filter_map(|rows| {
            let maxchunks = u32::try_from(rows).ok()?;
            self.varheader_at(self.blocks.end(rows)?, maxchunks)
        }) {
            if self.is_end(store, &place)? && self.whole(store, place, window)?.is_some() {
                return Ok(Some(place));
            }
        }
        let mut budget = u64::MAX;
        for back in 1..=usize_to_u64(TRIES) {
            let end = self.head.file_len & !511;
            let Some(start) = end.checked_sub(back.saturating_sub(1).saturating_mul(512)) else {
                break;
            };
            let place = self.by_counts(store, start, &mut budget, window)?;
            let Some(place) = place else { continue };
            if self.is_commit(&place)
                && self.is_end(store, &place)?
                && self.whole(store, place, window)?.is_some()
            {
                return Ok(Some(place));
            }
        }
        Ok(None)
    }

    /// META2 anywhere in a key-value file: after any block or at any multiple of 512, whole, and
    /// with streams that consist of records. If only the commit fields are lost, this finds the
    /// META2 of the last commit, as a commit leaves it and its streams unchanged.
    pub(super) fn search_all<S: Sparse>(
        &self,
        store: &S,
        window: &mut [u8],
    ) -> Result<Near, ReadError<S>> {
        // Places that look like META2 may take as long as all of the file.
        let (mut found, mut budget) = (Near::default(), self.head.file_len);
        let from = self.head.meta1.layout().meta1_end();
        self.each_start(store, from, &mut |start| {
            self.look_for_records(store, start, &mut found, &mut budget, window)?;
            Ok(true)
        })?;
        Ok(found)
    }

    /// Calls `each` with every offset from `from` on where a close or a commit may have put META2,
    /// except for holes of the file, until it returns `false`.
    pub(super) fn each_start<S: Sparse>(
        &self,
        store: &S,
        from: u64,
        each: &mut dyn FnMut(u64) -> Result<bool, ReadError<S>>,
    ) -> Result<(), ReadError<S>> {
        let mut at = from;
        while let Some(rest) = self.head.file_len.checked_sub(at) {
            let rest = Span::new(at, rest).unwrap_or(Span::ZERO);
            let data = store.first_data(rest).map_err(DriveError::Store)?;
            let Some(data) = data else { break };
            // META2 begins with a blockcount, whose zero bytes may come before the data.
            let mut start = self.next_start(data.offset().saturating_sub(7).max(at));
            while start < data.end() {
                if !each(start)? {
                    return Ok(());
                }
                start = self.next_start(start.saturating_add(1));
            }
            at = data.end().max(at.saturating_add(1));
        }
        Ok(())
    }

    /// The first offset from `at` on where a close or a commit may put META2.
    fn next_start(&self, at: u64) -> u64 {
        let multiple = at.checked_next_multiple_of(512).unwrap_or(u64::MAX);
        let into = at.saturating_sub(self.blocks.first);
        let rows = into.div_ceil(self.blocks.globalskip.max(1)).max(1);
        let natural = self.blocks.end(rows).filter(|&end| end >= at);
        natural.map_or(multiple, |end| end.min(multiple))
    }

    /// META2 at `start`, by its blockcounts: they allow no more rows than there are blocks before
    /// it. Subtracts the bytes that it reads from `budget`.
    pub(super) fn found_at<S: Sparse>(
        &self,
        store: &S,
        start: u64,
        budget: &mut u64,
        window: &mut [u8],
    ) -> Result<Option<Varheader>, ReadError<S>> {
        let most = u32::try_from(self.blocks.before(start)).unwrap_or(u32::MAX);
        match self.varheader_at(start, 1) {
            Some(place) if self.has_counts(store, &place, most, false)? => {
                self.by_counts(store, start, budget, window)
            }
            _ => Ok(None),
        }
    }

    fn look_for_records<S: Sparse>(
        &self,
        store: &S,
        start: u64,
        found: &mut Near,
        budget: &mut u64,
        window: &mut [u8],
    ) -> Result<(), ReadError<S>> {
        if found.tries >= MANY {
            return Ok(());
        }
        if let Some(place) = self.found_at(store, start, budget, window)?
            && self.is_place(&place)
            && place.span().fits(self.head.file_len)
        {
            *budget = budget.saturating_sub(place.span().len());
            if let Some(whole) = self.whole(store, place, window)? {
                *budget = budget.saturating_sub(whole.bytes);
                if self.has_records(store, place, window)? {
                    found.add(whole);
                }
            }
        }
        if *budget == 0 {
            found.tries = MANY;
        }
        Ok(())
    }
}

/// The number of places that are tried for META2 if the commit fields do not point to it.
const TRIES: usize = 1024;
