//! The header of a subfile: what is canonical, and what describes the decompositions.

mod items;

use super::error::ErrorKind as Flaw;
use items::{Found, Items};
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use striae_core::blob::names::{
    self, DECOMPOSITION_ID, FILE_ATTRIBUTES, GLOBAL_DIMIDS, GLOBAL_NPROCS, NUM_DECOMPOSITIONS,
    NUM_SUBFILES, VARIABLE_ATTRIBUTES, WORLD_RANKS,
};
use striae_core::blob::{Name, Part};
use striae_core::cdf::layout::RecordSize;
use striae_core::cdf::{Cursor, Item, Type};
use striae_core::endian::{ByteOrder, I32, I64, U32, U64};
use striae_core::source::{Fault, Miss};
use striae_core::span::Span;
use striae_core::store::usize_to_u64;
use zerocopy::FromBytes;

/// An attribute, with its values in big-endian order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Attribute {
    pub(crate) name: Box<str>,
    pub(crate) nc_type: Type,
    pub(crate) bytes: Box<[u8]>,
}

impl Attribute {
    /// The values, if they are integers of 4 or 8 bytes and not negative.
    fn integers(&self) -> Option<Vec<u64>> {
        let of = |value: i64| u64::try_from(value).ok();
        match self.nc_type {
            Type::Int => {
                let values = <[I32]>::ref_from_bytes(&self.bytes).ok()?;
                values.iter().map(|value| of(value.get(ByteOrder::Big).into())).collect()
            }
            Type::Int64 => {
                let values = <[I64]>::ref_from_bytes(&self.bytes).ok()?;
                values.iter().map(|value| of(value.get(ByteOrder::Big))).collect()
            }
            _ => None,
        }
    }

    fn integer(&self) -> Option<u64> {
        match self.integers()?.as_slice() {
            &[value] => Some(value),
            _ => None,
        }
    }
}

/// A canonical dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dimension {
    pub(crate) name: Box<str>,
    /// 0 for the record dimension.
    pub(crate) length: u64,
}

/// A canonical variable, as all subfiles have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Variable {
    pub(crate) name: Box<str>,
    pub(crate) nc_type: Type,
    /// Indices of its canonical dimensions.
    pub(crate) dims: Box<[u64]>,
    pub(crate) is_record: bool,
    /// Index of its decomposition.
    pub(crate) decomposition: Option<usize>,
    /// Values of the canonical array, of one record.
    pub(crate) count: u64,
}

/// A decomposition, as all subfiles have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decomposition {
    /// Indices of its canonical dimensions.
    pub(crate) dims: Box<[u64]>,
    /// Elements of the canonical array.
    pub(crate) total: u64,
}

/// What all subfiles of a set have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Canonical {
    pub(crate) dims: Vec<Dimension>,
    pub(crate) variables: Vec<Variable>,
    pub(crate) decompositions: Vec<Decomposition>,
    pub(crate) nprocs: u64,
    pub(crate) nsubfiles: u64,
}

/// A variable in one subfile.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Placed {
    /// The values, or those of the first record; at offset 0 in a header without places.
    pub(crate) values: Span,
    pub(crate) nc_type: Type,
}

/// The numbers of a decomposition in one subfile.
#[derive(Debug, Clone)]
pub(crate) struct Local {
    pub(crate) nelems: u64,
    pub(crate) max_nreqs: u64,
    /// The variables, in the order of [`Part::VARIABLES`].
    pub(crate) variables: [Placed; 5],
}

/// The header of a subfile.
#[derive(Debug, Clone)]
pub(crate) struct Grammar {
    pub(crate) canonical: Canonical,
    /// The attributes of the canonical file, and of each canonical variable.
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) variable_attributes: Vec<Vec<Attribute>>,
    /// `None` if the file has as many records as fit.
    pub(crate) numrecs: Option<u64>,
    pub(crate) recsize: u64,
    pub(crate) nblobs: u64,
    pub(crate) locals: Vec<Local>,
    /// Where each canonical variable is, in the order of the variables.
    pub(crate) places: Vec<Placed>,
    /// Whether the variables of the decompositions come first, in their order.
    pub(crate) is_in_order: bool,
}

/// The length of a header of which these are the first bytes; `None` if more of them are needed.
pub(crate) fn header_len(
    bytes: &striae_core::source::Window<'_>,
    cursor: &mut Cursor,
) -> Result<Option<u64>, Flaw> {
    loop {
        match cursor.next(bytes) {
            Ok((Item::End { header_len }, _)) => return Ok(Some(header_len)),
            Ok((_, next)) => *cursor = next,
            Err(Fault::Format(error)) => return Err(error.into()),
            Err(Fault::Miss(Miss::Read { .. })) => return Ok(None),
            Err(Fault::Miss(_)) => return Err(Flaw::Cut), // never: the cursor says it itself
        }
    }
}

/// The byte order of a header: `dim_list` begins with the tag 10.
pub(crate) fn order_of(bytes: &[u8]) -> ByteOrder {
    match bytes.get(12..16) {
        Some([10, 0, 0, 0]) => ByteOrder::Little,
        _ => ByteOrder::Big,
    }
}

/// Whether a header has the attributes that every subfile has.
pub(crate) fn has_attributes(bytes: &[u8], order: ByteOrder) -> bool {
    let items = Items::parse(bytes, order);
    items.is_ok_and(|items| FILE_ATTRIBUTES.iter().all(|name| items.number(name).is_ok()))
}

/// The dimensions of a header by their roles.
struct Dims {
    /// For each dimension its index among the canonical ones.
    canonical: Vec<Option<u64>>,
    record: Option<usize>,
    nblobs: Option<usize>,
    by_name: BTreeMap<(u32, Part), usize>,
}

impl Dims {
    fn of(dims: &[(Box<str>, u64)], ndecompositions: u32) -> Result<(Self, Vec<Dimension>), Flaw> {
        let mut all = Vec::new();
        let (canonical, by_name) = (Vec::new(), BTreeMap::new());
        let mut roles = Self { canonical, record: None, nblobs: None, by_name };
        for (dimid, (name, length)) in dims.iter().enumerate() {
            let place = match Name::parse(name.as_bytes()) {
                Some(Name::Nblobs) => {
                    roles.nblobs = roles.nblobs.or(Some(dimid));
                    None
                }
                Some(Name::Of { id, part }) if id.get() <= ndecompositions => {
                    roles.by_name.entry((id.get(), part)).or_insert(dimid);
                    None
                }
                _ => {
                    // Only a canonical dimension can be the record dimension: those of empty
                    // decompositions have length 0, too (`spec/blob.md#empty`).
                    if *length == 0 && roles.record.replace(dimid).is_some() {
                        return Err(Flaw::TwoRecordDims { name: name.clone() });
                    }
                    all.push(Dimension { name: name.clone(), length: *length });
                    Some(usize_to_u64(all.len().saturating_sub(1)))
                }
            };
            roles.canonical.push(place);
        }
        Ok((roles, all))
    }

    /// The indices among the canonical dimensions.
    fn canonical(&self, dimids: &[u64]) -> Option<Box<[u64]>> {
        let index = |&dimid: &u64| *self.canonical.get(usize::try_from(dimid).ok()?)?;
        dimids.iter().map(index).collect()
    }
}

/// Values of an array with these canonical dimensions; the record dimension, if it is the first
/// one, does not count.
fn count_of(dims: &[Dimension], indices: &[u64]) -> Option<(u64, bool)> {
    let length = |&index: &u64| usize::try_from(index).ok().and_then(|index| dims.get(index));
    let lengths = indices.iter().map(|index| length(index).map_or(0, |dim| dim.length));
    let lengths: Vec<_> = lengths.collect();
    let is_record = lengths.first() == Some(&0);
    let rest = lengths.get(usize::from(is_record)..).unwrap_or_default();
    let count = rest.iter().try_fold(1_u64, |count, &length| match length {
        0 => None,
        length => count.checked_mul(length),
    });
    Some((count?, is_record))
}

impl Grammar {
    /// Parses the header of a subfile. With `has_places`, variables are where `begin` says.
    pub(crate) fn parse(bytes: &[u8], order: ByteOrder, has_places: bool) -> Result<Self, Flaw> {
        let items = Items::parse(bytes, order)?;
        let [nprocs, ndecompositions, nsubfiles] =
            [GLOBAL_NPROCS, NUM_DECOMPOSITIONS, NUM_SUBFILES].map(|name| items.number(name));
        let (nprocs, ndecompositions, nsubfiles) = (nprocs?, ndecompositions?, nsubfiles?);
        // Each has two dimensions, so there are no more than the header has.
        let most = items.dims.len() / 2;
        let ndecompositions = u32::try_from(ndecompositions).ok();
        let ndecompositions = ndecompositions
            .filter(|&n| usize::try_from(n).is_ok_and(|n| n <= most))
            .ok_or(Flaw::Attribute { name: NUM_DECOMPOSITIONS })?;

        let (roles, dims) = Dims::of(&items.dims, ndecompositions)?;
        let length = |dimid: usize| items.dims.get(dimid).map_or(0, |(_, length)| *length);
        let nblobs = length(roles.nblobs.ok_or(Flaw::NoDimension { name: Name::Nblobs })?);
        let mut reading = Reading { items: &items, roles: &roles, dims: &dims, has_places };
        let recsize = reading.recsize()?;
        let mut decompositions = Vec::new();
        let mut locals = Vec::new();
        for id in (1..=ndecompositions).filter_map(NonZeroU32::new) {
            let (decomposition, local) = reading.decomposition(id)?;
            decompositions.push(decomposition);
            locals.push(local);
        }
        let (mut variables, mut variable_attributes, mut places) = (vec![], vec![], vec![]);
        for found in items.variables.iter().filter(|found| !reading.is_map(found)) {
            let (variable, place) = reading.variable(found, &decompositions)?;
            let canonical = |attribute: &&Attribute| {
                variable.decomposition.is_none() || !VARIABLE_ATTRIBUTES.contains(&&*attribute.name)
            };
            variable_attributes.push(found.attributes.iter().filter(canonical).cloned().collect());
            variables.push(variable);
            places.push(place);
        }
        let is_in_order = reading.is_in_order(ndecompositions);
        let canonical = |attribute: &&Attribute| {
            let name = &*attribute.name;
            name != WORLD_RANKS && !FILE_ATTRIBUTES.contains(&name)
        };
        let attributes = items.attributes.iter().filter(canonical).cloned().collect();
        let numrecs = items.numrecs;
        let canonical = Canonical { dims, variables, decompositions, nprocs, nsubfiles };
        Ok(Self {
            canonical,
            attributes,
            variable_attributes,
            numrecs,
            recsize,
            nblobs,
            locals,
            places,
            is_in_order,
        })
    }
}

/// A header whose dimensions are known.
struct Reading<'a> {
    items: &'a Items,
    roles: &'a Dims,
    dims: &'a [Dimension],
    has_places: bool,
}

impl Reading<'_> {
    fn ndecompositions(&self) -> u32 {
        let ids = self.roles.by_name.keys().map(|&(id, _)| id);
        ids.max().unwrap_or(0)
    }

    /// Whether a variable describes a decomposition.
    fn is_map(&self, found: &Found) -> bool {
        match Name::parse(found.name.as_bytes()) {
            Some(Name::Of { id, .. }) => id.get() <= self.ndecompositions(),
            _ => false,
        }
    }

    fn length(&self, dimid: u64) -> u64 {
        let dim = usize::try_from(dimid).ok().and_then(|dimid| self.items.dims.get(dimid));
        dim.map_or(0, |(_, length)| *length)
    }

    fn is_record(&self, found: &Found) -> bool {
        let first = found.dimids.first().and_then(|&dimid| usize::try_from(dimid).ok());
        first.is_some() && first == self.roles.record
    }

    /// The values in the subfile, or those of its first record.
    fn placed(&self, found: &Found) -> Result<Placed, Flaw> {
        let name = || found.name.clone();
        let var = found.var.ok_or(Flaw::Cut)?;
        let skip = usize::from(self.is_record(found));
        let dimids = found.dimids.get(skip..).unwrap_or_default();
        let len = dimids
            .iter()
            .try_fold(var.nc_type.size(), |len, &dimid| len.checked_mul(self.length(dimid)));
        let begin = if self.has_places { var.begin } else { 0 };
        let values = len.and_then(|len| Span::new(begin, len));
        Ok(Placed {
            values: values.ok_or_else(|| Flaw::Size { name: name() })?,
            nc_type: var.nc_type,
        })
    }

    fn recsize(&mut self) -> Result<u64, Flaw> {
        let mut size = RecordSize::default();
        for found in self.items.variables.iter().filter(|found| self.is_record(found)) {
            let placed = self.placed(found)?;
            let sum = size.with(placed.values.len());
            size = sum.ok_or_else(|| Flaw::Size { name: found.name.clone() })?;
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
        let find = |part| {
            let name = Name::Of { id, part };
            let is_it = |found: &&Found| Name::parse(found.name.as_bytes()) == Some(name);
            let found = self.items.variables.iter().find(is_it).ok_or(Flaw::NoMap { name })?;
            let stored = Part::stored(part).ok_or(Flaw::NoMap { name })?;
            let dims = match stored.per_request {
                true => vec![nblobs, max_nreqs_dim],
                false => vec![nblobs],
            };
            let has = found.dimids.iter().map(|&dimid| usize::try_from(dimid).ok());
            if !has.eq(dims.into_iter().map(Some)) {
                return Err(Flaw::Shape { name: found.name.clone() });
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
        let name = || nreqs.name.clone();
        let dimids = nreqs.attribute(GLOBAL_DIMIDS).and_then(Attribute::integers);
        let indices = dimids.and_then(|dimids| self.roles.canonical(&dimids));
        let indices = indices.ok_or_else(|| Flaw::Dimids { name: name() })?;
        let total = count_of(self.dims, &indices).filter(|(_, is_record)| !is_record);
        let (total, _) = total.ok_or_else(|| Flaw::Dimids { name: name() })?;

        // A length 0 that a CDF-5 file cannot store (`spec/blob.md#empty`).
        let length = |part: Part, dimid: usize| {
            let stored = nreqs.attribute(part.suffix()).and_then(Attribute::integer);
            stored.unwrap_or(self.items.dims.get(dimid).map_or(0, |(_, length)| *length))
        };
        let nelems = length(Part::Nelems, nelems_dim);
        let max_nreqs = length(Part::MaxNreqs, max_nreqs_dim);
        Ok((Decomposition { dims: indices, total }, Local { nelems, max_nreqs, variables }))
    }

    fn variable(
        &self,
        found: &Found,
        decompositions: &[Decomposition],
    ) -> Result<(Variable, Placed), Flaw> {
        let name = || found.name.clone();
        let placed = self.placed(found)?;
        let id = match found.attribute(DECOMPOSITION_ID) {
            None => None,
            Some(attribute) => {
                let wrong = || Flaw::DecompositionId { name: name() };
                let id = attribute.integer().and_then(|id| id.checked_sub(1));
                let index = id.and_then(|id| usize::try_from(id).ok()).ok_or_else(wrong)?;
                Some((index, decompositions.get(index).ok_or_else(wrong)?))
            }
        };
        let dims = match id {
            None => {
                self.roles.canonical(&found.dimids).ok_or_else(|| Flaw::Shape { name: name() })?
            }
            Some((index, _)) => {
                let nelems = u32::try_from(index).ok().and_then(|index| index.checked_add(1));
                let nelems = NonZeroU32::new(nelems.unwrap_or(0)).ok_or(Flaw::Cut)?;
                let nelems = self.dim_of(nelems, Part::Nelems)?;
                let skip = usize::from(self.is_record(found));
                let rest = found.dimids.get(skip..).unwrap_or_default();
                if !rest.iter().map(|&dimid| usize::try_from(dimid).ok()).eq([Some(nelems)]) {
                    return Err(Flaw::Shape { name: name() });
                }
                let dimids = found.attribute(GLOBAL_DIMIDS).and_then(Attribute::integers);
                let dims = dimids.and_then(|dimids| self.roles.canonical(&dimids));
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
        let mut found = self.items.variables.iter();
        names.into_iter().all(|(name, part)| {
            found.next().is_some_and(|found| {
                let stored = Part::stored(part).map(|stored| stored.nc_type);
                Name::parse(found.name.as_bytes()) == Some(name)
                    && found.var.map(|var| var.nc_type) == stored
            })
        })
    }
}

/// Numbers of 4 or 8 bytes, as `D*.nreqs` and others are stored; `None` at a negative one.
pub(crate) fn numbers(
    bytes: &[u8],
    nc_type: Type,
    order: ByteOrder,
) -> impl Iterator<Item = Result<u64, i64>> {
    let of = move |bytes: &[u8]| match nc_type {
        Type::Int64 => {
            U64::read_from_bytes(bytes).map_or(0, |value| value.get(order).cast_signed())
        }
        _ => {
            let value =
                U32::read_from_bytes(bytes).map_or(0, |value| value.get(order).cast_signed());
            i64::from(value)
        }
    };
    let size = usize::try_from(nc_type.size()).unwrap_or(8);
    bytes.chunks_exact(size).map(move |bytes| u64::try_from(of(bytes)).map_err(|_| of(bytes)))
}
