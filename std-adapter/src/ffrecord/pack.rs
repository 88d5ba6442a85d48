//! Files into a file of samples: what [`Extract`](super::Extract) takes apart.

use super::write::{Builder, Written};
use crate::error::Error;
use crate::output::Output;
use crate::posix::PosixFile;
use std::path::{Path, PathBuf};
use striae_core::span::Span;
use striae_core::store::usize_to_u64;

/// How to make a file of samples of other files, one sample a file.
///
/// The new file appears when it is whole. What it replaces is gone only when the disk has it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pack {
    output: Output,
}

impl Pack {
    /// Replaces nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How the new files are made; unless told, nothing is replaced.
    #[must_use]
    pub const fn output(mut self, output: Output) -> Self {
        self.output = output;
        self
    }

    /// Bytes of the files; those that cannot be asked count as empty.
    #[must_use]
    pub fn bytes(files: &[PathBuf]) -> u64 {
        let len = |path: &PathBuf| std::fs::metadata(path).map_or(0, |file| file.len());
        files.iter().map(len).fold(0, u64::saturating_add)
    }

    /// Makes the file `out` of `files`, in this order. `progress` is told the length of each piece
    /// that was copied.
    ///
    /// # Errors
    /// [`Exists`](crate::error::ErrorKind::Exists); the operating system's, also for a file that is
    /// no regular one.
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
