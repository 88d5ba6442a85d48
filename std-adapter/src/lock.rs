//! One writer at a time: flock(2). Every writer of striae locks its files, readers do not.

use crate::error::{Error, ErrorKind};
use crate::posix::{PosixFile, max_open_files};
use crate::shown;
use rustix::fs::FlockOperation;
use rustix::io::{Errno, retry_on_intr};
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};

/// How often to open a file again if others replace it.
const ATTEMPTS: u32 = 8;

/// A file that may be locked. It is unlocked when this is dropped, except in a forked process: the
/// lock is that of the process that took it.
#[derive(Debug)]
pub struct Locked {
    file: PosixFile,
    /// The process that opened the file.
    owner: u32,
}

impl Deref for Locked {
    type Target = PosixFile;

    fn deref(&self) -> &PosixFile {
        &self.file
    }
}

impl Locked {
    fn new(file: PosixFile) -> Self {
        Self { file, owner: std::process::id() }
    }

    /// Whether this process is a fork of the one that opened the file.
    pub(crate) fn is_forked(&self) -> bool {
        self.owner != std::process::id()
    }

    /// Opens the existing file at `path` for writing, and locks it if `wanted`: then it also has
    /// that name. Its syncs reach the disk if it is to be `durable`.
    ///
    /// # Errors
    /// As [`lock`]; an error if others replace the file again and again.
    pub fn open(path: &Path, durable: bool, wanted: bool) -> Result<Self, Error> {
        let at = |error| Error::new(path, error);
        for _ in 0..ATTEMPTS {
            let file = PosixFile::open_rw(path).map_err(at)?.durable(durable);
            let file = lock(file, path, wanted)?;
            if !wanted || file.has_name(path).map_err(at)? {
                return Ok(file);
            }
        }
        Err(at(replaced_always()))
    }

    /// Whether `path` leads to this file.
    pub(crate) fn has_name(&self, path: &Path) -> io::Result<bool> {
        PosixFile::open(path).map(|named| named.identity() == self.identity())
    }

    /// Unlocks the file, which nothing is written to any more. A forked process does nothing.
    pub fn unlock(&self) {
        if self.is_forked() {
            return; // both processes have one lock: flock(2)
        }
        // If this fails, the kernel unlocks the file when it is closed.
        let _ = retry_on_intr(|| rustix::fs::flock(&self.file, FlockOperation::NonBlockingUnlock));
    }
}

/// Unlocks the file. Closing it does so as well, but not while a forked process has it open.
impl Drop for Locked {
    fn drop(&mut self) {
        self.unlock();
    }
}

/// Locks `file` against other writers until it is closed, if `wanted`.
///
/// On a file system without locks, it only warns.
///
/// # Errors
/// [`ErrorKind::Locked`] if another writer has the lock; an error of the operating system.
pub fn lock(file: PosixFile, path: &Path, wanted: bool) -> Result<Locked, Error> {
    let take = |operation| retry_on_intr(|| rustix::fs::flock(&file, operation));
    let taken = match wanted {
        true => match take(FlockOperation::NonBlockingLockExclusive) {
            // NFS locks bytes: "in order to place an exclusive lock, the file must be opened for
            // writing" (flock(2)). A file to be replaced is not; a shared lock keeps writers out.
            Err(Errno::BADF) => take(FlockOperation::NonBlockingLockShared),
            taken => taken,
        },
        false => Ok(()),
    };
    match taken {
        Ok(()) => Ok(Locked::new(file)),
        Err(Errno::WOULDBLOCK) => Err(Error::new(path, ErrorKind::Locked)),
        Err(error @ (Errno::NOSYS | Errno::OPNOTSUPP | Errno::NOLCK | Errno::INVAL)) => {
            let name = shown::path(path);
            log::warn!("{name}: the file system has no locks ({error}): nothing keeps others out");
            Ok(Locked::new(file))
        }
        Err(error) => Err(Error::new(path, io::Error::from(error))),
    }
}

/// Locks the file that will be replaced against writers until it is closed; then it also has that
/// name. For a symbolic link, that is its target. `None` if there is no file.
///
/// # Errors
/// As [`lock`]; an error if others replace the file again and again; an error of the operating
/// system.
pub fn lock_replaced(path: &Path) -> Result<Option<Locked>, Error> {
    let at = |error| Error::new(path, error);
    for _ in 0..ATTEMPTS {
        let file = match PosixFile::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            // The user may have no right to read the file, but own its folder.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(None),
            Err(error) => return Err(at(error)),
        };
        let file = lock(file, path, true)?;
        match file.has_name(path) {
            Ok(true) => return Ok(Some(file)),
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(at(error)),
            _ => {}
        }
    }
    Err(at(replaced_always()))
}

/// As [`lock_replaced`], for several files. Of very many, as many stay locked as may be open: the
/// first ones, of which the first of a set is locked by every writer.
///
/// # Errors
/// As [`lock_replaced`].
pub(crate) fn lock_all_replaced(
    paths: impl Iterator<Item = PathBuf>,
) -> Result<Vec<Locked>, Error> {
    let (mut all, most) = (Vec::new(), max_open_files());
    for path in paths {
        all.extend(lock_replaced(&path)?);
        all.truncate(most);
    }
    Ok(all)
}

/// The error of a file that is read and replaced, and had another writer before it was locked.
pub(crate) fn changed_meanwhile() -> io::Error {
    io::Error::new(io::ErrorKind::ResourceBusy, "was changed by another writer since it was opened")
}

fn replaced_always() -> io::Error {
    let busy = "was replaced whenever it was looked at";
    io::Error::new(io::ErrorKind::ResourceBusy, busy)
}
