//! The structures of an ffrecord file as stored, one for each table of `spec/ffrecord.md`.
//!
//! All integers are little-endian.

use crate::field::{Table, spec_table};
use zerocopy::little_endian::{I64, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The tables of this format by number.
pub const TABLES: &[&Table] = &[Header::TABLE, Checksum::TABLE, Offset::TABLE];

/// The start of every ffrecord file (`spec/ffrecord.md#header`).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Header {
    /// CRC-32 of `n` and of both tables; 0 in files that have none.
    pub checksum_meta: U32,
    /// Number of samples.
    pub n: I64,
}
spec_table!(Header = 0 in "header", 12, 0: checksum_meta: U32, 4: n: I64);

/// An entry of the first table, one for each sample (`spec/ffrecord.md#checksums`).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Checksum {
    /// CRC-32 of the sample's bytes.
    pub checksum: U32,
}
spec_table!(Checksum = 1 in "checksums", 4, 0: checksum: U32);

/// An entry of the second table, one for each sample (`spec/ffrecord.md#offsets`).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Offset {
    /// Offset of the sample's first byte in the file.
    pub offset: I64,
}
spec_table!(Offset = 2 in "offsets", 8, 0: offset: I64);
