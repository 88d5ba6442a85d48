//! [`OpenOptions`]: how to open a set.

use super::records::wrong_numrecs;
use super::{Lost, Set};
use crate::blob::grammar::{Canonical, Grammar};
use crate::blob::names::Names;
use crate::blob::subfile::{Head, Subfile};
use crate::blob::{Container, Flaw, canonical};
use crate::direct;
use crate::error::blob::ErrorKind;
use crate::error::{Error, ErrorKind as AnyError};
use crate::files::{Files, max_open_files};
use crate::posix::{MOST_OPEN, PosixFile};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};
use striae_core::cdf;
use striae_core::store::ReadAt;
use striae_inspect::blob::{Jury, Verdict};

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

    /// [`most_open`](Self::most_open), if the process may have so many descriptors: equal for all
    /// ranks.
    pub(crate) fn wanted_open(&self) -> usize {
        self.max_open.map_or(MOST_OPEN, NonZeroUsize::get)
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
    /// This lists the folder, reads the headers of all subfiles, and judges them together: the set
    /// has the header that most subfiles have, and those whose seals prove it come first. A subfile
    /// that does not belong to the set is [lost](Set::lost).
    ///
    /// # Errors
    /// [`ErrorKind::NoSubfile`] if no subfile can be read, or the error of the subfile if there is
    /// only one; an error of the operating system.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Set, Error> {
        let names = Names::of_set(path.as_ref())?;
        let mut files = Files::empty(self.most_open(), self.direct);
        names.numbers().iter().for_each(|&number| files.add_later(&names.path(number)));
        let (verdict, mut lost) = judge(&names, &files)?;
        let Some(Verdict { number, head, members, strangers, unsealed, tied }) = verdict else {
            let only = lost.into_values().next().filter(|_| names.numbers().len() == 1);
            let only = only.and_then(|lost: Lost| Arc::into_inner(lost.error));
            return Err(only.unwrap_or_else(|| Error::new(names.base(), ErrorKind::NoSubfile)));
        };
        let mut subfiles: Vec<OnceLock<Option<Arc<Subfile>>>> =
            names.numbers().iter().map(|_| OnceLock::new()).collect();
        let place = |number: u32| names.numbers().binary_search(&number).ok();
        for (number, flaw) in strangers {
            let error = Error::new(&names.path(number), ErrorKind::from(flaw));
            lost.insert(number, Lost { values: None, ..Lost::new(number, error)? });
            if let Some(known) = place(number).and_then(|index| subfiles.get_mut(index)) {
                *known = OnceLock::from(None);
            }
        }
        let nsubfiles = head.grammar.canonical.nsubfiles;
        for (&number, known) in names.numbers().iter().zip(&mut subfiles) {
            if u64::from(number) >= nsubfiles {
                *known = OnceLock::from(None); // an earlier set of more subfiles left it
            }
        }
        for number in unsealed {
            let error = Error::new(&names.path(number), ErrorKind::from(Flaw::NoSeal));
            lost.insert(number, Lost::new(number, error)?); // it costs nothing
        }
        let Counted { numrecs, counting, is_sure } =
            self.count((&names, &files), (number, &head, &members), &mut subfiles, &mut lost)?;
        let container = head.container();
        let counting = counting.filter(|_| !self.mends && is_sure);
        let numrecs = match numrecs {
            Some(numrecs) if !self.mends && is_sure => numrecs,
            _ if self.mends || container == Container::Cdf => most_records(&names, &members),
            _ => sound_records(&names).unwrap_or_else(|| most_records(&names, &members)),
        };
        let at = |error| Error::new(names.base(), Flaw::Cdf(error));
        head.definition().check(numrecs).map_err(at)?;
        let Head { header, grammar: Grammar { canonical, places, .. }, .. } = head;
        let elements = canonical.decompositions.iter().map(|_| OnceLock::new()).collect();
        let set = Set {
            canonical,
            header: OnceLock::new(),
            source: canonical::Source { number, header, places, numrecs },
            counting,
            tied,
            container,
            files: Arc::new(files),
            names,
            subfiles,
            elements,
            lost: Mutex::new(lost),
            options: *self,
        };
        if set.source.numrecs == 0 {
            // A read of no records would not see that other subfiles have some.
            for (_, number) in set.numbers() {
                set.subfile(number)?;
            }
        }
        Ok(set)
    }

    /// The number of records, which is that of the first subfile that can say it. What is read of
    /// subfiles on the way is kept.
    fn count(
        &self,
        (names, files): (&Names, &Files),
        (judged, judged_head, members): (u32, &Head, &[u32]),
        subfiles: &mut [OnceLock<Option<Arc<Subfile>>>],
        lost: &mut BTreeMap<u32, Lost>,
    ) -> Result<Counted, Error> {
        let mut found = Counted { numrecs: None, counting: None, is_sure: true };
        for &number in members {
            let Ok(index) = names.numbers().binary_search(&number) else { continue };
            let read = || -> Result<_, AnyError> {
                let bulk = files.get(index)?;
                if number == judged {
                    return First::examine(bulk.file(), judged_head, self.checked); // read just now
                }
                let head = Head::read_like(&**bulk.file(), &judged_head.header)?;
                First::examine(bulk.file(), &head, self.checked)
            };
            let Ok(mut first) = read() else { continue };
            if let Some(error) = first.wrong.take() {
                found.is_sure = false;
                let error = Error::new(&names.path(number), error);
                lost.insert(number, Lost::new(number, error)?);
            }
            found.numrecs = found.numrecs.or(Some(first.numrecs));
            found.counting = found.counting.or(Some(number));
            let Some(subfile) = first.subfile.take() else {
                // Only the blobs prove the number of records in HDF5.
                found.is_sure &= first.container == Container::Cdf;
                continue; // it is damaged: the next one says the number, if it is sound
            };
            (found.numrecs, found.counting) = (Some(first.numrecs), Some(number));
            if let Some(known) = subfiles.get_mut(index) {
                *known = OnceLock::from(Some(Arc::new(subfile)));
            }
            break;
        }
        Ok(found)
    }
}

/// Who says how many records a set has.
struct Counted {
    numrecs: Option<u64>,
    /// The first subfile that says it.
    counting: Option<u32>,
    /// Whether no subfile before it contradicts, and it is proved.
    is_sure: bool,
}

/// Judges all subfiles together. Those without a header are lost.
fn judge(names: &Names, files: &Files) -> Result<(Option<Verdict>, BTreeMap<u32, Lost>), Error> {
    let mut lost = BTreeMap::new();
    let verdict = Jury::settled(|jury| {
        lost.clear();
        for (index, &number) in names.numbers().iter().enumerate() {
            let heard =
                || -> Result<(), AnyError> { Ok(jury.hear(number, &**files.get(index)?.file())?) };
            let mut heard = heard;
            if let Err(error) = heard() {
                let new = Lost::new(number, Error::new(&names.path(number), error))?;
                lost.insert(number, Lost { values: None, ..new });
            }
        }
        Ok::<_, Error>(())
    })?;
    Ok((verdict, lost))
}

/// What all subfiles of a set have, if all that are there belong to it.
pub(in crate::blob) fn judged(names: &Names) -> Result<Canonical, Error> {
    let mut files = Files::empty(max_open_files(), None);
    names.numbers().iter().for_each(|&number| files.add_later(&names.path(number)));
    let (verdict, _) = judge(names, &files)?;
    let verdict = verdict.ok_or_else(|| Error::new(names.base(), ErrorKind::NoSubfile))?;
    let canonical = verdict.head.grammar.canonical;
    let unsealed = verdict.unsealed.into_iter().map(|number| (number, Flaw::NoSeal));
    let mut strangers = verdict.strangers.into_iter().chain(unsealed);
    match strangers.find(|(number, _)| u64::from(*number) < canonical.nsubfiles) {
        Some((number, flaw)) => Err(Error::new(&names.path(number), ErrorKind::from(flaw))),
        None => Ok(canonical),
    }
}

/// The first subfile that says how many records there are.
struct First {
    container: Container,
    numrecs: u64,
    /// Why `numrecs` is not believed.
    wrong: Option<cdf::Error>,
    /// `None` if its tables are damaged: its elements are lost, but not the set.
    subfile: Option<Subfile>,
}

impl First {
    /// Examines a subfile with this header.
    fn examine(file: &PosixFile, head: &Head, checked: bool) -> Result<Self, AnyError> {
        let wrong = wrong_numrecs(head, file.size()?);
        let subfile = Subfile::examine(file, head, checked, &mut Err);
        let (numrecs, subfile) = match (head.grammar.numrecs, subfile) {
            (None, Err(error)) => return Err(error),
            (None, Ok(subfile)) => (subfile.numrecs, Some(subfile)),
            (Some(numrecs), subfile) => (numrecs, subfile.ok()),
        };
        Ok(Self { container: head.container(), numrecs, wrong, subfile })
    }
}

/// The number of records by the first subfile in HDF5 whose blobs prove it.
fn sound_records(names: &Names) -> Option<u64> {
    names.numbers().iter().find_map(|&number| {
        let file = PosixFile::open(&names.path(number)).ok()?;
        let head = Head::read(&file).ok().filter(|head| head.container() == Container::Hdf5)?;
        Some(Subfile::examine(&file, &head, false, &mut Err).ok()?.numrecs)
    })
}

/// The most records of which a subfile of the set has values.
fn most_records(names: &Names, members: &[u32]) -> u64 {
    let records = members.iter().filter_map(|&number| {
        let file = PosixFile::open(&names.path(number)).ok()?;
        Some(Head::read(&file).ok()?.records_in(file.size().ok()?))
    });
    records.max().unwrap_or(0)
}
