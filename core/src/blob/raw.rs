//! The structures that striae adds to subfiles, as stored. The other structures of a subfile are
//! those of [`cdf`](crate::cdf::raw) and of [`hdf5`](crate::hdf5::raw).

use crate::field::{Table, spec_table};
use zerocopy::big_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The tables of this format by number.
pub const TABLES: &[&Table] = &[SealHead::TABLE, SealTie::TABLE];

/// The head of each copy of a seal (`spec/blob.md#seals`).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct SealHead {
    /// Must be [`SealHead::MAGIC`].
    pub magic: [u8; 16],
    /// Version of the seal: 2, or 1 if it has no [`SealTie`].
    pub version: U32,
    /// Number of blobs of the subfile.
    pub nblobs: U32,
    /// Number of variables of the header, with those of the decompositions.
    pub nvars: U32,
    /// CRC-32C of the header without its magic and `numrecs`.
    pub header_crc: U32,
    /// Length of the header.
    pub header_len: U64,
    /// Offset of the first value.
    pub values_begin: U64,
    /// Number of records that the checksums are of.
    pub numrecs: U64,
    /// CRC-32C of the [`SealTie`] and of the table of checksums.
    pub table_crc: U32,
    /// CRC-32C of the fields before this one.
    pub head_crc: U32,
}
spec_table!(SealHead = 0 in "seal", 64,
    0: magic: [u8; 16],
    16: version: U32,
    20: nblobs: U32,
    24: nvars: U32,
    28: header_crc: U32,
    32: header_len: U64,
    40: values_begin: U64,
    48: numrecs: U64,
    56: table_crc: U32,
    60: head_crc: U32,
);

impl SealHead {
    /// Value of `magic`.
    pub const MAGIC: [u8; 16] = *b"striae blob seal";
    /// Value of `version`.
    pub const VERSION: u32 = 2;
    /// Value of `version` in a seal without a [`SealTie`], which is read.
    pub const UNTIED: u32 = 1;
}

/// What ties a subfile to its set, before the table of checksums (`spec/blob.md#seals`).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct SealTie {
    /// Identity of the set with these records.
    pub set: [u8; 16],
    /// Number of the subfile, from 0.
    pub number: U32,
    /// Number of subfiles of the set.
    pub nsubfiles: U32,
}
spec_table!(SealTie = 1 in "seal_tie", 24,
    0: set: [u8; 16],
    16: number: U32,
    20: nsubfiles: U32,
);
