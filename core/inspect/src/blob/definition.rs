//! [`Definition`]: what the canonical file has besides values.

use super::canonical::Canonical;
use super::fnv::Fnv;
use super::grammar::Placed;
use super::header::encode;
use crate::cdf::{self, Header};
use alloc::vec::Vec;
use striae_core::blob::names::{FILE_ATTRIBUTES, VARIABLE_ATTRIBUTES, WORLD_RANKS};
use striae_core::cdf::{
    Alignment, AttrDef, Define, DimDef, Error, ListKind, Plan, Values, VarDef, Version,
};
use striae_core::endian::ByteOrder;
use striae_core::store::usize_to_u64;

/// Lists of at most as many items are compared name by name.
const FEW: usize = 8;

/// What the canonical file has besides values. Names and values of attributes are those in the
/// header of the subfile.
#[derive(Debug)]
pub struct Definition<'a> {
    canonical: &'a Canonical,
    /// The attributes of the file, then those of the variables.
    attributes: Vec<Named<'a>>,
    /// Where the attributes of the file end in it, and those of each variable.
    ends: Vec<usize>,
    repeated: Repeated,
}

/// An attribute with its name.
type Named<'a> = (&'a str, cdf::Attribute<'a>);

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
fn first_repeated<'n>(names: impl ExactSizeIterator<Item = &'n str> + Clone) -> Option<u64> {
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
        let (mut repeated, mut names) = (Vec::new(), Vec::new());
        let mut check = |list: ListOf, name: &dyn Fn(u64) -> Option<&'d str>| {
            names.clear();
            names.extend((0..u64::MAX).map_while(name));
            let first = first_repeated(names.iter().copied());
            repeated.extend(first.map(|number| (list, number)));
            usize_to_u64(names.len())
        };
        check(ListOf::Dims, &|number| Some(definition.dim(number)?.name));
        check(ListOf::Gatts, &|number| Some(definition.attr(None, number)?.name));
        let variables = check(ListOf::Vars, &|number| Some(definition.var(number)?.name));
        for varid in 0..variables {
            let name = |number| Some(definition.attr(Some(varid), number)?.name);
            check(ListOf::Vatts(varid), &name);
        }
        Self(repeated)
    }

    fn has(&self, list: ListKind, of: Option<u64>, number: u64) -> bool {
        self.0.binary_search(&(ListOf::new(list, of), number)).is_ok()
    }
}

impl<'a> Definition<'a> {
    /// The definition by the header of a subfile, of which these are the canonical parts and the
    /// places of the canonical variables.
    #[must_use]
    pub fn new(header: &'a Header, canonical: &'a Canonical, places: &[Placed]) -> Self {
        let (mut attributes, mut ends) = (Vec::new(), Vec::new());
        let named = |attribute: cdf::Attribute<'a>| (attribute.name(), attribute);
        let of_file =
            |(name, _): &Named<'_>| *name != WORLD_RANKS && !FILE_ATTRIBUTES.contains(name);
        let of_variable = |(name, _): &Named<'_>| !VARIABLE_ATTRIBUTES.contains(name);
        attributes.extend(header.attributes().map(named).filter(of_file));
        ends.push(attributes.len());
        let mut found = header.variables();
        for (variable, place) in canonical.variables.iter().zip(places) {
            let own = found.find(|found| found.varid() == place.varid);
            let own = own.into_iter().flat_map(cdf::Variable::attributes).map(named);
            match variable.decomposition {
                Some(_) => attributes.extend(own.filter(of_variable)),
                None => attributes.extend(own),
            }
            ends.push(attributes.len());
        }
        let mut definition = Self { canonical, attributes, ends, repeated: Repeated::default() };
        definition.repeated = Repeated::of(&definition);
        definition
    }

    /// The attributes of a canonical variable, or of the file.
    fn attributes(&self, of: Option<u64>) -> &[Named<'a>] {
        let list = match of {
            None => Some(0),
            Some(varid) => usize::try_from(varid).ok().and_then(|varid| varid.checked_add(1)),
        };
        let range = || {
            let list = list?;
            let first =
                list.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied());
            Some(first?..*self.ends.get(list)?)
        };
        range().and_then(|range| self.attributes.get(range)).unwrap_or_default()
    }

    /// The attributes of the file, then those of each canonical variable.
    pub(super) fn lists(&self) -> impl Iterator<Item = &[Named<'a>]> {
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

impl Define for Definition<'_> {
    fn dim(&self, dimid: u64) -> Option<DimDef<'_>> {
        item(&self.canonical.dims, dimid).map(|dim| DimDef { name: &dim.name, length: dim.length })
    }

    fn attr(&self, of: Option<u64>, number: u64) -> Option<AttrDef<'_>> {
        let &(name, attribute) = item(self.attributes(of), number)?;
        let values = Values::new(attribute.nc_type(), attribute.order(), attribute.bytes());
        Some(AttrDef { name, values })
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
                let found = first_repeated(names.iter().map(|name| &**name));
                assert_eq!(found, expected.map(usize_to_u64), "{names:?}");
            }
        }
    }
}
