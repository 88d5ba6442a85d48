//! Opening a file to append to it.

use super::FileWriter;
use crate::error::Error;
use crate::lock::Locked;
use crate::store::{Durability, WriteOptions};
use std::path::Path;

/// How to open a file to append to it, made by gsd or by striae.
///
/// Bytes after the last commit are dropped. Nothing is moved. The first write to a file of gsd
/// gives it a commit record. If gsd has appended to a file of striae, new frames have no checksums
/// and no alignment; [`FileWriter::stale`] and a warning of the crate `log` say so.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reopen {
    write: WriteOptions,
    /// Whether commits take one sync; `None` for no change.
    one_sync: Option<bool>,
}

impl Reopen {
    /// Returns the defaults: commits survive a power cut, the buffer has 1 MiB, and the file is
    /// locked.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    crate::write_options!(durability lock buffer);

    /// Whether commits take one sync instead of two where possible; by default as before. For the
    /// effect on gsd, see [`Attributes::one_sync`](striae_core::gsd::Attributes::one_sync).
    #[must_use]
    pub const fn one_sync(mut self, one_sync: bool) -> Self {
        self.one_sync = Some(one_sync);
        self
    }

    /// Opens the file at `path` to append to it.
    ///
    /// # Errors
    /// [`Locked`](crate::error::ErrorKind::Locked) if another writer has the file;
    /// [`Error`](striae_core::gsd::Error) if it is no GSD file or is damaged; an error of the
    /// operating system.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<FileWriter, Error> {
        let path = path.as_ref();
        let file = Locked::open(path, self.write.is_durable(), self.write.lock)?;
        // The visible state may come from a killed program and not be durable yet.
        file.sync().map_err(|error| Error::new(path, error))?;
        FileWriter::go_on(file, path, self.one_sync, self.write.buffer)
    }
}
