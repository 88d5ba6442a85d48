//! How to open a file for reading past the page cache.

use super::device::{self, Access};
use super::file::{DirectFile, Shared};
use super::handles::Handles;
use super::standing::{Policy, Rung, Standing};
use crate::error::Error;
use crate::posix::PosixFile;
use rustix::fs::OFlags;
use std::io;
use std::path::Path;
use striae_core::align::Alignment;

/// How to open a [`DirectFile`].
#[derive(Debug, Clone, Copy)]
pub struct OpenOptions {
    policy: Policy,
    top: Rung,
    dontcache: bool,
    pub(super) depth: u32,
    pub(super) threads: usize,
    pub(super) max_io: u64,
    pub(super) max_gap: u64,
    pub(super) threshold: u64,
    pub(super) memory: u64,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            policy: Policy::Preferred,
            top: Rung::Registered,
            dontcache: false,
            depth: 32,
            threads: 4,
            max_io: 1 << 20,
            max_gap: 0,
            threshold: 1 << 20,
            memory: 16 << 20,
        }
    }
}

impl OpenOptions {
    /// Returns the defaults: direct reading preferred, by `io_uring`; 32 reads at once of at most 1
    /// MiB each; no gaps; 4 threads if neither `io_uring` nor AIO is available; streams with 16 MiB
    /// of memory; a single read below 1 MiB.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets whether the page cache may be used.
    #[must_use]
    pub const fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets the highest rung that is used.
    #[must_use]
    pub const fn top(mut self, rung: Rung) -> Self {
        self.top = rung;
        self
    }

    /// Whether the kernel drops data from the page cache at once where direct reading is not
    /// possible (`RWF_DONTCACHE`, Linux 6.14).
    #[must_use]
    pub const fn dontcache(mut self, dontcache: bool) -> Self {
        self.dontcache = dontcache;
        self
    }

    /// Sets the reads of one caller that run at once, from 1 to 4096.
    #[must_use]
    pub const fn depth(mut self, reads: u32) -> Self {
        self.depth = match reads {
            0 => 1,
            1..=4096 => reads,
            _ => 4096,
        };
        self
    }

    /// Sets the threads that read if neither `io_uring` nor AIO is available. With 0, the callers
    /// read.
    #[must_use]
    pub const fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Sets the most bytes of a read; see
    /// [`Rules::with_max_io`](striae_core::align::Rules::with_max_io).
    #[must_use]
    pub const fn max_io(mut self, bytes: u64) -> Self {
        self.max_io = bytes;
        self
    }

    /// Sets the bytes of the longest gap that one read may include; see
    /// [`Rules::with_max_gap`](striae_core::align::Rules::with_max_gap).
    #[must_use]
    pub const fn max_gap(mut self, bytes: u64) -> Self {
        self.max_gap = bytes;
        self
    }

    /// Sets the bytes from which a read of one span is cut into several reads at once. Below it,
    /// the calling thread makes one read.
    #[must_use]
    pub const fn threshold(mut self, bytes: u64) -> Self {
        self.threshold = bytes;
        self
    }

    /// Sets the approximate bytes of memory of a stream. A read of it has at most a quarter of
    /// them, or 64 KiB, or a block of the device, whichever is more.
    #[must_use]
    pub const fn memory(mut self, bytes: u64) -> Self {
        self.memory = bytes;
        self
    }

    /// Opens the file at `path`.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::error::ErrorKind::Io) for an error of the operating system; of kind
    /// [`Unsupported`](io::ErrorKind::Unsupported) if direct reading is required and refused.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<DirectFile, Error> {
        let path = path.as_ref();
        let buffered = PosixFile::open(path).map_err(|error| Error::new(path, error))?;
        self.open_posix(path, buffered)
    }

    /// Opens an open file again. Without /proc, without the permission to open it again, or without
    /// a free descriptor, it is read through the page cache, by the descriptor that there is.
    pub(crate) fn open_again(&self, file: &PosixFile) -> Result<DirectFile, Error> {
        self.open_posix(&file.some_path(), file.shared())
    }

    /// Makes a [`DirectFile`] from the open file at `path`.
    fn open_posix(&self, path: &Path, buffered: PosixFile) -> Result<DirectFile, Error> {
        let standing = Standing::new(self.policy, self.dontcache, self.top);
        let (mut direct, mut alignment) = (None, Alignment::NONE);
        let mut refused = None;
        if self.policy == Policy::Required && !standing.rung().is_direct() {
            let error = "direct reading is required, and not to be tried";
            return Err(Error::new(path, io::Error::new(io::ErrorKind::InvalidInput, error)));
        }
        if standing.rung().is_direct() {
            match open_direct(path, &buffered) {
                Ok((fd, needed)) => (direct, alignment) = (Some(fd), needed),
                Err(error) => refused = Some(error),
            }
        }
        let handles = Handles { buffered, direct };
        let shared = Shared::new(path, handles, alignment, standing, *self);
        if let Some(error) = refused {
            let why = format!("opening the file: {error}");
            let is_left = Rung::ALL
                .into_iter()
                .filter(|rung| rung.is_direct() && *rung >= self.top)
                .all(|rung| shared.step_down(rung, &why));
            if !is_left {
                let error =
                    io::Error::new(io::ErrorKind::Unsupported, format!("{why} for direct reading"));
                return Err(Error::new(path, error));
            }
        }
        Ok(DirectFile::new(shared))
    }
}

/// Opens the file again for direct reading, and returns the alignment that it needs.
fn open_direct(path: &Path, same: &PosixFile) -> io::Result<(PosixFile, Alignment)> {
    let flags = OFlags::RDONLY | OFlags::DIRECT;
    let direct = match same.reopen(flags) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let direct = PosixFile::open_direct(path)?; // there is no /proc
            if direct.identity() != same.identity() {
                return Err(io::Error::other("another file has the name by now"));
            }
            direct
        }
        direct => direct?,
    };
    let alignment = device::alignment(&direct, Access::Reading)?;
    Ok((direct, alignment))
}
