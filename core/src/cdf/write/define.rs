//! Definitions of files: dimensions, attributes and variables, as a writer gets them.
//!
//! A caller with everything in memory makes a [`Definition`] of slices. A caller that has lists of
//! its own implements [`Define`].

use crate::cdf::error::{Error, Flaw};
use crate::cdf::kind::{ListKind, Type};
use crate::cdf::values::Values;

/// A dimension to define.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DimDef<'a> {
    /// The name.
    pub name: &'a str,
    /// The length; 0 for the record dimension.
    pub length: u64,
}

impl<'a> DimDef<'a> {
    /// The record dimension.
    #[must_use]
    pub const fn record(name: &'a str) -> Self {
        Self { name, length: 0 }
    }
}

/// An attribute to define.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttrDef<'a> {
    /// The name.
    pub name: &'a str,
    /// The values.
    pub values: Values<'a>,
}

impl<'a> AttrDef<'a> {
    /// An attribute with these values: a text, or a slice or an array of numbers.
    pub fn new(name: &'a str, values: impl Into<Values<'a>>) -> Self {
        Self { name, values: values.into() }
    }
}

/// A variable to define.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VarDef<'a> {
    /// The name.
    pub name: &'a str,
    /// The type of the values.
    pub nc_type: Type,
    /// Numbers of the dimensions, the slowest first. Only the first can be the record dimension.
    pub dimids: &'a [u64],
}

/// A definition whose items are found by number, from 0 without a gap. It must not change while it
/// is in use.
///
/// Other crates may implement it; a method of a later version has a default.
pub trait Define {
    /// The dimension with this number.
    fn dim(&self, dimid: u64) -> Option<DimDef<'_>>;

    /// The attribute with this number, of a variable, or of the file if `of` is `None`.
    fn attr(&self, of: Option<u64>, number: u64) -> Option<AttrDef<'_>>;

    /// The variable with this number.
    fn var(&self, varid: u64) -> Option<VarDef<'_>>;

    /// Whether an item has the name of an item before it in its list. It may be wrong for items
    /// after the first such item. By default, the names are compared: the time for a list grows
    /// with the square of its length.
    fn is_repeated(&self, list: ListKind, of: Option<u64>, number: u64) -> bool {
        let name = |number| match list {
            ListKind::Dims => self.dim(number).map(|dim| dim.name),
            ListKind::Gatts | ListKind::Vatts => self.attr(of, number).map(|attr| attr.name),
            ListKind::Vars => self.var(number).map(|var| var.name),
        };
        let own = name(number);
        (0..number).any(|before| name(before) == own)
    }
}

/// A definition in memory.
///
/// ```
/// use striae_core::cdf::{AttrDef, Definition, DimDef, Type, VarDef};
///
/// let temperature = VarDef { name: "temperature", nc_type: Type::Float, dimids: &[0, 1] };
/// let definition = Definition {
///     dims: &[DimDef::record("time"), DimDef { name: "sensor", length: 3 }],
///     attrs: &[AttrDef::new("title", "probe 7")],
///     vars: &[(temperature, &[AttrDef::new("valid_min", &[0.0_f32])])],
/// };
/// # assert_eq!(definition.vars.len(), 1);
/// ```
///
/// A later version may add fields: end a literal with `..Default::default()`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Definition<'a> {
    /// The dimensions.
    pub dims: &'a [DimDef<'a>],
    /// The attributes of the file.
    pub attrs: &'a [AttrDef<'a>],
    /// The variables with their attributes.
    pub vars: &'a [(VarDef<'a>, &'a [AttrDef<'a>])],
}

/// The item with this number.
fn item<T: Copy>(items: &[T], number: u64) -> Option<T> {
    items.get(usize::try_from(number).ok()?).copied()
}

impl Define for Definition<'_> {
    fn dim(&self, dimid: u64) -> Option<DimDef<'_>> {
        item(self.dims, dimid)
    }

    fn attr(&self, of: Option<u64>, number: u64) -> Option<AttrDef<'_>> {
        let attrs = match of {
            Some(varid) => item(self.vars, varid)?.1,
            None => self.attrs,
        };
        item(attrs, number)
    }

    fn var(&self, varid: u64) -> Option<VarDef<'_>> {
        item(self.vars, varid).map(|(var, _)| var)
    }
}

impl<D: Define + ?Sized> Define for &D {
    fn dim(&self, dimid: u64) -> Option<DimDef<'_>> {
        (**self).dim(dimid)
    }

    fn attr(&self, of: Option<u64>, number: u64) -> Option<AttrDef<'_>> {
        (**self).attr(of, number)
    }

    fn var(&self, varid: u64) -> Option<VarDef<'_>> {
        (**self).var(varid)
    }

    fn is_repeated(&self, list: ListKind, of: Option<u64>, number: u64) -> bool {
        (**self).is_repeated(list, of, number)
    }
}

/// The bytes of a variable, or of one record of it, without padding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cdf) struct Size {
    pub(in crate::cdf) len: u64,
    pub(in crate::cdf) is_record: bool,
}

impl Size {
    /// The size of a variable with its dimensions in `definition`.
    pub(in crate::cdf) fn of<D: Define + ?Sized>(
        definition: &D,
        var: &VarDef<'_>,
    ) -> Result<Self, Flaw> {
        let mut size = Self { len: var.nc_type.size(), is_record: false };
        for (place, &dimid) in var.dimids.iter().enumerate() {
            match definition.dim(dimid).ok_or(Flaw::NoDim)?.length {
                0 if place == 0 => size.is_record = true,
                0 => return Err(Flaw::RecordDimNotFirst),
                length => size.len = size.len.checked_mul(length).ok_or(Flaw::Size)?,
            }
        }
        Ok(size)
    }
}

/// The numbers and items of a list, up to the first number that has none.
pub(in crate::cdf) fn numbered<T>(
    item: impl Fn(u64) -> Option<T>,
) -> impl Iterator<Item = (u64, T)> {
    (0..u64::MAX).map_while(move |number| Some((number, item(number)?)))
}

/// The value of elements of a variable that nobody wrote: its `_FillValue`, or the default of its
/// type. It is big-endian; only its first bytes count, as many as a value has.
pub(in crate::cdf) fn fill_value<D: Define + ?Sized>(
    definition: &D,
    varid: u64,
    nc_type: Type,
) -> [u8; 8] {
    let attrs = numbered(|number| definition.attr(Some(varid), number));
    let mut own = attrs.filter(|(_, attr)| attr.name == FILL_VALUE).map(|(_, attr)| attr.values);
    let mut value = nc_type.fill();
    if let Some(own) = own.next()
        && own.nc_type() == nc_type
        && own.nelems() == Some(1)
    {
        own.write_to(0, crate::endian::ByteOrder::Big, &mut value);
    }
    value
}

/// The name of the attribute with the fill value of a variable.
pub const FILL_VALUE: &str = "_FillValue";

/// Checks a name as netCDF-C does when it defines one.
///
/// # Errors
/// [`Flaw::Name`] if it is refused.
pub fn check_name(name: &str) -> Result<(), Flaw> {
    let mut chars = name.chars();
    let starts = |c: char| c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii();
    let is_printed = |c: char| c != '/' && !c.is_control();
    let mut is_fine = || {
        let is_printed = chars.next().is_some_and(starts) && chars.all(is_printed);
        is_printed && !name.ends_with(' ') && name.len() <= MAX_NAME
    };
    match is_plain_name(name.as_bytes()) || is_fine() {
        true => Ok(()),
        false => Err(Flaw::Name),
    }
}

/// Whether a name is of ASCII only and [allowed](check_name), as nearly all are.
#[must_use]
pub fn is_plain_name(name: &[u8]) -> bool {
    let (Some(first), Some(last)) = (name.first(), name.last()) else { return false };
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'.' | b'0'..=b'~'); // without '/'
    let starts = first.is_ascii_alphanumeric() || *first == b'_';
    starts && *last != b' ' && name.len() <= MAX_NAME && name.iter().all(is_plain)
}

/// The most bytes of a name, `NC_MAX_NAME` in netcdf.h.
pub const MAX_NAME: usize = 256;

/// The error of an item of a definition.
pub(in crate::cdf) const fn flawed(
    list: ListKind,
    of: Option<u64>,
    number: u64,
    flaw: Flaw,
) -> Error {
    let varid = match of {
        Some(varid) => varid,
        None => 0,
    };
    Error::Define { list, varid, number, flaw }
}
