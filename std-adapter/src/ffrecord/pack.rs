//! Packs files into an ffrecord file; the reverse of [`Extract`](super::Extract).

use super::write::{Builder, Written};
use crate::error::Error;
use crate::output::Output;
use crate::posix::PosixFile;
use std::path::{Path, PathBuf};
use striae_core::span::Span;
use striae_core::store::usize_to_u64;

/// Options for packing files into an ffrecord file, one sample for each file.
///
/// The new file gets its name when it is complete. A replaced file is removed only after the new
/// one is on the disk.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pack {
    output: Output,
}

impl Pack {
    /// Replaces no file.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how the output file is made. By default no file is replaced.
    #[must_use]
    pub const fn output(mut self, output: Output) -> Self {
        self.output = output;
        self
    }

    /// Bytes of all files; a file whose length cannot be read counts as empty.
    #[must_use]
    pub fn bytes(files: &[PathBuf]) -> u64 {
        let len = |path: &PathBuf| std::fs::metadata(path).map_or(0, |file| file.len());
        files.iter().map(len).fold(0, u64::saturating_add)
    }

    /// Makes the file `out` of `files`, in this order. `progress` gets the length of each copied
    /// piece.
    ///
    /// # Errors
    /// [`Exists`](crate::error::ErrorKind::Exists) if `out` exists already; an error of the
    /// operating system, also for a file that is not a regular file.
    pub fn run(
        &self,
        files: &[PathBuf],
        out: &Path,
        progress: &dyn Fn(u64),
    ) -> Result<Written, Error> {
        let n = usize_to_u64(files.len());
        let builder = Builder::new().samples(n).force(self.output.force).durable(self.output.force);
        let mut writer = builder.create(out)?;
        let mut copier = self.output.copier(None);
        for path in files {
            let at = |error| Error::new(path, error);
            let file = PosixFile::open(path).map_err(at)?;
            let len = file.honest_size().map_err(at)?;
            let all = Span::new(0, len).unwrap_or(Span::ZERO); // from 0, so it ends where it can
            writer.copy_from(&mut copier, (path, &file), all, progress)?;
        }
        writer.finish()
    }
}
