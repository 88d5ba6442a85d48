//! The structures of a classic netCDF header as stored, one for each table of `spec/cdf.md`.
//!
//! NON_NEG is [`U32`] in CDF-1 and CDF-2 and [`U64`] in CDF-5; OFFSET is [`U32`] in CDF-1 only. A
//! structure with these types is generic over them and has a name for each version. All integers of
//! a file are big-endian. The order is an argument of each read, as the header in the HDF5 files of
//! E3SM-IO has this grammar in the byte order of its writer.

use crate::endian::{U32, U64};
use crate::field::{Table, spec_table};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The tables of this format by number.
pub const TABLES: &[&Table] = &[
    Header1::TABLE,
    Header5::TABLE,
    List1::TABLE,
    List5::TABLE,
    Name1::TABLE,
    Name5::TABLE,
    Dim1::TABLE,
    Dim5::TABLE,
    Attr1::TABLE,
    Attr5::TABLE,
    Dimids1::TABLE,
    Dimids5::TABLE,
    Dimid1::TABLE,
    Dimid5::TABLE,
    Var1::TABLE,
    Var2::TABLE,
    Var5::TABLE,
];

/// The start of every file (`spec/cdf.md#header`).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Header<N> {
    /// `CDF` and the version: 1, 2 or 5.
    pub magic: [u8; 4],
    /// Number of records, or all bits set: as many as the file has.
    pub numrecs: N,
}
/// The header of CDF-1 and CDF-2.
pub type Header1 = Header<U32>;
/// The header of CDF-5.
pub type Header5 = Header<U64>;
spec_table!(Header1 = 0 in "header", 8, 0: magic: [u8; 4], 4: numrecs: U32);
spec_table!(Header5 = 1 in "header", 12, 0: magic: [u8; 4], 4: numrecs: U64);

/// The start of each of `dim_list`, `gatt_list`, `var_list` and `vatt_list` (`spec/cdf.md#lists`).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct List<N> {
    /// Kind of the list; 0 if it is absent.
    pub tag: U32,
    /// Number of its items.
    pub nelems: N,
}
/// A list's head in CDF-1 and CDF-2.
pub type List1 = List<U32>;
/// A list's head in CDF-5.
pub type List5 = List<U64>;
spec_table!(List1 = 2 in "list", 8, 0: tag: U32, 4: nelems: U32);
spec_table!(List5 = 3 in "list", 12, 0: tag: U32, 4: nelems: U64);

/// The start of a name; its bytes follow, padded to 4 (`spec/cdf.md#names`).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Name<N> {
    /// Number of its bytes.
    pub nelems: N,
}
/// A name's length in CDF-1 and CDF-2.
pub type Name1 = Name<U32>;
/// A name's length in CDF-5.
pub type Name5 = Name<U64>;
spec_table!(Name1 = 4 in "name", 4, 0: nelems: U32);
spec_table!(Name5 = 5 in "name", 8, 0: nelems: U64);

/// The part of a dimension after its name (`spec/cdf.md#dimensions`).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Dim<N> {
    /// Its length; 0 for the record dimension. `dim_length` in the grammar.
    pub length: N,
}
/// A dimension in CDF-1 and CDF-2.
pub type Dim1 = Dim<U32>;
/// A dimension in CDF-5.
pub type Dim5 = Dim<U64>;
spec_table!(Dim1 = 6 in "dim", 4, 0: length: U32);
spec_table!(Dim5 = 7 in "dim", 8, 0: length: U64);

/// The part of an attribute after its name; its values follow, padded to 4
/// (`spec/cdf.md#attributes`).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Attr<N> {
    /// Type of the values.
    pub nc_type: U32,
    /// Number of the values.
    pub nelems: N,
}
/// An attribute in CDF-1 and CDF-2.
pub type Attr1 = Attr<U32>;
/// An attribute in CDF-5.
pub type Attr5 = Attr<U64>;
spec_table!(Attr1 = 8 in "attr", 8, 0: nc_type: U32, 4: nelems: U32);
spec_table!(Attr5 = 9 in "attr", 12, 0: nc_type: U32, 4: nelems: U64);

/// The part of a variable after its name; `ndims` dimids follow, then its `vatt_list`
/// (`spec/cdf.md#variables`).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Dimids<N> {
    /// Number of its dimensions. `nelems` in the grammar.
    pub ndims: N,
}
/// The number of dimids in CDF-1 and CDF-2.
pub type Dimids1 = Dimids<U32>;
/// The number of dimids in CDF-5.
pub type Dimids5 = Dimids<U64>;
spec_table!(Dimids1 = 10 in "var", 4, 0: ndims: U32);
spec_table!(Dimids5 = 11 in "var", 8, 0: ndims: U64);

/// A dimension of a variable, in its order (`spec/cdf.md#variables`).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Dimid<N> {
    /// Number of the dimension, from 0.
    pub dimid: N,
}
/// A dimid in CDF-1 and CDF-2.
pub type Dimid1 = Dimid<U32>;
/// A dimid in CDF-5.
pub type Dimid5 = Dimid<U64>;
spec_table!(Dimid1 = 12 in "var", 4, 0: dimid: U32);
spec_table!(Dimid5 = 13 in "var", 8, 0: dimid: U64);

/// The end of a variable, after its attributes (`spec/cdf.md#variables`).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Var<N, O> {
    /// Type of the values.
    pub nc_type: U32,
    /// Bytes of all values, or of the values of one record, padded to 4; not reliable.
    pub vsize: N,
    /// Offset of the first value in the file.
    pub begin: O,
}
/// The end of a variable in CDF-1.
pub type Var1 = Var<U32, U32>;
/// The end of a variable in CDF-2.
pub type Var2 = Var<U32, U64>;
/// The end of a variable in CDF-5.
pub type Var5 = Var<U64, U64>;
spec_table!(Var1 = 14 in "var", 12, 0: nc_type: U32, 4: vsize: U32, 8: begin: U32);
spec_table!(Var2 = 15 in "var", 16, 0: nc_type: U32, 4: vsize: U32, 8: begin: U64);
spec_table!(Var5 = 16 in "var", 20, 0: nc_type: U32, 4: vsize: U64, 12: begin: U64);
