//! The structures that striae adds to subfiles, as stored. The other structures of a subfile are
//! those of [`cdf`](crate::cdf::raw) and of [`hdf5`](crate::hdf5::raw).

use crate::field::{Table, spec_table};
use zerocopy::big_endian::{U32, U64};

/// The tables of this format by number.
pub const TABLES: &[&Table] = &[SealHead::TABLE, SealTie::TABLE, SealRow::TABLE];

spec_table! {
    /// The head of each copy of a seal (`spec/blob.md#seals`).
    pub struct SealHead = 0 in "seal", 64;
    /// Must be [`SealHead::MAGIC`].
    0: pub magic: [u8; 16],
    /// Version of the seal: 2, or 1 if it has no [`SealTie`].
    16: pub version: U32,
    /// Number of blobs of the subfile.
    20: pub nblobs: U32,
    /// Number of variables of the header, with those of the decompositions.
    24: pub nvars: U32,
    /// CRC-32C of the header without its magic and `numrecs`.
    28: pub header_crc: U32,
    /// Length of the header.
    32: pub header_len: U64,
    /// Offset of the first value.
    40: pub values_begin: U64,
    /// Number of records that the checksums are of.
    48: pub numrecs: U64,
    /// CRC-32C of the [`SealTie`] and of the table of checksums.
    56: pub table_crc: U32,
    /// CRC-32C of the fields before this one.
    60: pub head_crc: U32,
}

impl SealHead {
    /// Value of `magic`.
    pub const MAGIC: [u8; 16] = *b"striae blob seal";
    /// Value of `version`.
    pub const VERSION: u32 = 2;
    /// Value of `version` in a seal without a [`SealTie`], which is read.
    pub const UNTIED: u32 = 1;
}

spec_table! {
    /// What ties a subfile to its set, before the table of checksums (`spec/blob.md#seals`).
    pub struct SealTie = 1 in "seal_tie", 24;
    /// Identity of the set with these records.
    0: pub set: [u8; 16],
    /// Number of the subfile, from 0.
    16: pub number: U32,
    /// Number of subfiles of the set.
    20: pub nsubfiles: U32,
}

spec_table! {
    /// A row of the table of checksums (`spec/blob.md#seals`).
    pub struct SealRow = 2 in "seal_row", 4;
    /// CRC-32C of the bytes of a blob of a variable, in all records.
    0: pub crc: U32,
}

impl SealRow {
    /// The bytes of a row.
    pub const LEN: u64 = 4;
}
