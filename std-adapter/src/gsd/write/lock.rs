//! One writer at a time: flock(2), which every writer of striae asks for and no reader does.

use crate::error::{Error, ErrorKind};
use crate::posix::PosixFile;
use crate::shown::Shown;
use rustix::fs::FlockOperation;
use rustix::io::{Errno, retry_on_intr};
use std::io;
use std::path::Path;

/// Keeps other writers out until `file` is closed.
///
/// A file system that has no locks lets everybody in, which a warning says.
///
/// # Errors
/// [`ErrorKind::Locked`]; the operating system's.
pub(super) fn lock(file: &PosixFile, path: &Path) -> Result<(), Error> {
    let take = || rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive);
    match retry_on_intr(take) {
        Ok(()) => Ok(()),
        Err(Errno::WOULDBLOCK) => Err(Error::new(path, ErrorKind::Locked)),
        Err(error @ (Errno::NOSYS | Errno::OPNOTSUPP | Errno::NOLCK | Errno::INVAL)) => {
            let name = Shown::path(path);
            log::warn!("{name}: the file system has no locks ({error}): nothing keeps others out");
            Ok(())
        }
        Err(error) => Err(Error::new(path, io::Error::from(error))),
    }
}

/// The file that is to lose its name to another, kept from writers until it is closed; of a symbolic
/// link, what it points to. `None` if there is none.
///
/// # Errors
/// As [`lock`]; the operating system's.
pub(in crate::gsd) fn lock_replaced(path: &Path) -> Result<Option<PosixFile>, Error> {
    let file = match PosixFile::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        // It may be a file that this user may not even read, in a folder that is his.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(None),
        Err(error) => return Err(Error::new(path, error)),
    };
    lock(&file, path)?;
    Ok(Some(file))
}

/// Lets others in. Closing the file does so as well, but not while a process that was forked has it.
pub(super) fn unlock(file: &PosixFile) {
    // What fails is done by the kernel when the file is closed.
    let _ = retry_on_intr(|| rustix::fs::flock(file, FlockOperation::NonBlockingUnlock));
}
