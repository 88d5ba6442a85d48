//! The structures of a GSD file as stored, one for each table of `spec/gsd.md`.
//!
//! All integers are little-endian.

use crate::exact::Exact;
use crate::field::{FieldId, Table, spec_table};
use zerocopy::little_endian::{I64, U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The tables of this format by number.
pub const TABLES: &[&Table] = &[
    Header::TABLE,
    IndexEntry::TABLE,
    NameSlot::TABLE,
    Commit::TABLE,
    Shadow::TABLE,
    ChecksumRow::TABLE,
];

spec_table! {
    /// The start of every GSD file (`spec/gsd.md#header`).
    pub struct Header = 0 in "header", 256;
    /// Must be [`Header::MAGIC`].
    0: pub magic: U64,
    /// Offset of the index block in the file.
    8: pub index_location: U64,
    /// Slots of 32 bytes of the visible index block, used or not.
    16: pub index_allocated_entries: U64,
    /// Offset of the name list in the file.
    24: pub namelist_location: U64,
    /// Length of the name list in units of 64 bytes, in every version.
    32: pub namelist_allocated_entries: U64,
    /// Version of the schema, `major << 16 | minor`.
    40: pub schema_version: U32,
    /// Version of the file layer, `major << 16 | minor`.
    44: pub gsd_version: U32,
    /// Name of the program that made the file, padded by NULs.
    48: pub application: [u8; 64],
    /// Name of the schema, padded by NULs.
    112: pub schema: [u8; 64],
    /// Zeros, or a [`Commit`].
    176: pub reserved: [u8; 80],
}

impl Header {
    /// A header of zeros.
    pub(super) const EMPTY: Self = zerocopy::transmute!([0_u8; 256]);

    /// Value of `magic`.
    pub const MAGIC: u64 = 0x65DF_65DF_65DF_65DF;
}

spec_table! {
    /// A slot of the index block, one for each chunk (`spec/gsd.md#index-entry`).
    #[derive(PartialEq, Eq)]
    pub struct IndexEntry = 1 in "index", 32;
    /// The frame that the chunk belongs to.
    0: pub frame: U64,
    /// Rows of the chunk; `N` in gsd.h.
    8: pub n: U64,
    /// Offset of the chunk's bytes in the file; 0 in a slot that is not used.
    16: pub location: I64,
    /// Columns of the chunk; `M` in gsd.h.
    24: pub m: U32,
    /// Index of the chunk's name in the name list.
    28: pub id: U16,
    /// Type of a value, 1 to 11; `type` in gsd.h.
    30: pub kind: u8,
    /// Always 0.
    31: pub flags: u8,
}

spec_table! {
    /// A name of a file of layer 1.0 (`spec/gsd.md#name-list`).
    pub struct NameSlot = 2 in "namelist", 64;
    /// At most 63 bytes, then NULs; what follows the first NUL does not count.
    0: pub name: [u8; 64],
}

spec_table! {
    /// The commit record in [`Header::reserved`] (`spec/gsd.md#commit-record`); ours, not gsd's.
    #[derive(PartialEq, Eq)]
    pub struct Commit = 3 in "commit", 80;
    /// Must be [`Commit::MAGIC`].
    0: pub magic: [u8; 8],
    /// Index entries that are committed.
    8: pub entries: U64,
    /// Slots that the index block really has.
    16: pub index_reserved: U64,
    /// End of all bytes in use.
    24: pub data_end: U64,
    /// Offset of the two [`Shadow`]s in the file.
    32: pub shadow: U64,
    /// First entry that `index_crc` covers.
    40: pub crc_from: U64,
    /// Number of this commit, modulo 2^32.
    48: pub sequence: U32,
    /// Bytes of the name list that are committed.
    52: pub names_len: U32,
    /// Names that are committed.
    56: pub names: U32,
    /// CRC-32C of the committed entries from `crc_from` on.
    60: pub index_crc: U32,
    /// CRC-32C of the committed bytes of the name list.
    64: pub names_crc: U32,
    /// CRC-32C of `schema_version`, `application` and `schema`.
    68: pub ident_crc: U32,
    /// Alignment of chunks, as a power of two.
    72: pub align: u8,
    /// 1: frames carry checksums.
    73: pub checksums: u8,
    /// Major version of the file layer that this was written for.
    74: pub layer: u8,
    /// 1: the next commit may take one sync, and be in a shadow before it is in the header.
    75: pub one_sync: u8,
    /// CRC-32C of bytes 8 to 39 of the header and of this record up to here.
    76: pub commit_crc: U32,
}

impl Commit {
    /// A record of zeros.
    pub(super) const EMPTY: Self = zerocopy::transmute!([0_u8; 80]);

    /// Value of `magic`.
    pub const MAGIC: [u8; 8] = *b"striae\0\x01";

    /// The offset of the commit record in the file.
    pub const OFFSET: u64 = 176;
}

/// The offset in the file of a field of the header or of the commit record; `None` for other
/// fields, which have several places.
#[must_use]
pub fn header_offset(field: FieldId) -> Option<u64> {
    let offset = u64::from(field.offset());
    if field.table() == Header::magic.table() {
        return Some(offset);
    }
    (field.table() == Commit::magic.table()).then_some(Commit::OFFSET.exact_add(offset))
}

/// The part of a header that commits change: bytes 8 to 47 and 176 to 255.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Image {
    /// As in [`Header`].
    pub index_location: U64,
    /// As in [`Header`].
    pub index_allocated_entries: U64,
    /// As in [`Header`].
    pub namelist_location: U64,
    /// As in [`Header`].
    pub namelist_allocated_entries: U64,
    /// As in [`Header`].
    pub schema_version: U32,
    /// As in [`Header`].
    pub gsd_version: U32,
    /// The record in [`Header::reserved`].
    pub commit: Commit,
}

spec_table! {
    /// The header before and after a commit (`spec/gsd.md#shadow`); ours.
    pub struct Shadow = 4 in "shadow", 256;
    /// Must be [`Shadow::MAGIC`].
    0: pub magic: [u8; 8],
    /// Header before the commit.
    8: pub old: Image,
    /// Header after the commit.
    128: pub new: Image,
    /// CRC-32C of the bytes that a commit of one sync added; 0 for other commits.
    248: pub added_crc: U32,
    /// CRC-32C of all fields before this one.
    252: pub crc: U32,
}

impl Shadow {
    /// Value of `magic`.
    pub const MAGIC: [u8; 8] = *b"striaeSH";
}

spec_table! {
    /// A row of the chunk that holds the checksums of its frame (`spec/gsd.md#checksums`); ours.
    #[derive(PartialEq, Eq)]
    pub struct ChecksumRow = 5 in "checksums", 8;
    /// Index of the name of a chunk of the frame.
    0: pub id: U32,
    /// CRC-32C of the chunk's bytes and of its entry without the location.
    4: pub crc: U32,
}
