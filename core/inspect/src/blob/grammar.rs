//! [`Grammar`]: the header of a subfile: what is canonical, and what describes the decompositions.

pub use super::canonical::{
    Attribute, Canonical, Decomposition, Dimension, Local, Placed, Variable, id_of, numbers,
    request,
};

use super::canonical::{integer, integers};
use super::flaw::Flaw;
use crate::cdf::{self, Header};
use crate::subject::Failed;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::num::NonZeroU32;
use striae_core::blob::names::{
    self, DECOMPOSITION_ID, FILE_ATTRIBUTES, GLOBAL_DIMIDS, GLOBAL_NPROCS, NUM_DECOMPOSITIONS,
    NUM_SUBFILES,
};
use striae_core::blob::{Name, Part};
use striae_core::cdf::layout::RecordSize;
use striae_core::cdf::{Error, Type};
use striae_core::endian::ByteOrder;
use striae_core::span::Span;
use striae_core::step::DriveError;
use striae_core::store::{ReadAt, usize_to_u64};

/// The header of a subfile.
#[derive(Debug, Clone)]
pub struct Grammar {
    /// What all subfiles of the set have.
    pub canonical: Canonical,
    /// `None` if the file has as many records as fit.
    pub numrecs: Option<u64>,
    /// The bytes from one record to the next.
    pub recsize: u64,
    /// The number of blobs in the subfile.
    pub nblobs: u64,
    /// The numbers of each decomposition.
    pub locals: Vec<Local>,
    /// Where each canonical variable is, in the order of the variables.
    pub places: Vec<Placed>,
    /// Whether the variables of the decompositions come first, in their order.
    pub is_in_order: bool,
}

/// The byte order of a header: `dim_list` begins with the tag 10.
#[must_use]
pub fn order_of(bytes: &[u8]) -> ByteOrder {
    match bytes.get(12..16) {
        Some([10, 0, 0, 0]) => ByteOrder::Little,
        _ => ByteOrder::Big,
    }
}

/// Reads the header at the start of `store`, of which nothing but the grammar is checked: a
/// dimension of an empty decomposition has length 0, too, wherever it is.
///
/// # Errors
/// [`Flaw::Cdf`] if it is no header; an error of the store.
pub fn read_header<S: ReadAt + ?Sized>(
    store: &S,
    order: ByteOrder,
) -> Result<Header, Failed<S, Flaw>> {
    let mut judge = |error| match error {
        Error::RecordDimNotFirst { .. } => Ok(()),
        error => Err(error),
    };
    match Header::grammar(store, order, &mut judge).map_err(Flaw::of_cdf)? {
        (header, None) => Ok(header),
        (_, Some(error)) => Err(DriveError::Format(error.into())),
    }
}

/// Whether a header has the attributes that every subfile has.
#[must_use]
pub fn has_attributes(header: &Header) -> bool {
    FILE_ATTRIBUTES.iter().all(|name| number(header, name).is_ok())
}

/// A number of the set, which is an attribute of the file.
fn number(header: &Header, name: &'static str) -> Result<u64, Flaw> {
    let attribute = header.attribute(name).ok_or(Flaw::NoAttribute { name })?;
    integer(attribute).ok_or(Flaw::Attribute { name })
}

/// The dimensions of a header by their roles.
struct Dims {
    /// For each dimension its index among the canonical ones.
    canonical: Vec<Option<u64>>,
    record: Option<usize>,
    nblobs: Option<usize>,
    by_name: BTreeMap<(u32, Part), usize>,
    /// The largest number of a decomposition in `by_name`.
    most: u32,
}

impl Dims {
    fn of(header: &Header, ndecompositions: u32) -> Result<(Self, Vec<Dimension>), Flaw> {
        let mut all = Vec::new();
        let (canonical, by_name) = (Vec::new(), BTreeMap::new());
        let mut roles = Self { canonical, record: None, nblobs: None, by_name, most: 0 };
        for (dimid, dim) in header.raw_dims().iter().enumerate() {
            let (name, length) = (header.text(dim.name), dim.length);
            let place = match Name::parse(name.as_bytes()) {
                Some(Name::Nblobs) => {
                    roles.nblobs = roles.nblobs.or(Some(dimid));
                    None
                }
                Some(Name::Of { id, part }) if id.get() <= ndecompositions => {
                    roles.by_name.entry((id.get(), part)).or_insert(dimid);
                    roles.most = roles.most.max(id.get());
                    None
                }
                _ => {
                    // Only a canonical dimension can be the record dimension: those of empty
                    // decompositions have length 0, too (`spec/blob.md#empty`).
                    if length == 0 && roles.record.replace(dimid).is_some() {
                        return Err(Flaw::TwoRecordDims { name: name.into() });
                    }
                    all.push(Dimension { name: name.into(), length });
                    Some(usize_to_u64(all.len().saturating_sub(1)))
                }
            };
            roles.canonical.push(place);
        }
        Ok((roles, all))
    }

    /// The indices among the canonical dimensions.
    fn canonical(&self, dimids: impl Iterator<Item = Option<u64>>) -> Option<Box<[u64]>> {
        let index = |dimid: Option<u64>| *self.canonical.get(usize::try_from(dimid?).ok()?)?;
        let most = dimids.size_hint().1.unwrap_or(0); // an attribute's, which is in memory
        let mut indices = Vec::with_capacity(most);
        for dimid in dimids {
            indices.push(index(dimid)?);
        }
        Some(indices.into())
    }
}

/// Values of an array with these canonical dimensions; the record dimension, if it is the first
/// one, does not count.
fn count_of(dims: &[Dimension], indices: &[u64]) -> Option<(u64, bool)> {
    let length = |&index: &u64| usize::try_from(index).ok().and_then(|index| dims.get(index));
    let mut lengths = indices.iter().map(|index| length(index).map_or(0, |dim| dim.length));
    let is_record = lengths.clone().next() == Some(0);
    if is_record {
        lengths.next();
    }
    let count = lengths.try_fold(1_u64, |count, length| match length {
        0 => None,
        length => count.checked_mul(length),
    });
    Some((count?, is_record))
}

impl Grammar {
    /// Finds what a header of a subfile has. With `has_places`, variables are where `begin` says.
    ///
    /// # Errors
    /// [`Flaw`].
    pub fn new(header: &Header, has_places: bool) -> Result<Self, Flaw> {
        let [nprocs, ndecompositions, nsubfiles] =
            [GLOBAL_NPROCS, NUM_DECOMPOSITIONS, NUM_SUBFILES].map(|name| number(header, name));
        let (nprocs, ndecompositions, nsubfiles) = (nprocs?, ndecompositions?, nsubfiles?);
        // Each subfile has a process or more.
        if nsubfiles == 0 || nsubfiles > nprocs {
            return Err(Flaw::Attribute { name: NUM_SUBFILES });
        }
        // Each has two dimensions, so there are no more than the header has.
        let most = header.raw_dims().len() / 2;
        let ndecompositions = u32::try_from(ndecompositions).ok();
        let ndecompositions = ndecompositions
            .filter(|&n| usize::try_from(n).is_ok_and(|n| n <= most))
            .ok_or(Flaw::Attribute { name: NUM_DECOMPOSITIONS })?;

        let (roles, dims) = Dims::of(header, ndecompositions)?;
        let nblobs = roles.nblobs.ok_or(Flaw::NoDimension { name: Name::Nblobs })?;
        let mut maps = BTreeMap::new();
        for found in header.variables() {
            if let Some(Name::Of { id, part }) = Name::parse(found.name_bytes()) {
                maps.entry((id.get(), part)).or_insert(found);
            }
        }
        let reading = Reading { header, roles: &roles, maps, dims: &dims, has_places };
        let (nblobs, recsize) = (reading.length(usize_to_u64(nblobs)), reading.recsize()?);
        let (mut decompositions, mut locals) = (Vec::new(), Vec::new());
        for id in (1..=ndecompositions).filter_map(NonZeroU32::new) {
            let (decomposition, local) = reading.decomposition(id)?;
            decompositions.push(decomposition);
            locals.push(local);
        }
        let nvars = header.variables().len();
        let (mut variables, mut places) = (Vec::with_capacity(nvars), Vec::with_capacity(nvars));
        for found in header.variables().filter(|found| !reading.is_map(*found)) {
            let (variable, place) = reading.variable(found, &decompositions)?;
            variables.push(variable);
            places.push(place);
        }
        let is_in_order = reading.is_in_order(ndecompositions);
        let numrecs = Some(header.numrecs()).filter(|_| !header.head().is_streaming);
        let canonical = Canonical { dims, variables, decompositions, nprocs, nsubfiles };
        Ok(Self { canonical, numrecs, recsize, nblobs, locals, places, is_in_order })
    }

    /// The first record in a variable-centric subfile, from its first value to its last one; `None`
    /// if no variable has records.
    #[must_use]
    pub fn first_record(&self) -> Option<Span> {
        let all = self.canonical.variables.iter().zip(&self.places);
        let records = all.filter(|(variable, _)| variable.is_record);
        let spans = records.map(|(_, place)| place.values);
        spans.reduce(|one, other| {
            let begin = one.offset().min(other.offset());
            Span::between(begin, one.end().max(other.end())).unwrap_or(one)
        })
    }
}

/// A header whose dimensions are known.
struct Reading<'a> {
    header: &'a Header,
    roles: &'a Dims,
    /// The variables of the decompositions by their names.
    maps: BTreeMap<(u32, Part), cdf::Variable<'a>>,
    dims: &'a [Dimension],
    has_places: bool,
}

impl<'a> Reading<'a> {
    /// Whether a variable describes a decomposition.
    fn is_map(&self, found: cdf::Variable<'_>) -> bool {
        match Name::parse(found.name_bytes()) {
            Some(Name::Of { id, .. }) => id.get() <= self.roles.most,
            _ => false,
        }
    }

    fn length(&self, dimid: u64) -> u64 {
        let dims = self.header.raw_dims();
        let dim = usize::try_from(dimid).ok().and_then(|dimid| dims.get(dimid));
        dim.map_or(0, |dim| dim.length)
    }

    fn is_record(&self, found: cdf::Variable<'_>) -> bool {
        let first = found.dimids().first().and_then(|&dimid| usize::try_from(dimid).ok());
        first.is_some() && first == self.roles.record
    }

    /// The values in the subfile, or those of its first record.
    fn placed(&self, found: cdf::Variable<'_>) -> Result<Placed, Flaw> {
        let nc_type = found.nc_type();
        let skip = usize::from(self.is_record(found));
        let dimids = found.dimids().get(skip..).unwrap_or_default();
        let len = dimids
            .iter()
            .try_fold(nc_type.size(), |len, &dimid| len.checked_mul(self.length(dimid)));
        let begin = if self.has_places { found.begin() } else { 0 };
        let values = len.and_then(|len| Span::new(begin, len));
        let values = values.ok_or_else(|| Flaw::Size { name: found.name().into() })?;
        Ok(Placed { varid: found.varid(), values, nc_type })
    }

    fn recsize(&self) -> Result<u64, Flaw> {
        let mut size = RecordSize::default();
        for found in self.header.variables().filter(|found| self.is_record(*found)) {
            let placed = self.placed(found)?;
            let sum = size.with(placed.values.len());
            size = sum.ok_or_else(|| Flaw::Size { name: found.name().into() })?;
        }
        Ok(size.get())
    }

    fn dim_of(&self, id: NonZeroU32, part: Part) -> Result<usize, Flaw> {
        let dimid = self.roles.by_name.get(&(id.get(), part)).copied();
        dimid.ok_or(Flaw::NoDimension { name: Name::Of { id, part } })
    }

    fn decomposition(&self, id: NonZeroU32) -> Result<(Decomposition, Local), Flaw> {
        let [nelems, max_nreqs] = names::EMPTY.map(|part| self.dim_of(id, part));
        let (nelems_dim, max_nreqs_dim) = (nelems?, max_nreqs?);
        let nblobs = self.roles.nblobs.unwrap_or(usize::MAX);
        let find = |part| -> Result<(cdf::Variable<'a>, Placed), Flaw> {
            let name = Name::Of { id, part };
            let found = self.maps.get(&(id.get(), part)).copied().ok_or(Flaw::NoMap { name })?;
            let stored = Part::stored(part).ok_or(Flaw::NoMap { name })?;
            let dims = match stored.per_request {
                true => vec![nblobs, max_nreqs_dim],
                false => vec![nblobs],
            };
            let has = found.dimids().iter().map(|&dimid| usize::try_from(dimid).ok());
            if !has.eq(dims.into_iter().map(Some)) {
                return Err(Flaw::Shape { name: found.name().into() });
            }
            let placed = self.placed(found)?;
            match placed.nc_type {
                Type::Int | Type::Int64 => Ok((found, placed)),
                _ => Err(Flaw::MapType { name }),
            }
        };
        let [nreqs, start, count, offsets, lengths] = Part::VARIABLES.map(find);
        let (nreqs, variables) = {
            let (found, nreqs) = nreqs?;
            (found, [nreqs, start?.1, count?.1, offsets?.1, lengths?.1])
        };
        let name = || nreqs.name().into();
        let dimids = nreqs.attribute(GLOBAL_DIMIDS).map(integers);
        let indices = dimids.and_then(|dimids| self.roles.canonical(dimids));
        let indices = indices.ok_or_else(|| Flaw::Dimids { name: name() })?;
        let total = count_of(self.dims, &indices).filter(|(_, is_record)| !is_record);
        let (total, _) = total.ok_or_else(|| Flaw::Dimids { name: name() })?;

        // A length 0 that a CDF-5 file cannot store (`spec/blob.md#empty`).
        let length = |part: Part, dimid: usize| {
            let stored = nreqs.attribute(part.suffix()).and_then(integer);
            stored.unwrap_or_else(|| self.length(usize_to_u64(dimid)))
        };
        let nelems = length(Part::Nelems, nelems_dim);
        let max_nreqs = length(Part::MaxNreqs, max_nreqs_dim);
        Ok((Decomposition { dims: indices, total }, Local { nelems, max_nreqs, variables }))
    }

    fn variable(
        &self,
        found: cdf::Variable<'_>,
        decompositions: &[Decomposition],
    ) -> Result<(Variable, Placed), Flaw> {
        let name = || Box::from(found.name());
        let wrong = || Flaw::DecompositionId { name: name() };
        let placed = self.placed(found)?;
        let id = match found.attribute(DECOMPOSITION_ID) {
            None => None,
            Some(attribute) => {
                let id = integer(attribute).and_then(|id| id.checked_sub(1));
                let index = id.and_then(|id| usize::try_from(id).ok()).ok_or_else(wrong)?;
                Some((index, decompositions.get(index).ok_or_else(wrong)?))
            }
        };
        let dims = match id {
            None => {
                let dimids = found.dimids().iter().copied().map(Some);
                self.roles.canonical(dimids).ok_or_else(|| Flaw::Shape { name: name() })?
            }
            Some((index, _)) => {
                let nelems = self.dim_of(id_of(index).ok_or_else(wrong)?, Part::Nelems)?;
                let skip = usize::from(self.is_record(found));
                let rest = found.dimids().get(skip..).unwrap_or_default();
                if !rest.iter().map(|&dimid| usize::try_from(dimid).ok()).eq([Some(nelems)]) {
                    return Err(Flaw::Shape { name: name() });
                }
                let dimids = found.attribute(GLOBAL_DIMIDS).map(integers);
                let dims = dimids.and_then(|dimids| self.roles.canonical(dimids));
                dims.ok_or_else(|| Flaw::Dimids { name: name() })?
            }
        };
        let count = count_of(self.dims, &dims);
        let (count, is_record) = count.ok_or_else(|| Flaw::Dimids { name: name() })?;
        let fits = id.is_none_or(|(_, decomposition)| decomposition.total == count);
        if !fits || is_record != self.is_record(found) {
            return Err(Flaw::Dimids { name: name() });
        }
        let decomposition = id.map(|(index, _)| index);
        let (name, nc_type) = (name(), placed.nc_type);
        Ok((Variable { name, nc_type, dims, is_record, decomposition, count }, placed))
    }

    /// Whether the variables of the decompositions come first, in their order, with the types that
    /// E3SM-IO gives them: the process-centric layout depends on it.
    fn is_in_order(&self, ndecompositions: u32) -> bool {
        let ids = (1..=ndecompositions).filter_map(NonZeroU32::new);
        let names = ids.flat_map(|id| Part::VARIABLES.map(|part| (Name::Of { id, part }, part)));
        let mut found = self.header.variables();
        names.into_iter().all(|(name, part)| {
            found.next().is_some_and(|found| {
                let stored = Part::stored(part).map(|stored| stored.nc_type);
                Name::parse(found.name_bytes()) == Some(name) && Some(found.nc_type()) == stored
            })
        })
    }
}
