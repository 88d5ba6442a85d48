//! Lists every metadata field of a file, with its offset, bytes and value.

use super::header::Held;
use super::values::swap;
use crate::dump::{Each, Line, name_of};
use crate::subject::{Failed, part_of};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use striae_core::cdf::layout::padded;
use striae_core::cdf::raw::{
    Attr1, Attr5, Dim1, Dim5, Dimid1, Dimid5, Dimids1, Dimids5, Header1, Header5, List1, List5,
    Name1, Name5, Var1, Var2, Var5,
};
use striae_core::cdf::{Cursor, Error, Item, ListKind, Type, Version};
use striae_core::endian::ByteOrder;
use striae_core::field::Table;
use striae_core::span::Span;
use striae_core::step::DriveError;
use striae_core::store::{ReadAt, usize_to_u64};

/// The most bytes of an attribute's values that a line has.
const SHOWN: u64 = 1 << 10;

/// Passes each field of a file's header to `each`. Fields of a list have the number of the item,
/// those of a variable's list also the number of the variable: `attr.nc_type[3][0]`. The memory is
/// the length of the header.
///
/// # Errors
/// [`Error`] if the header is damaged; the fields before that are passed first. An error of the
/// store; an error of `each`.
pub fn dump<'a, S: ReadAt>(
    store: &'a S,
    each: &'a mut Each<'a, S>,
) -> Result<(), Failed<S, Error>> {
    let mut failed = None;
    each_line(store, ByteOrder::Big, &mut |line| {
        failed = each(line).err();
        failed.is_none()
    })?;
    failed.map_or(Ok(()), |error| Err(DriveError::Store(error)))
}

/// Passes each field of a header in this byte order to `each`, until it returns `false`.
pub(crate) fn each_line<S: ReadAt + ?Sized>(
    store: &S,
    order: ByteOrder,
    each: &mut dyn FnMut(Line) -> bool,
) -> Result<(), Failed<S, Error>> {
    let mut held = Held::new(store)?;
    let (version, list) = (Version::Cdf1, ListKind::Dims);
    let mut walk = Walk { order, version, list, varid: None, number: 0 };
    let mut cursor = Cursor::new(order);
    loop {
        let at = cursor.offset();
        let item = held.next(&mut cursor)?;
        if !walk.lines(item, at, held.bytes()).into_iter().all(&mut *each) {
            return Ok(());
        }
        if let Item::End { header_len } = item {
            let value = header_len.to_string();
            each(Line::Derived { name: "bytes of the header", value });
            return Ok(());
        }
    }
}

/// What is known from the items before.
struct Walk {
    order: ByteOrder,
    version: Version,
    list: ListKind,
    /// The current variable.
    varid: Option<u64>,
    /// The number of the next item of the list.
    number: u64,
}

impl Walk {
    /// The lines of an item at `at`.
    fn lines(&mut self, item: Item, at: u64, bytes: &[u8]) -> Vec<Line> {
        let (order, is_5) = (self.order, self.version == Version::Cdf5);
        let fields = |table, index: &[u64], at| fields(order, table, index, at, bytes);
        let table = |one: &'static Table, five: &'static Table| if is_5 { five } else { one };
        match item {
            Item::Header { version, .. } => {
                self.version = version;
                let is_5 = version == Version::Cdf5;
                fields(if is_5 { Header5::TABLE } else { Header1::TABLE }, &[], at)
            }
            Item::List { list, .. } => {
                (self.list, self.number) = (list, 0);
                let varid: Vec<u64> = self.varid.into_iter().collect();
                let index = if list == ListKind::Vatts { varid.as_slice() } else { &[] };
                fields(table(List1::TABLE, List5::TABLE), index, at)
            }
            Item::Name(name) => {
                let mut lines = fields(table(Name1::TABLE, Name5::TABLE), &self.index(), at);
                lines.extend(text("name.bytes", &self.index(), name, bytes));
                lines
            }
            Item::Dim(dim) => {
                let lines = fields(table(Dim1::TABLE, Dim5::TABLE), &[dim.dimid], end_of(dim.name));
                self.number = dim.dimid.saturating_add(1);
                lines
            }
            Item::Attr(attr) => {
                let (index, start) = (self.index(), end_of(attr.name));
                let mut lines = fields(table(Attr1::TABLE, Attr5::TABLE), &index, start);
                lines.extend(values(self.order, &index, attr.values, attr.nc_type, bytes));
                self.number = attr.number.saturating_add(1);
                lines
            }
            Item::Dimids { varid, name, .. } => {
                (self.varid, self.number) = (Some(varid), 0);
                fields(table(Dimids1::TABLE, Dimids5::TABLE), &[varid], end_of(name))
            }
            Item::Dimid { varid, .. } => {
                let index = [varid, self.number];
                self.number = self.number.saturating_add(1);
                fields(table(Dimid1::TABLE, Dimid5::TABLE), &index, at)
            }
            Item::Var(var) => {
                (self.list, self.number) = (ListKind::Vars, var.varid.saturating_add(1));
                let table = match self.version {
                    Version::Cdf1 => Var1::TABLE,
                    Version::Cdf2 => Var2::TABLE,
                    Version::Cdf5 => Var5::TABLE,
                };
                fields(table, &[var.varid], at)
            }
            _ => Vec::new(),
        }
    }

    /// The indices of the next item of the list.
    fn index(&self) -> Vec<u64> {
        let varid = self.varid.filter(|_| self.list == ListKind::Vatts);
        varid.into_iter().chain([self.number]).collect()
    }
}

/// The end of a name with its padding.
fn end_of(name: Span) -> u64 {
    name.offset().saturating_add(padded(name.len()).unwrap_or(0))
}

/// The lines of the fields of a structure at `at`.
fn fields(
    order: ByteOrder,
    table: &'static Table,
    index: &[u64],
    at: u64,
    bytes: &[u8],
) -> Vec<Line> {
    let line = |field: &striae_core::field::Field| {
        let (offset, len) = (at.saturating_add(field.offset.into()), u64::from(field.size));
        let bytes = part_of(bytes, Span::new(offset, len)?).unwrap_or_default();
        let add = |all: u64, &byte: &u8| Some(all.checked_mul(256)?.saturating_add(byte.into()));
        let number = match order {
            ByteOrder::Big => bytes.iter().try_fold(0, add),
            ByteOrder::Little => bytes.iter().rev().try_fold(0, add),
        };
        let value = match (field.name, number) {
            ("magic", _) | (_, None) => format!("\"{}\"", bytes.escape_ascii()),
            (_, Some(number)) => number.to_string(),
        };
        let (name, bytes) = (name_of(table, field, index), bytes.to_vec());
        Some(Line::Field { name, offset, len, bytes, value, position: None })
    };
    table.fields.iter().filter_map(line).collect()
}

/// The line of a text; an empty one has none.
fn text(name: &str, index: &[u64], span: Span, bytes: &[u8]) -> Option<Line> {
    let index: String = index.iter().map(|index| format!("[{index}]")).collect();
    let (offset, len) = (span.offset(), span.len());
    let bytes = part_of(bytes, span.part(0, len.min(SHOWN))?).unwrap_or_default().to_vec();
    let (name, value) = (format!("{name}{index}"), String::from_utf8_lossy(&bytes).into_owned());
    (len > 0).then_some(Line::Field { name, offset, len, bytes, value, position: None })
}

/// The line of an attribute's values.
fn values(
    order: ByteOrder,
    index: &[u64],
    span: Span,
    nc_type: Type,
    bytes: &[u8],
) -> Option<Line> {
    let mut line = text("attr.values", index, span, bytes)?;
    if let Line::Field { len, bytes, value, .. } = &mut line
        && nc_type != Type::Char
    {
        let mut big = bytes.clone();
        if order == ByteOrder::Little {
            swap(&mut big, nc_type.size());
        }
        *value = super::OwnedValues::from_be(nc_type, &big).texts().join(" ");
        if usize_to_u64(bytes.len()) < *len {
            value.push_str(" ..");
        }
    }
    Some(line)
}
