//! How output files are made: what packing, converting, extracting and recovering have in common.

use crate::copy::Copier;
use crate::direct::OpenOptions;
use crate::each::all_processors;
use crate::error::Error;
use crate::publish::Publish;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::Path;

/// How the files that a verb makes are made.
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
    /// Replaces nothing, goes through the page cache, uses all processors.
    #[must_use]
    pub const fn new() -> Self {
        Self { force: false, direct: None, threads: None }
    }

    /// Replaces files that exist already. What is replaced is gone only when the disk has the new
    /// files.
    #[must_use]
    pub const fn force(mut self, force: bool) -> Self {
        self.force = force;
        self
    }

    /// Reads and writes past the page cache, as far as that can be, if there are options for that.
    #[must_use]
    pub const fn direct(mut self, options: Option<OpenOptions>) -> Self {
        self.direct = options;
        self
    }

    /// Copies with so many threads, where a format's files can be filled by more than one.
    #[must_use]
    pub const fn threads(mut self, threads: NonZeroUsize) -> Self {
        self.threads = Some(threads);
        self
    }

    pub(crate) fn nthreads(&self) -> NonZeroUsize {
        self.threads.unwrap_or_else(all_processors)
    }

    /// What copies data of a file into the output. `opened` says how the file is read past the page
    /// cache, if it is opened for that.
    pub(crate) fn copier(&self, opened: Option<OpenOptions>) -> Copier {
        Copier::new().direct(self.direct.or(opened))
    }

    /// Lets `make` write the `nfiles` files of `out` out of sight, and gives them their names when
    /// all of them are whole: see [`Publish`]. New files are for those to whom the file `like` is.
    /// Errors name the files by the names that they were to get.
    ///
    /// # Errors
    /// Those of `make` and of [`Publish`].
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
