//! The syncs of a file, with a memory of failures.

use rustix::fd::BorrowedFd;
use rustix::io::retry_on_intr;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// The error of every [`PosixFile::sync`](super::PosixFile::sync) after one that failed.
///
/// The kernel reports a failed write only once and then treats the bytes as written: no later call
/// can tell whether they are on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyncFailed;

impl std::fmt::Display for SyncFailed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the disk failed to make earlier writes durable")
    }
}

impl std::error::Error for SyncFailed {}

/// The syncs of an open file, shared by all its descriptors: the only place that syncs the file,
/// and that remembers a failure.
#[derive(Debug, Default)]
pub(super) struct Syncs {
    failed: AtomicBool,
    /// Locked during a sync: of two concurrent syncs, the kernel reports a failure to only one.
    asking: Mutex<()>,
}

impl Syncs {
    /// Syncs the file, unless a sync failed before.
    pub(super) fn ask(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        let _asking = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
        self.check()?;
        let synced = retry_on_intr(|| rustix::fs::fdatasync(fd));
        self.failed.store(synced.is_err(), Ordering::Release);
        Ok(synced?)
    }

    /// Whether a sync failed before.
    #[inline]
    pub(super) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// Fails if a sync failed before.
    pub(super) fn check(&self) -> io::Result<()> {
        match self.has_failed() {
            true => Err(io::Error::other(SyncFailed)),
            false => Ok(()),
        }
    }
}
