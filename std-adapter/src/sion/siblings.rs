//! The names of the files of a set.

use crate::error::{Error, ErrorKind};
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use striae_core::sion::Meta1;
use striae_core::sion::filename::{Buddy, Sibling};
use striae_inspect::sion;
pub use striae_inspect::sion::PartOfSet;

/// The path of the set to which the file `part` with the path `path` belongs; `None` if the file
/// was renamed.
#[must_use]
pub fn set_path(part: PartOfSet, path: &Path) -> Option<PathBuf> {
    let set = without_number(path, part.file)?;
    (set.file_name().is_some()).then(|| set.to_owned())
}

/// A path without the number of a file at its end; `None` if that is not there.
fn without_number(path: &Path, number: u32) -> Option<&Path> {
    let suffix = Sibling(number).to_string();
    let name = path.as_os_str().as_bytes().strip_suffix(suffix.as_bytes())?;
    Some(Path::new(OsStr::from_bytes(name)))
}

/// The existing files of the set to which the file at `path` belongs, whose META1 is `meta1`; only
/// that file if it was renamed, or is alone.
pub(super) fn all_of_set(path: &Path, meta1: &Meta1) -> Vec<PathBuf> {
    if meta1.files_in_set() == 1 {
        return vec![path.to_owned()];
    }
    let first = without_number(path, number_of(path)).unwrap_or(path);
    let numbers = siblings_of(first).unwrap_or_default(); // none in a folder that cannot be listed
    let siblings = numbers.into_iter().map(|number| sibling_path(first, number));
    siblings.chain([first.to_owned(), path.to_owned()]).collect()
}

/// The number at the end of a file's name.
pub(super) fn number_of(path: &Path) -> u32 {
    Sibling::of_name(&path.to_string_lossy()).0
}

/// The number of files of the set whose file 0 is at `path`; 1 for a file that is read alone.
pub(crate) fn files_of(meta1: &Meta1, path: &Path) -> io::Result<u32> {
    sion::files_of(meta1, number_of(path), |numbers| {
        Ok(siblings_of(path)?.range(numbers).next().is_some())
    })
}

/// The numbers of the existing files next to `path` that are named like files of its set. The run
/// time does not depend on the number of files that the set claims.
pub(super) fn siblings_of(path: &Path) -> io::Result<BTreeSet<u32>> {
    let mut numbers = BTreeSet::new();
    for suffix in suffixes(path)? {
        numbers.extend(sibling_number(&suffix?));
    }
    Ok(numbers)
}

/// Of each existing file whose name begins with that of `path`, the rest of the name.
fn suffixes(path: &Path) -> io::Result<impl Iterator<Item = io::Result<OsString>>> {
    let name = path.file_name().unwrap_or_default().as_bytes();
    let parent = path.parent().filter(|parent| *parent != Path::new(""));
    let entries = std::fs::read_dir(parent.unwrap_or(Path::new(".")))?;
    Ok(entries.filter_map(move |entry| match entry {
        Ok(entry) => {
            let other = entry.file_name();
            let suffix = other.as_bytes().strip_prefix(name)?;
            Some(Ok(OsStr::from_bytes(suffix).to_owned()))
        }
        Err(error) => Some(Err(error)),
    }))
}

/// The number of the file of a set whose name ends with `suffix` after the name of the set.
fn sibling_number(suffix: &OsStr) -> Option<u32> {
    let suffix = suffix.to_str()?;
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

/// Where the files of a set are: each under its own name or, if it is lost, in a buddy set.
#[derive(Debug)]
pub(crate) struct Places<'a> {
    path: &'a Path,
    /// The files of buddy sets; they are looked for when the first file is lost.
    copies: OnceCell<BTreeSet<CopyName>>,
}

impl<'a> Places<'a> {
    /// The places of the files of the set at `path`.
    pub(crate) const fn new(path: &'a Path) -> Self {
        Self { path, copies: OnceCell::new() }
    }

    /// The path of the physical file `number`, or of its copy in the first buddy set that has one
    /// if the file is lost.
    pub(crate) fn find(&self, number: u32) -> PathBuf {
        let own = sibling_path(self.path, number);
        if !is_lost(&own) {
            return own;
        }
        let copies = self.copies.get_or_init(|| copies_of(self.path, u32::MAX).unwrap_or_default());
        let first = CopyName { file: number, buddy: 0 };
        let copy = copies.range(first..).next().filter(|copy| copy.file == number);
        copy.map_or(own, |copy| copy.path(self.path))
    }
}

/// The name of a file of a buddy set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CopyName {
    /// Number of the file.
    pub(super) file: u32,
    /// Number of the buddy set.
    pub(super) buddy: u32,
}

impl CopyName {
    /// The path of this file of a buddy set of the set at `path`.
    pub(super) fn path(self, path: &Path) -> PathBuf {
        sibling_path(&buddy_path(path, self.buddy), self.file)
    }

    /// Reads the part of a file name after the name of the set: `_BUDDY_00.000001`.
    fn parse(suffix: &[u8]) -> Option<Self> {
        let suffix = std::str::from_utf8(suffix).ok()?;
        let Sibling(file) = Sibling::of_name(suffix);
        let digits = suffix.strip_prefix("_BUDDY_")?.split('.').next()?;
        let buddy = digits.parse().ok()?;
        (format!("{}{}", Buddy(buddy), Sibling(file)) == suffix).then_some(Self { file, buddy })
    }
}

/// The existing files that a reader takes for copies of the set at `path` if it has `nfiles` files.
/// Levels of buddy sets may be missing.
pub(super) fn copies_of(path: &Path, nfiles: u32) -> io::Result<BTreeSet<CopyName>> {
    let mut copies = BTreeSet::new();
    for suffix in suffixes(path)? {
        copies.extend(CopyName::parse(suffix?.as_bytes()).filter(|copy| copy.file < nfiles));
    }
    Ok(copies)
}

/// The path of the set of which `path` names a file of a buddy set; `None` if it names none.
pub(super) fn main_of(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.as_bytes();
    (1..name.len()).find_map(|at| {
        let (main, suffix) = name.split_at_checked(at)?;
        CopyName::parse(suffix)?;
        Some(path.with_file_name(OsStr::from_bytes(main)))
    })
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
pub(crate) fn of_sibling(error: Error, first: &Path, nfiles: u32) -> Error {
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
