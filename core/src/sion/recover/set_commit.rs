//! The commit of the whole set that a file is of (`spec/sion.md#set-commits`).
//!
//! In the middle of such a commit, the META2 of the commit before is still whole in every file, and
//! the META2 of this one is already durable in every file. So a file can be taken to either of
//! them.

use super::evidence::{Remains, Trust};
use super::scan::Sparse;
use super::scratch::WINDOW;
use crate::sion::disk::varheader::Varheader;
use crate::sion::error::ReadError;
use crate::step::DriveError;

/// The commit of the whole set that a file is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum SetCommit {
    /// The commit of the set with this number, which is at least 1.
    Number(u32),
    /// A commit of this file alone.
    Own,
    /// The last commit is not known, or there was none.
    Unknown,
}

impl Remains {
    /// The commit of the whole set that META2 is of.
    #[must_use]
    pub const fn set_commit(&self) -> SetCommit {
        let number = match &self.varheader {
            Some(varheader) => varheader.set_number(),
            None => 0,
        };
        match self.word {
            word if word.is_sealed() && number > 0 => SetCommit::Number(number),
            Trust::None | Trust::Doubtful(_) => SetCommit::Unknown,
            _ => SetCommit::Own,
        }
    }

    /// The identity of the set that the seal of META2 names, 0 if it names none; `None` without
    /// such a seal.
    #[must_use]
    pub fn set_identity(&self) -> Option<u32> {
        let sealed = self.varheader.filter(|_| self.word.is_sealed());
        sealed.map(|varheader| varheader.set_identity())
    }

    /// This file in the state of commit `number` of the whole set; `None` if it does not have
    /// the META2 of that commit as it was sealed. `window` needs [`super::WINDOW`] bytes.
    ///
    /// If all files of a set have that commit, then damage in one of them does not make it look
    /// like the last one: so no other META2 makes streams uncertain.
    ///
    /// # Errors
    /// [`DriveError::BufferTooSmall`] if `window` is too small; the store's own error.
    pub fn at_set_commit<S: Sparse>(
        &self,
        store: &S,
        number: u32,
        window: &mut [u8],
    ) -> Result<Option<Self>, ReadError<S>> {
        if self.set_commit() == SetCommit::Number(number) {
            return Ok(Some(Self { rival: None, ..*self }));
        }
        let mut found = None;
        self.each_set_commit(store, window, &mut |place| {
            if place.set_number() == number {
                found = Some(place);
            }
            found.is_none()
        })?;
        // The seal has a checksum of the chunksizes, and of META2.
        let (word, rival, has_lost_sizes) = (Trust::Sealed, None, false);
        let found = found.map(Some);
        Ok(found.map(|varheader| Self { varheader, word, rival, has_lost_sizes, ..*self }))
    }

    /// The largest number of a commit of the whole set, also of one that never became visible; 0 if
    /// there is none. A later commit needs a larger number. `window` needs [`super::WINDOW`] bytes.
    ///
    /// # Errors
    /// [`DriveError::BufferTooSmall`] if `window` is too small; the store's own error.
    pub fn last_set_number<S: Sparse>(
        &self,
        store: &S,
        window: &mut [u8],
    ) -> Result<u32, ReadError<S>> {
        let mut last = self.varheader.map_or(0, |varheader| varheader.set_number());
        self.each_set_commit(store, window, &mut |place| {
            last = last.max(place.set_number());
            true
        })?;
        Ok(last)
    }

    /// Calls `each` with every META2 after the blocks in use that is as sealed, until it returns
    /// `false`. While a commit of the set is under way, tasks write only before its META2 and that
    /// of the commit before.
    fn each_set_commit<S: Sparse>(
        &self,
        store: &S,
        window: &mut [u8],
        each: &mut dyn FnMut(Varheader) -> bool,
    ) -> Result<(), ReadError<S>> {
        if window.len() < WINDOW {
            return Err(DriveError::BufferTooSmall { need: WINDOW });
        }
        let rows = match self.set_commit() {
            SetCommit::Unknown => 0,
            _ => self.varheader.map_or(0, |varheader| varheader.maxchunks()),
        };
        let from = self.blocks.end(rows.into()).unwrap_or(u64::MAX);
        // Commits do not lie in each other, so all of them are not more than the file.
        let mut budget = self.head.file_len;
        let mut left = budget;
        self.each_start(store, from, &mut |start| {
            let Some(place) = self.found_at(store, start, &mut budget, window)? else {
                return Ok(budget > 0);
            };
            let seal = self.seal_behind(store, &place, window)?;
            if seal.is_some() {
                left = left.saturating_sub(place.span().len()); // checksums were computed
            }
            let sealed = seal.filter(|seal| seal.word() == Trust::Sealed);
            Ok(sealed.is_none_or(|seal| each(seal.varheader)) && budget.min(left) > 0)
        })
    }
}
