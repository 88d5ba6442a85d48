//! One file, read by offset.

use rustix::fs::{FileType, Mode, OFlags};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use striae_core::store::ReadAt;

/// A regular file, read by offset; many threads may read it at once.
#[derive(Debug)]
pub struct PosixFile(OwnedFd);

impl PosixFile {
    /// Opens the file at `path` for reading.
    ///
    /// # Errors
    /// The operating system's; [`io::ErrorKind::InvalidInput`] if it is no regular file.
    pub fn open(path: &Path) -> io::Result<Self> {
        // NONBLOCK: a pipe without a writer would make open(2) wait for one.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let fd = rustix::io::retry_on_intr(|| rustix::fs::open(path, flags, Mode::empty()))?;
        match FileType::from_raw_mode(rustix::fs::fstat(&fd)?.st_mode) {
            FileType::RegularFile => Ok(Self(fd)),
            FileType::Directory => Err(io::Error::from(io::ErrorKind::IsADirectory)),
            _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")),
        }
    }

    /// What tells the file apart from one that replaced it: device, inode.
    pub(crate) fn identity(&self) -> io::Result<(u64, u64)> {
        let stat = rustix::fs::fstat(&self.0)?;
        Ok((stat.st_dev, stat.st_ino))
    }
}

impl AsFd for PosixFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl ReadAt for PosixFile {
    type Error = io::Error;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::retry_on_intr(|| rustix::io::pread(&self.0, &mut *buf, offset))?)
    }

    fn size(&self) -> io::Result<u64> {
        let size = rustix::fs::fstat(&self.0)?.st_size;
        Ok(u64::try_from(size).unwrap_or(0)) // never negative: fstat(2)
    }
}
