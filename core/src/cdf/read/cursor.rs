//! [`Cursor`]: a place in a header, which moves forward one item at a time.

use crate::cdf::error::Error;
use crate::cdf::kind::{ListKind, Type, Version};
use crate::cdf::layout;
use crate::cdf::raw::{
    Attr1, Attr5, Dim1, Dim5, Dimid1, Dimid5, Dimids1, Dimids5, Header1, Header5, List1, List5,
    Name1, Name5, Var1, Var2, Var5,
};
use crate::endian::ByteOrder;
use crate::field::FieldId;
use crate::source::{Fault, Miss, Source};
use crate::span::Span;
use zerocopy::FromBytes;

impl From<Error> for Fault<Error> {
    fn from(error: Error) -> Self {
        Self::Format(error)
    }
}

/// A dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Dim {
    /// The number, from 0.
    pub dimid: u64,
    /// The name, which is UTF-8.
    pub name: Span,
    /// The length; 0 for the record dimension.
    pub length: u64,
}

/// An attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Attr {
    /// The number in the list, from 0.
    pub number: u64,
    /// The name, which is UTF-8.
    pub name: Span,
    /// The type of the values.
    pub nc_type: Type,
    /// The number of values.
    pub nelems: u64,
    /// The span of the values.
    pub values: Span,
}

/// A variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Var {
    /// The number, from 0.
    pub varid: u64,
    /// The name, which is UTF-8.
    pub name: Span,
    /// The number of dimensions.
    pub ndims: u64,
    /// The table of dimids.
    pub dimids: Span,
    /// The number of attributes.
    pub natts: u64,
    /// The type of the values.
    pub nc_type: Type,
    /// The bytes of the values as stored in the header. Readers ignore it and compute the number.
    pub vsize: u64,
    /// The offset of the first value.
    pub begin: u64,
    /// The offset of the field `begin`.
    pub begin_at: u64,
}

/// An item of a header, in file order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Item {
    /// The header's start.
    Header {
        /// The version of the format.
        version: Version,
        /// The number of records, or [`Version::streaming`].
        numrecs: u64,
    },
    /// A list begins.
    List {
        /// The kind of the list.
        list: ListKind,
        /// The number of items.
        nelems: u64,
    },
    /// A name; its owner is a later item. Only its place is checked: it is in the file.
    Name(Span),
    /// A dimension.
    Dim(Dim),
    /// An attribute of the file, or of the variable whose dimensions came last.
    Attr(Attr),
    /// A variable begins: `ndims` dimids follow, then its attributes.
    Dimids {
        /// The number, from 0.
        varid: u64,
        /// The name, which is UTF-8.
        name: Span,
        /// The number of dimensions.
        ndims: u64,
    },
    /// A dimension of the variable; the dimension exists.
    Dimid {
        /// The number of the variable.
        varid: u64,
        /// The number of the dimension.
        dimid: u64,
    },
    /// A variable, after its dimensions and attributes.
    Var(Var),
    /// The header ends. Further calls return this item again.
    End {
        /// The length of the header in bytes.
        header_len: u64,
    },
}

/// A place in a header. It is a value: a copy can be kept to continue from there again.
///
/// It checks the bytes at its place: tags, types, names, and that the file can hold every count and
/// length. So it makes at most as many steps as the file has bytes.
///
/// A step reads one place of the source: a view needs one page of the longest name and 20 bytes.
///
/// ```
/// use striae_core::cdf::{Cursor, Item};
/// use striae_core::endian::ByteOrder;
///
/// # let file = include_bytes!("../../../doc/cdf1_onerec_short.nc");
/// let (mut cursor, mut lengths) = (Cursor::new(ByteOrder::Big), vec![]);
/// loop {
///     let (item, next) = cursor.next(&file[..])?;
///     match item {
///         Item::Dim(dim) => lengths.push(dim.length),
///         Item::End { .. } => break,
///         _ => {}
///     }
///     cursor = next;
/// }
/// assert_eq!(lengths, [0, 3, 5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    order: ByteOrder,
    version: Version,
    at: u64,
    stage: Stage,
    list: ListKind,
    /// The number of items of the list that have not begun.
    left: u64,
    /// The number of the current item, or of the next one.
    number: u64,
    ndims: u64,
    /// The current variable, and the number of variables after it.
    var: Var,
    vars_left: u64,
}

/// The item at a cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Header,
    List,
    Name,
    /// The bytes of this name, and the fields after them.
    Named(Span),
    /// This number of dimids.
    Dimids(u64),
    /// The end of a variable.
    Var,
    End,
}

/// Reads fields of a structure, which has a type for each version, from the start of some bytes.
macro_rules! fields {
    ($cursor:ident, $bytes:expr, [$($Version:ident: $Raw:ty),+], $fields:tt) => {
        match $cursor.version {
            $( Version::$Version => fields!(one $cursor, $bytes, $Raw, $fields), )+
        }
    };
    (one $cursor:ident, $bytes:expr, $Raw:ty, [$($field:ident),+]) => {{
        let raw = <$Raw>::ref_from_prefix($bytes);
        // Never: it has them.
        let (raw, _) = raw.map_err(|_| Miss::Page { len: size_of::<$Raw>() })?;
        ($( raw.$field.get($cursor.order).into() ),+)
    }};
}

/// The length with padding; `u64::MAX` if it exceeds that.
fn padded(len: u64) -> u64 {
    layout::padded(len).unwrap_or(u64::MAX)
}

type Result<T> = core::result::Result<T, Fault<Error>>;

impl Cursor {
    /// Makes a cursor at the start of a header. netCDF files are big-endian.
    #[must_use]
    pub const fn new(order: ByteOrder) -> Self {
        let name = Span::ZERO;
        Self {
            order,
            version: Version::Cdf1,
            at: 0,
            stage: Stage::Header,
            list: ListKind::Dims,
            left: 0,
            number: 0,
            ndims: 0,
            var: Var {
                varid: 0,
                name,
                ndims: 0,
                dimids: name,
                natts: 0,
                nc_type: Type::Byte,
                vsize: 0,
                begin: 0,
                begin_at: 0,
            },
            vars_left: 0,
        }
    }

    /// The offset of the cursor in the file.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.at
    }

    /// The item here, and the cursor after it.
    ///
    /// # Errors
    /// [`Error`] if the bytes break the format; a [`Miss`] if the source does not have them.
    pub fn next<S: Source + ?Sized>(mut self, source: &S) -> Result<(Item, Self)> {
        Ok((self.advance(source)?, self))
    }

    /// [`next`](Self::next) in place, which copies less. After a [`Miss`] the cursor is unchanged;
    /// after an [`Error`] it must not be used.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub fn advance<S: Source + ?Sized>(&mut self, source: &S) -> Result<Item> {
        match self.stage {
            Stage::Header => self.header(source),
            Stage::List => self.list(source),
            Stage::Name => self.name(source),
            Stage::Named(name) => match self.list {
                ListKind::Dims => self.dim(source, name),
                ListKind::Gatts | ListKind::Vatts => self.attr(source, name),
                ListKind::Vars => self.dimids(source, name),
            },
            Stage::Dimids(left) => self.dimid(source, left),
            Stage::Var => self.var(source),
            Stage::End => Ok(Item::End { header_len: self.at }),
        }
    }

    fn header<S: Source + ?Sized>(&mut self, source: &S) -> Result<Item> {
        let magic = *self.some(source, 4)?.first_chunk().unwrap_or(&[0; 4]);
        let [b'C', b'D', b'F', number] = magic else { return Err(Error::NotCdf { magic }.into()) };
        self.version = Version::from_number(number).ok_or(Error::NotCdf { magic })?;
        let len = self.version.non_neg_len().saturating_add(4);
        let bytes = self.some(source, len)?;
        let numrecs =
            fields!(self, bytes, [Cdf1: Header1, Cdf2: Header1, Cdf5: Header5], [numrecs]);
        self.skip(len);
        self.stage = Stage::List;
        Ok(Item::Header { version: self.version, numrecs })
    }

    fn list<S: Source + ?Sized>(&mut self, source: &S) -> Result<Item> {
        let len = self.version.non_neg_len().saturating_add(4);
        let bytes = self.some(source, len)?;
        let (tag, nelems): (u32, u64) =
            fields!(self, bytes, [Cdf1: List1, Cdf2: List1, Cdf5: List5], [tag, nelems]);
        let (list, expected) = (self.list, self.list.tag());
        if tag != expected && (tag, nelems) != (0, 0) {
            return Err(Error::Tag { offset: self.at, tag, expected }.into());
        }
        let nelems_at = self.at.saturating_add(4);
        self.skip(len);
        let most = source.file_len().saturating_sub(self.at);
        let most = most.checked_div(list.min_len(self.version)).unwrap_or(0);
        at_most(List1::nelems, nelems_at, nelems, most)?;
        match list {
            ListKind::Dims => self.ndims = nelems,
            ListKind::Vatts => (self.vars_left, self.var.natts) = (self.left, nelems),
            ListKind::Gatts | ListKind::Vars => {}
        }
        (self.left, self.number) = (nelems, 0);
        self.next_item();
        Ok(Item::List { list, nelems })
    }

    /// Moves to the next item of the list, or to the item after the list.
    fn next_item(&mut self) {
        if let Some(left) = self.left.checked_sub(1) {
            (self.left, self.stage) = (left, Stage::Name);
            return;
        }
        (self.stage, self.list) = match self.list {
            ListKind::Dims => (Stage::List, ListKind::Gatts),
            ListKind::Gatts => (Stage::List, ListKind::Vars),
            ListKind::Vars => (Stage::End, ListKind::Vars),
            ListKind::Vatts => (Stage::Var, ListKind::Vars),
        };
    }

    fn name<S: Source + ?Sized>(&mut self, source: &S) -> Result<Item> {
        let len = self.version.non_neg_len();
        let bytes = self.some(source, len)?;
        let nelems = fields!(self, bytes, [Cdf1: Name1, Cdf2: Name1, Cdf5: Name5], [nelems]);
        let at = self.at;
        self.skip(len);
        at_most(Name1::nelems, at, nelems, source.file_len().saturating_sub(self.at))?;
        let name = Span::new(self.at, nelems).unwrap_or(Span::ZERO); // it lies in the file
        self.stage = Stage::Named(name);
        Ok(Item::Name(name))
    }

    /// Checks the name and returns the `len` bytes after it. The cursor moves there.
    fn after_name<'s, S: Source + ?Sized>(
        &mut self,
        source: &'s S,
        name: Span,
        len: u64,
    ) -> Result<&'s [u8]> {
        let skip = padded(name.len());
        let bytes = self.some(source, skip.saturating_add(len))?;
        let name_len = usize::try_from(name.len()).unwrap_or(usize::MAX);
        let text = bytes.get(..name_len).unwrap_or_default();
        // Most names are ASCII, which is seen at less cost.
        if !text.is_ascii()
            && let Err(error) = core::str::from_utf8(text)
        {
            let good = crate::store::usize_to_u64(error.valid_up_to());
            return Err(Error::NotUtf8 { offset: self.at.saturating_add(good) }.into());
        }
        self.skip(skip);
        Ok(usize::try_from(skip).ok().and_then(|skip| bytes.get(skip..)).unwrap_or_default())
    }

    fn dim<S: Source + ?Sized>(&mut self, source: &S, name: Span) -> Result<Item> {
        let len = self.version.non_neg_len();
        let bytes = self.after_name(source, name, len)?;
        let length = fields!(self, bytes, [Cdf1: Dim1, Cdf2: Dim1, Cdf5: Dim5], [length]);
        let dim = Dim { dimid: self.number, name, length };
        self.skip(len);
        self.number = self.number.saturating_add(1);
        self.next_item();
        Ok(Item::Dim(dim))
    }

    fn attr<S: Source + ?Sized>(&mut self, source: &S, name: Span) -> Result<Item> {
        let len = self.version.non_neg_len().saturating_add(4);
        let bytes = self.after_name(source, name, len)?;
        let (nc_type, nelems): (u32, u64) =
            fields!(self, bytes, [Cdf1: Attr1, Cdf2: Attr1, Cdf5: Attr5], [nc_type, nelems]);
        let nc_type = self.nc_type(nc_type)?;
        let nelems_at = self.at.saturating_add(4);
        self.skip(len);
        let most = source.file_len().saturating_sub(self.at);
        let most = most.checked_div(nc_type.size()).unwrap_or(0);
        at_most(Attr1::nelems, nelems_at, nelems, most)?;
        let values = Span::of_table(self.at, nelems, nc_type.size()).unwrap_or(Span::ZERO); // fits
        self.skip(padded(values.len()));
        let attr = Attr { number: self.number, name, nc_type, nelems, values };
        self.number = self.number.saturating_add(1);
        self.next_item();
        Ok(Item::Attr(attr))
    }

    fn dimids<S: Source + ?Sized>(&mut self, source: &S, name: Span) -> Result<Item> {
        let len = self.version.non_neg_len();
        let bytes = self.after_name(source, name, len)?;
        let ndims = fields!(self, bytes, [Cdf1: Dimids1, Cdf2: Dimids1, Cdf5: Dimids5], [ndims]);
        let ndims_at = self.at;
        self.skip(len);
        let most = source.file_len().saturating_sub(self.at);
        at_most(Dimids1::ndims, ndims_at, ndims, most.checked_div(len).unwrap_or(0))?;
        let varid = self.number;
        let dimids = Span::of_table(self.at, ndims, len).unwrap_or(Span::ZERO); // fits
        self.var = Var { varid, name, ndims, dimids, ..self.var };
        self.next_dimid(ndims);
        Ok(Item::Dimids { varid, name, ndims })
    }

    fn dimid<S: Source + ?Sized>(&mut self, source: &S, left: u64) -> Result<Item> {
        let len = self.version.non_neg_len();
        let bytes = self.some(source, len)?;
        let dimid = fields!(self, bytes, [Cdf1: Dimid1, Cdf2: Dimid1, Cdf5: Dimid5], [dimid]);
        if dimid >= self.ndims {
            return Err(Error::NoDim { offset: self.at, dimid, ndims: self.ndims }.into());
        }
        self.skip(len);
        self.next_dimid(left);
        Ok(Item::Dimid { varid: self.var.varid, dimid })
    }

    fn next_dimid(&mut self, left: u64) {
        (self.stage, self.list) = match left.checked_sub(1) {
            Some(left) => (Stage::Dimids(left), ListKind::Vars),
            None => (Stage::List, ListKind::Vatts),
        };
    }

    fn var<S: Source + ?Sized>(&mut self, source: &S) -> Result<Item> {
        let to_begin = self.version.non_neg_len().saturating_add(4);
        let len = to_begin.saturating_add(self.version.offset_len());
        let bytes = self.some(source, len)?;
        let (nc_type, vsize, begin): (u32, u64, u64) =
            fields!(self, bytes, [Cdf1: Var1, Cdf2: Var2, Cdf5: Var5], [nc_type, vsize, begin]);
        let (nc_type, begin_at) = (self.nc_type(nc_type)?, self.at.saturating_add(to_begin));
        let var = Var { nc_type, vsize, begin, begin_at, ..self.var };
        self.skip(len);
        (self.left, self.number) = (self.vars_left, var.varid.saturating_add(1));
        self.next_item();
        Ok(Item::Var(var))
    }

    /// The type with this number, which is at the cursor.
    fn nc_type(&self, nc_type: u32) -> Result<Type> {
        let known = self.version.nc_type(nc_type);
        Ok(known.ok_or(Error::NoType { offset: self.at, nc_type })?)
    }

    /// The bytes at the cursor, or an error with the field in which the file ends before.
    fn some<'s, S: Source + ?Sized>(&self, source: &'s S, need: u64) -> Result<&'s [u8]> {
        let bytes = source.some(self.at, usize::try_from(need).unwrap_or(usize::MAX), need);
        bytes.map_err(|miss| match miss {
            Miss::Ended { .. } => self.cut(source.file_len()).into(),
            miss => miss.into(),
        })
    }

    /// The error that the file ends in the item here, with the field where it does.
    #[cold]
    fn cut(&self, file_len: u64) -> Error {
        let fields: &[FieldId] = match (self.stage, self.list) {
            (Stage::Header, _) => &[Header1::magic, Header1::numrecs],
            (Stage::List | Stage::End, _) => &[List1::tag, List1::nelems],
            (Stage::Name, _) => &[Name1::nelems],
            (Stage::Named(_), ListKind::Dims) => &[Dim1::length],
            (Stage::Named(_), ListKind::Gatts | ListKind::Vatts) => {
                &[Attr1::nc_type, Attr1::nelems]
            }
            (Stage::Named(_), ListKind::Vars) => &[Dimids1::ndims],
            (Stage::Dimids(_), _) => &[Dimid1::dimid],
            (Stage::Var, _) => &[Var1::nc_type, Var1::vsize, Var1::begin],
        };
        let name_len = if let Stage::Named(name) = self.stage { padded(name.len()) } else { 0 };
        let mut offset = self.at.saturating_add(name_len);
        let (mut field, mut len) = (fields.first(), 4);
        // After the first field, which has 4 bytes if others follow, comes a NON_NEG.
        for next in fields.iter().skip(1) {
            let next_at = offset.saturating_add(len);
            if next_at > file_len {
                break;
            }
            (field, offset, len) = (Some(next), next_at, self.version.non_neg_len());
        }
        let field = *field.unwrap_or(&Header1::magic); // never: there is one
        Error::Cut { field, offset, file_len }
    }

    fn skip(&mut self, len: u64) {
        self.at = self.at.saturating_add(len); // what saturates is behind every file
    }
}

fn at_most(field: FieldId, offset: u64, value: u64, max: u64) -> Result<()> {
    match value <= max {
        true => Ok(()),
        false => Err(Error::TooLarge { field, offset, value, max }.into()),
    }
}
