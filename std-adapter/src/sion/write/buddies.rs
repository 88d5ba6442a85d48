//! Buddy sets that are to be made, and those that are in the way.

use super::builder::Builder;
use crate::error::{Error, ErrorKind};
use crate::shown;
use crate::sion::file::{File, TaskEntry};
use crate::sion::siblings::file_of_buddy;
use std::path::{Path, PathBuf};
use striae_core::sion::filegroups::{BuddySet, EvenFiles};

/// A buddy set that is to be made.
pub(super) struct BuddyPlan {
    pub(super) path: PathBuf,
    pub(super) builder: Builder,
    pub(super) set: BuddySet<EvenFiles>,
    pub(super) mapping: Vec<(u32, u32)>,
}

/// Refuses a set of `nfiles` files with the name of an old buddy set that the new set, which has
/// `buddies` of them, does not replace: a reader would take the old one for a copy.
pub(super) fn refuse_other(
    path: &Path,
    (nfiles, buddies): (u32, u32),
    overwrite: bool,
) -> Result<(), Error> {
    let Some(other) = file_of_buddy(path, buddies, nfiles) else { return Ok(()) };
    if !overwrite {
        return Err(Error::new(&other, ErrorKind::Exists));
    }
    let (path, other) = (shown::path(path), shown::path(&other));
    log::warn!("{other}: is not a copy of the new {path}, but looks like one");
    Ok(())
}

/// Checks that the streams of the buddy set `copy` end where those of the set `main` do.
pub(super) fn check_copy(main: &File, copy: &File) -> Result<(), Error> {
    let mut copies = copy.tasks()?.filter(|task| {
        !task.as_ref().is_ok_and(|task| task.place.globalrank < 0) // keepers
    });
    for task in main.tasks()? {
        let task = task?;
        let end = |task: &TaskEntry| (task.place.globalrank, task.place.blockcount, task.bytes);
        let found = copies.next().transpose()?;
        if found.is_none_or(|found| end(&found) != end(&task)) {
            let kind = crate::sion::ErrorKind::Stale { task: task.task, main: main.path().into() };
            return Err(Error::new(copy.path(), kind));
        }
    }
    Ok(())
}

/// Whether no number but 1 divides both.
pub(super) const fn have_no_common_divisor(mut a: u32, mut b: u32) -> bool {
    while let Some(rest) = a.checked_rem(b) {
        (a, b) = (b, rest);
    }
    a == 1
}
