//! The items of a [`Header`]: dimensions, attributes, variables.

use super::header::{Header, Known};
use super::values::{OwnedValues, swap};
use core::ops::Range;
use striae_core::cdf::define::FILL_VALUE;
use striae_core::cdf::{Attr, Dim, Layout, Type, Var};
use striae_core::endian::ByteOrder;

impl Header {
    /// The dimensions, in the order of their ids.
    #[must_use]
    pub fn dims(&self) -> impl ExactSizeIterator<Item = Dimension<'_>> {
        self.dims.iter().zip(&self.lengths).map(|dim| self.dimension(dim))
    }

    fn dimension(&self, (dim, &length): (&Dim, &u64)) -> Dimension<'_> {
        Dimension {
            name: self.text(dim.name),
            length,
            is_record: self.head.record_dim == Some(dim.dimid),
        }
    }

    /// The dimension with this id.
    #[must_use]
    pub fn dim(&self, dimid: u64) -> Option<Dimension<'_>> {
        let dimid = usize::try_from(dimid).ok()?;
        Some(self.dimension((self.dims.get(dimid)?, self.lengths.get(dimid)?)))
    }

    /// The attributes of the file.
    #[must_use]
    pub fn attributes(&self) -> impl ExactSizeIterator<Item = Attribute<'_>> + Clone {
        // A header that is cut may have others, of a variable that it does not define.
        let count = usize::try_from(self.head.ngatts).unwrap_or(usize::MAX);
        self.attributes_of(0..count.min(self.attrs.len()))
    }

    /// The attribute of the file with this name.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<Attribute<'_>> {
        self.attributes().find(|attribute| attribute.has_name(name))
    }

    /// The number of attributes, those of variables included.
    pub(crate) fn attributes_in_all(&self) -> usize {
        self.attrs.len()
    }

    pub(super) fn attributes_of(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = Attribute<'_>> + Clone {
        let attrs = self.attrs.get(range).unwrap_or_default();
        attrs.iter().map(|attr| Attribute { header: self, attr })
    }

    /// The variables, in the order of their ids.
    #[must_use]
    pub fn variables(&self) -> impl ExactSizeIterator<Item = Variable<'_>> {
        self.variables.iter().map(|known| Variable { header: self, known })
    }

    /// The variable with this id.
    pub(super) fn variable_at(&self, varid: usize) -> Option<Variable<'_>> {
        self.variables.get(varid).map(|known| Variable { header: self, known })
    }

    /// The variable with this name. This compares all names.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<Variable<'_>> {
        self.variables().find(|variable| variable.name_bytes() == name.as_bytes())
    }
}

/// A dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dimension<'a> {
    /// The name.
    pub name: &'a str,
    /// The length; the number of records for the record dimension.
    pub length: u64,
    /// Whether it is the record dimension.
    pub is_record: bool,
}

/// An attribute of a file or of a variable.
#[derive(Debug, Clone, Copy)]
pub struct Attribute<'a> {
    header: &'a Header,
    attr: &'a Attr,
}

impl<'a> Attribute<'a> {
    /// The attribute in the header.
    pub(super) const fn attr(self) -> Attr {
        *self.attr
    }

    /// The name.
    #[must_use]
    pub fn name(self) -> &'a str {
        self.header.text(self.attr.name)
    }

    /// The bytes of the name, which cost no check.
    pub(crate) fn name_bytes(&self) -> &'a [u8] {
        self.header.part(self.attr.name)
    }

    /// Whether this is the name.
    pub(super) fn has_name(self, name: &str) -> bool {
        self.name_bytes() == name.as_bytes()
    }

    /// The type of the values.
    #[must_use]
    pub const fn nc_type(self) -> Type {
        self.attr.nc_type
    }

    /// The number of values.
    #[must_use]
    pub const fn count(self) -> u64 {
        self.attr.nelems
    }

    /// The byte order of the values.
    #[must_use]
    pub const fn order(self) -> ByteOrder {
        self.header.order
    }

    /// The bytes of the values in the byte order of the header.
    #[must_use]
    pub fn bytes(self) -> &'a [u8] {
        self.header.part(self.attr.values)
    }

    /// The values.
    #[must_use]
    pub fn values(self) -> OwnedValues {
        let mut bytes = self.bytes().to_vec();
        if self.header.order == ByteOrder::Little {
            swap(&mut bytes, self.attr.nc_type.size());
        }
        OwnedValues::from_be(self.attr.nc_type, &bytes)
    }
}

/// A variable.
#[derive(Debug, Clone, Copy)]
pub struct Variable<'a> {
    header: &'a Header,
    known: &'a Known,
}

impl<'a> Variable<'a> {
    /// The name.
    #[must_use]
    pub fn name(self) -> &'a str {
        self.header.text(self.known.var.name)
    }

    /// The bytes of the name, which cost no check.
    pub(crate) fn name_bytes(self) -> &'a [u8] {
        self.header.part(self.known.var.name)
    }

    /// The number of the variable, from 0.
    #[must_use]
    pub const fn varid(self) -> u64 {
        self.known.var.varid
    }

    /// The type of the values.
    #[must_use]
    pub const fn nc_type(self) -> Type {
        self.known.var.nc_type
    }

    /// The ids of the dimensions, the slowest first.
    #[must_use]
    pub fn dimids(self) -> &'a [u64] {
        self.header.dimids.get(self.known.dims.clone()).unwrap_or_default()
    }

    /// The lengths of the dimensions; the length of the record dimension is the number of records.
    #[must_use]
    pub fn shape(self) -> &'a [u64] {
        self.header.shapes.get(self.known.dims.clone()).unwrap_or_default()
    }

    /// The dimensions.
    pub fn dims(self) -> impl Iterator<Item = Dimension<'a>> {
        self.dimids().iter().filter_map(move |&dimid| self.header.dim(dimid))
    }

    /// Whether the variable has records.
    #[must_use]
    pub const fn is_record(self) -> bool {
        self.known.is_record
    }

    /// The places of the values.
    #[must_use]
    pub fn layout(self) -> Layout {
        let recsize = self.known.is_record.then_some(self.header.head.recsize);
        Layout { first: self.known.first, recsize, value_len: self.nc_type().size() }
    }

    /// The bytes of all values, without padding; `u64::MAX` if they exceed that.
    #[must_use]
    pub fn len(self) -> u64 {
        let records = if self.is_record() { self.header.head.numrecs } else { 1 };
        self.known.first.len().saturating_mul(records)
    }

    /// Whether there are no values.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The offset of the first value, as stored.
    #[must_use]
    pub const fn begin(self) -> u64 {
        self.known.var.begin
    }

    /// The value of elements that were never written, of a big-endian header: that of the attribute
    /// `_FillValue`, else that of the type. Shorter values are at the front.
    #[must_use]
    pub fn fill_value(self) -> [u8; 8] {
        let nc_type = self.nc_type();
        let mut value = nc_type.fill();
        let own = self.attribute(FILL_VALUE).filter(|own| own.nc_type() == nc_type);
        if let Some(own) = own.filter(|own| own.count() == 1) {
            value.iter_mut().zip(own.bytes()).for_each(|(to, from)| *to = *from);
        }
        value
    }

    /// The variable in the header.
    pub(super) const fn var(self) -> Var {
        self.known.var
    }

    /// The bytes of the values or of one record, as stored; it may be wrong.
    #[must_use]
    pub const fn vsize(self) -> u64 {
        self.known.var.vsize
    }

    /// The attributes.
    #[must_use]
    pub fn attributes(self) -> impl ExactSizeIterator<Item = Attribute<'a>> + Clone {
        self.header.attributes_of(self.known.attrs.clone())
    }

    /// The attribute with this name.
    #[must_use]
    pub fn attribute(self, name: &str) -> Option<Attribute<'a>> {
        self.attributes().find(|attribute| attribute.has_name(name))
    }
}
