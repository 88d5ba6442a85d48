//! [`Writer`] and [`Rank`]: values of a new set.

use super::Members;
use super::buffer::{self, Buffer};
use super::header::{Made, Places, Variable};
use crate::blob::Container;
use crate::cdf::ErrorKind as CdfError;
use crate::error::build::BuildError;
use crate::error::{Error, ErrorKind};
use crate::lock::Locked;
use crate::posix::PosixFile;
use crate::publish::Publish;
use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use striae_core::blob::book::Sum;
use striae_core::blob::{Held, Pen, Records, Refusal, Share};
use striae_core::cdf::Values;
use striae_core::endian::ByteOrder;
use striae_core::store::usize_to_u64;
use striae_inspect::cdf::Element;
use zerocopy::IntoBytes;

/// A new set, or new records of a set. Ranks hand over their values in any order, many threads at
/// once; what is kept in memory is bounded by [`buffer`](Self::buffer). If this is dropped without
/// [`close`](Self::close), no new file is left, or no new record.
#[derive(Debug)]
pub struct Writer {
    pub(super) path: PathBuf,
    target: Target,
    container: Container,
    pub(super) records: Records,
    pub(super) variables: Vec<Variable>,
    names: HashMap<Box<str>, usize>,
    pub(super) subfiles: Vec<Subfile>,
    pub(super) ranks: Vec<Known>,
    pub(super) buffer: Buffer,
}

/// What is written.
#[derive(Debug)]
pub(super) enum Target {
    /// New files, and whether their names are to be durable.
    New { publish: Publish, durable: bool },
    /// An existing set, and which files it has. The lock of its first subfile is that of the set.
    Old { lock: Locked, files: Vec<(u64, u64)> },
}

/// A subfile, which is open while a [`Rank`] of it exists.
#[derive(Debug)]
pub(super) struct Subfile {
    file: Mutex<Weak<PosixFile>>,
    /// Its file, once it could not be made durable: only this descriptor knows of it.
    failed: OnceLock<Arc<PosixFile>>,
    pub(super) made: Made,
    /// Its ranks, in the order of their blobs.
    pub(super) ranks: Members,
}

/// A rank: its blob, and what it has written.
#[derive(Debug, Default)]
pub(super) struct Known {
    subfile: u32,
    blob: u32,
    pen: Mutex<Pen<Vec<u64>, Box<[Sum]>>>,
}

impl Known {
    pub(super) fn pen(&self) -> MutexGuard<'_, Pen<Vec<u64>, Box<[Sum]>>> {
        self.pen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn index(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Opens a file for writing that has the name which this one had.
fn open_same(path: &Path, known: Option<&(u64, u64)>) -> io::Result<PosixFile> {
    let file = PosixFile::open_rw(path)?;
    match known == Some(&file.identity()) {
        true => Ok(file),
        false => Err(io::Error::other("was replaced while it was written")),
    }
}

impl Writer {
    /// `sums` are those of a blob of a subfile, for each variable.
    pub(super) fn new(
        path: &Path,
        target: Target,
        (container, records): (Container, Records),
        (variables, names): (Vec<Variable>, HashMap<Box<str>, usize>),
        (subfiles, members): (Vec<Made>, &[Members]),
        sums: &dyn Fn(u32, u32) -> Box<[Sum]>,
    ) -> Self {
        let count = members.iter().map(Vec::len).sum();
        let mut ranks: Vec<_> = std::iter::repeat_with(Known::default).take(count).collect();
        for (subfile, members) in (0..).zip(members) {
            for (blob, &rank) in (0..).zip(members) {
                if let Some(known) = ranks.get_mut(index(rank)) {
                    (known.subfile, known.blob) = (subfile, blob);
                    let sums = sums(subfile, blob);
                    *known.pen() = Pen::new(records, variables.len(), Vec::new(), sums);
                }
            }
        }
        let subfiles = subfiles.into_iter().zip(members).map(|(made, ranks)| {
            let (file, failed, ranks) = (Mutex::default(), OnceLock::new(), ranks.clone());
            Subfile { file, failed, made, ranks }
        });
        Self {
            path: path.to_owned(),
            target,
            container,
            records,
            variables,
            names,
            subfiles: subfiles.collect(),
            ranks,
            buffer: Buffer::new(buffer::DEFAULT),
        }
    }

    /// The path that a subfile gets.
    pub(super) fn final_path(path: &Path, number: u32) -> PathBuf {
        let mut path = path.as_os_str().to_owned();
        path.push(format!(".{number:04}"));
        path.into()
    }

    pub(super) fn error(&self, subfile: u32, kind: impl Into<ErrorKind>) -> Error {
        Error::new(&Self::final_path(&self.path, subfile), kind)
    }

    /// The file of a subfile, which is opened if no rank has it open.
    pub(super) fn open(&self, number: u32) -> Result<Arc<PosixFile>, Error> {
        let subfile = self.subfiles.get(index(number));
        let none = || self.error(number, BuildError::NoRank { subfile: number });
        let mut file =
            subfile.ok_or_else(none)?.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = file.upgrade() {
            file.check_syncs().map_err(|error| self.error(number, error))?;
            return Ok(file);
        }
        let opened = match &self.target {
            Target::New { publish, .. } => PosixFile::open_rw(&publish.hidden(number)),
            Target::Old { files, .. } => {
                open_same(&Self::final_path(&self.path, number), files.get(index(number)))
            }
        };
        let opened = Arc::new(opened.map_err(|error| self.error(number, error))?);
        *file = Arc::downgrade(&opened);
        Ok(opened)
    }

    /// Sets how many bytes are in memory at most, of short pieces that ranks hand over: they are
    /// written when a page of them is complete, or when there is no room for another page. A piece
    /// of 16 KiB and more is written at once, and any piece if there is no room for one page of
    /// 128 KiB. Default: 64 MiB.
    #[must_use]
    pub fn buffer(mut self, bytes: usize) -> Self {
        self.buffer.set(bytes);
        self
    }

    /// The number of ranks.
    #[must_use]
    pub fn nprocs(&self) -> usize {
        self.ranks.len()
    }

    /// The number of subfiles.
    #[must_use]
    pub fn nsubfiles(&self) -> u32 {
        u32::try_from(self.subfiles.len()).unwrap_or(u32::MAX)
    }

    /// The ranks of some subfiles.
    pub(crate) fn ranks_of(&self, subfiles: Range<u32>) -> impl Iterator<Item = u32> + '_ {
        let ranks = (0..).zip(&self.ranks);
        ranks.filter(move |(_, known)| subfiles.contains(&known.subfile)).map(|(rank, _)| rank)
    }

    /// A rank, for the thread that has its values. Its subfile is open until it is dropped.
    ///
    /// # Errors
    /// [`BuildError::NoSuchRank`]; an error of the operating system.
    pub fn rank(&self, rank: u32) -> Result<Rank<'_>, Error> {
        let known = self.ranks.get(index(rank)).ok_or_else(|| {
            let nprocs = u32::try_from(self.ranks.len()).unwrap_or(u32::MAX);
            Error::new(&self.path, BuildError::NoSuchRank { rank, nprocs })
        })?;
        Ok(Rank { writer: self, rank, known, file: self.open(known.subfile)? })
    }

    fn shares(&self, known: &Known) -> &[Share] {
        let subfile = self.subfiles.get(index(known.subfile));
        let shares = subfile.and_then(|subfile| subfile.made.shares.get(index(known.blob)));
        shares.map_or(&[], |shares| shares)
    }

    /// What a rank has of a variable in its subfile.
    pub(super) fn held(&self, known: &Known, number: usize, variable: &Variable) -> Option<Held> {
        let places = &self.subfiles.get(index(known.subfile))?.made.places;
        places.held((number, variable), known.blob, self.shares(known))
    }

    /// Writes everything that ranks have handed over to the disk, and gives its memory free.
    /// [`close`](Self::close) does the first, too.
    ///
    /// # Errors
    /// An error of the operating system. What could not be made durable may be lost, so all later
    /// calls of this and of [`close`](Self::close) fail then.
    pub fn flush(&self) -> Result<(), Error> {
        self.write_out()?;
        for (number, subfile) in (0..).zip(&self.subfiles) {
            let file = self.open(number)?;
            if let Err(error) = file.sync() {
                subfile.failed.get_or_init(|| file);
                return Err(self.error(number, error));
            }
        }
        self.buffer.free();
        Ok(())
    }

    /// Checks that every rank has written all its elements, and gives new subfiles their names, or
    /// counts the new records: all of them, or none if anything fails before that.
    ///
    /// # Errors
    /// [`BuildError::Incomplete`]; the errors of [`Publish::finish`]. After an error no new file is
    /// left. An error of the operating system.
    pub fn close(self) -> Result<(), Error> {
        let reached = self.ranks.iter().map(|known| known.pen().reached());
        let records = self.records.count(reached.fold(self.records.first(), u64::max));
        self.check(records)?;
        self.write_out()?;
        if matches!(self.target, Target::Old { .. }) {
            return self.count(records);
        }
        let values = self.fingerprint(records)?;
        for (number, subfile) in (0..).zip(&self.subfiles) {
            let file = self.open(number)?;
            let (len, numrecs) = match &subfile.made.places {
                Places::Values { plan, .. } => {
                    (plan.as_ref().and_then(|plan| plan.file_len(records)), Some(records))
                }
                Places::Blobs { end, .. } => (Some(*end), None),
            };
            let done: Result<_, ErrorKind> = len.ok_or_else(|| BuildError::Size.into());
            let done = done.and_then(|len| {
                Ok(self.complete(subfile, &file, (len, numrecs), (records, values))?)
            });
            done.map_err(|error| self.error(number, error))?;
        }
        match self.target {
            Target::New { publish, durable, .. } => publish.finish(durable),
            Target::Old { lock, .. } => {
                drop(lock);
                Ok(())
            }
        }
    }

    fn check(&self, records: u64) -> Result<(), Error> {
        for (rank, known) in (0..).zip(&self.ranks) {
            let variables = self.variables.iter().enumerate();
            let all = variables.map(|(number, of)| (of.column, self.held(known, number, of)));
            if let Some((number, record)) = known.pen().missing(all, records) {
                let name = self.variables.get(number).map(|of| of.name.clone()).unwrap_or_default();
                let error = BuildError::Incomplete { name, record, rank };
                return Err(self.error(known.subfile, error));
            }
        }
        Ok(())
    }
}

/// A rank of a new set.
#[derive(Debug)]
pub struct Rank<'w> {
    writer: &'w Writer,
    rank: u32,
    known: &'w Known,
    file: Arc<PosixFile>,
}

impl Rank<'_> {
    /// Takes the rank's elements of a record of a variable, in the order of its requests; or all
    /// values of a variable that is not decomposed, if this is the first rank of its subfile. A
    /// variable without records has record 0. They are in the file after [`Writer::flush`] or
    /// [`Writer::close`] at the latest.
    ///
    /// # Errors
    /// [`NoVariable`](CdfError::NoVariable), [`NotOfType`](CdfError::NotOfType) and
    /// [`Len`](CdfError::Len) as of files that are read; [`BuildError::NotFirst`];
    /// [`BuildError::Record`]; an error of the operating system, maybe in writing what was taken
    /// before. After an error these values are to be put again.
    pub fn put<T: Element>(&self, name: &str, record: u64, values: &[T]) -> Result<(), Error> {
        let number = self.writer.names.get(name).copied();
        let variable = number.and_then(|number| self.writer.variables.get(number));
        let no_variable = || self.error(CdfError::NoVariable { name: name.into() });
        let (number, variable) = number.zip(variable).ok_or_else(no_variable)?;
        let nc_type = variable.column.nc_type;
        if !T::holds(nc_type) {
            return Err(self.error(CdfError::NotOfType { name: name.into(), nc_type }));
        }
        self.put_bytes(number, record, ByteOrder::HOST, values.as_bytes())
    }

    /// The number of the rank.
    #[must_use]
    pub const fn number(&self) -> u32 {
        self.rank
    }

    /// Whether this is the first rank of its subfile, which writes the variables that are not
    /// decomposed.
    #[must_use]
    pub const fn is_first(&self) -> bool {
        self.known.blob == 0
    }

    fn error(&self, kind: impl Into<ErrorKind>) -> Error {
        self.writer.error(self.known.subfile, kind)
    }

    /// Writes bytes of values that are in `order`.
    pub(crate) fn put_bytes(
        &self,
        number: usize,
        record: u64,
        order: ByteOrder,
        bytes: &[u8],
    ) -> Result<(), Error> {
        let (writer, known) = (self.writer, self.known);
        let Some(variable) = writer.variables.get(number) else { return Ok(()) };
        let name = || variable.name.clone();
        let column = variable.column;
        if column.decomposition.is_none() && known.blob != 0 {
            return Err(self.error(BuildError::NotFirst { name: name(), rank: self.rank }));
        }
        let held = writer.held(known, number, variable);
        let held = held.ok_or_else(|| self.error(BuildError::Size))?;
        let place = writer.records.place(column, held, record, usize_to_u64(bytes.len()));
        let place = place.map_err(|refusal| match refusal {
            Refusal::Stored => self.error(BuildError::Stored { name: name(), record }),
            Refusal::Past { records } => {
                self.error(BuildError::Record { name: name(), record, records })
            }
            Refusal::Len { given, len } => self.error(CdfError::Len { given, len }),
            Refusal::Size => self.error(BuildError::Size),
        })?;
        let to = match writer.container {
            Container::Cdf => ByteOrder::Big,
            Container::Hdf5 => ByteOrder::Little,
        };
        let values = Values::new(column.nc_type, order, bytes);
        let before = known.pen().sum(number);
        let subfile = (known.subfile, &*self.file);
        let crc = writer.write(subfile, place.offset(), values, to, before.map(Sum::crc))?;
        known.pen().wrote(number, column, record, before.zip(crc));
        Ok(())
    }
}
