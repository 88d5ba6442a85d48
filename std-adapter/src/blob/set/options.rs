//! [`OpenOptions`]: how to open a set.

use super::{Lost, Set};
use crate::blob::error::ErrorKind;
use crate::blob::grammar::Grammar;
use crate::blob::names::Names;
use crate::blob::subfile::{Head, Subfile};
use crate::blob::{Container, Flaw, canonical};
use crate::direct;
use crate::error::{Error, ErrorKind as AnyError};
use crate::files::{Files, max_open_files};
use crate::posix::PosixFile;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};
use striae_core::cdf;
use striae_core::cdf::raw::Header5;
use striae_core::store::ReadAt;

/// How to open a set.
#[derive(Debug, Clone, Copy)]
pub struct OpenOptions {
    max_open: Option<NonZeroUsize>,
    memory: usize,
    threads: Option<NonZeroUsize>,
    direct: Option<direct::OpenOptions>,
    checked: bool,
    mends: bool,
}

impl Default for OpenOptions {
    fn default() -> Self {
        let (checked, mends) = (false, false);
        Self { max_open: None, memory: 1 << 24, threads: None, direct: None, checked, mends }
    }
}

impl OpenOptions {
    /// Keeps as many subfiles open as [`max_open_files`] says, reads through the page cache, a
    /// region with a thread for each processor, and has 16 MiB of values in memory at once.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how many subfiles are open at once at most.
    #[must_use]
    pub const fn max_open(mut self, max_open: NonZeroUsize) -> Self {
        self.max_open = Some(max_open);
        self
    }

    /// Sets how many bytes of values are in memory at once, besides memory of the caller. A set
    /// also keeps the tables of the subfiles that were read, and the maps of the decompositions
    /// that were used: 32 bytes for each request, and as much for the order of reading.
    #[must_use]
    pub const fn buffer(mut self, bytes: usize) -> Self {
        self.memory = bytes;
        self
    }

    /// Sets the largest number of threads that read a region. Default: the number of processors.
    #[must_use]
    pub const fn threads(mut self, threads: NonZeroUsize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Reads values past the page cache where possible, if there are options for it. Headers and
    /// maps are read through it, and files that are made of the set are written through it: each of
    /// their bytes is written once, and they are likely to be read next.
    #[must_use]
    pub const fn direct(mut self, options: Option<direct::OpenOptions>) -> Self {
        self.direct = options;
        self
    }

    /// Whether all that is used of sealed subfiles is compared with their seals: the header, maps,
    /// and blobs, each when its first value is needed. A blob that is not as sealed is lost, and
    /// [`lost`](Set::lost) has the subfile. Of a blob of a variable, all records are read for it,
    /// through the page cache; records that another program has appended are not checked.
    /// Subfiles without a seal are accepted. Default: nothing is compared.
    #[must_use]
    pub const fn checked(mut self, checked: bool) -> Self {
        self.checked = checked;
        self
    }

    pub(crate) const fn is_checked(&self) -> bool {
        self.checked
    }

    /// Reads of damaged subfiles what their other numbers prove: blobs whose requests are sound, or
    /// that come before the damage. Such a subfile is among the [lost](Set::lost) ones.
    #[must_use]
    pub const fn mend(mut self, mends: bool) -> Self {
        self.mends = mends;
        self
    }

    pub(crate) const fn mends(&self) -> bool {
        self.mends
    }

    /// How many subfiles are open at once at most.
    pub(crate) fn most_open(&self) -> usize {
        self.max_open.map_or_else(max_open_files, NonZeroUsize::get)
    }

    pub(crate) const fn memory(&self) -> usize {
        self.memory
    }

    pub(crate) const fn is_direct(&self) -> bool {
        self.direct.is_some()
    }

    pub(crate) const fn nthreads(&self) -> Option<NonZeroUsize> {
        self.threads
    }

    /// Opens the set with this name, or the set of which `path` is a subfile.
    ///
    /// This lists the folder and reads the header and the tables of one subfile.
    ///
    /// # Errors
    /// [`ErrorKind::NoSubfile`] if no subfile can be read, or the error of the subfile if there is
    /// only one; an error of the operating system.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Set, Error> {
        let path = path.as_ref();
        let names = Names::of_set(path)?;
        let mut files = Files::empty(self.most_open(), self.direct);
        let (mut lost, mut found, mut is_sure) = (BTreeMap::new(), None, true);
        let mut subfiles: Vec<OnceLock<Option<Arc<Subfile>>>> = Vec::new();
        for &number in names.numbers() {
            let path = names.path(number);
            files.add_later(&path);
            subfiles.push(OnceLock::new());
            if found.is_some() {
                continue;
            }
            let index = subfiles.len().saturating_sub(1);
            let read = || First::read(files.get(index)?.file(), self.checked);
            match read() {
                Ok(mut first) => {
                    // Only the blobs prove the number of records in HDF5.
                    is_sure = first.subfile.is_some() || first.head.data.is_none();
                    if let Some(error) = first.wrong.take() {
                        is_sure = false;
                        lost.insert(number, Lost::new(number, Error::new(&path, error))?);
                    }
                    if let Some(subfile) = first.subfile.take() {
                        subfiles.pop();
                        subfiles.push(OnceLock::from(Some(Arc::new(subfile))));
                    }
                    found = Some((number, first));
                }
                Err(error) => {
                    let new = Lost::new(number, Error::new(&path, error))?;
                    lost.insert(number, Lost { values: None, ..new });
                }
            }
        }
        let Some((number, First { head, numrecs, .. })) = found else {
            let only = lost.into_values().next().filter(|_| names.numbers().len() == 1);
            let only = only.and_then(|lost: Lost| Arc::into_inner(lost.error));
            return Err(only.unwrap_or_else(|| Error::new(names.base(), ErrorKind::NoSubfile)));
        };
        let container = head.container();
        let numrecs = match self.mends || !is_sure {
            true if self.mends || container == Container::Cdf => most_records(&names, container),
            true => sound_records(&names).unwrap_or_else(|| most_records(&names, container)),
            false => numrecs,
        };
        let nsubfiles = head.grammar.canonical.nsubfiles;
        for &number in names.numbers().iter().filter(|&&number| u64::from(number) >= nsubfiles) {
            let error = Flaw::OtherSet { what: "numbers of subfiles" };
            let error = Error::new(&names.path(number), ErrorKind::from(error));
            lost.entry(number).or_insert(Lost::new(number, error)?);
        }
        let at = |error| Error::new(names.base(), Flaw::Cdf(error));
        canonical::check(&head.definition(), numrecs).map_err(at)?;
        let Head { header, grammar: Grammar { canonical, places, .. }, .. } = head;
        let elements = canonical.decompositions.iter().map(|_| OnceLock::new()).collect();
        Ok(Set {
            canonical,
            header: OnceLock::new(),
            source: canonical::Source { number, header, places, numrecs },
            container,
            files: Arc::new(files),
            names,
            subfiles,
            elements,
            lost: Mutex::new(lost),
            options: *self,
        })
    }
}

/// The first subfile that can be read.
struct First {
    head: Head,
    numrecs: u64,
    /// Why `numrecs` is not believed.
    wrong: Option<cdf::Error>,
    /// `None` if its tables are damaged: its elements are lost, but not the set.
    subfile: Option<Subfile>,
}

impl First {
    fn read(file: &PosixFile, checked: bool) -> Result<Self, AnyError> {
        let head = Head::read(file)?;
        let wrong = wrong_numrecs(&head, file.size()?);
        let subfile = Subfile::examine(file, &head, checked, &mut Err);
        let (numrecs, subfile) = match (head.grammar.numrecs, subfile) {
            (None, Err(error)) => return Err(error),
            (None, Ok(subfile)) => (subfile.numrecs, Some(subfile)),
            (Some(numrecs), subfile) => (numrecs, subfile.ok()),
        };
        Ok(Self { head, numrecs, wrong, subfile })
    }
}

/// The error of a CDF-5 subfile that counts records of which it has no value. If it were believed,
/// a few bytes would make an array of any length.
fn wrong_numrecs(head: &Head, file_len: u64) -> Option<cdf::Error> {
    let value = head.grammar.numrecs.filter(|_| head.container() == Container::Cdf)?;
    let max = head.records_in(file_len);
    let (field, offset) = (Header5::numrecs, Header5::numrecs.offset().into());
    let is_wrong = value > max && head.grammar.recsize > 0;
    is_wrong.then_some(cdf::Error::TooLarge { field, offset, value, max })
}

/// The number of records by the first subfile in HDF5 whose blobs prove it.
fn sound_records(names: &Names) -> Option<u64> {
    names.numbers().iter().find_map(|&number| {
        let file = PosixFile::open(&names.path(number)).ok()?;
        let head = Head::read(&file).ok().filter(|head| head.container() == Container::Hdf5)?;
        Some(Subfile::examine(&file, &head, false, &mut Err).ok()?.numrecs)
    })
}

/// The most records of which a subfile has values.
fn most_records(names: &Names, container: Container) -> u64 {
    let records = names.numbers().iter().filter_map(|&number| {
        let file = PosixFile::open(&names.path(number)).ok()?;
        let head = Head::read(&file).ok().filter(|head| head.container() == container)?;
        Some(head.records_in(file.size().ok()?))
    });
    records.max().unwrap_or(0)
}
