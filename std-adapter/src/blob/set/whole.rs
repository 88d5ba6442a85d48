//! Whether the subfiles of a set are there and fit together.

use super::Set;
use crate::blob::runs::Elements;
use std::sync::{OnceLock, PoisonError};
use striae_core::store::usize_to_u64;

impl Set {
    /// Whether all subfiles are there, and what was read of them is whole and fits together: no
    /// element is in two blobs or outside of its array, and there are as many blobs as processes.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |one: &Elements| one.overlaps == 0 && one.outside == 0;
        let fits = self.elements.iter().filter_map(OnceLock::get).all(|one| fits(one));
        let is_there = lost.is_empty() && self.missing().next().is_none();
        is_there && fits && self.wrong_blobs().is_none()
    }

    /// The number of blobs in all subfiles, if all were opened and it is not that of the processes.
    #[must_use]
    pub fn wrong_blobs(&self) -> Option<u64> {
        let mut sum = 0_u64;
        for (index, _) in self.numbers() {
            let known = self.subfiles.get(index)?.get()?.as_ref()?;
            sum = sum.saturating_add(usize_to_u64(known.nblobs));
        }
        (self.missing_count() == 0 && sum != self.nprocs()).then_some(sum)
    }
}
