//! [`Items`]: what a header has.

use super::Attribute;
use crate::blob::error::ErrorKind as Flaw;
use striae_core::cdf::{Cursor, Item, ListKind, Var, Version};
use striae_core::endian::ByteOrder;
use striae_core::source::Fault;
use striae_core::span::Span;
use striae_inspect::cdf::values::swap;

/// A header's items, as they come.
#[derive(Default)]
pub(super) struct Items {
    pub(super) numrecs: Option<u64>,
    pub(super) dims: Vec<(Box<str>, u64)>,
    pub(super) attributes: Vec<Attribute>,
    pub(super) variables: Vec<Found>,
}

/// A variable of a header.
pub(super) struct Found {
    pub(super) name: Box<str>,
    pub(super) var: Option<Var>,
    pub(super) dimids: Vec<u64>,
    pub(super) attributes: Vec<Attribute>,
}

impl Found {
    pub(super) fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|attribute| &*attribute.name == name)
    }
}

impl Items {
    pub(super) fn parse(bytes: &[u8], order: ByteOrder) -> Result<Self, Flaw> {
        let (mut items, mut cursor, mut in_vars) = (Self::default(), Cursor::new(order), false);
        let part = |span: Span| {
            let start = usize::try_from(span.offset()).unwrap_or(usize::MAX);
            let len = usize::try_from(span.len()).unwrap_or(usize::MAX);
            bytes.get(start..).and_then(|rest| rest.get(..len))
        };
        let text = |name: Span| -> Result<Box<str>, Flaw> {
            let name = part(name).and_then(|name| core::str::from_utf8(name).ok());
            Ok(name.ok_or(Flaw::Cut)?.into())
        };
        loop {
            let (item, next) = match cursor.next(bytes) {
                Ok(step) => step,
                Err(Fault::Format(error)) => return Err(error.into()),
                Err(Fault::Miss(_)) => return Err(Flaw::Cut),
            };
            cursor = next;
            match item {
                Item::Header { version, numrecs } => {
                    let is_known = numrecs != Version::streaming(version);
                    items.numrecs = Some(numrecs).filter(|_| is_known);
                }
                Item::List { list: ListKind::Vars, .. } => in_vars = true,
                Item::Dim(dim) => items.dims.push((text(dim.name)?, dim.length)),
                Item::Attr(attr) => {
                    let mut bytes: Box<[u8]> = part(attr.values).ok_or(Flaw::Cut)?.into();
                    if order == ByteOrder::Little {
                        swap(&mut bytes, attr.nc_type.size());
                    }
                    let name = text(attr.name)?;
                    let attribute = Attribute { name, nc_type: attr.nc_type, bytes };
                    match items.variables.last_mut().filter(|_| in_vars) {
                        Some(variable) => variable.attributes.push(attribute),
                        None => items.attributes.push(attribute),
                    }
                }
                Item::Dimids { name, .. } => {
                    let (name, dimids, attributes) = (text(name)?, Vec::new(), Vec::new());
                    items.variables.push(Found { name, var: None, dimids, attributes });
                }
                Item::Dimid { dimid, .. } => {
                    items.variables.iter_mut().next_back().into_iter().for_each(|variable| {
                        variable.dimids.push(dimid);
                    });
                }
                Item::Var(var) => {
                    let last = items.variables.last_mut();
                    last.into_iter().for_each(|variable| variable.var = Some(var));
                }
                Item::End { .. } => return Ok(items),
                _ => {}
            }
        }
    }

    /// A number of the set, which is an attribute of the file.
    pub(super) fn number(&self, name: &'static str) -> Result<u64, Flaw> {
        let attribute = self.attributes.iter().find(|attribute| &*attribute.name == name);
        let number = attribute.ok_or(Flaw::NoAttribute { name })?.integer();
        number.ok_or(Flaw::Attribute { name })
    }
}
