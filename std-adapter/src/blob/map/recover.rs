//! Recovers the ranks of damaged text maps, as [`striae_inspect::blob::map::recover`] judges them.
//!
//! ```
//! use striae::blob::map::recover::Recover;
//!
//! # let folder = tempfile::tempdir()?;
//! # let (damaged, whole) = (folder.path().join("damaged.dat"), folder.path().join("whole.dat"));
//! # std::fs::write(&damaged, "version 2001 npes 2 ndims 1\n4\n0 x\n1 2\n1 2\n3 4\n")?;
//! let recovery = Recover::new().examine(&damaged)?;
//! assert_eq!(recovery.map().decompositions()[0].ranks().collect::<Vec<_>>(), [1]);
//! recovery.write(&whole)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::error::Error;
use crate::posix::PosixFile;
use crate::publish::spare;
use crate::store::existing;
use crate::verb::{Options, Output, Plain, judgement_of};
use std::path::{Path, PathBuf};
use striae_core::store::usize_to_u64;
use striae_inspect::blob::map::recover::Recovery as Judged;
use striae_inspect::size::Demand;

pub use striae_inspect::blob::map::recover::{Certainty, Doubt, Found, Loss, Proof};

/// How to recover a text map, which is only read. A map in netCDF is recovered as any netCDF file.
pub type Recover = Options<Plain<Recovery>>;

impl Recover {
    /// Judges the ranks of the text map at `path`.
    ///
    /// # Errors
    /// [`MapError`](super::MapError) if its first line or its dimensions are damaged; an error of
    /// the operating system.
    pub fn examine(&self, path: impl AsRef<Path>) -> Result<Recovery, Error> {
        let path = path.as_ref();
        let at = |error| Error::new(path, error);
        let file = PosixFile::open(path).map_err(at)?;
        let judged = Judged::examine(&file).map_err(|error| Error::new(path, error))?;
        let existing = existing(&file).map_err(at)?;
        Ok(Recovery { path: path.to_owned(), existing, judged, output: self.output })
    }
}

/// What can be recovered from a text map.
#[derive(Debug)]
pub struct Recovery {
    path: PathBuf,
    /// The bytes of the file that are not in holes.
    existing: u64,
    judged: Judged,
    output: Output,
}

judgement_of!(Recovery.judged: Judged);

impl Recovery {
    /// Writes a text map of the saved ranks. It gets its name when it is complete.
    ///
    /// # Errors
    /// [`TooLarge`](crate::error::ErrorKind::TooLarge) if it would be larger than the damaged one
    /// justifies; [`NoRoom`](crate::error::ErrorKind::NoRoom);
    /// [`Exists`](crate::error::ErrorKind::Exists) if the file exists and may not be replaced;
    /// [`Source`](crate::error::ErrorKind::Source) if it is the damaged one; an error of the
    /// operating system.
    pub fn write(&self, out: &Path) -> Result<(), Error> {
        spare([out.to_owned()], [&*self.path])?;
        let text = self.judged.text();
        let size = usize_to_u64(text.len());
        let demand = Demand { size, existing: self.existing, own: 0 };
        self.output.admit(&self.path, &demand, "its ranks have so many elements")?;
        Output::has_room(out, size)?;
        super::write(out, super::ONE, [text].into_iter(), self.output).map(drop)
    }
}
