//! The tables of a specification, written once: structure, offsets and names.
//!
//! `spec_table!` is the specification's table: a row has the offset, the name and the type of a
//! field. The rows become a plain struct, whose offsets the compiler checks, and `TABLE`, which
//! error texts, `striae dump` and the test that compares `spec/*.md` with the code all use.

use core::fmt;

/// A field: one row of a specification's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// The name, as in the specification.
    pub name: &'static str,
    /// The offset in the structure, in bytes.
    pub offset: u16,
    /// The size in bytes.
    pub size: u16,
    /// The type, as in the code.
    pub ty: &'static str,
}

/// A table of a specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Table {
    /// The name of the structure.
    pub name: &'static str,
    /// The part of the file that the structure belongs to, as error texts name it.
    pub part: &'static str,
    /// The size in bytes.
    pub len: u16,
    /// The rows in file order.
    pub fields: &'static [Field],
}

/// Names a field of one format in 4 bytes, so that errors stay small.
///
/// [`FieldId::find`] looks it up in the list of the format's tables, such as `sion::raw::TABLES`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct FieldId {
    table: u8,
    offset: u16,
}

impl FieldId {
    /// Names the field at `offset` in table number `table`.
    #[must_use]
    pub const fn new(table: u8, offset: u16) -> Self {
        Self { table, offset }
    }

    /// The number of the table in the format's list of tables.
    #[must_use]
    pub const fn table(self) -> u8 {
        self.table
    }

    /// Offset in its structure in bytes.
    #[must_use]
    pub const fn offset(self) -> u16 {
        self.offset
    }

    /// The table and the row of the field, or `None` if `tables` has no such field.
    #[must_use]
    pub fn find(self, tables: &[&'static Table]) -> Option<(&'static Table, &'static Field)> {
        let table: &'static Table = tables.get(usize::from(self.table))?;
        let field = table.fields.iter().find(|field| field.offset == self.offset)?;
        Some((table, field))
    }
}

/// A field as texts name it: `META1.ntasks`. The tables are those of its format.
#[derive(Debug, Clone, Copy)]
pub struct Name(pub &'static [&'static Table], pub FieldId);

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.1.find(self.0) {
            Some((table, field)) => write!(f, "{}.{}", table.part, field.name),
            None => f.write_str("a field"),
        }
    }
}

/// A field with its place, as texts name it: `META1.ntasks at offset 24`.
#[derive(Debug, Clone, Copy)]
pub struct At(pub &'static [&'static Table], pub FieldId, pub u64);

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at offset {}", Name(self.0, self.1), self.2)
    }
}

/// Defines a plain `#[repr(C)]` structure, with zerocopy's derives, by its table in the
/// specification, which is checked when compiling:
///
/// ```text
/// spec_table! {
///     pub struct Meta1 = 1 in "META1", 1076;
///     /// Block size of the file system.
///     20: pub fsblksize: I32,
///     ...
/// }
/// ```
///
/// The head has the structure, its number in the format's list of tables, the part of the file, and
/// its size. Each field gets a [`FieldId`] with the field's name, `Meta1::fsblksize`. A structure
/// that is written elsewhere, as one that several versions share, is checked with
/// `spec_table!(Meta1 = 1 in "META1", 1076, 20: fsblksize: I32, ...)`.
#[cfg(any(feature = "sion", feature = "gsd", feature = "ffrecord", feature = "cdf"))]
macro_rules! spec_table {
    ($(#[$meta:meta])* $vis:vis struct $Name:ident = $number:literal in $part:literal, $len:literal;
     $( $(#[doc = $about:literal])+ $offset:literal : $seen:vis $field:ident : $ty:ty ),+
     $(,)?) => {
        $(#[$meta])*
        #[derive(
            Debug, Clone, Copy, zerocopy::FromBytes, zerocopy::IntoBytes, zerocopy::KnownLayout,
            zerocopy::Immutable, zerocopy::Unaligned,
        )]
        #[repr(C)]
        $vis struct $Name {
            $( $(#[doc = $about])+ $seen $field: $ty, )+
        }
        $crate::field::spec_table!(
            $Name = $number in $part, $len, $($offset: $field: $ty),+
        );
    };
    ($Name:ident = $number:literal in $part:literal, $len:literal,
     $( $offset:literal : $field:ident : $ty:ty ),+ $(,)?) => {
        const _: () = {
            assert!(core::mem::size_of::<$Name>() == $len);
            $( assert!(core::mem::offset_of!($Name, $field) == $offset); )+
            $( let _: fn(&$Name) -> &$ty = |s| &s.$field; )+
        };

        impl $Name {
            /// The table of the specification.
            pub const TABLE: &'static $crate::field::Table = &$crate::field::Table {
                name: stringify!($Name),
                part: $part,
                len: $len,
                fields: Self::FIELDS,
            };
            /// The rows of the table in file order.
            pub const FIELDS: &'static [$crate::field::Field] = &[
                $( $crate::field::Field {
                    name: stringify!($field),
                    offset: $offset,
                    size: $crate::field::size_u16::<$ty>(),
                    ty: stringify!($ty),
                }, )+
            ];
        }

        #[allow(non_upper_case_globals, reason = "named as the fields that they stand for")]
        impl $Name {
            $(
                #[doc = concat!("Names the field `", stringify!($field), "`.")]
                pub const $field: $crate::field::FieldId =
                    $crate::field::FieldId::new($number, $offset);
            )+
        }
    };
}
#[cfg(any(feature = "sion", feature = "gsd", feature = "ffrecord", feature = "cdf"))]
pub(crate) use spec_table;

/// The value, or a return of the error; a constant function has no `?`.
#[cfg(any(feature = "sion", feature = "gsd"))]
macro_rules! checked {
    ($result:expr) => {
        match $result {
            Ok(value) => value,
            Err(error) => return Err(error),
        }
    };
}
#[cfg(any(feature = "sion", feature = "gsd"))]
pub(crate) use checked;

/// The size of `T` for a table's row; stored structures are far below 64 KiB.
#[cfg(any(feature = "sion", feature = "gsd", feature = "ffrecord", feature = "cdf"))]
#[allow(clippy::as_conversions, reason = "const, and asserted to be lossless")]
pub(crate) const fn size_u16<T>() -> u16 {
    const { assert!(size_of::<T>() < 0x1_0000) };
    size_of::<T>() as u16
}
