//! The names of the files of a set.

use crate::error::{Error, ErrorKind};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use striae_core::sion::filename::{Buddy, Sibling};
pub use striae_inspect::sion::PartOfSet;

/// The path of the set to which the file `part` with the path `path` belongs; `None` if the file
/// was renamed.
#[must_use]
pub fn set_path(part: PartOfSet, path: &Path) -> Option<PathBuf> {
    let suffix = Sibling(part.file).to_string();
    let name = path.as_os_str().as_bytes().strip_suffix(suffix.as_bytes())?;
    Some(PathBuf::from(OsStr::from_bytes(name))).filter(|set| set.file_name().is_some())
}

/// The number at the end of a file's name.
pub(super) fn number_of(path: &Path) -> u32 {
    Sibling::of_name(&path.to_string_lossy()).0
}

/// The numbers of the existing files next to `path` that are named like files of its set. The run
/// time does not depend on the number of files that the set claims.
pub(super) fn siblings_of(path: &Path) -> io::Result<BTreeSet<u32>> {
    let name = path.file_name().unwrap_or_default();
    let parent = path.parent().filter(|parent| *parent != Path::new(""));
    let mut numbers = BTreeSet::new();
    for entry in std::fs::read_dir(parent.unwrap_or(Path::new(".")))? {
        numbers.extend(sibling_number(name, &entry?.file_name()));
    }
    Ok(numbers)
}

/// The number that the file name `other` has in the set with the name `name`.
fn sibling_number(name: &OsStr, other: &OsStr) -> Option<u32> {
    let suffix = other.as_encoded_bytes().strip_prefix(name.as_encoded_bytes())?;
    let suffix = std::str::from_utf8(suffix).ok()?;
    let number = Sibling::of_name(suffix);
    (number.to_string() == suffix).then_some(number.0)
}

/// Path of the physical file `number` of the set at `path`.
pub(crate) fn sibling_path(path: &Path, number: u32) -> PathBuf {
    with_suffix(path, Sibling(number))
}

/// Path of the first file of the buddy set `number` of the set at `path`.
#[must_use]
pub fn buddy_path(path: &Path, number: u32) -> PathBuf {
    with_suffix(path, Buddy(number))
}

/// Number of buddy sets that are looked for: their numbers have two digits.
pub(super) const MAX_BUDDIES: u32 = 100;

/// The copy of the physical file `number` of the set at `path` in a buddy set, if the file does not
/// exist and the copy does.
pub(crate) fn copy_if_lost(path: &Path, number: u32) -> Option<PathBuf> {
    if !is_lost(&sibling_path(path, number)) {
        return None;
    }
    let mut copies = (0..MAX_BUDDIES).map(|buddy| sibling_path(&buddy_path(path, buddy), number));
    copies.find(|copy| !is_lost(copy))
}

/// The first file that exists of buddy set `buddy` of the set at `path`, which has `nfiles` files.
/// A reader looks for each of them, also if others are lost.
pub(super) fn file_of_buddy(path: &Path, buddy: u32, nfiles: u32) -> Option<PathBuf> {
    let buddy = buddy_path(path, buddy);
    (0..nfiles).map(|number| sibling_path(&buddy, number)).find(|file| !is_lost(file))
}

fn is_lost(path: &Path) -> bool {
    let found = std::fs::symlink_metadata(path);
    found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

fn with_suffix(path: &Path, suffix: impl fmt::Display) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix.to_string());
    name.into()
}

/// Adds to an error about a file of a set why the file is expected to exist.
pub(super) fn of_sibling(error: Error, first: &Path, nfiles: u32) -> Error {
    if error.path() == first {
        return error;
    }
    let path = error.path().to_owned();
    match error.into_kind() {
        ErrorKind::Io(error) => {
            Error::new(&path, super::ErrorKind::Sibling { error, first: first.to_owned(), nfiles })
        }
        kind => Error::new(&path, kind),
    }
}
