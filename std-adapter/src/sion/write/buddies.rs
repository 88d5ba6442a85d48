//! Buddy sets that are to be made, and those that are in the way.

use super::builder::Builder;
use crate::error::Error;
use crate::sion::ErrorKind;
use crate::sion::siblings::copies_of;
use std::path::{Path, PathBuf};
use striae_core::sion::filegroups::{BuddySet, EvenFiles};

/// A buddy set that is to be made.
pub(super) struct BuddyPlan {
    pub(super) path: PathBuf,
    pub(super) builder: Builder,
    pub(super) set: BuddySet<EvenFiles>,
    pub(super) mapping: Vec<(u32, u32)>,
}

/// Refuses the name `path` for a new set of `nfiles` files if a reader would take files that are
/// there for copies of it. Those of its first `buddies` buddy sets are replaced with it.
pub(in crate::sion) fn refuse_others(path: &Path, nfiles: u32, buddies: u32) -> Result<(), Error> {
    let copies = copies_of(path, nfiles).map_err(|error| Error::new(path, error))?;
    match copies.into_iter().find(|copy| copy.buddy >= buddies) {
        None => Ok(()),
        Some(other) => {
            let kind = ErrorKind::OldBuddy { set: path.to_owned() };
            Err(Error::new(&other.path(path), kind))
        }
    }
}

/// Whether no number but 1 divides both.
pub(super) const fn have_no_common_divisor(mut a: u32, mut b: u32) -> bool {
    while let Some(rest) = a.checked_rem(b) {
        (a, b) = (b, rest);
    }
    a == 1
}
