//! Options for output files, common to packing, converting, extracting and recovering.

use crate::copy::Copier;
use crate::direct::OpenOptions;
use crate::each::all_processors;
use crate::error::{Error, ErrorKind};
use crate::posix::{PosixFile, max_direct_threads};
use crate::publish::Publish;
use crate::store::existing;
use std::fmt;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::Path;
use striae_inspect::size::Demand;

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
    max_size: Option<u64>,
}

impl Output {
    /// Replaces no file, goes through the page cache, uses all processors.
    #[must_use]
    pub const fn new() -> Self {
        Self { force: false, direct: None, threads: None, max_size: None }
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

    /// Copies with this number of threads, if more than one thread can fill files of the format; if
    /// data is read directly, with at most one for each 16 descriptors that the process may have.
    #[must_use]
    pub const fn threads(mut self, threads: NonZeroUsize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Writes outputs of up to this number of bytes, however small the input is. Default: `None`,
    /// at most the [limit](striae_inspect::size::Demand::limit) that the input justifies.
    #[must_use]
    pub const fn max_size(mut self, bytes: Option<u64>) -> Self {
        self.max_size = bytes;
        self
    }

    /// The largest size, if it does not follow from the input.
    pub(crate) const fn allowed(&self) -> Option<u64> {
        self.max_size
    }

    /// Refuses an output that is larger than its input justifies, before its first byte is written.
    /// `because` names the field that asks for the size, and its value.
    ///
    /// # Errors
    /// [`ErrorKind::TooLarge`], about the file `input`.
    pub(crate) fn admit(
        &self,
        input: &Path,
        demand: &Demand,
        because: impl fmt::Display,
    ) -> Result<(), Error> {
        let limit = self.limit(demand);
        if demand.size <= limit {
            return Ok(());
        }
        let because = because.to_string().into();
        Err(Error::new(input, ErrorKind::TooLarge { size: demand.size, limit, because }))
    }

    /// Refuses to copy this number of bytes out of a file, if holes and bytes that several things
    /// share make them more than the file has. `because` names the field that asks for the size.
    ///
    /// # Errors
    /// [`ErrorKind::TooLarge`], about the file `input`; an error of the operating system.
    pub(crate) fn admit_copy(
        &self,
        input: &Path,
        file: &PosixFile,
        size: u64,
        because: impl fmt::Display,
    ) -> Result<(), Error> {
        // Little is admitted in any case, so holes need not be looked up.
        let least = Demand { size, existing: 0, own: 0 };
        if self.max_size.is_none() && least.is_fair() {
            return Ok(());
        }
        let existing = existing(file).map_err(|error| Error::new(input, error))?;
        self.admit(input, &Demand { existing, ..least }, because)
    }

    /// The largest output that is written.
    pub(crate) fn limit(&self, demand: &Demand) -> u64 {
        self.max_size.unwrap_or_else(|| demand.limit())
    }

    /// Refuses an output for which the file system of `out` has no room.
    ///
    /// # Errors
    /// [`ErrorKind::NoRoom`], about the file `out`.
    pub(crate) fn has_room(out: &Path, size: u64) -> Result<(), Error> {
        let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty());
        Self::is_free(out, folder.unwrap_or(Path::new(".")), size)
    }

    /// Refuses files for which the file system of the folder `dir`, which may be made later, has no
    /// room.
    ///
    /// # Errors
    /// [`ErrorKind::NoRoom`], about the folder.
    pub(super) fn has_room_in(dir: &Path, size: u64) -> Result<(), Error> {
        if dir.is_dir() { Self::is_free(dir, dir, size) } else { Self::has_room(dir, size) }
    }

    fn is_free(out: &Path, folder: &Path, size: u64) -> Result<(), Error> {
        // If the file system does not say how much is free, writing will show it.
        let Ok(stat) = rustix::fs::statvfs(folder) else { return Ok(()) };
        let free = stat.f_bavail.saturating_mul(stat.f_frsize);
        if size <= free {
            return Ok(());
        }
        Err(Error::new(out, ErrorKind::NoRoom { size, free }))
    }

    pub(crate) fn nthreads(&self) -> NonZeroUsize {
        let threads = self.threads.unwrap_or_else(all_processors);
        if self.direct.is_some() { threads.min(max_direct_threads()) } else { threads }
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
