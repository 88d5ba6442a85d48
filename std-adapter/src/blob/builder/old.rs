//! [`OldSet`]: a closed set to which many processes append.

use super::append::{Old, members_of, variables};
use super::header::{Made, Variable};
use crate::blob::grammar::Canonical;
use crate::blob::names::Names;
use crate::blob::set::judged;
use crate::error::blob::ErrorKind as BlobError;
use crate::error::build::BuildError;
use crate::error::{Error, ErrorKind};
use crate::lock::Locked;
use crate::posix::PosixFile;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use striae_core::blob::append::take_back;
use striae_core::blob::{Column, Fingerprint, Held};

/// A closed set of CDF-5 files that gets more records, for callers whose processes append together,
/// as the ranks of a parallel program do. [`Writer::append`](super::Writer::append) does all of
/// this for one process.
///
/// One process opens it with a lock, and keeps it until the end. Then others open it without one.
/// Nothing is written before all subfiles were opened and are sound. Values come first; when they
/// are durable, all subfiles but the first one [count](OldSubfile::count) the new records, then the
/// first one does, and then the seals are [settled](OldSubfile::settle).
#[derive(Debug)]
pub struct OldSet {
    names: Names,
    canonical: Canonical,
    variables: Vec<Variable>,
    numrecs: u64,
    _lock: Option<Locked>,
}

/// A variable as a blob of an [`OldSubfile`] has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OldVariable {
    /// Its name.
    pub name: Box<str>,
    /// What writers know of it.
    pub column: Column,
    /// What the blob has of it.
    pub held: Held,
    /// The checksum of the blob, if the subfile is sealed.
    pub crc: Option<u32>,
}

impl OldSet {
    /// Opens the set with this name, or the set of which `path` is a subfile. If it is to be
    /// locked, nobody else can append until this is dropped.
    ///
    /// # Errors
    /// As [`Writer::append`](super::Writer::append), of the first subfile.
    pub fn open(path: impl AsRef<Path>, locked: bool) -> Result<Self, Error> {
        let names = Names::of_set(path.as_ref())?;
        let first = names.path(0);
        let at = |kind| Error::new(&first, kind);
        let lock = Locked::open(&first, true, locked)?;
        let old = Old::open(&lock, None).map_err(at)?;
        let numrecs = old.subfile.numrecs;
        let canonical = match locked {
            true => judged(&names)?,
            false => old.head.grammar.canonical,
        };
        let variables = variables(&canonical).map_err(|error| at(error.into()))?;
        Ok(Self { names, canonical, variables, numrecs, _lock: locked.then_some(lock) })
    }

    /// The path without the number of a subfile.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.names.base()
    }

    /// The number of subfiles.
    #[must_use]
    pub const fn nsubfiles(&self) -> u64 {
        self.canonical.nsubfiles
    }

    /// The number of records.
    #[must_use]
    pub const fn records(&self) -> u64 {
        self.numrecs
    }

    /// Opens a subfile, and checks that it is one of the set and sound. If `judges`, its seal is
    /// compared with the values where that is necessary; one process for each subfile does so.
    ///
    /// # Errors
    /// As [`Writer::append`](super::Writer::append), of this subfile.
    pub fn subfile(&self, number: u32, judges: bool) -> Result<OldSubfile, Error> {
        let path = self.names.path(number);
        let at = |kind| Error::new(&path, kind);
        let file = PosixFile::open_rw(&path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => at(BlobError::Missing.into()),
            _ => at(error.into()),
        })?;
        let open = || -> Result<_, ErrorKind> {
            let old = Old::open(&file, Some(&self.canonical))?;
            old.has(self.numrecs)?;
            let (made, rows) = old.made(&file, (number, self.numrecs), judges)?;
            Ok((old, made, rows))
        };
        let (old, made, rows) = open().map_err(at)?;
        let (file, numrecs) = (Arc::new(file), self.numrecs);
        Ok(OldSubfile { path, file, old, made, rows, numrecs })
    }

    /// For each subfile the ranks of its blobs: those that are stored, else the next ones. `None`
    /// if a rank is missing or has two blobs.
    #[must_use]
    pub fn members(subfiles: &[(usize, Option<Vec<u32>>)]) -> Option<Vec<Vec<u32>>> {
        members_of(subfiles.iter().cloned())
    }
}

/// A subfile of an [`OldSet`].
#[derive(Debug)]
pub struct OldSubfile {
    path: PathBuf,
    file: Arc<PosixFile>,
    old: Old,
    made: Made,
    /// The checksums of each blob of each variable, if the subfile is sealed.
    rows: Vec<u32>,
    numrecs: u64,
}

impl OldSubfile {
    /// The file, for values of new records.
    #[must_use]
    pub const fn file(&self) -> &Arc<PosixFile> {
        &self.file
    }

    /// The number of blobs, and the ranks that wrote them if they are stored.
    #[must_use]
    pub fn ranks(&self) -> (usize, Option<Vec<u32>>) {
        self.old.ranks()
    }

    /// Whether it has a seal that is continued.
    #[must_use]
    pub const fn is_sealed(&self) -> bool {
        self.made.seal.is_some()
    }

    /// The variables as a blob has them, in the order of the definition.
    ///
    /// # Errors
    /// [`BuildError::Size`] if a number is larger than any file has.
    pub fn variables(&self, set: &OldSet, blob: usize) -> Result<Vec<OldVariable>, Error> {
        let all = set.variables.iter().enumerate();
        let known = all.map(|(number, variable)| self.variable((number, variable), blob));
        let known: Option<Vec<_>> = known.collect();
        known.ok_or_else(|| Error::new(&self.path, ErrorKind::from(BuildError::Size)))
    }

    fn variable(&self, (number, of): (usize, &Variable), blob: usize) -> Option<OldVariable> {
        let shares = self.made.shares.get(blob)?;
        let held = self.made.places.held((number, of), u32::try_from(blob).ok()?, shares)?;
        let row = number.checked_mul(self.made.shares.len())?.checked_add(blob)?;
        let (name, crc) = (of.name.clone(), self.rows.get(row).copied());
        Some(OldVariable { name, column: of.column, held, crc })
    }

    /// Takes back records that the first subfile does not count, if there are some.
    ///
    /// # Errors
    /// The operating system's.
    pub fn take_back(&self) -> Result<(), Error> {
        if self.old.head.grammar.numrecs == Some(self.numrecs) {
            return Ok(());
        }
        take_back(&mut &*self.file, self.numrecs).map_err(|error| Error::new(&self.path, error))
    }

    /// What a blob adds to the fingerprint of the set's values, if the subfile is sealed. `sums`
    /// are the checksums of its variables over all records, with the new ones.
    #[must_use]
    pub fn fingerprint(&self, blob: u32, sums: &[u32]) -> Fingerprint {
        let seal = self.made.seal.as_ref();
        let of = seal.map(|seal| seal.seal.of_blob(blob, sums.iter().copied()));
        of.unwrap_or_default()
    }

    /// Counts new records, so that there are `records`; their values must be in the file and
    /// durable. `sums` are the checksums of each blob of each variable over all records, the blobs
    /// of the first variable first; they count only if the subfile is sealed, as does `values`: the
    /// [fingerprints](Self::fingerprint) of all blobs of the set together.
    ///
    /// # Errors
    /// [`Records`](striae_core::cdf::Error::Records) if no file can have so many records; the
    /// operating system's.
    pub fn count(&self, records: u64, sums: &[u32], values: Fingerprint) -> Result<(), Error> {
        let Some(more) = records.checked_sub(self.numrecs).filter(|&more| more > 0) else {
            return Ok(());
        };
        let named = self.file.check_name().map_err(ErrorKind::from);
        let counted =
            named.and_then(|()| self.made.count(&self.file, (records, more), sums, values));
        counted.map_err(|kind| Error::new(&self.path, kind))
    }

    /// Replaces the other copy of the seal, after all subfiles count the records. The arguments are
    /// those of [`count`](Self::count).
    ///
    /// # Errors
    /// The operating system's.
    pub fn settle(&self, records: u64, sums: &[u32], values: Fingerprint) -> Result<(), Error> {
        if records <= self.numrecs {
            return Ok(());
        }
        let settled = self.made.settle(&self.file, records, sums, values);
        settled.map_err(|error| Error::new(&self.path, error))
    }
}
