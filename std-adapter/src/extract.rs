//! Folders that are filled when all that goes into them is whole.

use crate::error::Error;
use crate::publish::{Hidden, Unfinished, give_mode};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use striae_core::store::usize_to_u64;

/// What was extracted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Extracted {
    /// Files that were made.
    pub files: u64,
    /// Bytes of streams or chunks in them.
    pub bytes: u64,
}

/// Lets `make` put files into a hidden folder in `dir`, which is made if it is not there, and moves
/// them out when all of them are whole; says how many they are. `check` is asked before anything is
/// made in `dir`. If one of the two fails, `dir` is as it was. A kill leaves the hidden folder.
pub(crate) fn fill(
    dir: &Path,
    force: bool,
    check: impl FnOnce() -> Result<(), Error>,
    make: impl FnOnce(&Path) -> Result<(), Error>,
) -> Result<u64, Error> {
    let at = |error| Error::new(dir, error);
    let made_dir = make_dir(dir).map_err(at)?;
    check()?;
    let hidden = Hidden::new(dir, dir).map_err(at)?;
    make(hidden.path())?;
    // All names first: what a folder lists while files leave it is not certain.
    let entries = fs::read_dir(hidden.path()).and_then(Iterator::collect);
    let entries: Vec<fs::DirEntry> = entries.map_err(at)?;
    let names: Vec<OsString> = entries.into_iter().map(|entry| entry.file_name()).collect();
    let files = hidden.destinations(names.into_iter(), force)?;
    for file in &files {
        give_mode(&hidden.path().join(&file.name), &file.to, None)?;
    }
    let publishing = hidden.publishing()?;
    hidden.publish(&publishing, &files, force, false)?;
    if let Some(dir) = &made_dir {
        dir.keep();
    }
    Ok(usize_to_u64(files.len()))
}

/// Makes the folder if it is not there.
fn make_dir(dir: &Path) -> io::Result<Option<Unfinished>> {
    match Unfinished::folder(dir) {
        Ok(made) => Ok(Some(made)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match dir.is_dir() {
            true => Ok(None),
            false => Err(io::Error::from(io::ErrorKind::NotADirectory)),
        },
        Err(error) => Err(error),
    }
}

/// The path that a file in the hidden folder of [`fill`] will have.
pub(crate) fn path_of(hidden: &Path, name: impl AsRef<OsStr>) -> PathBuf {
    let folder = hidden.parent().and_then(Path::parent);
    folder.unwrap_or(hidden).join(name.as_ref())
}
