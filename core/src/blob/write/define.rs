//! [`Subfile`]: the definition of a subfile's header.

use crate::blob::error::Error;
use crate::blob::names::{
    DECOMPOSITION_ID, DESCRIPTION, EMPTY, FILE_ATTRIBUTES, GLOBAL_DIMIDS, NBLOBS, Name, Named,
    Part, VARIABLE_ATTRIBUTES, WORLD_RANKS,
};
use crate::cdf::{AttrDef, Define, DimDef, ListKind, Values, VarDef};
use crate::store::usize_to_u64;
use core::num::NonZeroU32;

/// What a subfile says about its set and about its blobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Group<'a> {
    /// The number of processes of all subfiles.
    pub global_nprocs: i32,
    /// The number of subfiles.
    pub num_subfiles: i32,
    /// The number of blobs of this subfile, at least 1.
    pub nblobs: u64,
    /// The rank of the process of each blob, if it is to be stored.
    pub world_ranks: Option<&'a [i32]>,
}

/// A decomposition in a subfile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decomposition<'a> {
    global_dimids: &'a [i32],
    nelems: u64,
    max_nreqs: u64,
    id: i32,
    names: [Named; Part::ALL.len()],
    /// The record dimension, if there is one, and `nelems`.
    elements: [u64; 2],
    /// `nblobs` and `max_nreqs`.
    requests: [u64; 2],
}

impl<'a> Decomposition<'a> {
    /// A decomposition of arrays with these dimensions of the canonical file, without the record
    /// dimension. `nelems` is the sum of the elements of all blobs of the subfile, `max_nreqs` the
    /// largest number of requests of one.
    #[must_use]
    pub const fn new(global_dimids: &'a [i32], nelems: u64, max_nreqs: u64) -> Self {
        let names = [Named::EMPTY; Part::ALL.len()];
        let (elements, requests) = ([0; 2], [0; 2]);
        Self { global_dimids, nelems, max_nreqs, id: 0, names, elements, requests }
    }

    fn name(&self, part: Part) -> &str {
        let mut names = Part::ALL.iter().zip(&self.names);
        names.find(|(other, _)| **other == part).map_or("", |(_, name)| name.as_str())
    }

    /// The length of a dimension, also if the file stores 1 in place of 0.
    const fn length(&self, part: Part) -> u64 {
        match part {
            Part::MaxNreqs => self.max_nreqs,
            _ => self.nelems,
        }
    }

    /// Attribute `number` of a variable of the decomposition.
    fn attr(&self, part: Part, number: u64) -> Option<AttrDef<'_>> {
        if number == 0 {
            return Some(AttrDef::new(DESCRIPTION, part.stored()?.description));
        }
        let number = number.checked_sub(2).filter(|_| part == Part::Nreqs);
        if number.is_none() && part == Part::Nreqs {
            return Some(AttrDef::new(GLOBAL_DIMIDS, self.global_dimids));
        }
        let mut empty = EMPTY.into_iter().filter(|&part| self.length(part) == 0);
        let part = empty.nth(usize::try_from(number?).ok()?)?;
        Some(AttrDef::new(part.suffix(), &[0_i32]))
    }
}

/// A variable's decomposition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partition<'a> {
    /// Index of the decomposition, from 0.
    pub decomposition: usize,
    /// The numbers of the variable's dimensions in the canonical file.
    pub global_dimids: &'a [i32],
}

/// The definition of a subfile's header (`spec/blob.md#header`): that of the canonical file, in
/// which decomposed variables have as many values as the blobs have elements.
///
/// ```
/// use striae_core::blob::define::{Decomposition, Group, Partition, Subfile};
/// use striae_core::cdf::{Alignment, Define, Definition, DimDef, Plan, Type, VarDef, Version};
///
/// let heat = VarDef { name: "heat", nc_type: Type::Double, dimids: &[0, 1] };
/// let dims = [DimDef::record("time"), DimDef { name: "cell", length: 100 }];
/// let canonical = Definition { dims: &dims, attrs: &[], vars: &[(heat, &[])] };
///
/// let group = Group { global_nprocs: 8, num_subfiles: 2, nblobs: 4, world_ranks: None };
/// let mut decompositions = [Decomposition::new(&[1], 50, 3)]; // 50 of the 100 cells
/// let partition = Partition { decomposition: 0, global_dimids: &[0, 1] };
/// let partitions = [Some(partition)];
/// let subfile = Subfile::new(&canonical, group, &mut decompositions, &partitions)?;
/// assert_eq!(subfile.dim(3), Some(DimDef { name: "D1.nelems", length: 50 }));
///
/// let plan = Plan::new(&subfile, Version::Cdf5, Alignment::default())?;
/// assert_eq!(plan.recsize(), 50 * 8);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Subfile<'a, D: ?Sized> {
    canonical: &'a D,
    group: Group<'a>,
    counts: [i32; 3],
    /// The numbers of dimensions and of attributes of the canonical file.
    ndims: u64,
    nattrs: u64,
    decompositions: &'a [Decomposition<'a>],
    partitions: &'a [Option<Partition<'a>>],
}

/// Refuses attributes of the file or of a variable that have one of these names.
fn check_attributes<D: Define + ?Sized>(
    canonical: &D,
    varid: Option<u64>,
    names: impl Iterator<Item = &'static str> + Clone,
) -> Result<(), Error> {
    for attr in (0..u64::MAX).map_while(|number| canonical.attr(varid, number)) {
        if let Some(name) = names.clone().find(|&name| attr.name == name) {
            let varid = varid.map(|varid| u32::try_from(varid).unwrap_or(u32::MAX));
            return Err(Error::Reserved { name, varid });
        }
    }
    Ok(())
}

impl<'a, D: Define + ?Sized> Subfile<'a, D> {
    /// The definition of a subfile. `partitions` are those of the canonical variables, in their
    /// order; variables without an entry are not decomposed.
    ///
    /// # Errors
    /// [`Error::NoBlobs`]; [`Error::Partition`] for a variable that does not have dimensions of
    /// the lengths of its decomposition's, with or without the record dimension before them;
    /// [`Error::Reserved`] for an attribute that has a name of those of subfiles.
    pub fn new<'b: 'a>(
        canonical: &'a D,
        group: Group<'a>,
        decompositions: &'a mut [Decomposition<'b>],
        partitions: &'a [Option<Partition<'a>>],
    ) -> Result<Self, Error> {
        if group.nblobs == 0 {
            return Err(Error::NoBlobs);
        }
        let dims = (0..u64::MAX).map_while(|dimid| canonical.dim(dimid));
        let ndims = usize_to_u64(dims.count());
        let attrs = (0..u64::MAX).map_while(|number| canonical.attr(None, number));
        let nattrs = usize_to_u64(attrs.count());
        let record = (0..ndims).find(|&dimid| is_record(canonical, dimid)).unwrap_or(ndims);
        let count = usize_to_u64(decompositions.len());
        let ids = (1..=u32::MAX).filter_map(NonZeroU32::new);
        for (decomposition, id) in decompositions.iter_mut().zip(ids) {
            decomposition.id = id.get().cast_signed();
            decomposition.names = Part::ALL.map(|part| Named::new(id, part.suffix()));
            let nelems = ndims.saturating_add(id.get().into());
            decomposition.elements = [record, nelems];
            decomposition.requests = [ndims, nelems.saturating_add(count)];
        }
        for (varid, partition) in (0..).zip(partitions) {
            let Some(partition) = partition else { continue };
            let of = decompositions.get(partition.decomposition);
            let var = canonical.var(varid);
            let fits = of.zip(var).is_some_and(|(of, var)| {
                let ids = partition.global_dimids.iter().map(|&id| u64::try_from(id).ok());
                let has_record = var.dimids.first() == Some(&record);
                let own = partition.global_dimids.get(usize::from(has_record)..);
                let own = own.unwrap_or_default();
                // Dimensions of one length may have several names.
                ids.eq(var.dimids.iter().map(|&dimid| Some(dimid)))
                    && lengths(canonical, own).eq(lengths(canonical, of.global_dimids))
            });
            if !fits {
                return Err(Error::Partition { varid });
            }
        }
        let of_file = FILE_ATTRIBUTES.into_iter().chain([WORLD_RANKS]);
        check_attributes(canonical, None, of_file)?;
        let mut varids = (0..u64::MAX).take_while(|&varid| canonical.var(varid).is_some());
        varids.try_for_each(|varid| {
            check_attributes(canonical, Some(varid), VARIABLE_ATTRIBUTES.into_iter())
        })?;
        let counts =
            [group.global_nprocs, i32::try_from(count).unwrap_or(i32::MAX), group.num_subfiles];
        Ok(Self { canonical, group, counts, ndims, nattrs, decompositions, partitions })
    }

    /// The number of blobs.
    #[must_use]
    pub const fn nblobs(&self) -> u64 {
        self.group.nblobs
    }

    /// The number of variables before those of the canonical file.
    #[must_use]
    pub fn nmaps(&self) -> u64 {
        usize_to_u64(self.decompositions.len()).saturating_mul(MAPS)
    }

    /// The decomposition of a variable and its part, or the canonical number of the variable.
    fn role(&self, varid: u64) -> Result<Option<(&Decomposition<'a>, Part)>, u64> {
        if let Some(canonical) = varid.checked_sub(self.nmaps()) {
            return Err(canonical);
        }
        let item = |number| usize::try_from(number).ok();
        let of = item(varid / MAPS).and_then(|index| self.decompositions.get(index));
        let part = item(varid % MAPS).and_then(|index| Part::VARIABLES.get(index));
        Ok(of.zip(part.copied()))
    }

    /// Whether a variable of a decomposition has this name.
    fn is_map(&self, name: &str) -> bool {
        match Name::parse(name.as_bytes()) {
            Some(Name::Of { id, part }) => {
                let id = usize::try_from(id.get()).unwrap_or(usize::MAX);
                part.stored().is_some() && id <= self.decompositions.len()
            }
            _ => false,
        }
    }

    /// The partition of a canonical variable.
    fn partition(&self, varid: u64) -> Option<(&Partition<'a>, &Decomposition<'a>)> {
        let partition = self.partitions.get(usize::try_from(varid).ok()?)?.as_ref()?;
        Some((partition, self.decompositions.get(partition.decomposition)?))
    }
}

/// The variables of a decomposition.
const MAPS: u64 = 5;

const _: () = assert!(Part::VARIABLES.len() == 5);

/// The lengths of some dimensions.
fn lengths<D: Define + ?Sized>(canonical: &D, dimids: &[i32]) -> impl Iterator<Item = Option<u64>> {
    dimids.iter().map(|&id| Some(canonical.dim(u64::try_from(id).ok()?)?.length))
}

fn is_record<D: Define + ?Sized>(canonical: &D, dimid: u64) -> bool {
    canonical.dim(dimid).is_some_and(|dim| dim.length == 0)
}

impl<D: Define + ?Sized> Define for Subfile<'_, D> {
    fn dim(&self, dimid: u64) -> Option<DimDef<'_>> {
        let Some(own) = dimid.checked_sub(self.ndims) else { return self.canonical.dim(dimid) };
        let Some(own) = own.checked_sub(1) else {
            return Some(DimDef { name: NBLOBS, length: self.group.nblobs });
        };
        let (part, index) = match own.checked_sub(usize_to_u64(self.decompositions.len())) {
            None => (Part::Nelems, own),
            Some(index) => (Part::MaxNreqs, index),
        };
        let of = self.decompositions.get(usize::try_from(index).ok()?)?;
        Some(DimDef { name: of.name(part), length: of.length(part).max(1) })
    }

    fn attr(&self, of: Option<u64>, number: u64) -> Option<AttrDef<'_>> {
        let Some(varid) = of else {
            let mut names = FILE_ATTRIBUTES.into_iter().zip(&self.counts);
            let Some(canonical) = number.checked_sub(usize_to_u64(FILE_ATTRIBUTES.len())) else {
                let (name, count) = names.nth(usize::try_from(number).ok()?)?;
                return Some(AttrDef::new(name, count));
            };
            return match canonical < self.nattrs {
                true => self.canonical.attr(None, canonical),
                false if canonical > self.nattrs => None,
                false => self.group.world_ranks.map(|ranks| AttrDef::new(WORLD_RANKS, ranks)),
            };
        };
        let varid = match self.role(varid) {
            Ok(role) => return role.and_then(|(of, part)| of.attr(part, number)),
            Err(canonical) => canonical,
        };
        let Some((partition, of)) = self.partition(varid) else {
            return self.canonical.attr(Some(varid), number);
        };
        match number {
            0 => Some(AttrDef { name: DECOMPOSITION_ID, values: Values::from(&of.id) }),
            1 => Some(AttrDef::new(GLOBAL_DIMIDS, partition.global_dimids)),
            _ => self.canonical.attr(Some(varid), number.checked_sub(2)?),
        }
    }

    /// Names that are not canonical differ from each other. A canonical one is compared with them
    /// by its form, so that the time is that of the canonical definition.
    fn is_repeated(&self, list: ListKind, of: Option<u64>, number: u64) -> bool {
        let canonical = self.canonical;
        match (list, of) {
            (ListKind::Dims, _) => match (number < self.ndims, self.dim(number)) {
                (true, _) => canonical.is_repeated(list, None, number),
                (false, own) => {
                    let mut before = (0..self.ndims).filter_map(|dimid| canonical.dim(dimid));
                    own.is_some_and(|own| before.any(|dim| dim.name == own.name))
                }
            },
            (ListKind::Vars, _) => number.checked_sub(self.nmaps()).is_some_and(|varid| {
                let var = canonical.var(varid);
                var.is_some_and(|var| self.is_map(var.name))
                    || canonical.is_repeated(list, None, varid)
            }),
            // No canonical attribute has the name of one of the subfile's.
            (ListKind::Gatts | ListKind::Vatts, of) => {
                let (own, of) = match of.map(|varid| self.role(varid)) {
                    None => (FILE_ATTRIBUTES.len(), None),
                    Some(Ok(_)) => return false,
                    Some(Err(varid)) if self.partition(varid).is_none() => (0, Some(varid)),
                    Some(Err(varid)) => (VARIABLE_ATTRIBUTES.len(), Some(varid)),
                };
                let number = number.checked_sub(usize_to_u64(own));
                number.is_some_and(|number| canonical.is_repeated(list, of, number))
            }
        }
    }

    fn var(&self, varid: u64) -> Option<VarDef<'_>> {
        let varid = match self.role(varid) {
            Ok(role) => {
                let (of, part) = role?;
                let stored = part.stored()?;
                let ndims = if stored.per_request { 2 } else { 1 };
                let dimids = of.requests.get(..ndims)?;
                return Some(VarDef { name: of.name(part), nc_type: stored.nc_type, dimids });
            }
            Err(canonical) => canonical,
        };
        let var = self.canonical.var(varid)?;
        let Some((_, of)) = self.partition(varid) else { return Some(var) };
        let has_record = var.dimids.first().is_some_and(|&id| is_record(self.canonical, id));
        let dimids = of.elements.get(usize::from(!has_record)..)?;
        Some(VarDef { dimids, ..var })
    }
}
