//! The structures of an ffrecord file as stored, one for each table of `spec/ffrecord.md`.
//!
//! All integers are little-endian.

use crate::field::{Table, spec_table};
use zerocopy::little_endian::{I64, U32};

/// The tables of this format by number.
pub const TABLES: &[&Table] = &[Header::TABLE, Checksum::TABLE, Offset::TABLE];

spec_table! {
    /// The start of every ffrecord file (`spec/ffrecord.md#header`).
    pub struct Header = 0 in "header", 12;
    /// CRC-32 of `n` and of both tables; 0 in files that have none.
    0: pub checksum_meta: U32,
    /// Number of samples.
    4: pub n: I64,
}

spec_table! {
    /// An entry of the first table, one for each sample (`spec/ffrecord.md#checksums`).
    pub struct Checksum = 1 in "checksums", 4;
    /// CRC-32 of the sample's bytes.
    0: pub checksum: U32,
}

spec_table! {
    /// An entry of the second table, one for each sample (`spec/ffrecord.md#offsets`).
    pub struct Offset = 2 in "offsets", 8;
    /// Offset of the sample's first byte in the file.
    0: pub offset: I64,
}
