//! [`Subfile`]: where the blobs and the variables of a subfile are.

pub use super::container::{Container, HDF5_MAGIC, bytes_of, container, is_blob};

use super::before::Before;
use super::container::{memory, parts};
use super::definition::Definition;
use super::flaw::Flaw;
use super::grammar::{Canonical, Grammar, Local, Placed};
pub use super::tables::Judge;
use super::tables::{TABLES, Tables};
use crate::cdf::Header;
use crate::subject::Failed;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use striae_core::blob::layout::{maps_len, width_of_blob};
use striae_core::blob::walk::Data;
use striae_core::blob::{Share, Walk};
use striae_core::cdf::layout::whole_records;
use striae_core::cdf::{Layout, Type};
use striae_core::endian::ByteOrder;
use striae_core::span::{Span, Stride};
use striae_core::step::{DriveError, drive_read};
use striae_core::store::{ReadAt, usize_to_u64};

/// Where the requests of a decomposition are in a variable-centric subfile.
#[derive(Debug, Clone, Copy)]
struct Requests {
    /// Of all blobs; a blob has `row` of them.
    values: [Span; 2],
    types: [Type; 2],
    row: u64,
    /// The values of the variables, in the order of
    /// [`Part::VARIABLES`](striae_core::blob::Part::VARIABLES).
    parts: [Span; 5],
}

/// Where the values are.
#[derive(Debug)]
enum Places {
    /// For each canonical variable the offset of its values; `None` if it is in the header.
    Variables { begins: Box<[Option<u64>]>, recsize: u64, requests: Box<[Requests]> },
    /// For each blob its offset. The widths of the variables before each variable follow.
    Processes { starts: Vec<u64>, order: ByteOrder, before: Before, is_stray: bool },
}

/// The starts of blobs, the shares of each blob, and the number of blobs that were found.
type Walked = (Vec<u64>, Vec<Share>, usize);

/// Finds the blobs of a process-centric subfile.
fn walk<S: ReadAt>(
    store: &S,
    (order, span, nblobs): (ByteOrder, Span, usize),
    before: &Before,
    locals: &[Local],
    judge: Judge<'_>,
) -> Result<Walked, Failed<S, Flaw>> {
    let nelems: Vec<_> = locals.iter().map(|local| local.nelems).collect();
    let max_nreqs: Vec<_> = locals.iter().map(|local| local.max_nreqs).collect();
    let ((fixed, elements), nelems, max_nreqs) = (before.all(), &nelems, &max_nreqs);
    let data = Data { span, order, fixed, elements, nelems, max_nreqs };
    let mut starts = memory(nblobs)?;
    let mut shares = memory(nblobs.saturating_mul(locals.len()))?;
    let (done, found) = match Walk::new(data, &mut starts, &mut shares) {
        Err(error) => (Err(DriveError::Format(error)), 0),
        Ok(walk) => {
            let mut walk = walk.mend();
            let done = drive_read(&mut walk, store, &mut [0; 64]);
            if let Some(error) = walk.mended() {
                judge(error.into()).map_err(DriveError::Format)?;
            }
            (done, walk.found())
        }
    };
    match done {
        Ok(()) => {}
        Err(DriveError::Format(error)) => judge(error.into()).map_err(DriveError::Format)?,
        Err(error) => return Err(Flaw::of_blob(error)),
    }
    let lost = shares.iter_mut().skip(found.saturating_mul(locals.len()));
    lost.for_each(|share| *share = Share::default());
    Ok((starts, shares, found))
}

/// A subfile whose header was read.
#[derive(Debug)]
pub struct Subfile {
    /// The length of the file in bytes.
    pub file_len: u64,
    /// The number of records.
    pub numrecs: u64,
    /// The number of blobs.
    pub nblobs: usize,
    /// The number of blobs whose places are known. The others come after them and were lost.
    pub found: usize,
    ndecompositions: usize,
    /// For each blob, for each decomposition.
    shares: Vec<Share>,
    places: Places,
}

/// The header of a subfile, and its container.
#[derive(Debug)]
pub struct Head {
    /// What the header has.
    pub grammar: Grammar,
    /// The byte order of the header and, in HDF5, of values.
    pub order: ByteOrder,
    /// The blobs; `None` if the header says where the variables are, in CDF-5.
    pub data: Option<Span>,
    /// The header, as stored.
    pub header: Header,
    /// The place between the header and the first value.
    pub(super) gap: Span,
    /// The end of the header in the file.
    pub(super) header_end: u64,
}

impl Head {
    /// Reads the header of a subfile.
    ///
    /// # Errors
    /// [`Flaw`]; an error of the store.
    pub fn read<S: ReadAt>(store: &S) -> Result<Self, Failed<S, Flaw>> {
        Self::read_by(store, None)
    }

    /// Reads the header of a subfile, which is likely to differ from that of another one in numbers
    /// only. Then this takes a fraction of the time; if not, it is as [`read`](Self::read).
    ///
    /// # Errors
    /// [`Flaw`]; an error of the store.
    pub fn read_like<S: ReadAt>(store: &S, like: &Header) -> Result<Self, Failed<S, Flaw>> {
        Self::read_by(store, Some(like))
    }

    fn read_by<S: ReadAt>(store: &S, like: Option<&Header>) -> Result<Self, Failed<S, Flaw>> {
        let (header, header_end, order, data) = parts(store, like)?;
        let grammar = Grammar::new(&header, data.is_none()).map_err(DriveError::Format)?;
        if data.is_some() && !grammar.is_in_order {
            return Err(DriveError::Format(Flaw::Order));
        }
        let gap = gap(&header, header_end, data);
        Ok(Self { grammar, order, data, header, gap, header_end })
    }

    /// The most records of which the file, of `file_len` bytes, may have values.
    #[must_use]
    pub fn records_in(&self, file_len: u64) -> u64 {
        let Grammar { numrecs, recsize, .. } = &self.grammar;
        let most = match (self.data, self.grammar.first_record()) {
            (Some(data), _) => data.len().min(file_len),
            (None, None) => 0,
            (None, Some(first)) => {
                let rest = file_len.saturating_sub(first.offset());
                let last = u64::from(rest.checked_rem(*recsize).unwrap_or(0) > 0);
                rest.checked_div(*recsize).map_or(0, |n| n.saturating_add(last))
            }
        };
        numrecs.unwrap_or(most).min(most)
    }

    /// What the canonical file has besides values.
    #[must_use]
    pub fn definition(&self) -> Definition<'_> {
        let Grammar { canonical, places, .. } = &self.grammar;
        Definition::new(&self.header, canonical, places)
    }

    /// The container.
    #[must_use]
    pub const fn container(&self) -> Container {
        if self.data.is_some() { Container::Hdf5 } else { Container::Cdf }
    }

    /// Why the subfile cannot belong to a set: what differs from what all its subfiles have.
    #[must_use]
    pub fn differs(&self, set: &Canonical, container: Container) -> Option<&'static str> {
        let own = &self.grammar.canonical;
        let pairs = [
            (self.container() != container, "containers"),
            (set.dims != own.dims, "dimensions"),
            (set.variables != own.variables, "variables"),
            (set.decompositions != own.decompositions, "decompositions"),
            (set.nsubfiles != own.nsubfiles, "numbers of subfiles"),
        ];
        pairs.iter().find(|(differs, _)| *differs).map(|&(_, what)| what)
    }

    /// Checks that the subfile has what all subfiles of a set have.
    ///
    /// # Errors
    /// [`Flaw::OtherSet`].
    pub fn must_belong(&self, set: &Canonical, container: Container) -> Result<(), Flaw> {
        match self.differs(set, container) {
            Some(what) => Err(Flaw::OtherSet { what }),
            None => Ok(()),
        }
    }
}

/// The gap between a header and the first value: that of a variable, or of the blobs of an HDF5
/// file.
pub(super) fn gap(header: &Header, header_end: u64, data: Option<Span>) -> Span {
    let begins = header.variables().map(|variable| variable.begin());
    let first = data.map_or_else(|| begins.min(), |data| Some(data.offset()));
    first.and_then(|first| Span::between(header_end, first)).unwrap_or(Span::ZERO)
}

impl Subfile {
    /// Reads the header and the places of the blobs. The subfile must have what `set` has.
    ///
    /// # Errors
    /// [`Flaw`]; an error of the store.
    pub fn open<S: ReadAt>(
        store: &S,
        set: &Canonical,
        container: Container,
    ) -> Result<Self, Failed<S, Flaw>> {
        let head = Head::read(store)?;
        head.must_belong(set, container).map_err(DriveError::Format)?;
        Self::examine(store, &head, &mut Err)
    }

    /// Reads the places of the blobs, and passes errors of the tables to `judge`; in CDF-5 also the
    /// error that a variable begins where it cannot.
    ///
    /// If `judge` lets an error pass, the tables are mended: the elements before a blob follow from
    /// the numbers of elements, or in CDF-5 the numbers of elements follow from those before each
    /// blob. A blob whose number of elements nothing proves has none. Of a variable that begins in
    /// the header no place is known; if it is one of a decomposition, of no blob.
    ///
    /// # Errors
    /// [`Flaw`], that of `judge` if it returns one; an error of the store.
    pub fn examine<S: ReadAt>(
        store: &S,
        head: &Head,
        judge: Judge<'_>,
    ) -> Result<Self, Failed<S, Flaw>> {
        match head.data {
            None => Self::of_variables(store, head, judge),
            Some(data) => Self::of_processes(store, &head.grammar, (head.order, data), judge),
        }
    }

    fn of_variables<S: ReadAt>(
        store: &S,
        Head { grammar, header, .. }: &Head,
        judge: Judge<'_>,
    ) -> Result<Self, Failed<S, Flaw>> {
        let file_len = store.size().map_err(DriveError::Store)?;
        let begins = header.check_begins().map_err(Flaw::Cdf);
        begins.or_else(&mut *judge).map_err(DriveError::Format)?;
        let &Grammar { numrecs, recsize, nblobs, ref locals, ref places, .. } = grammar;
        let whole = |first| whole_records(first, recsize, file_len);
        let numrecs = numrecs.unwrap_or_else(|| grammar.first_record().map_or(0, whole));
        let nblobs = blobs_in(file_len, nblobs, 4).map_err(DriveError::Format)?;
        let begin = |placed: &Placed| {
            let begin = placed.values.offset();
            Some(begin).filter(|_| header.head().header_len <= begin)
        };
        let mut maps = locals.iter().flat_map(|local| &local.variables);
        let (found, shares) = match maps.all(|placed| begin(placed).is_some()) {
            true => (nblobs, shares(store, locals, (file_len, nblobs), judge)?),
            false => (0, vec![]), // nobody knows which elements the blobs have
        };
        let requests = locals.iter().map(|local| {
            let [.., offsets, lengths] = local.variables;
            let values = [offsets.values, lengths.values];
            let types = [offsets.nc_type, lengths.nc_type];
            let parts = local.variables.map(|placed| placed.values);
            Requests { values, types, row: local.max_nreqs, parts }
        });
        let begins = places.iter().map(begin).collect();
        let places = Places::Variables { begins, recsize, requests: requests.collect() };
        let ndecompositions = locals.len();
        Ok(Self { file_len, numrecs, nblobs, found, ndecompositions, shares, places })
    }

    fn of_processes<S: ReadAt>(
        store: &S,
        grammar: &Grammar,
        (order, data): (ByteOrder, Span),
        judge: Judge<'_>,
    ) -> Result<Self, Failed<S, Flaw>> {
        let file_len = store.size().map_err(DriveError::Store)?;
        let &Grammar { numrecs, nblobs, ref canonical, ref locals, .. } = grammar;
        let numrecs = numrecs.ok_or(DriveError::Format(Flaw::NoNumrecs))?;
        let ndecompositions = locals.len();
        let least = usize_to_u64(ndecompositions).saturating_mul(Share::HEAD_LEN).max(1);
        let nblobs = blobs_in(data.len().max(1), nblobs, least).map_err(DriveError::Format)?;

        // What the file does not have is cut off.
        let end = data.end().min(file_len).max(data.offset());
        let data = Span::between(data.offset(), end).unwrap_or(Span::ZERO);

        // E3SM-IO gives a value to each blob for a fixed variable whose decomposition is empty in
        // the subfile: it takes the dimension of length 0 for the record dimension.
        let may_stray = locals.iter().any(|local| local.nelems == 0);
        let strays = [false, true].into_iter().take(if may_stray { 2 } else { 1 });
        let of = |is_stray, judge: Judge<'_>| {
            let before = Before::new(&canonical.variables, locals, numrecs, is_stray)?;
            let (starts, shares, found) =
                walk(store, (order, data, nblobs), &before, locals, judge)?;
            let places = Places::Processes { starts, order, before, is_stray };
            Ok(Self { file_len, numrecs, nblobs, found, ndecompositions, shares, places })
        };
        for is_stray in strays {
            match of(is_stray, &mut Err) {
                Err(DriveError::Format(Flaw::Format(_))) => {}
                sound => return sound,
            }
        }
        of(false, judge)
    }

    /// Whether the blobs have values without meaning, as E3SM-IO gives them to variables of
    /// decompositions that are empty in the subfile.
    #[must_use]
    pub const fn is_stray(&self) -> bool {
        matches!(self.places, Places::Processes { is_stray: true, .. })
    }

    /// The byte order of values.
    #[must_use]
    pub const fn order(&self) -> ByteOrder {
        match self.places {
            Places::Variables { .. } => ByteOrder::Big,
            Places::Processes { order, .. } => order,
        }
    }

    /// Whether the elements of all blobs of a variable follow each other.
    #[must_use]
    pub const fn is_joined(&self) -> bool {
        matches!(self.places, Places::Variables { .. })
    }

    /// The shares of a blob.
    #[must_use]
    pub fn shares(&self, blob: usize) -> &[Share] {
        let first = blob.saturating_mul(self.ndecompositions);
        self.shares.get(first..first.saturating_add(self.ndecompositions)).unwrap_or_default()
    }

    /// The share of a blob of a decomposition.
    #[must_use]
    pub fn share(&self, blob: u32, decomposition: usize) -> Share {
        let blob = usize::try_from(blob).unwrap_or(usize::MAX);
        self.shares(blob).get(decomposition).copied().unwrap_or_default()
    }

    /// The spans of the offsets and of the lengths of a blob's requests, with their types.
    #[must_use]
    pub fn requests(&self, blob: usize, decomposition: usize) -> Option<[(Span, Type); 2]> {
        let shares = self.shares(blob);
        let share = shares.get(decomposition)?;
        match &self.places {
            Places::Variables { requests, .. } => {
                let Requests { values, types, row, .. } = requests.get(decomposition)?;
                let skip = usize_to_u64(blob).checked_mul(*row)?;
                let part = |values: Span, nc_type: Type| {
                    let (size, nreqs) = (nc_type.size(), share.nreqs);
                    let span = values.part(skip.checked_mul(size)?, nreqs.checked_mul(size)?)?;
                    Some((span, nc_type))
                };
                let ([offsets, lengths], [first, second]) = (*values, *types);
                Some([part(offsets, first)?, part(lengths, second)?])
            }
            Places::Processes { starts, .. } => {
                let before = maps_len(shares.get(..decomposition)?)?;
                let [offsets, lengths] = share.requests(starts.get(blob)?.checked_add(before)?)?;
                Some([(offsets, Type::Int), (lengths, Type::Int)])
            }
        }
    }

    /// The bytes of the variables of a decomposition that belong to a blob, in the order of
    /// [`Part::VARIABLES`](striae_core::blob::Part::VARIABLES). In CDF-5 they include those after
    /// the requests.
    #[must_use]
    pub fn map_parts(&self, blob: usize, decomposition: usize) -> Option<[Span; 5]> {
        match &self.places {
            Places::Variables { requests, .. } => {
                let Requests { parts, row, .. } = requests.get(decomposition)?;
                let nblobs = usize_to_u64(self.nblobs);
                let mut own = *parts;
                for (number, part) in own.iter_mut().enumerate() {
                    // A length of 0 is stored as 1 (`spec/blob.md#empty`).
                    let is_empty = *row == 0 && number >= TABLES.len();
                    let len = if is_empty { 0 } else { part.len().checked_div(nblobs)? };
                    *part = part.part(len.checked_mul(usize_to_u64(blob))?, len)?;
                }
                Some(own)
            }
            Places::Processes { starts, .. } => {
                let shares = self.shares(blob);
                let before = maps_len(shares.get(..decomposition)?)?;
                shares.get(decomposition)?.parts(starts.get(blob)?.checked_add(before)?)
            }
        }
    }

    /// The offset of the elements of a variable in a record, of a blob or, if they are
    /// [joined](Self::is_joined), of all blobs. `width` is the bytes of an element.
    #[must_use]
    pub fn elements(
        &self,
        variable: usize,
        decomposition: usize,
        (record, blob, width): (u64, u32, u64),
    ) -> Option<u64> {
        match &self.places {
            Places::Variables { begins, recsize, .. } => {
                (*begins.get(variable)?)?.checked_add(record.checked_mul(*recsize)?)
            }
            Places::Processes { .. } => {
                let skip = self.share(blob, decomposition).count.checked_mul(width)?;
                self.in_blob(variable, blob)?.checked_add(record.checked_mul(skip)?)
            }
        }
    }

    /// The places of a variable that is not decomposed and has `count` values in a record.
    #[must_use]
    pub fn whole(
        &self,
        variable: usize,
        count: u64,
        (is_record, value_len): (bool, u64),
    ) -> Option<Layout> {
        let len = count.checked_mul(value_len)?;
        let (begin, recsize) = match &self.places {
            Places::Variables { begins, recsize, .. } => ((*begins.get(variable)?)?, *recsize),
            Places::Processes { .. } => (self.in_blob(variable, 0)?, len),
        };
        let recsize = is_record.then_some(recsize);
        Some(Layout { first: Span::new(begin, len)?, recsize, value_len })
    }

    /// Where a variable begins in a process-centric blob.
    fn in_blob(&self, variable: usize, blob: u32) -> Option<u64> {
        let Places::Processes { starts, before, .. } = &self.places else { return None };
        let number = usize::try_from(blob).ok().filter(|&number| number < self.found)?;
        let shares = self.shares(number);
        let (fixed, elements) = before.of(variable)?;
        let skip = maps_len(shares)?.checked_add(width_of_blob(fixed, elements, blob, shares)?)?;
        starts.get(number)?.checked_add(skip)
    }
}

/// Reads the shares of all blobs in a variable-centric subfile.
fn shares<S: ReadAt>(
    store: &S,
    locals: &[Local],
    (file_len, nblobs): (u64, usize),
    judge: Judge<'_>,
) -> Result<Vec<Share>, Failed<S, Flaw>> {
    // The number of blobs is a claim: their shares have memory only if the file has the tables.
    let missing = locals.iter().try_for_each(|local| Tables::must_fit(local, file_len));
    missing.map_err(DriveError::Format)?;
    let mut shares = memory(nblobs.saturating_mul(locals.len()))?;
    let tables = locals.iter().flat_map(|local| local.variables.iter().take(TABLES.len()));
    let tables: Vec<_> = tables.map(|placed| Stride::one(placed.values)).collect();
    store.will_read(&tables);
    for (index, local) in locals.iter().enumerate() {
        let tables = Tables::read(store, local)?;
        let own = shares.iter_mut().skip(index).step_by(locals.len());
        tables.shares(index, local, own, &mut *judge).map_err(DriveError::Format)?;
    }
    Ok(shares)
}

/// The number of blobs, which have at least `least` bytes each in `len` bytes.
fn blobs_in(len: u64, nblobs: u64, least: u64) -> Result<usize, Flaw> {
    let most = len.checked_div(least).unwrap_or(0).min(u32::MAX.into());
    let fits = usize::try_from(nblobs).ok().filter(|_| nblobs <= most);
    fits.ok_or(Flaw::Size { name: "nblobs".into() })
}
