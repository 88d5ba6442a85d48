//! [`Definition`]: what the canonical file has besides values.

use super::canonical::Canonical;
use super::fnv::Fnv;
use super::grammar::Placed;
use super::header::encode;
use crate::cdf::{self, Header};
use alloc::vec::Vec;
use striae_core::blob::names::{FILE_ATTRIBUTES, VARIABLE_ATTRIBUTES, WORLD_RANKS};
use striae_core::cdf::book::WINDOW;
use striae_core::cdf::define::is_plain_name;
use striae_core::cdf::{
    Alignment, AttrDef, Define, DimDef, Encode, Error, ListKind, Plan, Values, VarDef, Version,
};
use striae_core::endian::ByteOrder;
use striae_core::store::usize_to_u64;

/// Far more bytes than any header has, and far fewer than the longest file.
const SPARE: u64 = 1 << 62;

/// Lists of at most as many items are compared name by name.
const FEW: usize = 8;

/// What the canonical file has besides values. Names and values of attributes are those in the
/// header of the subfile.
#[derive(Debug)]
pub struct Definition<'a> {
    canonical: &'a Canonical,
    /// The attributes of the file, then those of the variables.
    attributes: Vec<cdf::Attribute<'a>>,
    /// Where the attributes of the file begin in it, those of each variable, and where all end.
    ends: Vec<usize>,
    repeated: Repeated,
}

/// A list of items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ListOf {
    Dims,
    Gatts,
    Vars,
    Vatts(u64),
}

impl ListOf {
    const fn new(list: ListKind, of: Option<u64>) -> Self {
        match (list, of) {
            (ListKind::Dims, _) => Self::Dims,
            (ListKind::Vars, _) => Self::Vars,
            (ListKind::Gatts | ListKind::Vatts, None) => Self::Gatts,
            (ListKind::Gatts | ListKind::Vatts, Some(varid)) => Self::Vatts(varid),
        }
    }
}

fn item<T>(items: &[T], number: u64) -> Option<&T> {
    items.get(usize::try_from(number).ok()?)
}

/// The number of the first item whose name an item before it has.
fn first_repeated<'n>(names: impl ExactSizeIterator<Item = &'n [u8]> + Clone) -> Option<u64> {
    if names.len() <= FEW {
        let mut numbered = names.clone().enumerate();
        let repeated =
            numbered.find(|(number, name)| names.clone().take(*number).any(|one| one == *name));
        return repeated.map(|(number, _)| usize_to_u64(number));
    }
    let mut hashes: Vec<_> = names.clone().map(Fnv::of).collect();
    hashes.sort_unstable();
    if hashes.iter().zip(hashes.iter().skip(1)).all(|(one, next)| one != next) {
        return None; // as nearly always
    }
    let mut names: Vec<_> = names.zip(0_u64..).collect();
    names.sort_unstable();
    let pairs = names.iter().zip(names.iter().skip(1));
    let repeated = pairs.filter(|((before, _), (name, _))| before == name);
    repeated.map(|(_, (_, number))| *number).min()
}

/// Of each list in which a name is repeated, the first such item. In order.
///
/// Names are compared once, and after they were sorted: not each name with all names before it.
#[derive(Debug, Default)]
struct Repeated(Vec<(ListOf, u64)>);

impl Repeated {
    fn of<'d, D: Define + ?Sized>(definition: &'d D) -> Self {
        let (mut repeated, mut names) = (Self::default(), Vec::new());
        let mut check = |list: ListOf, name: &dyn Fn(u64) -> Option<&'d str>| {
            names.clear();
            names.extend((0..u64::MAX).map_while(name).map(str::as_bytes));
            repeated.look(list, names.iter().copied());
            usize_to_u64(names.len())
        };
        check(ListOf::Dims, &|number| Some(definition.dim(number)?.name));
        check(ListOf::Gatts, &|number| Some(definition.attr(None, number)?.name));
        let variables = check(ListOf::Vars, &|number| Some(definition.var(number)?.name));
        for varid in 0..variables {
            let name = |number| Some(definition.attr(Some(varid), number)?.name);
            check(ListOf::Vatts(varid), &name);
        }
        repeated
    }

    /// Looks at the names of a list, which comes after all before it.
    fn look<'n>(&mut self, list: ListOf, names: impl ExactSizeIterator<Item = &'n [u8]> + Clone) {
        self.0.extend(first_repeated(names).map(|number| (list, number)));
    }

    fn has(&self, list: ListKind, of: Option<u64>, number: u64) -> bool {
        !self.0.is_empty() && self.0.binary_search(&(ListOf::new(list, of), number)).is_ok()
    }
}

impl<'a> Definition<'a> {
    /// The definition by the header of a subfile, of which these are the canonical parts and the
    /// places of the canonical variables.
    #[must_use]
    pub fn new(header: &'a Header, canonical: &'a Canonical, places: &[Placed]) -> Self {
        let nvars = canonical.variables.len();
        let mut attributes = Vec::with_capacity(header.attributes_in_all());
        let mut ends = Vec::with_capacity(nvars.saturating_add(2));
        ends.push(0);
        let is_one = |attribute: &cdf::Attribute<'_>, names: &[&str]| {
            let own = attribute.name_bytes();
            names.iter().any(|name| name.as_bytes() == own)
        };
        let of_file = |attribute: &cdf::Attribute<'_>| {
            !is_one(attribute, &[WORLD_RANKS]) && !is_one(attribute, &FILE_ATTRIBUTES)
        };
        let of_variable = |attribute: &cdf::Attribute<'_>| !is_one(attribute, &VARIABLE_ATTRIBUTES);
        attributes.extend(header.attributes().filter(of_file));
        ends.push(attributes.len());
        let mut found = header.variables();
        for (variable, place) in canonical.variables.iter().zip(places) {
            let own = found.find(|found| found.varid() == place.varid);
            let is_decomposed = variable.decomposition.is_some();
            if let Some(own) = own {
                let is_kept = |own: &cdf::Attribute<'_>| !is_decomposed || of_variable(own);
                own.attributes().filter(is_kept).for_each(|own| attributes.push(own));
            }
            ends.push(attributes.len());
        }
        let mut definition = Self { canonical, attributes, ends, repeated: Repeated::default() };
        definition.repeated = definition.repeated();
        definition
    }

    /// [`Repeated::of`] the definition: names are compared as bytes.
    fn repeated(&self) -> Repeated {
        let mut repeated = Repeated::default();
        let Canonical { dims, variables, .. } = self.canonical;
        repeated.look(ListOf::Dims, dims.iter().map(|dim| dim.name.as_bytes()));
        let mut lists = self.lists().map(|list| list.iter().map(cdf::Attribute::name_bytes));
        lists.next().into_iter().for_each(|names| repeated.look(ListOf::Gatts, names));
        repeated.look(ListOf::Vars, variables.iter().map(|variable| variable.name.as_bytes()));
        (0..).zip(lists).for_each(|(varid, names)| repeated.look(ListOf::Vatts(varid), names));
        repeated
    }

    /// The attributes of a canonical variable, or of the file.
    fn attributes(&self, of: Option<u64>) -> &[cdf::Attribute<'a>] {
        let ends = || {
            let list = of.map_or(Some(0), |varid| usize::try_from(varid).ok()?.checked_add(1))?;
            self.ends.get(list..)?.first_chunk()
        };
        let range = ends().map(|&[start, end]: &[usize; 2]| start..end);
        range.and_then(|range| self.attributes.get(range)).unwrap_or_default()
    }

    /// The attributes of the file, then those of each canonical variable.
    pub(super) fn lists(&self) -> impl Iterator<Item = &[cdf::Attribute<'a>]> {
        let variables = usize_to_u64(self.canonical.variables.len());
        let all = [None].into_iter().chain((0..variables).map(Some));
        all.map(|of| self.attributes(of))
    }

    /// The places of the canonical CDF-5 file.
    ///
    /// # Errors
    /// [`Error::Define`] with the first item that the file cannot have.
    pub fn plan(&self) -> Result<Plan, Error> {
        Plan::new(self, Version::Cdf5, Alignment::default())
    }

    /// Checks that there can be a canonical CDF-5 file with so many records.
    ///
    /// # Errors
    /// As [`plan`](Self::plan); [`Error::Records`] if there are too many.
    pub fn check(&self, numrecs: u64) -> Result<(), Error> {
        // Attributes with plain names are never refused, since the header has their values; their
        // bytes are too few to move what is below SPARE past the end of the longest file.
        if self.has_plain_attributes()
            && let Ok(plan) = Plan::new(&Bare(self), Version::Cdf5, Alignment::default())
            && plan.file_len(1).is_some_and(|len| len < SPARE)
        {
            return Encode::new(&Bare(self), &plan, numrecs, &mut [0; WINDOW]).map(drop);
        }
        Encode::new(self, &self.plan()?, numrecs, &mut [0; WINDOW]).map(drop)
    }

    fn has_plain_attributes(&self) -> bool {
        let is_plain = |attribute: &cdf::Attribute<'_>| is_plain_name(attribute.name_bytes());
        self.repeated.0.is_empty() && self.attributes.iter().all(is_plain)
    }

    /// The header of the canonical CDF-5 file with so many records.
    ///
    /// # Errors
    /// As [`plan`](Self::plan); if a name is too long to be written.
    pub fn header(&self, numrecs: u64) -> Result<Header, Error> {
        let bytes = encode(self, &self.plan()?, (numrecs, None))?;
        Header::parse(&bytes, ByteOrder::Big)
    }

    /// The name of the item that an error of [`plan`](Self::plan) is about.
    pub(super) fn name_of(&self, error: &Error) -> &str {
        let Error::Define { list, varid, number, .. } = *error else { return "" };
        let name = match list {
            ListKind::Dims => self.dim(number).map(|dim| dim.name),
            ListKind::Gatts => self.attr(None, number).map(|attr| attr.name),
            ListKind::Vatts => self.attr(Some(varid), number).map(|attr| attr.name),
            ListKind::Vars => self.var(number).map(|var| var.name),
        };
        name.unwrap_or_default()
    }
}

/// A definition without its attributes.
struct Bare<'d>(&'d Definition<'d>);

impl Define for Bare<'_> {
    fn dim(&self, dimid: u64) -> Option<DimDef<'_>> {
        self.0.dim(dimid)
    }

    fn attr(&self, _: Option<u64>, _: u64) -> Option<AttrDef<'_>> {
        None
    }

    fn var(&self, varid: u64) -> Option<VarDef<'_>> {
        self.0.var(varid)
    }

    fn is_repeated(&self, list: ListKind, of: Option<u64>, number: u64) -> bool {
        self.0.is_repeated(list, of, number)
    }
}

impl Define for Definition<'_> {
    fn dim(&self, dimid: u64) -> Option<DimDef<'_>> {
        item(&self.canonical.dims, dimid).map(|dim| DimDef { name: &dim.name, length: dim.length })
    }

    fn attr(&self, of: Option<u64>, number: u64) -> Option<AttrDef<'_>> {
        let attribute = item(self.attributes(of), number)?;
        let values = Values::new(attribute.nc_type(), attribute.order(), attribute.bytes());
        Some(AttrDef { name: attribute.name(), values })
    }

    fn var(&self, varid: u64) -> Option<VarDef<'_>> {
        let variable = item(&self.canonical.variables, varid)?;
        let (name, nc_type, dimids) = (&*variable.name, variable.nc_type, &*variable.dims);
        Some(VarDef { name, nc_type, dimids })
    }

    fn is_repeated(&self, list: ListKind, of: Option<u64>, number: u64) -> bool {
        self.repeated.has(list, of, number)
    }
}

/// A definition whose names were compared once, for many subfiles, and after they were sorted: not
/// each name with all names before it.
#[derive(Debug)]
pub struct Compared<'d, D: ?Sized> {
    definition: &'d D,
    repeated: Repeated,
}

impl<'d, D: Define + ?Sized> Compared<'d, D> {
    /// Compares the names.
    #[must_use]
    pub fn new(definition: &'d D) -> Self {
        Self { definition, repeated: Repeated::of(definition) }
    }
}

impl<D: Define + ?Sized> Define for Compared<'_, D> {
    fn dim(&self, dimid: u64) -> Option<DimDef<'_>> {
        self.definition.dim(dimid)
    }

    fn attr(&self, of: Option<u64>, number: u64) -> Option<AttrDef<'_>> {
        self.definition.attr(of, number)
    }

    fn var(&self, varid: u64) -> Option<VarDef<'_>> {
        self.definition.var(varid)
    }

    fn is_repeated(&self, list: ListKind, of: Option<u64>, number: u64) -> bool {
        self.repeated.has(list, of, number)
    }
}

#[cfg(test)]
mod tests {
    use super::{first_repeated, usize_to_u64};
    use alloc::format;
    use alloc::vec::Vec;

    #[test]
    fn the_first_repeated_name_is_found_in_short_and_long_lists() {
        for len in [0, 1, 2, 5, 8, 9, 30] {
            for cycle in 1..=len + 1 {
                let names: Vec<_> = (0..len).map(|n| format!("name{}", n * 7 % cycle)).collect();
                let expected = (0..len).find(|&n| names.iter().take(n).any(|one| *one == names[n]));
                let found = first_repeated(names.iter().map(|name| name.as_bytes()));
                assert_eq!(found, expected.map(usize_to_u64), "{names:?}");
            }
        }
    }
}
