//! [`Sealed`]: the seal of a subfile, and the blobs that were compared with it.

use super::container::{memory, room};
use super::flaw::Flaw;
use super::grammar::{Canonical, Grammar, id_of};
use super::subfile::{Head, Subfile};
use super::sums::{Known, Piece, Sums};
use crate::subject::{Failed, Subject, Sum, read};
use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;
use core::mem;
use core::num::NonZeroU32;
use core::sync::atomic::{AtomicBool, Ordering};
use striae_core::blob::names::WORLD_RANKS;
use striae_core::blob::raw::{SealHead, SealRow};
use striae_core::blob::seal::{Duplicate, Facts, FindSeal, Found, SealPlace, Shape, header_crc};
use striae_core::blob::{Error, Name, Part, Seal};
use striae_core::integrity::Checksum;
use striae_core::span::Span;
use striae_core::step::{DriveError, ReadMachine, ReadStep};
use striae_core::store::usize_to_u64;
use zerocopy::{FromBytes, FromZeros, IntoBytes};

/// How often a subfile or a whole set is read at most while another process appends.
pub const TRIES: u32 = 8;

/// What is sound, or is read twice in the same way: another process may append meanwhile. After
/// some tries, what was read last.
pub(super) fn read_again<T, E>(
    is_sound: impl Fn(&T) -> bool,
    is_same: impl Fn(&T, &T) -> bool,
    mut read: impl FnMut() -> Result<T, E>,
) -> Result<T, E> {
    let mut known = read()?;
    for _ in 1..TRIES {
        if is_sound(&known) {
            break;
        }
        let before = mem::replace(&mut known, read()?);
        if is_same(&before, &known) {
            break;
        }
    }
    Ok(known)
}

/// The seal of a subfile, whose header is as sealed. Many threads may call all methods at once.
#[derive(Debug)]
pub struct Sealed {
    seal: Seal,
    /// The copy that a writer replaces first.
    next: usize,
    table: Vec<u8>,
    /// What is known of each row.
    known: Vec<Known>,
    /// The length of the file, which has the records that the seal has.
    file_len: u64,
    /// The other copy, if it has fewer records: how many, and its table.
    older: Option<(u64, Vec<u8>)>,
    /// Whether a blob is as the older copy says, and not as the other one does.
    is_doubtful: AtomicBool,
    damaged: Option<Error>,
}

/// A variable of the header of a subfile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sealable {
    /// A variable of the decomposition with this index.
    Map(usize, Part),
    /// The canonical variable with this index.
    Values(usize),
}

impl Sealable {
    /// All variables of a subfile with so many decompositions and canonical variables, in the order
    /// of the header.
    pub fn all(ndecompositions: usize, nvariables: usize) -> impl Iterator<Item = Self> {
        let maps = (0..ndecompositions)
            .flat_map(|index| Part::VARIABLES.into_iter().map(move |part| Self::Map(index, part)));
        maps.chain((0..nvariables).map(Self::Values))
    }

    /// The name of the variable.
    fn name(self, set: &Canonical) -> Box<str> {
        match self {
            Self::Map(index, part) => {
                let id = id_of(index).unwrap_or(NonZeroU32::MAX);
                Name::Of { id, part }.to_string().into()
            }
            Self::Values(index) => {
                set.variables.get(index).map(|variable| variable.name.clone()).unwrap_or_default()
            }
        }
    }

    pub(super) fn is_record(self, set: &Canonical) -> bool {
        match self {
            Self::Map(..) => false,
            Self::Values(index) => set.variables.get(index).is_some_and(|known| known.is_record),
        }
    }

    /// The number of the variable in the header.
    pub(super) fn number(self, set: &Canonical) -> Option<u32> {
        let parts = Part::VARIABLES.len();
        let number = match self {
            Self::Map(index, part) => {
                let place = Part::VARIABLES.iter().position(|other| *other == part)?;
                index.checked_mul(parts)?.checked_add(place)?
            }
            Self::Values(index) => {
                set.decompositions.len().checked_mul(parts)?.checked_add(index)?
            }
        };
        u32::try_from(number).ok()
    }
}

impl Head {
    /// What the file says that its seal says, too, if it has so many records; `None` if it has more
    /// blobs than a seal can have.
    #[must_use]
    pub fn facts(&self, numrecs: u64, checksum: Checksum) -> Option<Facts> {
        let header = self.header.bytes();
        Some(Facts {
            shape: shape(&self.grammar)?,
            header_len: usize_to_u64(header.len()),
            header_crc: header_crc(header, checksum),
            values_begin: self.gap.end(),
            numrecs,
            tie: None,
        })
    }

    /// The gap between the header and the first value, where a seal is.
    #[must_use]
    pub const fn gap(&self) -> Span {
        self.gap
    }

    /// The ranks of the blobs, if the subfile stores them.
    #[must_use]
    pub fn world_ranks(&self) -> Option<Vec<u64>> {
        let ranks = self.header.attribute(WORLD_RANKS)?.values().integers()?;
        ranks.into_iter().map(|rank| u64::try_from(rank).ok()).collect()
    }

    /// The machine that finds the seal.
    #[must_use]
    pub fn find_seal(&self, checksum: Checksum) -> FindSeal {
        FindSeal::new(self.gap, checksum)
    }
}

/// The shape of the seal of a subfile; `None` if it has more blobs than a seal can have.
pub(super) fn shape(grammar: &Grammar) -> Option<Shape> {
    let maps = grammar.locals.len().checked_mul(Part::VARIABLES.len())?;
    let nvars = maps.checked_add(grammar.places.len())?;
    Shape::new(grammar.nblobs, usize_to_u64(nvars))
}

impl Sealed {
    /// Reads the seal of a subfile with so many records; `None` if it has none.
    ///
    /// # Errors
    /// [`Flaw::Format`] if the seal is damaged or the header is not as sealed; an error of the
    /// store.
    pub fn read<S: Subject>(
        store: &S,
        head: &Head,
        numrecs: u64,
    ) -> Result<Option<Self>, Failed<S, Flaw>> {
        Self::of(store, head, numrecs, find(store, head)?)
    }

    /// Reads the seal of a subfile that has been read with so many records. If they contradict each
    /// other, another process may have appended since: both are read again until they agree, or the
    /// same contradiction is found twice. So the seal may have more records than were read.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_live<S: Subject>(
        store: &S,
        head: &Head,
        mut numrecs: u64,
    ) -> Result<Option<Self>, Failed<S, Flaw>> {
        let read = || -> Result<_, Failed<S, Flaw>> {
            let found = find(store, head)?;
            let done = Self::of(store, head, numrecs, found);
            if matches!(done, Err(DriveError::Format(_))) {
                // Of the header, a writer of records changes nothing else.
                numrecs = Head::read(store)?.grammar.numrecs.unwrap_or(numrecs);
            }
            Ok((done, (found, numrecs)))
        };
        let is_sound = |(done, _): &(Result<_, _>, _)| !matches!(done, Err(DriveError::Format(_)));
        read_again(is_sound, |(_, one), (_, other)| one == other, read)?.0
    }

    /// Judges what was found.
    fn of<S: Subject>(
        store: &S,
        head: &Head,
        numrecs: u64,
        found: Found,
    ) -> Result<Option<Self>, Failed<S, Flaw>> {
        let file_len = store.size().map_err(DriveError::Store)?;
        let Some(facts) = head.facts(numrecs, store.checksum(Sum::Crc32c)) else { return Ok(None) };
        let seal = found.judge(&facts).map_err(|error| DriveError::Format(error.into()))?;
        let Some(seal) = seal else { return Ok(None) };
        let table = table_of(store, &seal)?;
        let (rows, mut known) = (rows(&table).len(), Vec::new());
        room(&mut known, rows)?;
        known.resize_with(rows, Known::default);
        let (mut older, mut damaged) = (None, None);
        for copy in found.copies {
            match copy {
                Duplicate::Damaged(error) => damaged = Some(error),
                Duplicate::Whole(other) if other.facts().numrecs < seal.facts().numrecs => {
                    let is_same = Facts { numrecs, tie: None, ..other.facts() } == facts;
                    let table = if is_same { table_of(store, &other) } else { continue };
                    older = match table {
                        Err(DriveError::Format(_)) => None, // replaced just now
                        table => Some((other.facts().numrecs, table?)),
                    };
                }
                _ => {}
            }
        }
        let (next, is_doubtful) = (found.next(numrecs), AtomicBool::new(false));
        Ok(Some(Self { seal, next, table, known, file_len, older, is_doubtful, damaged }))
    }

    /// The damage of the other copy.
    #[must_use]
    pub const fn damaged_copy(&self) -> Option<Error> {
        self.damaged
    }

    /// The number of records that the seal is known to be of, after all blobs were
    /// [checked](Self::check).
    #[must_use]
    pub fn certain(&self) -> u64 {
        let older = self.older.as_ref().filter(|_| self.is_doubtful.load(Ordering::Relaxed));
        older.map_or(self.seal.facts().numrecs, |(numrecs, _)| *numrecs)
    }

    /// Whether all records of the seal are those of its writer. If the copies differ, this reads
    /// the values: see [`check`](Self::check). Values that are not as sealed do not count.
    ///
    /// # Errors
    /// An error of the store.
    pub fn is_certain<S: Subject>(
        &self,
        store: &S,
        (subfile, set): (&Subfile, &Canonical),
    ) -> Result<bool, Failed<S, Flaw>> {
        let variables = self.older.iter().flat_map(|_| 0..set.variables.len());
        for variable in variables.map(Sealable::Values) {
            for (blob, _) in (0..).zip(0..subfile.found) {
                if let Err(DriveError::Store(error)) =
                    self.check(store, (subfile, set), (variable, blob))
                {
                    return Err(DriveError::Store(error));
                }
            }
        }
        Ok(self.certain() == self.seal.facts().numrecs)
    }

    /// The seal.
    #[must_use]
    pub const fn seal(&self) -> &Seal {
        &self.seal
    }

    /// The copy that a writer of more records replaces first.
    #[must_use]
    pub const fn next(&self) -> usize {
        self.next
    }

    /// The table of its checksums, 4 bytes each.
    #[must_use]
    pub const fn table(&self) -> &[u8] {
        self.table.as_slice()
    }

    /// The numbers of a variable and of a row of the table.
    fn row(&self, set: &Canonical, (variable, blob): (Sealable, u32)) -> Option<(u32, usize)> {
        let number = variable.number(set)?;
        let row = self.seal.facts().shape.row(number, blob)?;
        Some((number, usize::try_from(row).ok()?))
    }

    /// How many records of a variable are sealed; 1 if it has none.
    pub(super) fn records(&self, set: &Canonical, variable: Sealable) -> u64 {
        if variable.is_record(set) { self.seal.facts().numrecs } else { 1 }
    }

    /// Computes the checksums of all blobs with the threads that the store has for it, so that
    /// [`check`](Self::check) reads nothing more. A blob that cannot be read is left to it.
    pub fn read_all<S: Subject>(&self, store: &S, (subfile, set): (&Subfile, &Canonical)) {
        if self.older.is_some() {
            return; // the checksums of two numbers of records are needed
        }
        let mut sums = Sums::new(&self.known);
        for variable in Sealable::all(set.decompositions.len(), set.variables.len()) {
            let records = self.records(set, variable);
            for (blob, _) in (0..).zip(0..subfile.found) {
                let span = |record| span(subfile, set, (variable, blob), record);
                let last = records.checked_sub(1).and_then(span);
                let last = last.filter(|last| !last.is_empty() && last.fits(self.file_len));
                let row = self.row(set, (variable, blob)).filter(|_| last.is_some());
                let Some((_, row)) = row else { continue };
                for (record, span) in (1..=records).zip((0..records).map_while(span)) {
                    sums.add(store, Piece { row, span, is_last: record == records });
                }
            }
        }
        sums.run(store);
    }

    /// Compares the bytes of a blob of a variable with the seal, in all records that the seal has.
    /// This reads them once. Returns how many bytes they are, of records that the subfile was read
    /// with.
    ///
    /// If the copies of the seal have different numbers of records, a writer was cut. Another
    /// program may have written the records that only one of them has: they are not said to be
    /// wrong ([`certain`](Self::certain)).
    ///
    /// # Errors
    /// [`Flaw::NotAsSealed`]; [`DriveError::Ended`] if the file is cut; an error of the store.
    pub fn check<S: Subject>(
        &self,
        store: &S,
        (subfile, set): (&Subfile, &Canonical),
        (variable, blob): (Sealable, u32),
    ) -> Result<u64, Failed<S, Flaw>> {
        // Always: the shape is that of the file.
        let Some((number, row)) = self.row(set, (variable, blob)) else { return Ok(0) };
        let (is_record, records) = (variable.is_record(set), self.records(set, variable));
        let span = |record| {
            let span = span(subfile, set, (variable, blob), record);
            span.ok_or_else(|| DriveError::Format(Flaw::Size { name: variable.name(set) }))
        };
        let Some(last) = records.checked_sub(1).map(span).transpose()? else { return Ok(0) };
        let known = self.known.get(row);
        let older = self.older.as_ref().filter(|_| is_record);
        let (mut counted, mut is_older) = (records, false);
        let mut crc = match known.and_then(Known::get) {
            Some(crc) => crc,
            None if last.is_empty() => 0, // so are the others
            None if !last.fits(self.file_len) => {
                return Err(DriveError::Ended { offset: last.offset() });
            }
            None => {
                let (checksum, mut crc) = (store.checksum(Sum::Crc32c), 0_u32);
                for record in 0..records {
                    if let Some((_, table)) = older.filter(|(numrecs, _)| *numrecs == record) {
                        is_older = entry(table, row) == crc.to_be_bytes();
                    }
                    let read = store.data(span(record)?, &mut |bytes| crc = checksum(crc, bytes));
                    read.map_err(DriveError::infallible)?;
                }
                crc
            }
        };
        let stored = entry(&self.table, row);
        if let Some((numrecs, _)) = older.filter(|_| is_older && stored != crc.to_be_bytes()) {
            self.is_doubtful.store(true, Ordering::Relaxed);
            (crc, counted) = (u32::from_be_bytes(stored), *numrecs);
        }
        if let Some(known) = known {
            known.set(crc);
        }
        match self.seal.check(number, blob, stored, crc) {
            Ok(()) if is_record => Ok(last.len().saturating_mul(counted.min(subfile.numrecs))),
            Ok(()) => Ok(last.len()),
            Err(error) => Err(DriveError::Format(match error {
                Error::NotAsSealed { stored, computed, .. } => {
                    Flaw::NotAsSealed { name: variable.name(set), blob, stored, computed }
                }
                error => Flaw::Format(error),
            })),
        }
    }
}

/// The rows of a table of checksums.
fn rows(table: &[u8]) -> &[SealRow] {
    <[SealRow]>::ref_from_bytes(table).unwrap_or_default()
}

/// An entry of a table of checksums.
fn entry(table: &[u8], row: usize) -> [u8; 4] {
    rows(table).get(row).map(|row| row.crc.to_bytes()).unwrap_or_default()
}

/// Finds the copies of the seal: in the gap, or where the gap of a sealed subfile is if the header
/// says where its first value is by mistake.
pub(super) fn find<S: Subject>(store: &S, head: &Head) -> Result<Found, Failed<S, Flaw>> {
    let file_len = store.size().map_err(DriveError::Store)?;
    let checksum = store.checksum(Sum::Crc32c);
    let usual = shape(&head.grammar).and_then(|shape| shape.gap_after(head.header_end));
    for gap in [Some(head.gap), usual].into_iter().flatten().filter(|gap| gap.fits(file_len)) {
        let found = find_in(store, FindSeal::new(gap, checksum))?;
        if found != Found::default() {
            return Ok(found);
        }
    }
    Ok(Found::default()) // there is none, or the file is cut before its first value
}

/// Finds the copies of the seal, in no more memory than the longest read takes: where there is no
/// seal, reads are short.
fn find_in<S: Subject>(store: &S, mut find: FindSeal) -> Result<Found, Failed<S, Flaw>> {
    let mut memory = Vec::new();
    loop {
        match find.poll() {
            ReadStep::Read { offset, need, want } => {
                let len = usize::try_from(want).unwrap_or(usize::MAX).min(WINDOW).max(need);
                if memory.len() < len {
                    memory = vec![0; len];
                }
                let bytes = memory.get_mut(..len).unwrap_or_default();
                read(store, offset, bytes)?;
                find.feed(bytes).map_err(|error| DriveError::Format(error.into()))?;
            }
            ReadStep::Done(found) => return Ok(found),
        }
    }
}

/// The table of a seal that was found. A writer may have replaced it since: that is an error.
fn table_of<S: Subject>(store: &S, seal: &Seal) -> Result<Vec<u8>, Failed<S, Flaw>> {
    let SealPlace { head: place, table: span, .. } = seal.place();
    let mut table = memory(usize::try_from(span.len()).unwrap_or(usize::MAX))?;
    read(store, span.offset(), &mut table)?;
    let mut head = SealHead::new_zeroed();
    read(store, place.offset(), head.as_mut_bytes())?;
    let checksum = store.checksum(Sum::Crc32c);
    let stored = head.table_crc.get();
    let computed = checksum(seal.facts().tie_crc(checksum), &table);
    match seal.facts().head(computed, checksum).as_bytes() == head.as_bytes() {
        true => Ok(table),
        false => {
            let field = SealHead::table_crc;
            let offset = place.offset().saturating_add(field.offset().into());
            let error = Error::Checksum { field, offset, stored, computed };
            Err(DriveError::Format(error.into()))
        }
    }
}

/// The memory for reading the copies of a seal.
const WINDOW: usize = 1 << 16;

/// The bytes of a blob of a variable in a record; `None` if they are where no file has bytes.
pub(super) fn span(
    subfile: &Subfile,
    set: &Canonical,
    (variable, blob): (Sealable, u32),
    record: u64,
) -> Option<Span> {
    let index = match variable {
        Sealable::Map(index, part) => {
            let parts = subfile.map_parts(usize::try_from(blob).ok()?, index)?;
            let place = Part::VARIABLES.iter().position(|other| *other == part)?;
            return parts.get(place).copied();
        }
        Sealable::Values(index) => index,
    };
    let known = set.variables.get(index)?;
    let width = known.nc_type.size();
    let Some(decomposition) = known.decomposition else {
        if blob > 0 {
            return Some(Span::ZERO);
        }
        let layout = subfile.whole(index, known.count, (known.is_record, width))?;
        return layout.recsize.map_or(Some(layout.first), |_| layout.record(record));
    };
    let share = subfile.share(blob, decomposition);
    let at = subfile.elements(index, decomposition, (record, blob, width))?;
    let skip = if subfile.is_joined() { share.start.checked_mul(width)? } else { 0 };
    Span::new(at.checked_add(skip)?, share.count.checked_mul(width)?)
}
