//! The tables of a specification, once: structure, offsets and names.
//!
//! A structure is written plainly with zerocopy's derives. `spec_table!` then states the
//! specification's table: offsets and types are asserted when compiling, and the same rows become
//! `TABLE`, which error texts, `striae dump` and the test that compares `spec/*.md` with the code
//! all read.

/// A row of a table of a specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Name, as in the specification.
    pub name: &'static str,
    /// Offset in the structure in bytes.
    pub offset: u16,
    /// Size in bytes.
    pub size: u16,
    /// Type, as in the code.
    pub ty: &'static str,
}

/// A table of a specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Table {
    /// Name of the structure.
    pub name: &'static str,
    /// The part of the file that it belongs to, as error texts call it.
    pub part: &'static str,
    /// Size in bytes.
    pub len: u16,
    /// The rows in file order.
    pub fields: &'static [Field],
}

/// Names a field of one format in few bytes, so that an error can afford it.
///
/// It is looked up in the list of that format's tables, such as `sion::raw::TABLES`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct FieldId {
    table: u8,
    offset: u16,
}

impl FieldId {
    /// The field at `offset` of the table with number `table`.
    #[must_use]
    pub const fn new(table: u8, offset: u16) -> Self {
        Self { table, offset }
    }

    /// Number of its table in the list of its format.
    #[must_use]
    pub const fn table(self) -> u8 {
        self.table
    }

    /// Offset in its structure in bytes.
    #[must_use]
    pub const fn offset(self) -> u16 {
        self.offset
    }

    /// Its table and row, or `None` if `tables` are not those of its format.
    #[must_use]
    pub fn find(self, tables: &[&'static Table]) -> Option<(&'static Table, &'static Field)> {
        let table: &'static Table = tables.get(usize::from(self.table))?;
        let field = table.fields.iter().find(|field| field.offset == self.offset)?;
        Some((table, field))
    }
}

/// Ties a `#[repr(C)]` structure to its table in the specification; a mismatch fails to compile.
///
/// `spec_table!(Meta1 = 1 in "META1", 1076, 20: fsblksize: I32, ...)`: the structure, its number in
/// the format's list of tables, the part of the file, its size, then the rows. Each field gets a
/// [`FieldId`] of its own name, `Meta1::fsblksize`.
#[cfg(any(feature = "sion", feature = "gsd", feature = "ffrecord", feature = "cdf"))]
macro_rules! spec_table {
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

/// The size of a `T` for a table's row; on-disk structures are far below 64 KiB.
#[cfg(any(feature = "sion", feature = "gsd", feature = "ffrecord", feature = "cdf"))]
#[allow(clippy::as_conversions, reason = "const, and asserted to be lossless")]
pub(crate) const fn size_u16<T>() -> u16 {
    const { assert!(size_of::<T>() < 0x1_0000) };
    size_of::<T>() as u16
}
