//! Files into a file of samples: what [`Extract`](super::Extract) takes apart.

use super::write::{Builder, Written};
use crate::copy::Copier;
use crate::direct::OpenOptions;
use crate::error::Error;
use crate::posix::PosixFile;
use std::path::{Path, PathBuf};
use striae_core::span::Span;
use striae_core::store::usize_to_u64;

/// How to make a file of samples of other files, one sample a file.
///
/// The new file appears when it is whole. What it replaces is gone only when the disk has it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pack {
    force: bool,
    direct: Option<OpenOptions>,
}

impl Pack {
    /// Replaces nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces a file that exists already.
    #[must_use]
    pub const fn force(mut self, force: bool) -> Self {
        self.force = force;
        self
    }

    /// Copies large files past the page cache, in the way that these options say, if there are any.
    #[must_use]
    pub const fn direct(mut self, options: Option<OpenOptions>) -> Self {
        self.direct = options;
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
        let builder = Builder::new().samples(n).force(self.force).durable(self.force);
        let mut writer = builder.create(out)?;
        let mut copier = Copier::new().direct(self.direct);
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
