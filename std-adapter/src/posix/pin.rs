//! Paths that must keep naming the file that they named.

use super::{MAX_LEN, PosixFile};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The path of a live pin, and its open file with device and inode.
struct Pinned {
    path: PathBuf,
    fd: Arc<OwnedFd>,
    identity: (u64, u64),
}

static PINS: Mutex<Vec<Pinned>> = Mutex::new(Vec::new());

fn pins() -> MutexGuard<'static, Vec<Pinned>> {
    PINS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An open file with its path: while this lives, opening the path gives this file or an error.
/// Opening it for reading opens nothing again.
#[derive(Debug)]
pub(crate) struct Pin {
    path: PathBuf,
    file: PosixFile,
}

impl Pin {
    pub(crate) fn new(path: &Path) -> io::Result<Self> {
        let file = PosixFile::open(path)?;
        let (fd, identity) = (Arc::clone(&file.fd), file.identity);
        pins().push(Pinned { path: path.to_owned(), fd, identity });
        Ok(Self { path: path.to_owned(), file })
    }

    pub(crate) const fn file(&self) -> &PosixFile {
        &self.file
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        let mut pins = pins();
        let is_this = |one: &Pinned| one.path == self.path && one.identity == self.file.identity();
        if let Some(place) = pins.iter().position(is_this) {
            pins.swap_remove(place);
        }
    }
}

/// The open file that this path is pinned to, if it still has this name.
pub(super) fn open(path: &Path) -> io::Result<Option<PosixFile>> {
    let pins = pins();
    let Some(pinned) = pins.iter().find(|pinned| pinned.path == path) else { return Ok(None) };
    let (fd, identity) = (Arc::clone(&pinned.fd), pinned.identity);
    drop(pins);
    let stat = rustix::fs::stat(path)?;
    check(path, (stat.st_dev, stat.st_ino))?;
    let limit = AtomicU64::new(MAX_LEN);
    Ok(Some(PosixFile { fd, identity, limit, durable: true, syncs: Arc::default() }))
}

/// Checks that a file that was opened by this path is the one that the path is pinned to, if any.
pub(super) fn check(path: &Path, identity: (u64, u64)) -> io::Result<()> {
    let is_other = |pinned: &Pinned| pinned.path == path && pinned.identity != identity;
    match pins().iter().any(is_other) {
        true => Err(io::Error::other("was replaced by another file while it was read")),
        false => Ok(()),
    }
}
