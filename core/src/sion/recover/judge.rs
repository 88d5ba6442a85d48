//! The judgement which META2 belongs to the last commit, and how certain that is
//! (`spec/sion.md#recovery`).
//!
//! It assumes that damage is at one place: in the commit fields, in META2 or in its seal; or that
//! the file was cut. So META2 is where the commit fields point to, or where they point to with one
//! byte changed, and in the second case it is whole.

use super::certainty::Doubt;
use super::evidence::{Fields, Remains, Rival, Trust};
use super::places::Whole;
use super::scan::Sparse;
use super::trailer::Sealed;
use crate::sion::disk::varheader::Varheader;
use crate::sion::error::ReadError;

/// The META2 that the commit fields point to with one byte changed, or any found one if they are
/// lost.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Near {
    /// The latest META2 that is whole, and as sealed if it has a seal.
    pub(super) latest: Option<Whole>,
    /// The number of places that were checked.
    pub(super) tries: u32,
}

/// The most places near the commit fields that are checked: no writer leaves as many.
pub(super) const MANY: u32 = 64;

impl Near {
    /// Keeps the later one of two.
    pub(super) fn add(&mut self, found: Whole) {
        if self.latest.is_none_or(|latest| latest.bytes < found.bytes) {
            self.latest = Some(found);
        }
    }

    fn rival(&self, kind: fn(Varheader) -> Rival) -> Option<Rival> {
        match self.latest {
            _ if self.tries >= MANY => Some(Rival::Many),
            latest => latest.map(|latest| kind(latest.varheader)),
        }
    }
}

impl Remains {
    /// The evidence with META2, if one is found, and its trust.
    pub(super) fn judge<S: Sparse>(
        &self,
        store: &S,
        fields: Fields,
        window: &mut [u8],
    ) -> Result<Self, ReadError<S>> {
        let near = self.near(store, fields, window)?;
        // No writer puts META2 at another place, where near is whole at one of those.
        let is_writers = |named: &Varheader| near.latest.is_none() || self.is_place(named);
        let Some(named) = self.named(fields).filter(is_writers) else {
            return self.judge_unnamed(store, fields, &near, window);
        };
        // A natural one counts entry by entry, unless there is another to hold it against.
        let whole = match self.is_natural(&named) && near.latest.is_none() {
            true => None,
            false => self.whole(store, named, window)?,
        };
        let seal = self.seal_behind(store, &named, window)?;
        if whole.is_some() || seal.is_some() {
            let bytes = whole.map_or(u64::MAX, |whole| whole.bytes);
            let Some(later) = near.latest.filter(|near| bytes < near.bytes) else {
                return Ok(self.verdict(named, seal, near.rival(Rival::Older)));
            };
            // Both may be proven, and then so is which one is newer.
            let other = self.seal_behind(store, &later.varheader, window)?;
            let is_proven = |seal: &Option<Sealed>| {
                seal.as_ref().is_some_and(|seal| seal.word() == Trust::Sealed)
            };
            return Ok(match is_proven(&seal) && is_proven(&other) {
                true => self.verdict(later.varheader, other, Some(Rival::Older(named))),
                false => self.verdict(named, seal, near.rival(Rival::Other)),
            });
        }
        // Another maxchunks, and a seal that proves it.
        if let Some(near) = near.latest.filter(|near| near.varheader.start() == named.start()) {
            let seal = self.seal_behind(store, &near.varheader, window)?;
            if seal.as_ref().is_some_and(|seal| seal.meta1 && seal.meta2) {
                return Ok(self.verdict(near.varheader, seal, None));
            }
        }
        // META2 of the last commit is lost, in part or all of it.
        let has_part = self.has_counts(store, &named, named.maxchunks(), true)?;
        if self.is_natural(&named) || self.is_commit(&named) && has_part {
            let found = self.verdict(named, None, near.rival(Rival::Other));
            // Where a chunksize is damaged, all chunks after it are elsewhere.
            let is_doubtful =
                !self.is_natural(&named) && self.exceeds_sizes(store, named, window)?;
            let word = Trust::Doubtful(Doubt::Meta2Misplaced);
            return Ok(if is_doubtful { Self { word, ..found } } else { found });
        }
        match self.is_commit(&named) {
            true => self.judge_lost(store, named, &near, window),
            false => self.judge_unnamed(store, fields, &near, window),
        }
    }

    /// The verdict if nothing is left of the META2 that the commit fields point to: any other one
    /// may be older.
    fn judge_lost<S: Sparse>(
        &self,
        store: &S,
        named: Varheader,
        near: &Near,
        window: &mut [u8],
    ) -> Result<Self, ReadError<S>> {
        let seal = self.seal_at_end(store, None, window)?.filter(|seal| seal.meta1 && seal.meta2);
        let found = near.latest.map(|near| near.varheader).or(seal.map(|seal| seal.varheader));
        let found = if found.is_some() { found } else { self.search(store, window)? };
        let word = Trust::Doubtful(Doubt::Meta2Lost);
        Ok(Self { varheader: Some(found.unwrap_or(named)), word, ..*self })
    }

    /// The verdict if the commit fields do not point to a possible place of META2.
    fn judge_unnamed<S: Sparse>(
        &self,
        store: &S,
        fields: Fields,
        near: &Near,
        window: &mut [u8],
    ) -> Result<Self, ReadError<S>> {
        // Commits are only put after existing data, so a META2 that a close left at the end of the
        // file is that of the last commit.
        let seal = self.seal_at_end(store, None, window)?.filter(|seal| seal.meta1);
        if let Some(seal) = &seal
            && self.is_natural(&seal.varheader)
            && (seal.meta2 || seal.chunks)
        {
            let rival = near.rival(Rival::Older);
            return Ok(Self { varheader: Some(seal.varheader), word: seal.word(), rival, ..*self });
        }
        // No writer puts META2 where they point to, but readers find a whole one there.
        let stray = match self.named(fields).filter(|named| !self.is_place(named)) {
            Some(named) => self.whole(store, named, window)?.map(|_| Rival::Other(named)),
            None => None,
        };
        for candidate in self.corrected(fields).into_iter().flatten() {
            if self.is_end(store, &candidate)? && self.whole(store, candidate, window)?.is_some() {
                let rival = stray.or(near.rival(Rival::Older));
                return Ok(self.verdict(candidate, None, rival));
            }
        }
        let doubtful = |varheader, doubt| {
            let word = Trust::Doubtful(doubt);
            Ok(Self { varheader: Some(varheader), word, ..*self })
        };
        let (_, start) = fields;
        match near.latest {
            Some(near) if start != 0 => {
                let seal = self.seal_behind(store, &near.varheader, window)?;
                let rival = stray.filter(|_| seal.is_none());
                return Ok(self.verdict(near.varheader, seal, rival));
            }
            Some(near) => return doubtful(near.varheader, Doubt::Meta2NotNamed),
            None => {}
        }
        if let Some(seal) = seal.filter(|seal| seal.meta2) {
            return doubtful(seal.varheader, Doubt::OldSeal);
        }
        if let Some(found) = self.search(store, window)? {
            return doubtful(found, Doubt::Meta2NotNamed);
        }
        // Records may only prove what they are if the file was never committed.
        let found = match self.head.meta1.is_keyval() {
            true => self.search_all(store, window)?,
            false => Near::default(),
        };
        match found.latest {
            Some(found) => doubtful(found.varheader, Doubt::Meta2NotNamed),
            None => Ok(Self { rival: found.rival(Rival::Other), ..*self }),
        }
    }

    /// The verdict that META2 at `place`, with this seal, belongs to the last commit.
    fn verdict(&self, place: Varheader, seal: Option<Sealed>, rival: Option<Rival>) -> Self {
        let (varheader, word) = match seal {
            Some(seal) => (seal.varheader, seal.word()),
            None if self.is_natural(&place) => (place, Trust::Closed),
            None if self.is_commit(&place) => (place, Trust::Committed),
            None => (place, Trust::Doubtful(Doubt::Meta2Misplaced)),
        };
        Self { varheader: Some(varheader), word, rival, ..*self }
    }

    /// Checks all places that the commit fields point to with one byte changed, and
    /// start_of_varheader for a META2 with any number of rows.
    fn near<S: Sparse>(
        &self,
        store: &S,
        fields: Fields,
        window: &mut [u8],
    ) -> Result<Near, ReadError<S>> {
        let mut near = Near::default();
        let (maxchunks, start) = fields;
        let Ok(start) = u64::try_from(start) else { return Ok(near) };
        if start > 0 {
            let other = self.by_counts(store, start, &mut { u64::MAX }, window)?;
            let other = other.filter(|other| i64::from(other.maxchunks()) != maxchunks);
            self.look_at(store, other, &mut near, window)?;
        }
        for index in 0..8 {
            for value in 0..=u8::MAX {
                let mut bytes = start.to_le_bytes();
                let Some(byte) = bytes.get_mut(index) else { continue };
                *byte = value;
                let other = u64::from_le_bytes(bytes);
                if other == start || other >= self.head.file_len {
                    continue; // then it is not whole
                }
                let other = self.named((maxchunks, other.cast_signed()));
                self.look_at(store, other, &mut near, window)?;
            }
        }
        Ok(near)
    }

    fn look_at<S: Sparse>(
        &self,
        store: &S,
        place: Option<Varheader>,
        near: &mut Near,
        window: &mut [u8],
    ) -> Result<(), ReadError<S>> {
        let place = place.filter(|place| self.is_place(place));
        let place = place.filter(|place| place.span().fits(self.head.file_len));
        let Some(place) = place.filter(|_| near.tries < MANY) else { return Ok(()) };
        if !self.has_counts(store, &place, place.maxchunks(), false)? {
            return Ok(());
        }
        near.tries = near.tries.saturating_add(1);
        let Some(found) = self.whole(store, place, window)? else { return Ok(()) };
        // If the commit fields are damaged, then META2 of the last commit and its seal are not: one
        // that is not as sealed was being written where an older one had been.
        let seal = self.seal_behind(store, &place, window)?;
        if seal.is_none_or(|seal| seal.word() == Trust::Sealed) {
            near.add(found);
        }
        Ok(())
    }

    /// The place of META2 if one of the commit fields is right and the other one damaged.
    fn corrected(&self, (maxchunks, start): Fields) -> [Option<Varheader>; 2] {
        let by_start = u64::try_from(start).ok().and_then(|start| {
            let rows = self.blocks.before(start);
            self.varheader_at(start, u32::try_from(rows).ok()?)
        });
        let by_rows = u32::try_from(maxchunks)
            .ok()
            .and_then(|rows| self.varheader_at(self.blocks.end(rows.into())?, rows));
        [by_start, by_rows].map(|found| found.filter(|found| self.is_natural(found)))
    }
}
