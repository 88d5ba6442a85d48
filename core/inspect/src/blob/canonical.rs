//! What all subfiles of a set have, and where one of them has it.

use super::grammar::Grammar;
use crate::cdf;
use crate::cdf::values::swap;
use alloc::boxed::Box;
use alloc::vec::Vec;
use striae_core::cdf::{
    Alignment, AttrDef, Define, DimDef, Error, ListKind, Plan, Type, Values, VarDef, Version,
};
use striae_core::endian::{ByteOrder, I32, I64};
use striae_core::span::Span;
use zerocopy::FromBytes;

/// An attribute, with its values in big-endian order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribute {
    /// The name.
    pub name: Box<str>,
    /// The type of the values.
    pub nc_type: Type,
    /// The values.
    pub bytes: Box<[u8]>,
}

impl From<cdf::Attribute<'_>> for Attribute {
    fn from(attribute: cdf::Attribute<'_>) -> Self {
        let (nc_type, mut bytes) = (attribute.nc_type(), Box::from(attribute.bytes()));
        if attribute.order() == ByteOrder::Little {
            swap(&mut bytes, nc_type.size());
        }
        Self { name: attribute.name().into(), nc_type, bytes }
    }
}

impl Attribute {
    /// The values, if they are integers of 4 or 8 bytes and not negative.
    pub(super) fn integers(&self) -> Option<Vec<u64>> {
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

    pub(super) fn integer(&self) -> Option<u64> {
        match self.integers()?.as_slice() {
            &[value] => Some(value),
            _ => None,
        }
    }
}

/// A canonical dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dimension {
    /// The name.
    pub name: Box<str>,
    /// 0 for the record dimension.
    pub length: u64,
}

/// A canonical variable, as all subfiles have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// The name.
    pub name: Box<str>,
    /// The type of the values.
    pub nc_type: Type,
    /// Indices of its canonical dimensions.
    pub dims: Box<[u64]>,
    /// Whether it has records.
    pub is_record: bool,
    /// Index of its decomposition.
    pub decomposition: Option<usize>,
    /// Values of the canonical array, of one record.
    pub count: u64,
}

/// A decomposition, as all subfiles have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decomposition {
    /// Indices of its canonical dimensions.
    pub dims: Box<[u64]>,
    /// Elements of the canonical array.
    pub total: u64,
}

/// What all subfiles of a set have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Canonical {
    /// The dimensions.
    pub dims: Vec<Dimension>,
    /// The variables.
    pub variables: Vec<Variable>,
    /// The decompositions, in order.
    pub decompositions: Vec<Decomposition>,
    /// The number of processes that wrote the set.
    pub nprocs: u64,
    /// The number of subfiles of the set.
    pub nsubfiles: u64,
}

/// A variable in one subfile.
#[derive(Debug, Clone, Copy)]
pub struct Placed {
    /// The values, or those of the first record; at offset 0 in a header without places.
    pub values: Span,
    /// The type of the values.
    pub nc_type: Type,
}

/// The numbers of a decomposition in one subfile.
#[derive(Debug, Clone)]
pub struct Local {
    /// The number of elements.
    pub nelems: u64,
    /// The largest number of requests of a blob.
    pub max_nreqs: u64,
    /// The variables, in the order of [`Part::VARIABLES`](striae_core::blob::Part::VARIABLES).
    pub variables: [Placed; 5],
}

fn item<T>(items: &[T], number: u64) -> Option<&T> {
    items.get(usize::try_from(number).ok()?)
}

/// What the canonical file has besides values.
impl Define for Grammar {
    fn dim(&self, dimid: u64) -> Option<DimDef<'_>> {
        item(&self.canonical.dims, dimid).map(|dim| DimDef { name: &dim.name, length: dim.length })
    }

    fn attr(&self, of: Option<u64>, number: u64) -> Option<AttrDef<'_>> {
        let attributes = match of {
            None => &self.attributes,
            Some(varid) => item(&self.variable_attributes, varid)?,
        };
        let attribute = item(attributes, number)?;
        let values = Values::new(attribute.nc_type, ByteOrder::Big, &attribute.bytes);
        Some(AttrDef { name: &attribute.name, values })
    }

    fn var(&self, varid: u64) -> Option<VarDef<'_>> {
        let variable = item(&self.canonical.variables, varid)?;
        let (name, nc_type, dimids) = (&*variable.name, variable.nc_type, &*variable.dims);
        Some(VarDef { name, nc_type, dimids })
    }
}

impl Grammar {
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
