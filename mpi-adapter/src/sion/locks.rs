//! Locks against other writers, which rank 0 of a file holds for all of its ranks.

use std::cell::RefCell;
use std::io;
use std::path::{Path, PathBuf};
use striae::error::ErrorKind;
use striae::lock::{Locked, lock_replaced};
use striae::posix::PosixFile;

/// The locks of a rank, which it holds as long as this lives.
#[derive(Debug, Default)]
pub(super) struct Locks(RefCell<Vec<(PathBuf, Locked)>>);

impl Locks {
    /// Makes the file at `path` and locks it. A file that is to be emptied is locked before.
    pub(super) fn make(&self, path: &Path, force: bool) -> io::Result<PosixFile> {
        let replaced = if force { lock_replaced(path).map_err(to_io)? } else { None };
        let file = PosixFile::create(path, force)?;
        match replaced {
            Some(lock) => self.0.borrow_mut().push((path.to_owned(), lock)),
            None => self.lock(path)?,
        }
        Ok(file)
    }

    /// Opens the file at `path` to read and write it; locks it if `wanted`.
    pub(super) fn open(&self, path: &Path, wanted: bool) -> io::Result<PosixFile> {
        if wanted {
            self.lock(path)?;
        }
        PosixFile::open_rw(path)
    }

    /// Locks the file at `path`, unless this rank has.
    pub(super) fn lock(&self, path: &Path) -> io::Result<()> {
        if self.0.borrow().iter().any(|(locked, _)| locked == path) {
            return Ok(());
        }
        let lock = Locked::open(path, true, true).map_err(to_io)?;
        self.0.borrow_mut().push((path.to_owned(), lock));
        Ok(())
    }
}

/// EBUSY.
const BUSY: i32 = 16;

fn to_io(error: striae::Error) -> io::Error {
    match error.kind() {
        ErrorKind::Io(error) if error.raw_os_error().is_some() => {
            io::Error::from_raw_os_error(error.raw_os_error().unwrap_or(BUSY))
        }
        ErrorKind::Locked => io::Error::from_raw_os_error(BUSY),
        _ => error.into(),
    }
}
