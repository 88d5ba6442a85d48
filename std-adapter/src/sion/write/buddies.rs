//! Buddy sets that are to be made, and those that are in the way.

use super::builder::Builder;
use crate::error::Error;
use crate::sion::ErrorKind;
use crate::sion::siblings::copies_of;
use std::path::{Path, PathBuf};
use striae_core::sion::filegroups::{BuddySet, EvenFiles, FileGroups};
use striae_core::sion::filename::Buddy;

/// A buddy set that is to be made.
pub(super) struct BuddyPlan {
    pub(super) path: PathBuf,
    pub(super) builder: Builder,
    pub(super) set: BuddySet<EvenFiles>,
    pub(super) mapping: Vec<(u32, u32)>,
}

/// Checks, before any file is made, that a new set of `nfiles` files at `path` can have `buddies`
/// buddy sets, and that there is no other buddy set that a reader would take for a copy of it:
/// what [`Builder::create`] does, for other writers of sets.
///
/// # Errors
/// [`Buddies`](ErrorKind::Buddies) for a number of buddy sets that SIONlib does not write;
/// [`OldBuddy`](ErrorKind::OldBuddy) for a file of another buddy set;
/// [`OutOfRange`](striae_core::sion::Error::OutOfRange) for no files; an error of the operating
/// system.
pub fn check_buddies(path: &Path, nfiles: u32, buddies: u32) -> Result<(), Error> {
    let one_task_each = EvenFiles::new(nfiles.into(), nfiles.into());
    let groups = one_task_each.map_err(|error| Error::new(path, error))?;
    (0..buddies).try_for_each(|level| buddy_set(path, groups, level).map(drop))?;
    refuse_others(path, nfiles, buddies)
}

/// The buddy set number `level` of a set at `path`.
pub(super) fn buddy_set(
    path: &Path,
    groups: EvenFiles,
    level: u32,
) -> Result<BuddySet<EvenFiles>, Error> {
    let nfiles = groups.nfiles();
    let refused = || Error::new(path, ErrorKind::Buddies { buddy: level, nfiles });
    if !have_no_common_divisor(level.saturating_add(1), nfiles) {
        return Err(refused());
    }
    BuddySet::new(groups, Buddy(level)).map_err(|_| refused())
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
const fn have_no_common_divisor(mut a: u32, mut b: u32) -> bool {
    while let Some(rest) = a.checked_rem(b) {
        (a, b) = (b, rest);
    }
    a == 1
}
