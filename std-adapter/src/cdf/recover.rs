//! Recovers what is left of damaged files, as [`striae_inspect::cdf::recover`] judges it.
//!
//! ```
//! use striae::cdf::recover::Recover;
//!
//! # let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/doc/cdf5_alltypes.nc");
//! # let folder = tempfile::tempdir()?;
//! # let (damaged, whole) = (folder.path().join("damaged.nc"), folder.path().join("whole.nc"));
//! # let mut bytes = std::fs::read(golden)?;
//! # bytes[4..12].fill(0xff); // the number of records
//! # std::fs::write(&damaged, bytes)?;
//! let recovery = Recover::new().examine(&damaged)?;
//! assert_eq!(recovery.records().saved, 3);
//! recovery.write(&whole, &|_| {})?;
//! # let recovered = striae::cdf::File::open(whole)?;
//! # assert_eq!(recovered.numrecs(), 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::error::{Error, ErrorKind};
use crate::posix::PosixFile;
use crate::publish::spare;
use crate::verb::{Options, Output, Plain, judgement_of};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use striae_core::store::ReadAt;
use striae_inspect::blob::map::damage_of_netcdf;
use striae_inspect::cdf::recover::{Recovery as Judged, Unwritten};

pub use striae_inspect::cdf::recover::{Certainty, Doubt, Loss, Proof, Records};

/// How to recover a file. The damaged file is only read. The largest size of the new one also
/// decides whether a variable is saved of which the file does not have all values.
pub type Recover = Options<Plain<Recovery>>;

impl Recover {
    /// Finds what can be recovered from the file at `path`.
    ///
    /// # Errors
    /// [`Format`](super::ErrorKind::Format) if no variable can be saved; an error of the operating
    /// system.
    pub fn examine(&self, path: impl AsRef<Path>) -> Result<Recovery, Error> {
        let path = path.as_ref();
        let file = PosixFile::open(path).map_err(|error| Error::new(path, error))?;
        let judged = Judged::examine_for(&file, self.output.allowed());
        let judged = judged.map_err(|error| Error::new(path, error))?;
        Ok(Recovery { path: path.to_owned(), file, judged, output: self.output })
    }
}

/// What can be recovered from a file.
#[derive(Debug)]
pub struct Recovery {
    path: PathBuf,
    file: PosixFile,
    judged: Judged,
    output: Output,
}

judgement_of!(Recovery.judged: Judged);

impl Recovery {
    /// Writes the new file. It gets its name when it is complete: see
    /// [`Publish`](crate::publish::Publish). `progress` gets the length of each copied piece.
    ///
    /// # Errors
    /// [`TooLarge`](crate::error::ErrorKind::TooLarge) if the values that are saved are more than
    /// [`Output::max_size`] allows; [`NoRoom`](crate::error::ErrorKind::NoRoom);
    /// [`Exists`](crate::error::ErrorKind::Exists) if the file exists and may not be replaced;
    /// [`Source`](crate::error::ErrorKind::Source) if it is the damaged file, which is never
    /// replaced; [`DamagedMap`](crate::error::ErrorKind::DamagedMap) if it would be a decomposition
    /// map that is damaged; an error of the operating system.
    pub fn write(&self, out: &Path, progress: &dyn Fn(u64)) -> Result<(), Error> {
        let demand = self.judged.demand();
        let (variables, records) =
            (self.judged.header().variables().len(), self.judged.records().saved);
        let because =
            format_args!("header.numrecs is {records} and var_list has {variables} items");
        spare([out.to_owned()], [&*self.path])?;
        self.output.admit(&self.path, &demand, because)?;
        // Holes of the damaged file stay holes.
        let len = self.file.size().map_err(|error| Error::new(&self.path, error))?;
        let holes = len.saturating_sub(demand.existing);
        Output::has_room(out, demand.size.saturating_sub(holes))?;
        self.output.make(out, NonZeroU32::MIN, Some(&self.path), |publish| {
            let hidden = publish.hidden(0);
            let mut to =
                PosixFile::create(&hidden, false).map_err(|error| Error::new(out, error))?;
            let saved = self.judged.save(&self.file, &mut to, &mut |bytes| progress(bytes));
            saved.map_err(|error| match error {
                Unwritten::Read(error) => Error::new(&self.path, error),
                Unwritten::Write(error) => Error::new(out, error),
            })?;
            let at = |error| Error::new(&self.path, error);
            match damage_of_netcdf(&to).map_err(at)? {
                Some(what) => Err(Error::new(&self.path, ErrorKind::DamagedMap(what))),
                None => Ok(()),
            }
        })
    }
}
