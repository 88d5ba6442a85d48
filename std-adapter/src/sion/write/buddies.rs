//! Buddy sets that are to be made, and those that are in the way.

use super::builder::Builder;
use crate::error::{Error, ErrorKind};
use crate::shown;
use crate::sion::siblings::buddy_path;
use std::io;
use std::path::{Path, PathBuf};
use striae_core::sion::filegroups::{BuddySet, EvenFiles};

/// A buddy set that is to be made.
pub(super) struct BuddyPlan {
    pub(super) path: PathBuf,
    pub(super) builder: Builder,
    pub(super) set: BuddySet<EvenFiles>,
    pub(super) mapping: Vec<(u32, u32)>,
}

/// Refuses a name beside which there is a buddy set that is not one of the new set: a reader
/// would take it for its copy.
pub(super) fn refuse_other(path: &Path, buddies: u32, overwrite: bool) -> Result<(), Error> {
    let other = buddy_path(path, buddies);
    match std::fs::symlink_metadata(&other) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        _ if overwrite => {
            let (path, other) = (shown::path(path), shown::path(&other));
            log::warn!("{other}: is not a copy of the new {path}, but looks like one");
            Ok(())
        }
        _ => Err(Error::new(&other, ErrorKind::Exists)),
    }
}

/// Whether no number but 1 divides both.
pub(super) const fn have_no_common_divisor(mut a: u32, mut b: u32) -> bool {
    while let Some(rest) = a.checked_rem(b) {
        (a, b) = (b, rest);
    }
    a == 1
}
