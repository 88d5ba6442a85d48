//! What the disk said when it was asked to make a file durable.

use rustix::fd::BorrowedFd;
use rustix::io::retry_on_intr;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// The error of every [`PosixFile::sync`](super::posix::PosixFile::sync) after one that failed.
///
/// The kernel reports a write that failed once, and takes the bytes for written from then on:
/// whether they are on the disk, no later call can say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyncFailed;

impl std::fmt::Display for SyncFailed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the disk failed to make earlier writes durable")
    }
}

impl std::error::Error for SyncFailed {}

/// The syncs of an open file, by whichever of its descriptors: the one place that asks the disk,
/// and that remembers that it failed.
#[derive(Debug, Default)]
pub(super) struct Syncs {
    failed: AtomicBool,
    /// Held while it is asked: of two calls at once, the kernel tells only one of a failure.
    asking: Mutex<()>,
}

impl Syncs {
    /// Asks the disk, unless it failed before.
    pub(super) fn ask(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        let _asking = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
        self.check()?;
        let synced = retry_on_intr(|| rustix::fs::fdatasync(fd));
        self.failed.store(synced.is_err(), Ordering::Release);
        Ok(synced?)
    }

    /// That the disk has not failed yet.
    pub(super) fn check(&self) -> io::Result<()> {
        match self.failed.load(Ordering::Acquire) {
            true => Err(io::Error::other(SyncFailed)),
            false => Ok(()),
        }
    }
}
