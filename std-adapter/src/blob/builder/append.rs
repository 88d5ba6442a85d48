//! Appending records to a closed set.

use super::header::{Made, Places, Variable};
use super::sealing::{Sealing, rows_of};
use super::writer::{Subfile, Target, Writer};
use crate::blob::Container;
use crate::blob::grammar::{Canonical, id_of, numbers, request};
use crate::blob::names::Names;
use crate::blob::set::judged;
use crate::error::blob::ErrorKind as BlobError;
use crate::error::build::BuildError;
use crate::error::{Error, ErrorKind};
use crate::lock::Locked;
use crate::posix::PosixFile;
use std::num::NonZeroU32;
use std::path::Path;
use striae_core::blob::append::{Reseal, count, settle, take_back};
use striae_core::blob::book::Sum;
use striae_core::blob::map::Request;
use striae_core::blob::{Column, Fingerprint, Name, Part, Records};
use striae_core::cdf::raw::Header5;
use striae_core::cdf::{self, Fill, Slot};
use striae_core::store::usize_to_u64;
use striae_inspect::blob::subfile::{self, Head};
use striae_inspect::blob::{Flaw, sealed::Sealed};
use striae_inspect::cdf::Header;

/// The requests of each rank in each decomposition.
pub(crate) type Requests = Vec<Vec<Vec<Request>>>;

/// A subfile that is to get more records.
#[derive(Debug)]
pub(super) struct Old {
    pub(super) head: Head,
    pub(super) subfile: subfile::Subfile,
}

impl Old {
    pub(super) fn open(file: &PosixFile, set: Option<&Canonical>) -> Result<Self, ErrorKind> {
        let head = Head::read(file)?;
        if head.container() == Container::Hdf5 {
            return Err(BuildError::ProcessCentric.into());
        }
        let set = set.unwrap_or(&head.grammar.canonical);
        let subfile = subfile::Subfile::open(file, set, Container::Cdf)?;
        all_values(file)?;
        Ok(Self { head, subfile })
    }

    /// The subfile must have the records that count in the set. It may have more of them.
    pub(super) fn has(&self, numrecs: u64) -> Result<(), cdf::Error> {
        match self.subfile.numrecs {
            value if value < numrecs => Err(cdf::Error::TooSmall {
                field: Header5::numrecs,
                offset: Header5::numrecs.offset().into(),
                value,
                min: numrecs,
            }),
            _ => Ok(()),
        }
    }

    /// The number of blobs, and their ranks if they are stored.
    pub(super) fn ranks(&self) -> (usize, Option<Vec<u32>>) {
        let known = self.head.world_ranks().map(|ranks| {
            // No rank is negative: such a list has the wrong length.
            ranks.into_iter().map_while(|rank| u32::try_from(rank).ok()).collect()
        });
        (self.subfile.nblobs, known)
    }

    /// The requests of a blob.
    fn requests(&self, file: &PosixFile, blob: usize) -> Result<Vec<Vec<Request>>, ErrorKind> {
        let of = |index: usize| {
            let id = id_of(index).unwrap_or(NonZeroU32::MIN);
            let none =
                || Flaw::Size { name: Name::Of { id, part: Part::Offsets }.to_string().into() };
            let spans = self.subfile.requests(blob, index).ok_or_else(none)?;
            let [offsets, lengths] = spans.map(|(span, nc_type)| {
                let bytes = subfile::bytes_of(file, span)?;
                let values = numbers(&bytes, nc_type, self.subfile.order());
                Ok::<_, ErrorKind>(values.collect::<Vec<_>>())
            });
            let place = (id, u32::try_from(blob).unwrap_or(u32::MAX));
            let pairs = offsets?.into_iter().zip(lengths?);
            let all = pairs.map(|(offset, len)| request(place, [offset, len]));
            Ok(all.collect::<Result<_, _>>().map_err(Flaw::Format)?)
        };
        (0..self.head.grammar.locals.len()).map(of).collect()
    }

    /// What a writer knows of the subfile, which has `numrecs` records that count. A seal of fewer
    /// records, or of others, is left as it is: another program has appended the rest. If nobody
    /// `judges`, the values are not read for it.
    pub(super) fn made(
        &self,
        file: &PosixFile,
        (number, numrecs): (u32, u64),
        judges: bool,
    ) -> Result<(Made, Vec<u32>), ErrorKind> {
        let grammar = &self.head.grammar;
        let shares = (0..self.subfile.nblobs).map(|blob| self.subfile.shares(blob).into());
        let begins = grammar.places.iter().map(|place| place.values.offset()).collect();
        let places = Places::Values { begins, recsize: grammar.recsize, plan: None };
        let (mut seal, mut rows) = (None, Vec::new());
        if let Some(sealed) = Sealed::read(file, &self.head, numrecs)? {
            let maps = usize_to_u64(grammar.locals.len()).saturating_mul(5);
            let facts = sealed.seal().facts();
            seal = Sealing::of(&sealed, self.head.gap(), number, maps);
            let set = (&self.subfile, &grammar.canonical);
            let is_certain = !judges || sealed.is_certain(file, set)?;
            seal = seal.filter(|_| facts.numrecs == numrecs && is_certain);
            let skip = maps.saturating_mul(facts.shape.nblobs().into());
            let skip = usize::try_from(skip).unwrap_or(usize::MAX);
            rows = rows_of(sealed.table()).skip(skip).collect();
            if seal.is_none() {
                rows.clear();
            }
        }
        Ok((Made { shares: shares.collect(), places, seal }, rows))
    }
}

/// All subfiles of the set.
fn all_subfiles(names: &Names, set: &Canonical) -> Result<Vec<Old>, Error> {
    let open = |number| {
        let path = names.path(number);
        let at = |kind| Error::new(&path, kind);
        let file = PosixFile::open(&path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => at(BlobError::Missing.into()),
            _ => at(error.into()),
        })?;
        Old::open(&file, Some(set)).map_err(at)
    };
    (0..u32::try_from(set.nsubfiles).unwrap_or(u32::MAX)).map(open).collect()
}

/// The values of all variables must be in the file, outside the header and apart from each other.
fn all_values(file: &PosixFile) -> Result<(), ErrorKind> {
    let header = Header::read(file)?;
    for variable in header.variables() {
        let layout = variable.layout();
        let records = if variable.is_record() { header.head().numrecs } else { 1 };
        if let Some(last) = records.checked_sub(1) {
            header.head().record(layout, last)?;
        }
    }
    Ok(())
}

/// The variables of a set.
pub(super) fn variables(set: &Canonical) -> Result<Vec<Variable>, BuildError> {
    let of = |known: &crate::blob::grammar::Variable| {
        let len = known.count.checked_mul(known.nc_type.size()).ok_or(BuildError::Size)?;
        let &crate::blob::grammar::Variable { nc_type, is_record, decomposition, .. } = known;
        let column = Column { nc_type, is_record, decomposition, len };
        Ok(Variable { name: known.name.clone(), column, before: Default::default() })
    };
    set.variables.iter().map(of).collect()
}

/// The ranks of each subfile: those that are stored, else by the order of the subfiles. Takes for
/// each subfile the number of its blobs, and the ranks that are stored.
pub(super) fn members_of(
    subfiles: impl Iterator<Item = (usize, Option<Vec<u32>>)>,
) -> Option<Vec<Vec<u32>>> {
    let (mut next, mut all, mut members) = (0_u32, Vec::new(), Vec::new());
    for (count, stored) in subfiles {
        let own = stored.unwrap_or_else(|| (next..).take(count).collect());
        if own.len() != count {
            return None;
        }
        next = next.checked_add(u32::try_from(count).ok()?)?;
        all.extend_from_slice(&own);
        members.push(own);
    }
    all.sort_unstable();
    all.into_iter().eq(0..next).then_some(members)
}

/// Counts more records in a subfile, with its seal and the copy that is replaced first.
fn count_records(
    file: &PosixFile,
    more: u64,
    seal: Option<(&Reseal<'_>, usize)>,
) -> Result<(), ErrorKind> {
    let header = Header::read(file)?;
    let length = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let (ndims, nvars) = (length(header.head().ndims), length(header.head().nvars));
    // The longest name is shorter than the header.
    let window = vec![0; length(header.head().header_len).max(1 << 16)];
    let (mut lengths, slots) = (vec![0; ndims], vec![Slot::EMPTY; nvars]);
    let writer = cdf::Writer::open(file, Fill::Values, &mut lengths, slots, window);
    let counted =
        writer.and_then(|mut writer| count(&mut writer, more, seal, crc32c::crc32c_append));
    counted.map_err(ErrorKind::from)
}

impl Made {
    /// Counts `more` records in the subfile, so that there are `records`. `sums` are the checksums
    /// of the values, and `values` is their fingerprint, if the subfile is sealed.
    pub(super) fn count(
        &self,
        file: &PosixFile,
        (records, more): (u64, u64),
        sums: &[u32],
        values: Fingerprint,
    ) -> Result<(), ErrorKind> {
        let Some(seal) = &self.seal else { return count_records(file, more, None) };
        let table = seal.table(sums.iter().copied());
        let reseal = seal.seal.reseal(records, &table, values);
        count_records(file, more, Some((&reseal, seal.seal.next())))
    }

    /// Replaces the other copy of the seal, if there is one, after all subfiles count the records.
    /// The arguments are those of [`count`](Self::count).
    pub(super) fn settle(
        &self,
        file: &PosixFile,
        records: u64,
        sums: &[u32],
        values: Fingerprint,
    ) -> std::io::Result<()> {
        let Some(seal) = &self.seal else { return Ok(()) };
        let table = seal.table(sums.iter().copied());
        let reseal = seal.seal.reseal(records, &table, values);
        settle(&mut &*file, &reseal, seal.seal.next(), crc32c::crc32c_append)
    }
}

impl Writer {
    /// Opens a closed set of CDF-5 files to append records: ranks put records from
    /// [`records`](Self::records) on, of all record variables. The decompositions are those of the
    /// set. A rank is that of the attribute `world_ranks`; if there is none, the ranks are numbered
    /// in the order of the subfiles and their blobs.
    ///
    /// No value is moved. Until [`close`](Self::close) all readers see the old records only. A set
    /// that is sealed stays sealed. Records that not all subfiles have, as after a power cut during
    /// a close, are overwritten. One writer at a time may have the set.
    ///
    /// # Errors
    /// [`BuildError::ProcessCentric`] for HDF5 files; [`Missing`](crate::blob::ErrorKind::Missing)
    /// if a subfile is missing; [`Locked`](ErrorKind::Locked); if a subfile or its seal is damaged;
    /// an error of the operating system.
    ///
    /// ```
    /// use striae::blob::{Builder, Request, Set, Writer};
    /// use striae::striae_core::cdf::{Definition, DimDef, Type, VarDef};
    /// use std::num::NonZeroU32;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("heat.nc");
    /// let heat = VarDef { name: "heat", nc_type: Type::Float, dimids: &[0, 1] };
    /// let dims = [DimDef::record("time"), DimDef { name: "cell", length: 2 }];
    /// let canonical = Definition { dims: &dims, attrs: &[], vars: &[(heat, &[])] };
    /// let requests = vec![vec![Request { offset: 0, len: 2 }]];
    /// let builder = Builder::new(&canonical, NonZeroU32::MIN).decomposition(&[1], requests);
    /// let writer = builder.decomposed(0, 0).sealed(true).create(&path)?;
    /// writer.rank(0)?.put("heat", 0, &[1.5_f32, 2.5])?;
    /// writer.close()?;
    ///
    /// let writer = Writer::append(&path)?;
    /// writer.rank(0)?.put("heat", writer.records(), &[3.5_f32, 4.5])?;
    /// writer.close()?;
    ///
    /// let set = Set::open(&path)?;
    /// assert_eq!(set.read::<f32>(set.variable("heat")?)?, [1.5, 2.5, 3.5, 4.5]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn append(path: impl AsRef<Path>) -> Result<Self, Error> {
        Ok(Self::append_to(path.as_ref(), false, || Ok(()))?.0)
    }

    /// The number of records that the set had when it was opened; 0 of a new set.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records.first()
    }

    /// Opens a set to append records, and reads the requests of its ranks if they are wanted.
    /// Nothing is written before `judge` has judged the set, which nobody else writes then.
    pub(crate) fn append_to<T>(
        path: &Path,
        wanted: bool,
        judge: impl FnOnce() -> Result<T, Error>,
    ) -> Result<(Self, Requests, T), Error> {
        let names = Names::of_set(path)?;
        let first = names.path(0);
        let lock = Locked::open(&first, true, true)?;
        Old::open(&lock, None).map_err(|kind| Error::new(&first, kind))?;
        let set = judged(&names)?;
        let subfiles = all_subfiles(&names, &set)?;
        let members = members_of(subfiles.iter().map(Old::ranks));
        let members = members.ok_or_else(|| Error::new(&first, BuildError::WorldRanks))?;
        // Records are counted in the first subfile last: no sound set has fewer elsewhere.
        let numrecs = subfiles.first().map_or(0, |old| old.subfile.numrecs);
        for (number, old) in (0..).zip(&subfiles) {
            old.has(numrecs).map_err(|error| Error::new(&names.path(number), error))?;
        }
        let (mut made, mut rows, mut files) = (Vec::new(), Vec::new(), Vec::new());
        let ranks = if wanted { members.iter().map(Vec::len).sum() } else { 0 };
        let mut requests: Requests = vec![Vec::new(); ranks];
        for ((number, old), members) in (0..).zip(&subfiles).zip(&members) {
            let path = names.path(number);
            let mut work = || -> Result<(), ErrorKind> {
                let file = PosixFile::open(&path)?;
                let (one, sums) = old.made(&file, (number, numrecs), true)?;
                made.push(one);
                files.push(file.identity());
                rows.push(sums);
                for (blob, &rank) in members.iter().enumerate().filter(|_| wanted) {
                    let rank = usize::try_from(rank).unwrap_or(usize::MAX);
                    if let Some(place) = requests.get_mut(rank) {
                        *place = old.requests(&file, blob)?;
                    }
                }
                Ok(())
            };
            work().map_err(|kind| Error::new(&path, kind))?;
        }
        let variables = variables(&set).map_err(|error| Error::new(&first, error))?;
        let judged = judge()?;
        // Nothing is written before all subfiles are known to be sound.
        let is_ahead = |old: &Old| old.head.grammar.numrecs != Some(numrecs);
        for (number, _) in (0..).zip(&subfiles).filter(|(_, old)| is_ahead(old)) {
            let path = names.path(number);
            let taken = PosixFile::open_rw(&path)
                .map_err(ErrorKind::from)
                .and_then(|file| Ok(take_back(&mut &file, numrecs)?));
            taken.map_err(|kind| Error::new(&path, kind))?;
        }
        let known = variables.iter().enumerate();
        let known = known.map(|(number, variable)| (variable.name.clone(), number)).collect();
        let nvars = variables.len();
        let sums = |subfile: u32, blob: u32| {
            let rows = usize::try_from(subfile).ok().and_then(|number| rows.get(number));
            let blob = usize::try_from(blob).unwrap_or(usize::MAX);
            let (Some(rows), true) = (rows, nvars > 0) else { return Box::default() };
            let nblobs = rows.len().checked_div(nvars).unwrap_or(0).max(1);
            let own = rows.iter().skip(blob).step_by(nblobs);
            own.map(|&crc| Sum::after(numrecs, crc)).collect()
        };
        let writer = Self::new(
            names.base(),
            Target::Old { lock, files },
            (Container::Cdf, Records { before: Some(numrecs), all: None }),
            (variables, known),
            (made, &members),
            &sums,
        );
        Ok((writer, requests, judged))
    }

    /// Counts all new records, in the last subfile first: so no subfile ever has fewer than the
    /// first one, by which readers go.
    pub(super) fn count(&self, records: u64) -> Result<(), Error> {
        let Some(more) = records.checked_sub(self.records.first()).filter(|&more| more > 0) else {
            return Ok(());
        };
        let values = self.fingerprint(records)?;
        for number in 0..self.nsubfiles() {
            self.open(number)?.check_name().map_err(|error| self.error(number, error))?;
        }
        let subfiles = || (0..self.nsubfiles()).zip(&self.subfiles).rev();
        for (number, subfile) in subfiles() {
            let counted = self.count_in((number, subfile), records, more, values);
            counted.map_err(|kind| self.error(number, kind))?;
        }
        for (number, subfile) in subfiles() {
            if subfile.made.seal.is_none() {
                continue;
            }
            let file = self.open(number)?;
            let sums = self.sums(subfile, &file, records);
            let settled = sums.and_then(|sums| subfile.made.settle(&file, records, &sums, values));
            settled.map_err(|error| self.error(number, error))?;
        }
        Ok(())
    }

    fn count_in(
        &self,
        (number, subfile): (u32, &Subfile),
        records: u64,
        more: u64,
        values: Fingerprint,
    ) -> Result<(), ErrorKind> {
        let file = self.open(number).map_err(Error::into_kind)?;
        let sums = match subfile.made.seal {
            Some(_) => self.sums(subfile, &file, records)?,
            None => Vec::new(),
        };
        subfile.made.count(&file, (records, more), &sums, values)
    }
}
