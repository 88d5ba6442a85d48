//! [`Set`]: all subfiles of a name.

mod elements;
mod options;
mod records;
mod whole;

pub use options::OpenOptions;
pub(super) use options::judged;

use super::Container;
use super::Flaw;
use super::canonical;
use super::grammar::{Canonical, Decomposition as Known, Variable as Decomposed};
use super::names::Names;
use super::plan::Plan;
use super::read::{fill_with, slab};
use super::runs::{self, Elements};
use super::subfile::Subfile;
use crate::cdf::ErrorKind as CdfError;
use crate::error::{Error, ErrorKind as AnyError};
use crate::files::Files;
use crate::posix::PosixFile;
use crate::store::bulk::Bulk;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use striae_core::cdf::{Layout, Region};
use striae_core::endian::ByteOrder;
use striae_core::span::Span;
use striae_core::store::usize_to_u64;
use striae_inspect::cdf::values::swap;
use striae_inspect::cdf::{Header, Variable};

/// Bytes of variables that are made at once if it does not matter. In HDF5 a blob has the variables
/// one after another: of more variables it has longer pieces.
const fn cached(container: Container) -> usize {
    match container {
        Container::Cdf => 1 << 19,
        Container::Hdf5 => 1 << 20,
    }
}

/// A subfile that cannot be read, or not all of it.
#[derive(Debug, Clone)]
pub struct Lost {
    /// The number of the subfile.
    pub number: u32,
    /// The first error, with the path of the subfile.
    pub error: Arc<Error>,
    /// The values that were to be read and were filled, of all variables; `None` if their number is
    /// not known because the map is lost, too.
    pub values: Option<u64>,
}

impl Lost {
    /// A subfile with this error, which costs nothing yet.
    ///
    /// # Errors
    /// The error, if it says something about this machine or this user, and nothing about the file.
    fn new(number: u32, error: Error) -> Result<Self, Error> {
        match error.kind() {
            AnyError::Io(of_system) if is_of_machine(of_system) => Err(error),
            _ => Ok(Self { number, error: Arc::new(error), values: Some(0) }),
        }
    }
}

/// Whether an error of the operating system says something about this machine or this user, and
/// nothing about the contents of a file: too many open files, no permission, not a regular file.
pub(super) fn is_of_machine(error: &io::Error) -> bool {
    const HERE: [i32; 3] = [libc::EMFILE, libc::ENFILE, libc::ENOMEM];
    use io::ErrorKind::{InvalidInput, IsADirectory, PermissionDenied};
    match error.raw_os_error() {
        None => matches!(error.kind(), InvalidInput | IsADirectory), // of our own checks
        Some(code) => HERE.contains(&code) || error.kind() == PermissionDenied,
    }
}

/// A decomposition of a set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decomposition {
    /// The ids of its canonical dimensions, the slowest first.
    pub dimids: Box<[u64]>,
    /// The number of elements of an array.
    pub nelems: u64,
    /// The number of elements that are in a subfile.
    pub covered: u64,
    /// How often an element is in a blob after the first one that has it.
    pub overlaps: u64,
    /// The number of elements that blobs name outside of the array.
    pub outside: u64,
}

impl Decomposition {
    fn new(known: &Known, elements: &Elements) -> Self {
        Self {
            dimids: known.dims.clone(),
            nelems: known.total,
            covered: elements.covered,
            overlaps: elements.overlaps,
            outside: elements.outside,
        }
    }
}

/// A set of blob files, open for reading: decomposed arrays, in the subfiles of one name. Many
/// threads may call all methods at once.
///
/// Subfiles are opened when they are needed. A subfile that is missing or damaged costs its own
/// elements only: these are filled, and [`lost`](Self::lost) names the subfile.
///
/// Elements that no process has written are filled, too. Of elements that several processes have
/// written, the lowest rank counts: the first subfile, and in it the first blob. A variable that is
/// not decomposed is in every subfile; the first one counts.
#[derive(Debug)]
pub struct Set {
    pub(super) canonical: Canonical,
    /// The canonical header, and what it is made of when it is first needed.
    header: OnceLock<Header>,
    source: canonical::Source,
    /// The first subfile, whose number of records is that of the set; `None` if that number is made
    /// of what is left.
    counting: Option<u32>,
    /// The subfiles that their seals tie to the set, in order.
    tied: Vec<u32>,
    container: Container,
    files: Arc<Files>,
    names: Names,
    subfiles: Vec<OnceLock<Option<Arc<Subfile>>>>,
    elements: Vec<OnceLock<Arc<Elements>>>,
    lost: Mutex<BTreeMap<u32, Lost>>,
    pub(crate) options: OpenOptions,
}

/// A subfile that was opened, and its file.
pub(super) type Opened = (Arc<Subfile>, Arc<Bulk>);

impl Set {
    /// Opens the set with this name, or the set of which `path` is a subfile.
    ///
    /// # Errors
    /// See [`OpenOptions::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        OpenOptions::new().open(path)
    }

    /// The path without the number of a subfile.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.names.base()
    }

    /// The header of the canonical file: dimensions, attributes and variables, without what
    /// describes the decompositions.
    #[must_use]
    pub fn header(&self) -> &Header {
        self.header.get_or_init(|| self.source.canonical(&self.canonical))
    }

    /// What the set is stored in.
    #[must_use]
    pub const fn container(&self) -> Container {
        self.container
    }

    /// The number of processes that wrote the set.
    #[must_use]
    pub const fn nprocs(&self) -> u64 {
        self.canonical.nprocs
    }

    /// The number of subfiles of the set, also those that are missing.
    #[must_use]
    pub const fn nsubfiles(&self) -> u64 {
        self.canonical.nsubfiles
    }

    /// The number of decompositions.
    #[must_use]
    pub fn ndecompositions(&self) -> usize {
        self.canonical.decompositions.len()
    }

    /// The subfiles that there are, with their numbers.
    pub fn subfiles(&self) -> impl Iterator<Item = (u32, PathBuf)> {
        self.numbers().map(|(_, number)| (number, self.names.path(number)))
    }

    /// The numbers of the subfiles that are missing, in order.
    pub fn missing(&self) -> impl Iterator<Item = u32> {
        let all = 0..u32::try_from(self.nsubfiles()).unwrap_or(u32::MAX);
        all.filter(|number| self.names.numbers().binary_search(number).is_err())
    }

    /// The number of subfiles that are missing.
    #[must_use]
    pub fn missing_count(&self) -> u64 {
        self.nsubfiles().saturating_sub(usize_to_u64(self.numbers().count()))
    }

    /// The path of the subfile with this number.
    #[must_use]
    pub fn subfile_path(&self, number: u32) -> PathBuf {
        self.names.path(number)
    }

    /// The number of the subfile whose header counts.
    pub(super) const fn truth(&self) -> u32 {
        self.source.number
    }

    /// The header of that subfile.
    pub(super) const fn own_header(&self) -> &Header {
        &self.source.header
    }

    /// The file of a subfile, by its index.
    pub(super) fn file(&self, index: usize) -> Result<Arc<Bulk>, AnyError> {
        self.files.get(index).map_err(Into::into)
    }

    /// The names of the subfiles.
    pub(crate) const fn names(&self) -> &Names {
        &self.names
    }

    /// Indices and numbers of the subfiles that belong to the set.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = (usize, u32)> {
        let all = self.names.numbers().iter().copied().enumerate();
        all.filter(|&(_, number)| u64::from(number) < self.nsubfiles())
    }

    /// The variable of this name.
    ///
    /// # Errors
    /// [`NoVariable`](crate::cdf::ErrorKind::NoVariable).
    pub fn variable(&self, name: &str) -> Result<Variable<'_>, Error> {
        let none = || self.error(CdfError::NoVariable { name: name.into() });
        self.header().variable(name).ok_or_else(none)
    }

    /// The decomposition of a variable, from 1; `None` if it is not decomposed.
    #[must_use]
    pub fn decomposition(&self, variable: Variable<'_>) -> Option<usize> {
        let decomposition = self.decomposed(variable)?.1.decomposition?;
        decomposition.checked_add(1)
    }

    /// The decompositions, in order. This reads the maps of all subfiles.
    ///
    /// # Errors
    /// An error of the operating system that says nothing about a subfile.
    pub fn decompositions(&self) -> Result<Vec<Decomposition>, Error> {
        let all = self.canonical.decompositions.iter().enumerate();
        let of = |(index, known): (usize, &Known)| {
            self.elements(index).map(|elements| Decomposition::new(known, elements))
        };
        all.map(of).collect()
    }

    /// The decompositions whose maps were read so far, with their numbers from 1.
    pub fn decompositions_read(&self) -> impl Iterator<Item = (usize, Decomposition)> {
        let all = (1..).zip(self.canonical.decompositions.iter().zip(&self.elements));
        all.filter_map(|(id, (known, elements))| {
            elements.get().map(|elements| (id, Decomposition::new(known, elements)))
        })
    }

    /// Whether a subfile has a seal; `None` if it cannot be read. Seals are found only if the set
    /// is opened to be [checked](OpenOptions::checked).
    ///
    /// # Errors
    /// An error of the operating system that says nothing about the subfile.
    pub fn is_sealed(&self, number: u32) -> Result<Option<bool>, Error> {
        Ok(self.subfile(number)?.map(|(subfile, _)| subfile.is_sealed()))
    }

    /// The number of blobs and the bytes of a subfile; `None` if it cannot be read.
    ///
    /// # Errors
    /// An error of the operating system that says nothing about the subfile.
    pub fn blobs(&self, number: u32) -> Result<Option<(u64, u64)>, Error> {
        let subfile = self.subfile(number)?;
        Ok(subfile.map(|(subfile, _)| (usize_to_u64(subfile.nblobs), subfile.file_len)))
    }

    /// The fill value of a variable, in big-endian order: its `_FillValue`, else that of its type.
    /// Only as many bytes count as a value has.
    #[must_use]
    pub fn fill_value(&self, variable: Variable<'_>) -> [u8; 8] {
        variable.fill_value()
    }

    /// The subfiles that could not be read so far, or not all of them, in order. Missing subfiles
    /// are not among them.
    pub fn lost(&self) -> Vec<Lost> {
        let lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        lost.values().cloned().collect()
    }

    /// How many bytes of several variables are to be made at once: what fits into a cache of the
    /// processor is made faster. It takes more turns, which cost nothing if the subfiles stay open
    /// and are in the page cache.
    pub(crate) fn at_once(&self) -> usize {
        let stay_open = self.names.numbers().len() <= self.options.wanted_open();
        let memory = self.options.memory();
        if stay_open && !self.options.is_direct() {
            memory.min(cached(self.container))
        } else {
            memory
        }
    }

    /// Makes an error about this set.
    pub(crate) fn error(&self, kind: impl Into<AnyError>) -> Error {
        Error::new(self.path(), kind)
    }

    /// Keeps the first error of a subfile, and counts the values that it costs.
    pub(super) fn lose(
        &self,
        number: u32,
        error: AnyError,
        values: Option<u64>,
    ) -> Result<(), Error> {
        let new = Lost::new(number, Error::new(&self.names.path(number), error))?;
        let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        let lost = lost.entry(number).or_insert(new);
        lost.values = lost.values.zip(values).map(|(sum, more)| sum.saturating_add(more));
        Ok(())
    }

    /// A subfile, which is opened if it is not; `None` if it cannot be read.
    pub(crate) fn subfile(&self, number: u32) -> Result<Option<Opened>, Error> {
        let Ok(index) = self.names.numbers().binary_search(&number) else { return Ok(None) };
        let Some(known) = self.subfiles.get(index) else { return Ok(None) };
        if known.get().is_some_and(Option::is_none) {
            return Ok(None);
        }
        let read = || -> Result<_, AnyError> {
            let bulk = self.files.get(index)?;
            let subfile = match known.get() {
                Some(Some(subfile)) => Arc::clone(subfile),
                _ => Arc::new(self.open_subfile(number, bulk.file())?),
            };
            Ok((subfile, bulk))
        };
        match read() {
            Ok((subfile, bulk)) => {
                let subfile = known.get_or_init(|| Some(subfile));
                Ok(subfile.as_ref().map(|subfile| (Arc::clone(subfile), bulk)))
            }
            Err(error) => {
                self.lose(number, error, None)?;
                known.get_or_init(|| None);
                Ok(None)
            }
        }
    }

    /// A subfile that was opened, whether or not its file is open now; `None` if it was not read.
    fn known_subfile(&self, number: u32) -> Option<Arc<Subfile>> {
        let index = self.names.numbers().binary_search(&number).ok()?;
        self.subfiles.get(index)?.get()?.clone()
    }

    /// Opens a subfile. If damage is to be mended, a mended subfile is lost nevertheless.
    fn open_subfile(&self, number: u32, file: &PosixFile) -> Result<Subfile, AnyError> {
        let (mends, mut mended) = (self.options.mends(), None);
        let how = (self.container, self.options.is_checked(), mends);
        let of_set = (&self.canonical, &self.source.header);
        let (mut subfile, head) = {
            let judge = &mut runs::keep_first(&mut mended, mends);
            Subfile::open(file, of_set, how, judge)?
        };
        subfile.is_mended = mended.is_some();
        if let Some(flaw) = mended {
            self.lose(number, flaw.into(), Some(0)).map_err(Error::into_kind)?;
        }
        self.check_records(number, file, &head)?;
        Ok(subfile)
    }

    /// A canonical variable, as the subfiles have it.
    pub(super) fn decomposed_variable(&self, index: usize) -> Option<&Decomposed> {
        self.canonical.variables.get(index)
    }

    pub(crate) fn decomposed(&self, variable: Variable<'_>) -> Option<(usize, &Decomposed)> {
        let index = usize::try_from(variable.varid()).ok()?;
        Some((index, self.canonical.variables.get(index)?))
    }

    /// A plan for the reading of a region of arrays of a decomposition.
    pub(crate) fn plan(
        &self,
        index: usize,
        shape: &[u64],
        region: Region<'_>,
    ) -> Result<Arc<Plan>, Error> {
        let elements = self.elements(index)?;
        let subfile = |number| self.known_subfile(number);
        let at = |error| self.error(Flaw::Cdf(error));
        let mut rows = slab(shape, region).map_err(at)?.runs();
        if let (Some(span), None) = (rows.next(), rows.next()) {
            let make = || Plan::of_span(&elements.runs, index, span, &subfile);
            return Ok(elements.plan(span, make));
        }
        let plan = Plan::new(&elements.runs, index, (shape, region), &subfile);
        Ok(Arc::new(plan.map_err(at)?))
    }

    /// Reads values of a variable that is not decomposed, from the first subfile that has them. If
    /// there is none, they are set to `fill`, which is big-endian.
    pub(crate) fn read_whole(
        &self,
        index: usize,
        place: &dyn Fn(Layout) -> Result<Vec<Span>, striae_core::cdf::Error>,
        (order, fill): (ByteOrder, [u8; 8]),
        out: &mut [u8],
    ) -> Result<(), Error> {
        let Some(variable) = self.canonical.variables.get(index) else { return Ok(()) };
        let width = variable.nc_type.size();
        fill_with(out, fill, width, order);
        let size = usize::try_from(width).unwrap_or(8);
        let (mut failed, mut is_read) = (Vec::new(), false);
        for (_, number) in self.numbers() {
            let Some((subfile, bulk)) = self.subfile(number)? else { continue };
            let layout = subfile.whole(index, variable.count, (variable.is_record, width));
            let mut read = || -> Result<(), AnyError> {
                subfile.check(bulk.file(), &self.canonical, (index, 0))?;
                let large = || Flaw::Size { name: variable.name.clone() };
                let spans = place(layout.ok_or_else(large)?).map_err(Flaw::Cdf)?;
                let (mut bytes, mut at) = (Vec::new(), 0_usize);
                for span in spans {
                    let read = runs::read(&bulk, &subfile, span, &mut bytes);
                    if subfile.order() != order {
                        swap(&mut bytes, width);
                    }
                    let room = out.get_mut(at..).unwrap_or_default().chunks_exact_mut(size);
                    room.zip(bytes.chunks_exact(size))
                        .for_each(|(to, from)| to.copy_from_slice(from));
                    at = at.saturating_add(bytes.len());
                    read?;
                }
                Ok(())
            };
            match read() {
                Ok(()) => {
                    is_read = true;
                    break;
                }
                Err(error) => failed.push((number, error)), // the next subfile has the same values
            }
        }
        let values = usize_to_u64(out.len()).checked_div(width).filter(|_| !is_read);
        let mut values = values.unwrap_or(0); // which are counted once
        let lose = |(number, error)| self.lose(number, error, Some(std::mem::take(&mut values)));
        failed.into_iter().try_for_each(lose)
    }
}
