//! What all subfiles of a set have, and where one of them has it.

use crate::cdf;
use crate::cdf::values::swap;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::num::NonZeroU32;
use striae_core::blob::map::Request;
use striae_core::blob::{Error, Part};
use striae_core::cdf::Type;
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

/// The values of an attribute, which must be integers of 4 or 8 bytes; `None` for any other value.
pub(super) fn integers(attribute: cdf::Attribute<'_>) -> impl Iterator<Item = Option<u64>> {
    let (nc_type, order) = (attribute.nc_type(), attribute.order());
    let (bytes, other) = match nc_type {
        Type::Int | Type::Int64 => (attribute.bytes(), None),
        _ => (&[][..], Some(None)),
    };
    other.into_iter().chain(numbers(bytes, nc_type, order).map(Result::ok))
}

/// The value of an attribute, if it is one such integer.
pub(super) fn integer(attribute: cdf::Attribute<'_>) -> Option<u64> {
    let mut values = integers(attribute);
    let value = values.next()?;
    value.filter(|_| values.next().is_none())
}

/// Numbers of 4 or 8 bytes, as `D*.nreqs` and others are stored; `None` at a negative one.
pub fn numbers(
    bytes: &[u8],
    nc_type: Type,
    order: ByteOrder,
) -> impl Iterator<Item = Result<u64, i64>> {
    let of = move |bytes: &[u8]| match nc_type {
        Type::Int64 => I64::read_from_bytes(bytes).map_or(0, |value| value.get(order)),
        _ => I32::read_from_bytes(bytes).map_or(0, |value| value.get(order)).into(),
    };
    let size = usize::try_from(nc_type.size()).unwrap_or(8);
    bytes.chunks_exact(size).map(move |bytes| u64::try_from(of(bytes)).map_err(|_| of(bytes)))
}

/// The request that a pair of [`numbers`] is: the offset and the length.
///
/// # Errors
/// [`Error::Negative`], with the decomposition and the blob.
pub fn request(
    (id, blob): (NonZeroU32, u32),
    [offset, len]: [Result<u64, i64>; 2],
) -> Result<Request, Error> {
    let negative = |part| move |value| Error::Negative { id, part, blob, value };
    let offset = offset.map_err(negative(Part::Offsets))?;
    Ok(Request { offset, len: len.map_err(negative(Part::Lengths))? })
}

/// The number of the decomposition with this index: they are numbered from 1.
#[must_use]
pub fn id_of(index: usize) -> Option<NonZeroU32> {
    NonZeroU32::MIN.checked_add(u32::try_from(index).ok()?)
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
    /// The number of the variable in the header.
    pub varid: u64,
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
    /// The variables, in the order of [`Part::VARIABLES`].
    pub variables: [Placed; 5],
}
