//! Folders that are filled when all that goes into them is whole.

use crate::error::Error;
use crate::publish::{Hidden, give_mode};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;

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
    let made_dir = make_dir(dir)?;
    let done = check().and_then(|()| make_and_publish(dir, force, make));
    if done.is_err() && made_dir {
        // Only an empty one goes; if it cannot, there is nothing better to do.
        let _ = fs::remove_dir(dir);
    }
    done
}

fn make_and_publish(
    dir: &Path,
    force: bool,
    make: impl FnOnce(&Path) -> Result<(), Error>,
) -> Result<u64, Error> {
    let at = |error| Error::new(dir, error);
    let hidden = Hidden::new(dir).map_err(at)?;
    make(hidden.path())?;
    // All names first: what a folder lists while files leave it is not certain.
    let entries = fs::read_dir(hidden.path()).and_then(Iterator::collect);
    let entries: Vec<fs::DirEntry> = entries.map_err(at)?;
    let names: Vec<OsString> = entries.into_iter().map(|entry| entry.file_name()).collect();
    let files = hidden.destinations(names.into_iter(), force)?;
    for file in &files {
        give_mode(&hidden.path().join(&file.name), &file.to, None)?;
    }
    hidden.publish(&files, force, false)?;
    Ok(u64::try_from(files.len()).unwrap_or(u64::MAX))
}

/// Makes the folder if it is not there, and says whether it did.
fn make_dir(dir: &Path) -> Result<bool, Error> {
    match fs::create_dir(dir) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match dir.is_dir() {
            true => Ok(false),
            false => Err(Error::new(dir, io::Error::from(io::ErrorKind::NotADirectory))),
        },
        Err(error) => Err(Error::new(dir, error)),
    }
}
