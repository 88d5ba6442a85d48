//! The files of a set by their names: those that are there, and those that are not.

use crate::error::{Error, ErrorKind};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use striae_core::sion::Meta1;
use striae_core::sion::filename::{Buddy, Sibling};

/// Which one of the files of a set was opened without the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartOfSet {
    /// Number of the file, from 0.
    pub file: u32,
    /// Files of the set.
    pub files: u32,
}

impl PartOfSet {
    /// What a file says of itself; `None` if it is the only one of its set, or does not say which.
    pub(crate) fn of(meta1: &Meta1) -> Option<Self> {
        let (file, files) = (meta1.filenumber()?, meta1.files_in_set());
        (files > 1).then_some(Self { file, files })
    }

    /// The name of the set whose file this is by its name `path`; `None` if it was renamed.
    #[must_use]
    pub fn set(self, path: &Path) -> Option<PathBuf> {
        let suffix = Sibling(self.file).to_string();
        let name = path.as_os_str().as_bytes().strip_suffix(suffix.as_bytes())?;
        Some(PathBuf::from(OsStr::from_bytes(name))).filter(|set| set.file_name().is_some())
    }
}

impl fmt::Display for PartOfSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "file {}, from 0, of a set of {} files", self.file, self.files)
    }
}

/// Name of the physical file `number` of the set at `path`.
pub(super) fn sibling_path(path: &Path, number: u32) -> PathBuf {
    with_suffix(path, Sibling(number))
}

/// Name of the first file of the buddy set `number` of the set at `path`.
#[must_use]
pub fn buddy_path(path: &Path, number: u32) -> PathBuf {
    with_suffix(path, Buddy(number))
}

fn with_suffix(path: &Path, suffix: impl fmt::Display) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix.to_string());
    name.into()
}

/// A file of a set that cannot be opened: says why it should be there.
pub(super) fn of_sibling(error: Error, first: &Path, nfiles: u32) -> Error {
    if error.path() == first {
        return error;
    }
    let path = error.path().to_owned();
    match error.into_kind() {
        ErrorKind::Io(error) => {
            Error::new(&path, ErrorKind::Sibling { error, first: first.to_owned(), nfiles })
        }
        kind => Error::new(&path, kind),
    }
}
