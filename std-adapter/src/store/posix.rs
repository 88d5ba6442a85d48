//! One file, read and written by offset.

mod pin;

use super::syncs::Syncs;
pub(crate) use pin::Pin;
use rustix::fs::{FallocateFlags, FileType, Mode, OFlags, Stat};
use rustix::io::{Errno, retry_on_intr};
use rustix::process::{Resource, getrlimit};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use striae_core::store::usize_to_u64;
use striae_core::store::{ReadAt, WriteAt};

pub use super::syncs::SyncFailed;

/// No file is longer: `off_t` has a sign.
pub(super) const MAX_LEN: u64 = i64::MAX.cast_unsigned();

/// A regular file, read and written by offset; many threads may do both at once.
///
/// All methods take `&self`, and `&PosixFile` is a store as well as `PosixFile`: threads that write
/// different ranges of a file need no lock. There is no cursor that they could disturb.
///
/// # A limit of the file's size
/// A write behind the limit that `ulimit -f` sets (`RLIMIT_FSIZE`) makes the kernel send SIGXFSZ,
/// which ends the process. How signals are handled is the program's business and not a library's,
/// so a file reads the limit when it is opened for writing, writes up to it, looks whether it was
/// raised, and fails with [`io::ErrorKind::FileTooLarge`] without asking the kernel. Only a limit
/// that is lowered later still raises the signal.
#[derive(Debug)]
pub struct PosixFile {
    fd: OwnedFd,
    /// Device and inode.
    identity: (u64, u64),
    /// Where writing must stop, at most [`MAX_LEN`]; that if the file is only read, as the kernel
    /// refuses to write.
    limit: AtomicU64,
    /// Whether a sync asks the disk.
    durable: bool,
    /// Shared by all descriptors that were made from one another.
    syncs: Arc<Syncs>,
}

impl PosixFile {
    /// Opens the file at `path` for reading.
    ///
    /// # Errors
    /// The operating system's; [`io::ErrorKind::InvalidInput`] if it is no regular file.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::opened(path, OFlags::RDONLY, MAX_LEN)
    }

    /// Opens the file at `path` for reading and writing, and leaves its contents alone.
    ///
    /// # Errors
    /// The operating system's; [`io::ErrorKind::InvalidInput`] if it is no regular file.
    pub fn open_rw(path: &Path) -> io::Result<Self> {
        Self::opened(path, OFlags::RDWR, size_limit())
    }

    /// Makes an empty file at `path` and opens it for reading and writing.
    ///
    /// Whatever has the name already is refused, a symbolic link too, unless `overwrite` is set:
    /// then a regular file is emptied, and a symbolic link is followed to one as `cp` does, so that
    /// a link that points to another disk goes on doing that. A link to nothing is refused also
    /// then, as `cp` refuses it: a file would appear in a place that nobody named.
    /// Anything but a regular file is refused untouched.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`]; [`io::ErrorKind::InvalidInput`] if it is no regular file;
    /// the operating system's.
    pub fn create(path: &Path, overwrite: bool) -> io::Result<Self> {
        if overwrite {
            // Not O_TRUNC: what it is has to be known before it is emptied.
            match Self::open_rw(path) {
                Ok(file) => {
                    retry_on_intr(|| rustix::fs::ftruncate(&file.fd, 0))?;
                    return Ok(file);
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Self::opened(path, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL, size_limit())
    }

    /// A regular file that is open already.
    #[cfg(test)]
    pub(crate) fn of(file: std::fs::File) -> Self {
        let (identity, limit) = ((0, 0), AtomicU64::new(MAX_LEN));
        Self { fd: file.into(), identity, limit, durable: true, syncs: Arc::default() }
    }

    /// Whether a [`sync`](Self::sync) asks the disk, as it does unless told. What it does not ask
    /// for survives the end of the process, and not that of the machine.
    pub(crate) const fn durable(mut self, durable: bool) -> Self {
        self.durable = durable;
        self
    }

    /// Whether a [`sync`](Self::sync) asks the disk.
    pub(crate) const fn is_durable(&self) -> bool {
        self.durable
    }

    /// Opens what must be a regular file, without waiting for anything.
    fn opened(path: &Path, flags: OFlags, limit: u64) -> io::Result<Self> {
        // NONBLOCK: a pipe without a writer would make open(2) wait for one.
        let flags = flags | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let mode = Mode::from_raw_mode(0o666); // less umask
        let fd = retry_on_intr(|| rustix::fs::open(path, flags, mode))?;
        let stat = rustix::fs::fstat(&fd)?;
        let identity = (stat.st_dev, stat.st_ino);
        pin::check(path, identity)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {
                if flags.contains(OFlags::DIRECT) {
                    // NONBLOCK was for opening: io_uring would say EAGAIN where it had to wait.
                    rustix::fs::fcntl_setfl(&fd, OFlags::DIRECT)?;
                }
                let limit = AtomicU64::new(limit);
                Ok(Self { fd, identity, limit, durable: true, syncs: Arc::default() })
            }
            FileType::Directory => Err(io::Error::from(io::ErrorKind::IsADirectory)),
            _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")),
        }
    }

    /// Opens the file at `path` for reading past the page cache.
    pub(crate) fn open_direct(path: &Path) -> io::Result<Self> {
        Self::opened(path, OFlags::RDONLY | OFlags::DIRECT, MAX_LEN)
    }

    /// Opens the same file once more, whatever name it has by now, or none.
    ///
    /// # Errors
    /// The operating system's, also where there is no `/proc`.
    pub(crate) fn reopen(&self, flags: OFlags) -> io::Result<Self> {
        let limit = if flags.contains(OFlags::RDWR) { size_limit() } else { MAX_LEN };
        let reopened = Self::opened(&self.proc_path(), flags, limit)?;
        Ok(Self { durable: self.durable, syncs: Arc::clone(&self.syncs), ..reopened })
    }

    /// One more descriptor of this file, which may do what this one may.
    pub(crate) fn same(&self) -> io::Result<Self> {
        let limit = AtomicU64::new(self.limit.load(Ordering::Relaxed));
        let (fd, syncs) = (self.fd.try_clone()?, Arc::clone(&self.syncs));
        Ok(Self { fd, identity: self.identity, limit, durable: self.durable, syncs })
    }

    /// A name of the open file itself.
    fn proc_path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.fd.as_raw_fd()))
    }

    /// The name that it has, as far as the kernel knows; for messages.
    pub(crate) fn some_path(&self) -> PathBuf {
        let path = self.proc_path();
        std::fs::read_link(&path).unwrap_or(path)
    }

    /// Writes some of `bytes` at `offset` and returns how many: at least one, unless there are
    /// none.
    ///
    /// For callers that count what was written before a disk was full; others want
    /// [`write_all_at`](Self::write_all_at).
    ///
    /// # Errors
    /// The operating system's; [`io::ErrorKind::WriteZero`] if it takes no byte and gives no
    /// reason.
    pub fn write_some_at(&self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        let bytes = bytes.get(..self.room_at(offset)?).unwrap_or(bytes);
        match retry_on_intr(|| rustix::io::pwrite(&self.fd, bytes, offset))? {
            0 => Err(io::Error::from(io::ErrorKind::WriteZero)),
            n => Ok(n),
        }
    }

    /// Writes all of `bytes` at `offset`; behind the end the file grows, with a hole in the gap.
    ///
    /// # Errors
    /// As [`write_some_at`](Self::write_some_at). Some of the bytes may have been written.
    pub fn write_all_at(&self, mut offset: u64, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let n = self.write_some_at(offset, bytes)?;
            bytes = bytes.get(n..).unwrap_or_default();
            offset = offset.saturating_add(usize_to_u64(n)); // exact: at most `MAX_LEN`
        }
        Ok(())
    }

    /// Sees to it that `len` bytes from `offset` on need no more room on the disk when they are
    /// written. The length of the file is as before.
    ///
    /// # Errors
    /// The operating system's, also where the file system cannot do that.
    pub(crate) fn preallocate(&self, offset: u64, len: u64) -> io::Result<()> {
        // Some file systems send the signal for room that nobody has written to, too.
        if u64::try_from(self.room_at(offset)?).is_ok_and(|room| room < len) {
            return Err(io::Error::from(Errno::FBIG));
        }
        let keep = FallocateFlags::KEEP_SIZE;
        Ok(retry_on_intr(|| rustix::fs::fallocate(&self.fd, keep, offset, len))?)
    }

    /// Cuts the file to `len` bytes, or grows it by a hole.
    ///
    /// # Errors
    /// The operating system's.
    pub fn set_size(&self, len: u64) -> io::Result<()> {
        // Only growing is limited, and only then the size matters.
        if self.below_limit(len).is_none() && len > self.size()? {
            return Err(io::Error::from(Errno::FBIG));
        }
        Ok(retry_on_intr(|| rustix::fs::ftruncate(&self.fd, len))?)
    }

    /// Makes all earlier writes of all threads durable, and the file's length with them.
    ///
    /// The name of a new file is durable only after [`sync_parent`].
    ///
    /// # Errors
    /// The operating system's. What was written since the last success may be durable or lost, and
    /// nothing can tell: so from then on the error is [`SyncFailed`], until the file is opened
    /// anew.
    pub fn sync(&self) -> io::Result<()> {
        if self.durable { self.syncs.ask(self.fd.as_fd()) } else { self.syncs.check() }
    }

    /// That the disk has not failed yet to make the file durable.
    pub(crate) fn check_syncs(&self) -> io::Result<()> {
        self.syncs.check()
    }

    /// Length of the blocks in which the file system likes to be written, at least 1.
    ///
    /// # Errors
    /// The operating system's.
    pub fn block_size(&self) -> io::Result<u64> {
        Ok(u64::try_from(self.stat()?.st_blksize).unwrap_or(0).max(1))
    }

    /// Its length in bytes, which it must say if it has some: some files of the kernel's own do
    /// not.
    ///
    /// # Errors
    /// The operating system's; [`io::ErrorKind::InvalidInput`].
    pub(crate) fn honest_size(&self) -> io::Result<u64> {
        match self.size()? {
            0 if self.read_at(0, &mut [0])? > 0 => {
                let error = "says that it is empty, and has bytes: copy it first";
                Err(io::Error::new(io::ErrorKind::InvalidInput, error))
            }
            size => Ok(size),
        }
    }

    /// What tells the file apart from one that replaced it: device, inode.
    pub(crate) const fn identity(&self) -> (u64, u64) {
        self.identity
    }

    /// How many bytes may be written at `offset`, at least one.
    pub(crate) fn room_at(&self, offset: u64) -> io::Result<usize> {
        match self.below_limit(offset) {
            None | Some(0) => Err(io::Error::from(Errno::FBIG)),
            Some(room) => Ok(usize::try_from(room).unwrap_or(usize::MAX)),
        }
    }

    /// Bytes from `offset` to the limit, or `None` behind it.
    fn below_limit(&self, offset: u64) -> Option<u64> {
        let limit = self.limit.load(Ordering::Relaxed);
        if offset < limit {
            return limit.checked_sub(offset);
        }
        let limit = size_limit(); // it may have been raised
        self.limit.store(limit, Ordering::Relaxed);
        limit.checked_sub(offset)
    }

    /// Whether it has no name any more, so that nobody will find it.
    pub(crate) fn is_removed(&self) -> io::Result<bool> {
        Ok(self.stat()?.st_nlink == 0)
    }

    fn stat(&self) -> io::Result<Stat> {
        Ok(rustix::fs::fstat(&self.fd)?)
    }
}

/// Makes the name of a file that was created, renamed or removed at `path` durable.
///
/// # Errors
/// The operating system's.
pub fn sync_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => sync_folder(folder),
        Some(_) => sync_folder(Path::new(".")),
        None => sync_folder(path), // the root
    }
}

/// Makes the names in a folder durable.
///
/// # Errors
/// The operating system's. A file system that cannot do it for folders says so, which is no error.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let fd = retry_on_intr(|| rustix::fs::open(folder, flags, Mode::empty()))?;
    match retry_on_intr(|| rustix::fs::fsync(&fd)) {
        // fsync(2): "fd is bound to a special file [...] which does not support synchronization".
        Ok(()) | Err(Errno::INVAL) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// How long this process may make a file.
fn size_limit() -> u64 {
    getrlimit(Resource::Fsize).current.unwrap_or(MAX_LEN).min(MAX_LEN)
}

impl AsFd for PosixFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl ReadAt for PosixFile {
    type Error = io::Error;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        // Behind that there is nothing, and no `off_t`.
        let room = usize::try_from(MAX_LEN.saturating_sub(offset)).unwrap_or(usize::MAX);
        let room = room.min(buf.len());
        let buf = match buf.get_mut(..room) {
            Some(buf) if !buf.is_empty() => buf,
            _ => return Ok(0),
        };
        Ok(retry_on_intr(|| rustix::io::pread(&self.fd, &mut *buf, offset))?)
    }

    fn size(&self) -> io::Result<u64> {
        if cfg!(miri) {
            return Ok(rustix::fs::seek(&self.fd, rustix::fs::SeekFrom::End(0))?); // it has no fstat
        }
        Ok(u64::try_from(self.stat()?.st_size).unwrap_or(0)) // never negative: fstat(2)
    }
}

impl WriteAt for PosixFile {
    fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        Self::write_all_at(self, offset, bytes)
    }

    fn set_size(&mut self, len: u64) -> io::Result<()> {
        Self::set_size(self, len)
    }

    fn sync(&mut self) -> io::Result<()> {
        Self::sync(self)
    }
}

impl WriteAt for &PosixFile {
    fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        PosixFile::write_all_at(self, offset, bytes)
    }

    fn set_size(&mut self, len: u64) -> io::Result<()> {
        PosixFile::set_size(self, len)
    }

    fn sync(&mut self) -> io::Result<()> {
        PosixFile::sync(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::denying::on_a_failing_disk;

    #[test]
    fn a_failed_sync_is_that_of_all_descriptors_of_an_open_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let first = PosixFile::create(&path, false).unwrap();
        let second = first.same().unwrap();
        let third = second.reopen(OFlags::RDWR).unwrap();
        for file in [&first, &second, &third] {
            file.sync().unwrap();
        }
        let error = on_a_failing_disk(|| second.sync().unwrap_err());
        assert_eq!(Errno::from_io_error(&error), Some(Errno::IO));
        let fourth = third.reopen(OFlags::RDWR).unwrap();
        for file in [&first, &second, &third, &fourth] {
            let error = file.sync().unwrap_err();
            assert!(error.get_ref().unwrap().is::<SyncFailed>(), "{error}");
        }
        // Whoever opens it anew looks at what there is.
        PosixFile::open_rw(&path).unwrap().sync().unwrap();
    }
}
