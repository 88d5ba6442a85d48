//! Opening a file by its path, and opening an open one again.

use super::{MAX_LEN, PosixFile, pin, size_limit};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::{Errno, retry_on_intr};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl PosixFile {
    /// Opens a file, which must be regular. It waits for nobody but the holder of a lease.
    pub(super) fn opened(path: &Path, flags: OFlags, limit: u64) -> io::Result<Self> {
        let flags = flags | OFlags::CLOEXEC | OFlags::NOCTTY;
        // NONBLOCK: a pipe without a writer would make open(2) wait for one.
        let fd = match open(path, flags | OFlags::NONBLOCK) {
            // open(2): "The O_NONBLOCK flag was specified, and an incompatible lease was held on
            // the file". Servers of SMB and NFS hold leases. open(2) without the flag waits for
            // the holder, at most as many seconds as /proc/sys/fs/lease-break-time says.
            Err(Errno::WOULDBLOCK) if is_regular(path) => open(path, flags)?,
            opened => opened?,
        };
        let file = Self::regular(fd, limit)?;
        pin::check(path, file.identity)?;
        if flags.contains(OFlags::DIRECT) {
            // NONBLOCK was for opening: io_uring would say EAGAIN where it had to wait.
            rustix::fs::fcntl_setfl(&file.fd, OFlags::DIRECT)?;
        }
        Ok(file)
    }

    /// Opens the file at `path` for reading past the page cache.
    pub(crate) fn open_direct(path: &Path) -> io::Result<Self> {
        Self::opened(path, OFlags::RDONLY | OFlags::DIRECT, MAX_LEN)
    }

    /// Opens the same file again, even if it was renamed or removed.
    ///
    /// # Errors
    /// An error of the operating system, also if there is no `/proc`; an error if `/proc` leads to
    /// another file.
    pub(crate) fn reopen(&self, flags: OFlags) -> io::Result<Self> {
        let limit = if flags.contains(OFlags::RDWR) { size_limit() } else { MAX_LEN };
        let [of_thread, of_process] = self.proc_paths();
        let reopened = match Self::opened(&of_thread, flags, limit) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Self::opened(&of_process, flags, limit)?
            }
            reopened => reopened?,
        };
        if reopened.identity != self.identity {
            return Err(io::Error::other("/proc has another file at its descriptor"));
        }
        Ok(Self { durable: self.durable, syncs: Arc::clone(&self.syncs), ..reopened })
    }

    /// The paths of the open file in `/proc`: of this thread, and of its process, for kernels
    /// before Linux 3.17. The second one leads to another file, or to none, if the thread has
    /// descriptors of its own: unshare(2), CLONE_FILES.
    fn proc_paths(&self) -> [PathBuf; 2] {
        let number = self.fd.as_raw_fd();
        ["thread-self", "self"].map(|whose| PathBuf::from(format!("/proc/{whose}/fd/{number}")))
    }

    /// The path of the file as far as the kernel knows it, for messages.
    pub(crate) fn some_path(&self) -> PathBuf {
        let paths = self.proc_paths();
        let known = paths.iter().find_map(|path| std::fs::read_link(path).ok());
        let [of_thread, _] = paths;
        known.unwrap_or(of_thread)
    }
}

fn open(path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let mode = Mode::from_raw_mode(0o666); // less umask
    retry_on_intr(|| rustix::fs::open(path, flags, mode))
}

/// Whether there is a regular file at `path`.
fn is_regular(path: &Path) -> bool {
    let kind = rustix::fs::stat(path).map(|stat| FileType::from_raw_mode(stat.st_mode));
    kind == Ok(FileType::RegularFile)
}
