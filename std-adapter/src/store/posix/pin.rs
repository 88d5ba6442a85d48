//! Paths that must keep naming the file that they named.

use super::PosixFile;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Path, device and inode of the files of all live pins.
static PINS: Mutex<Vec<(PathBuf, (u64, u64))>> = Mutex::new(Vec::new());

fn pins() -> MutexGuard<'static, Vec<(PathBuf, (u64, u64))>> {
    PINS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An open file with its path: while this lives, opening the path gives this file or an error.
#[derive(Debug)]
pub(crate) struct Pin {
    path: PathBuf,
    file: PosixFile,
}

impl Pin {
    pub(crate) fn new(path: &Path) -> io::Result<Self> {
        let file = PosixFile::open(path)?;
        pins().push((path.to_owned(), file.identity()));
        Ok(Self { path: path.to_owned(), file })
    }

    pub(crate) const fn file(&self) -> &PosixFile {
        &self.file
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        let mut pins = pins();
        let is_this = |(path, id): &(PathBuf, _)| *path == self.path && *id == self.file.identity();
        if let Some(place) = pins.iter().position(is_this) {
            pins.swap_remove(place);
        }
    }
}

/// Checks that a file that was opened by this path is the one that the path is pinned to, if any.
pub(super) fn check(path: &Path, identity: (u64, u64)) -> io::Result<()> {
    let is_other = |(pinned, id): &(PathBuf, _)| pinned == path && *id != identity;
    match pins().iter().any(is_other) {
        true => Err(io::Error::other("was replaced by another file while it was read")),
        false => Ok(()),
    }
}
