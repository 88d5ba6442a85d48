//! Paths that must keep naming the file that they named.

use super::{MAX_LEN, PosixFile};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The path of a live pin, and its open file with device and inode.
struct Pinned {
    path: PathBuf,
    fd: Arc<OwnedFd>,
    identity: (u64, u64),
}

static PINS: Mutex<Vec<Pinned>> = Mutex::new(Vec::new());

/// The number of pins. A file is opened without the lock if there are none: a child of fork(2)
/// would wait for ever for a lock that another thread of its parent had.
static COUNT: AtomicUsize = AtomicUsize::new(0);

fn pins() -> MutexGuard<'static, Vec<Pinned>> {
    PINS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The pins, if there are any.
fn some_pins() -> Option<MutexGuard<'static, Vec<Pinned>>> {
    (COUNT.load(Ordering::Acquire) > 0).then(pins)
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
        let mut pins = pins();
        pins.push(Pinned { path: path.to_owned(), fd, identity });
        COUNT.store(pins.len(), Ordering::Release);
        drop(pins);
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
            COUNT.store(pins.len(), Ordering::Release);
        }
    }
}

/// The open file that this path is pinned to, if it still has this name.
pub(super) fn open(path: &Path) -> io::Result<Option<PosixFile>> {
    let Some(pins) = some_pins() else { return Ok(None) };
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
    match some_pins().is_some_and(|pins| pins.iter().any(is_other)) {
        true => Err(io::Error::other("was replaced by another file while it was read")),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    #[test]
    fn a_file_is_opened_while_another_thread_has_the_lock_of_no_pins() {
        let locked = loop {
            let pins = pins();
            if pins.is_empty() {
                break pins; // no other test can pin anything now
            }
        };
        let (sender, opened) = channel();
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        std::thread::spawn(move || sender.send(PosixFile::open(Path::new(path)).is_ok()));
        assert_eq!(opened.recv_timeout(Duration::from_secs(60)), Ok(true));
        drop(locked);
    }
}
