//! How a file is gone on with.

use super::lock::{Locked, lock};
use super::{Durability, FileWriter, Settings};
use crate::error::Error;
use crate::posix::PosixFile;
use std::io;
use std::path::Path;

/// How often to look for the file that has the name, when others replace it.
const ATTEMPTS: u32 = 8;

/// How to go on with a file, one of gsd's or one of ours.
///
/// What was written behind the last commit is not there any more. Nothing is moved; the first thing
/// that is written to a file of gsd gives it a commit record. A file of ours that gsd has appended
/// to goes on without checksums and alignment; [`FileWriter::stale`] and a warning of the crate
/// `log` tell.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reopen {
    settings: Settings,
}

impl Reopen {
    /// Commits that survive a power cut, a buffer of 1 MiB, and nobody else may write.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What commits survive.
    #[must_use]
    pub const fn durability(mut self, durability: Durability) -> Self {
        self.settings.durability = durability;
        self
    }

    /// Whether commits take one sync where that is possible, and not two; unless told, as they did
    /// before. See [`Attributes::one_sync`](striae_core::gsd::Attributes::one_sync) for what that
    /// means for gsd.
    #[must_use]
    pub const fn one_sync(mut self, one_sync: bool) -> Self {
        self.settings.one_sync = Some(one_sync);
        self
    }

    /// Bytes that are gathered before they are written.
    #[must_use]
    pub const fn buffer(mut self, bytes: usize) -> Self {
        self.settings.buffer = bytes;
        self
    }

    /// Whether others are kept from writing to the file: they are unless told.
    #[must_use]
    pub const fn lock(mut self, lock: bool) -> Self {
        self.settings.lock = lock;
        self
    }

    /// Goes on with the file at `path`.
    ///
    /// # Errors
    /// [`Locked`](crate::error::ErrorKind::Locked) if somebody else writes to it;
    /// [`Error`](striae_core::gsd::Error) if it is no GSD file or a damaged one; the operating
    /// system's.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<FileWriter, Error> {
        let path = path.as_ref();
        let file = self.open_file(path)?;
        // What is visible may be the last words of a program that was killed, and not durable.
        file.sync().map_err(|error| Error::new(path, error))?;
        FileWriter::go_on(file, path, self.settings)
    }

    /// The file that has the name when nobody else may write to it any more.
    fn open_file(&self, path: &Path) -> Result<Locked, Error> {
        let at = |error| Error::new(path, error);
        for _ in 0..ATTEMPTS {
            let file = PosixFile::open_rw(path).map_err(at)?;
            let file = file.durable(self.settings.durability == Durability::OnCommit);
            let file = lock(file, path, self.settings.lock)?;
            let is_named = |named: &PosixFile| named.identity() == file.identity();
            if !self.settings.lock || is_named(&PosixFile::open(path).map_err(at)?) {
                return Ok(file);
            }
        }
        let busy = "was replaced whenever it was looked at";
        Err(at(io::Error::new(io::ErrorKind::ResourceBusy, busy)))
    }
}
