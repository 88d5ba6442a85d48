//! One writer at a time: flock(2), which every writer of striae asks for and no reader does.

use crate::error::{Error, ErrorKind};
use crate::posix::PosixFile;
use crate::shown;
use rustix::fs::FlockOperation;
use rustix::io::{Errno, retry_on_intr};
use std::io;
use std::ops::Deref;
use std::path::Path;

/// A file that may be locked.
#[derive(Debug)]
pub(in crate::gsd) struct Locked(PosixFile);

impl Deref for Locked {
    type Target = PosixFile;

    fn deref(&self) -> &PosixFile {
        &self.0
    }
}

/// Lets others in. Closing the file does so as well, but not while a process that was forked has
/// it.
impl Drop for Locked {
    fn drop(&mut self) {
        // What fails is done by the kernel when the file is closed.
        let _ = retry_on_intr(|| rustix::fs::flock(&self.0, FlockOperation::NonBlockingUnlock));
    }
}

/// Keeps other writers out until `file` is closed, if that is wanted.
///
/// A file system that has no locks lets everybody in, which a warning says.
///
/// # Errors
/// [`ErrorKind::Locked`]; the operating system's.
pub(super) fn lock(file: PosixFile, path: &Path, wanted: bool) -> Result<Locked, Error> {
    let take = || rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive);
    match if wanted { retry_on_intr(take) } else { Ok(()) } {
        Ok(()) => Ok(Locked(file)),
        Err(Errno::WOULDBLOCK) => Err(Error::new(path, ErrorKind::Locked)),
        Err(error @ (Errno::NOSYS | Errno::OPNOTSUPP | Errno::NOLCK | Errno::INVAL)) => {
            let name = shown::path(path);
            log::warn!("{name}: the file system has no locks ({error}): nothing keeps others out");
            Ok(Locked(file))
        }
        Err(error) => Err(Error::new(path, io::Error::from(error))),
    }
}

/// The file that is to lose its name to another, kept from writers until it is closed; of a
/// symbolic link, what it points to. `None` if there is none.
///
/// # Errors
/// As [`lock`]; the operating system's.
pub(super) fn lock_replaced(path: &Path) -> Result<Option<Locked>, Error> {
    let file = match PosixFile::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        // It may be a file that this user may not even read, in a folder that is his.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(None),
        Err(error) => return Err(Error::new(path, error)),
    };
    lock(file, path, true).map(Some)
}
