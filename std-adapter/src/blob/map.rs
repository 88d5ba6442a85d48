//! Decomposition maps: opens, verifies and converts text maps of PIO and netCDF maps of E3SM-IO;
//! dumps and recovers text maps.

pub mod recover;

use crate::error::{Error, ErrorKind};
use crate::finding;
use crate::posix::PosixFile;
use crate::publish::{Numbering, Publish};
use crate::store::existing;
use crate::verb::Output;
use crate::verb::Verify;
use std::fmt;
use std::io;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::{Path, PathBuf};
use striae_core::step::DriveError;
use striae_inspect::blob::map as inspect;
use striae_inspect::dump::Line;
use striae_inspect::size::Demand;

pub use striae_core::blob::map::{Error as MapError, Grid, Request, Rule, sort_and_merge};
pub use striae_inspect::blob::map::{
    Decomposition, FindingKind, Lists, NetCdf, Order, Origin, Summary,
};

/// One file, whose name is that of the output.
const ONE: (NonZeroU32, Numbering) = (NonZeroU32::MIN, Numbering::Set);

/// A problem or an unusual fact in a map.
pub type Finding = finding::Finding<FindingKind>;

/// A map in memory: for each decomposition the requests of each rank.
///
/// ```
/// use std::num::NonZeroU32;
/// use striae::blob::map::{Map, Request};
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/doc/map_f_holes_5p.nc");
/// let map = Map::open(path)?;
/// assert_eq!((map.nprocs(), map.decompositions().len()), (5, 3));
/// let first = map.decomposition(NonZeroU32::MIN).unwrap();
/// assert_eq!(first.requests(1), [Request { offset: 21, len: 11 }]);
/// # Ok::<(), striae::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Map {
    path: PathBuf,
    map: inspect::Map,
    /// The bytes of all files.
    bytes: u64,
}

impl Map {
    /// Opens the text map or netCDF map at `path`.
    ///
    /// # Errors
    /// [`MapError`] if the file is no map or is damaged; an error of the operating system.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_by(path, Rule::Nreqs)
    }

    /// Opens a map as [`open`](Self::open) does; of a netCDF map, the ranks have their requests by
    /// `rule`.
    ///
    /// # Errors
    /// See [`open`](Self::open).
    pub fn open_by(path: impl AsRef<Path>, rule: Rule) -> Result<Self, Error> {
        let path = path.as_ref();
        let store = PosixFile::open(path).map_err(|error| Error::new(path, error))?;
        let map = inspect::Map::read_by(&store, rule);
        let map = map.map_err(|error| Error::new(path, error))?;
        let bytes = existing(&store).map_err(|error| Error::new(path, error))?;
        Ok(Self { path: path.into(), map, bytes })
    }

    /// Opens several maps as one: the decompositions are numbered in the order of the files.
    /// E3SM-IO makes a map of text maps in this way.
    ///
    /// # Errors
    /// [`MapError::Nprocs`] if they are for different numbers of ranks; see [`open`](Self::open).
    pub fn join<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Self, Error> {
        let maps = paths.into_iter().map(Self::open).collect::<Result<Vec<_>, _>>()?;
        let bytes = maps.iter().map(|map| map.bytes).fold(0, u64::saturating_add);
        let path = maps.last().map(|map| map.path.clone()).unwrap_or_default();
        let map = inspect::Map::join(maps.into_iter().map(|map| map.map).collect());
        let map = map.map_err(|error| Error::new(&path, error))?;
        Ok(Self { path, map, bytes })
    }

    pub(crate) const fn inner(&self) -> &inspect::Map {
        &self.map
    }

    /// The path of the file; of several files, that of the last one.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of ranks.
    #[must_use]
    pub const fn nprocs(&self) -> u64 {
        self.map.nprocs()
    }

    /// The decompositions in order.
    #[must_use]
    pub fn decompositions(&self) -> &[Decomposition] {
        self.map.decompositions()
    }

    /// The decomposition with this number, from 1.
    #[must_use]
    pub fn decomposition(&self, id: NonZeroU32) -> Option<&Decomposition> {
        self.map.decomposition(id)
    }

    /// How a set of `nprocs` processes was written by the map at `path`. `blobs` are the requests
    /// of the blobs of all subfiles, or of some.
    ///
    /// # Errors
    /// See [`open`](Self::open); by [`Rule::FillStarts`] the map may be an error, which does not
    /// count.
    pub fn origin(
        path: impl AsRef<Path>,
        nprocs: NonZeroU64,
        blobs: &[Lists],
    ) -> Result<Origin, Error> {
        let path = path.as_ref();
        let right = Self::open(path)?;
        let wrong = Self::open_by(path, Rule::FillStarts).ok();
        let wrong = wrong.as_ref().unwrap_or(&right);
        let by_rule = [(Rule::Nreqs, &right.map), (Rule::FillStarts, &wrong.map)];
        Ok(inspect::origin(by_rule, nprocs, blobs))
    }

    /// Checks that the map is sound: what is made of a damaged one is damaged, too.
    ///
    /// # Errors
    /// [`DamagedMap`](crate::error::ErrorKind::DamagedMap) with the first finding of damage.
    pub fn check(&self) -> Result<(), Error> {
        let refuse = |finding| Error::new(&self.path, ErrorKind::DamagedMap(finding));
        self.map.damage().map_or(Ok(()), |finding| Err(refuse(finding)))
    }

    /// Writes a netCDF map, which gets its name when it is complete.
    ///
    /// # Errors
    /// Those of [`check`](Self::check); [`TooLarge`](crate::error::ErrorKind::TooLarge) for more
    /// bytes than the input justifies; [`MapError::TooLarge`] for a number of more than 31 bits;
    /// [`Exists`](crate::error::ErrorKind::Exists); an error of the operating system.
    pub fn write_netcdf(
        &self,
        out: impl AsRef<Path>,
        how: NetCdf<'_>,
        output: Output,
    ) -> Result<(), Error> {
        self.check()?;
        let out = out.as_ref();
        let because = format_args!("decomp_nprocs is {}", self.nprocs());
        self.admit(out, &output, how.len(&self.map), because)?;
        let bytes = how.write(&self.map).map_err(|error| Error::new(out, error))?;
        write(out, ONE, [bytes].into_iter(), output).map(drop)
    }

    /// Writes each decomposition to a text map, and returns their paths. If there is only one, its
    /// path is `out`; else the text map of decomposition 2 of `map.dat` is `map.D2.dat`. Requests
    /// that fill holes are left out. The files get their names when all are complete.
    ///
    /// # Errors
    /// Those of [`check`](Self::check); [`TooLarge`](crate::error::ErrorKind::TooLarge) for more
    /// bytes than the input justifies; [`Exists`](crate::error::ErrorKind::Exists); an error of the
    /// operating system.
    pub fn write_texts(
        &self,
        out: impl AsRef<Path>,
        output: Output,
    ) -> Result<Vec<PathBuf>, Error> {
        self.check()?;
        let out = out.as_ref();
        let size = self.decompositions().iter().map(inspect::text_len);
        let because = "a text map names each element of each request";
        self.admit(out, &output, size.fold(0, u64::saturating_add), because)?;
        let all = self.decompositions();
        let nfiles = u32::try_from(all.len()).ok().and_then(NonZeroU32::new);
        let files = match nfiles {
            None => return Ok(Vec::new()),
            Some(NonZeroU32::MIN) => ONE,
            Some(nfiles) => (nfiles, Numbering::Maps),
        };
        write(out, files, all.iter().map(inspect::text), output)
    }
}

impl Map {
    /// Refuses an output of so many bytes if the files of the map do not justify it.
    fn admit(
        &self,
        out: &Path,
        output: &Output,
        size: u64,
        because: impl fmt::Display,
    ) -> Result<(), Error> {
        output.admit(&self.path, &Demand { size, existing: self.bytes, own: 0 }, because)?;
        Output::has_room(out, size)
    }
}

/// Writes the `files` of `out`, which get their names when all are complete. Returns their paths.
fn write<B: AsRef<[u8]>>(
    out: &Path,
    (nfiles, numbering): (NonZeroU32, Numbering),
    files: impl Iterator<Item = B>,
    output: Output,
) -> Result<Vec<PathBuf>, Error> {
    let publish = Publish::of((out, nfiles, numbering), output.force, true)?;
    let paths: Vec<_> = numbering.paths(out, nfiles.get()).collect();
    for ((number, path), bytes) in (0..).zip(&paths).zip(files) {
        let write = || -> io::Result<()> {
            let file = PosixFile::create(&publish.hidden(number), false)?;
            file.write_all_at(0, bytes.as_ref())?;
            file.sync()
        };
        write().map_err(|error| Error::new(path, error))?;
    }
    publish.finish(output.force)?;
    Ok(paths)
}

/// Passes each word and number of the text map at `path` to `each`, with its offset, bytes and
/// value. The fields before damage are passed.
///
/// # Errors
/// The reason why no more fields were found; an error of the operating system; an error that `each`
/// returned.
pub fn dump(path: &Path, each: &mut dyn FnMut(Line) -> io::Result<()>) -> Result<(), Error> {
    let store = PosixFile::open(path).map_err(|error| Error::new(path, error))?;
    inspect::dump(&store, &mut |line| each(line)).map_err(|error| Error::new(path, error))
}

/// Whether the file at `path` is a decomposition map. At most 64 KiB of it are read.
///
/// # Errors
/// An error of the operating system.
pub fn is_map(path: impl AsRef<Path>) -> Result<bool, Error> {
    let path = path.as_ref();
    let store = PosixFile::open(path).map_err(|error| Error::new(path, error))?;
    let is_map = || Ok(inspect::is_text(&store)? || inspect::is_netcdf(&store)?);
    is_map().map_err(|error: DriveError<io::Error, MapError>| Error::new(path, error))
}

impl Verify<'_> {
    /// Checks the map at `path` and passes each finding to the callback.
    ///
    /// # Errors
    /// An error of the operating system. Any problem in the contents of the file is a finding.
    pub fn map(
        &self,
        path: impl AsRef<Path>,
        each: &mut dyn FnMut(Finding),
    ) -> Result<Summary, Error> {
        self.one(path.as_ref(), each, |file, each| inspect::verify(file, each))
    }
}
