//! [`Definition`]: what the canonical file has besides values.

use super::canonical::Canonical;
use super::grammar::Placed;
use crate::cdf::{self, Header};
use alloc::vec::Vec;
use striae_core::blob::names::{FILE_ATTRIBUTES, VARIABLE_ATTRIBUTES, WORLD_RANKS};
use striae_core::cdf::{
    Alignment, AttrDef, Define, DimDef, Error, ListKind, Plan, Values, VarDef, Version,
};
use striae_core::store::usize_to_u64;

/// Lists of at most as many items are compared name by name.
const FEW: usize = 8;

/// What the canonical file has besides values. Names and values of attributes are those in the
/// header of the subfile.
#[derive(Debug)]
pub struct Definition<'a> {
    canonical: &'a Canonical,
    /// The attributes of the file, then those of the variables.
    attributes: Vec<cdf::Attribute<'a>>,
    /// Where the attributes of the file end in it, and those of each variable.
    ends: Vec<usize>,
    /// Of each list in which a name is repeated, the first such item. In order.
    repeated: Vec<(ListOf, u64)>,
}

/// A list of items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ListOf {
    Dims,
    Gatts,
    Vars,
    Vatts(u64),
}

fn item<T>(items: &[T], number: u64) -> Option<&T> {
    items.get(usize::try_from(number).ok()?)
}

/// The number of the first item whose name an item before it has.
fn first_repeated(names: &mut Vec<(&str, usize)>) -> Option<u64> {
    let first = match names.as_slice() {
        few if few.len() <= FEW => {
            let is_repeated = |&(name, number): &(&str, usize)| {
                few.iter().take(number).any(|(before, _)| *before == name)
            };
            few.iter().copied().find(is_repeated).map(|(_, number)| number)
        }
        _ => {
            names.sort_unstable();
            let pairs = names.iter().zip(names.iter().skip(1));
            let repeated = pairs.filter(|((before, _), (name, _))| before == name);
            repeated.map(|(_, (_, number))| *number).min()
        }
    };
    names.clear();
    first.map(usize_to_u64)
}

impl<'a> Definition<'a> {
    /// The definition by the header of a subfile, of which these are the canonical parts and the
    /// places of the canonical variables.
    #[must_use]
    pub fn new(header: &'a Header, canonical: &'a Canonical, places: &[Placed]) -> Self {
        let (mut attributes, mut ends) = (Vec::new(), Vec::new());
        let (mut repeated, mut names) = (Vec::new(), Vec::new());
        let name = |attribute: &cdf::Attribute<'a>| attribute.name();
        let of_file = |attribute: &cdf::Attribute<'_>| {
            let name = attribute.name();
            name != WORLD_RANKS && !FILE_ATTRIBUTES.contains(&name)
        };
        let of_variable =
            |attribute: &cdf::Attribute<'_>| !VARIABLE_ATTRIBUTES.contains(&attribute.name());
        let mut check = |list, names: &mut Vec<_>| {
            repeated.extend(first_repeated(names).map(|number| (list, number)));
        };
        names.extend(canonical.dims.iter().map(|dim| &*dim.name).zip(0..));
        check(ListOf::Dims, &mut names);
        attributes.extend(header.attributes().filter(of_file));
        names.extend(attributes.iter().map(name).zip(0..));
        check(ListOf::Gatts, &mut names);
        names.extend(canonical.variables.iter().map(|variable| &*variable.name).zip(0..));
        check(ListOf::Vars, &mut names);
        ends.push(attributes.len());
        let mut found = header.variables();
        for ((varid, variable), place) in (0..).zip(&canonical.variables).zip(places) {
            let own = found.find(|found| found.varid() == place.varid);
            let own = own.into_iter().flat_map(cdf::Variable::attributes);
            let first = attributes.len();
            match variable.decomposition {
                Some(_) => attributes.extend(own.filter(of_variable)),
                None => attributes.extend(own),
            }
            let own = attributes.get(first..).unwrap_or_default();
            names.extend(own.iter().map(name).zip(0..));
            check(ListOf::Vatts(varid), &mut names);
            ends.push(attributes.len());
        }
        Self { canonical, attributes, ends, repeated }
    }

    /// The attributes of a canonical variable, or of the file.
    fn attributes(&self, of: Option<u64>) -> &[cdf::Attribute<'a>] {
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
        let list = match (list, of) {
            (ListKind::Dims, _) => ListOf::Dims,
            (ListKind::Vars, _) => ListOf::Vars,
            (ListKind::Gatts | ListKind::Vatts, None) => ListOf::Gatts,
            (ListKind::Gatts | ListKind::Vatts, Some(varid)) => ListOf::Vatts(varid),
        };
        self.repeated.binary_search(&(list, number)).is_ok()
    }
}
