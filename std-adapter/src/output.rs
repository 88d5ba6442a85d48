//! Options for output files, common to packing, converting, extracting and recovering.

use crate::copy::Copier;
use crate::direct::OpenOptions;
use crate::each::all_processors;
use crate::error::Error;
use crate::publish::Publish;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::Path;

/// Options for the output files of a verb.
///
/// ```
/// use striae::{Output, sion};
///
/// let output = Output::new().force(true).threads(std::num::NonZeroUsize::MIN);
/// let convert = sion::Convert::new().output(output);
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Output {
    pub(crate) force: bool,
    pub(crate) direct: Option<OpenOptions>,
    threads: Option<NonZeroUsize>,
}

impl Output {
    /// Replaces no file, goes through the page cache, uses all processors.
    #[must_use]
    pub const fn new() -> Self {
        Self { force: false, direct: None, threads: None }
    }

    /// Replaces existing files. A replaced file is removed only after the new files are on the
    /// disk.
    #[must_use]
    pub const fn force(mut self, force: bool) -> Self {
        self.force = force;
        self
    }

    /// With `Some` options, reads and writes past the page cache where possible.
    #[must_use]
    pub const fn direct(mut self, options: Option<OpenOptions>) -> Self {
        self.direct = options;
        self
    }

    /// Copies with this number of threads, if more than one thread can fill files of the format.
    #[must_use]
    pub const fn threads(mut self, threads: NonZeroUsize) -> Self {
        self.threads = Some(threads);
        self
    }

    pub(crate) fn nthreads(&self) -> NonZeroUsize {
        self.threads.unwrap_or_else(all_processors)
    }

    /// Makes the copier that copies data of a file into the output. `opened` has the options with
    /// which that file was opened for direct reading, if it was.
    pub(crate) fn copier(&self, opened: Option<OpenOptions>) -> Copier {
        Copier::new().direct(self.direct.or(opened))
    }

    /// Runs `make`, which writes the `nfiles` files of `out` under hidden names, and gives them
    /// their names when all of them are complete: see [`Publish`]. New files get the permissions of
    /// the file `like`. Errors have the final paths.
    ///
    /// # Errors
    /// The errors of `make` and of [`Publish`].
    pub(crate) fn make<T>(
        &self,
        out: &Path,
        nfiles: NonZeroU32,
        like: Option<&Path>,
        make: impl FnOnce(&Publish) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let publish = Publish::new(out, nfiles, self.force)?;
        let publish = match like {
            Some(file) => publish.like(file),
            None => publish,
        };
        let made = make(&publish).map_err(|error| {
            let is_hidden = error.path().parent() == publish.hidden(0).parent();
            match error.path().file_name().filter(|_| is_hidden) {
                Some(name) => {
                    let path = out.with_file_name(name);
                    error.renamed(&path)
                }
                None => error,
            }
        })?;
        // What is replaced may be all that there is of the data, until the disk has the new files.
        publish.finish(self.force)?;
        Ok(made)
    }
}
