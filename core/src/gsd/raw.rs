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

/// The start of every GSD file (`spec/gsd.md#header`).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Header {
    /// Must be [`Header::MAGIC`].
    pub magic: U64,
    /// Offset of the index block in the file.
    pub index_location: U64,
    /// Slots of 32 bytes of the visible index block, used or not.
    pub index_allocated_entries: U64,
    /// Offset of the name list in the file.
    pub namelist_location: U64,
    /// Length of the name list in units of 64 bytes, in every version.
    pub namelist_allocated_entries: U64,
    /// Version of the schema, `major << 16 | minor`.
    pub schema_version: U32,
    /// Version of the file layer, `major << 16 | minor`.
    pub gsd_version: U32,
    /// Name of the program that made the file, padded by NULs.
    pub application: [u8; 64],
    /// Name of the schema, padded by NULs.
    pub schema: [u8; 64],
    /// Zeros, or a [`Commit`].
    pub reserved: [u8; 80],
}
spec_table!(Header = 0 in "header", 256,
    0: magic: U64,
    8: index_location: U64,
    16: index_allocated_entries: U64,
    24: namelist_location: U64,
    32: namelist_allocated_entries: U64,
    40: schema_version: U32,
    44: gsd_version: U32,
    48: application: [u8; 64],
    112: schema: [u8; 64],
    176: reserved: [u8; 80],
);

impl Header {
    /// A header of zeros.
    pub(super) const EMPTY: Self = Self {
        magic: U64::ZERO,
        index_location: U64::ZERO,
        index_allocated_entries: U64::ZERO,
        namelist_location: U64::ZERO,
        namelist_allocated_entries: U64::ZERO,
        schema_version: U32::ZERO,
        gsd_version: U32::ZERO,
        application: [0; 64],
        schema: [0; 64],
        reserved: [0; 80],
    };

    /// Value of `magic`.
    pub const MAGIC: u64 = 0x65DF_65DF_65DF_65DF;
}

/// A slot of the index block, one for each chunk (`spec/gsd.md#index-entry`).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct IndexEntry {
    /// The frame that the chunk belongs to.
    pub frame: U64,
    /// Rows of the chunk; `N` in gsd.h.
    pub n: U64,
    /// Offset of the chunk's bytes in the file; 0 in a slot that is not used.
    pub location: I64,
    /// Columns of the chunk; `M` in gsd.h.
    pub m: U32,
    /// Index of the chunk's name in the name list.
    pub id: U16,
    /// Type of a value, 1 to 11; `type` in gsd.h.
    pub kind: u8,
    /// Always 0.
    pub flags: u8,
}
spec_table!(IndexEntry = 1 in "index", 32,
    0: frame: U64,
    8: n: U64,
    16: location: I64,
    24: m: U32,
    28: id: U16,
    30: kind: u8,
    31: flags: u8,
);

/// A name of a file of layer 1.0 (`spec/gsd.md#name-list`).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct NameSlot {
    /// At most 63 bytes, then NULs; what follows the first NUL does not count.
    pub name: [u8; 64],
}
spec_table!(NameSlot = 2 in "namelist", 64, 0: name: [u8; 64]);

/// The commit record in [`Header::reserved`] (`spec/gsd.md#commit-record`); ours, not gsd's.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Commit {
    /// Must be [`Commit::MAGIC`].
    pub magic: [u8; 8],
    /// Index entries that are committed.
    pub entries: U64,
    /// Slots that the index block really has.
    pub index_reserved: U64,
    /// End of all bytes in use.
    pub data_end: U64,
    /// Offset of the two [`Shadow`]s in the file.
    pub shadow: U64,
    /// First entry that `index_crc` covers.
    pub crc_from: U64,
    /// Number of this commit, modulo 2^32.
    pub sequence: U32,
    /// Bytes of the name list that are committed.
    pub names_len: U32,
    /// Names that are committed.
    pub names: U32,
    /// CRC-32C of the committed entries from `crc_from` on.
    pub index_crc: U32,
    /// CRC-32C of the committed bytes of the name list.
    pub names_crc: U32,
    /// CRC-32C of `schema_version`, `application` and `schema`.
    pub ident_crc: U32,
    /// Alignment of chunks, as a power of two.
    pub align: u8,
    /// 1: frames carry checksums.
    pub checksums: u8,
    /// Major version of the file layer that this was written for.
    pub layer: u8,
    /// 1: the next commit may take one sync, and be in a shadow before it is in the header.
    pub one_sync: u8,
    /// CRC-32C of bytes 8 to 39 of the header and of this record up to here.
    pub commit_crc: U32,
}
spec_table!(Commit = 3 in "commit", 80,
    0: magic: [u8; 8],
    8: entries: U64,
    16: index_reserved: U64,
    24: data_end: U64,
    32: shadow: U64,
    40: crc_from: U64,
    48: sequence: U32,
    52: names_len: U32,
    56: names: U32,
    60: index_crc: U32,
    64: names_crc: U32,
    68: ident_crc: U32,
    72: align: u8,
    73: checksums: u8,
    74: layer: u8,
    75: one_sync: u8,
    76: commit_crc: U32,
);

impl Commit {
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

/// The header before and after a commit (`spec/gsd.md#shadow`); ours.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Shadow {
    /// Must be [`Shadow::MAGIC`].
    pub magic: [u8; 8],
    /// Header before the commit.
    pub old: Image,
    /// Header after the commit.
    pub new: Image,
    /// CRC-32C of the bytes that a commit of one sync added; 0 for other commits.
    pub added_crc: U32,
    /// CRC-32C of all fields before this one.
    pub crc: U32,
}
spec_table!(Shadow = 4 in "shadow", 256,
    0: magic: [u8; 8],
    8: old: Image,
    128: new: Image,
    248: added_crc: U32,
    252: crc: U32,
);

impl Shadow {
    /// Value of `magic`.
    pub const MAGIC: [u8; 8] = *b"striaeSH";
}

/// A row of the chunk that holds the checksums of its frame (`spec/gsd.md#checksums`); ours.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct ChecksumRow {
    /// Index of the name of a chunk of the frame.
    pub id: U32,
    /// CRC-32C of the chunk's bytes and of its entry without the location.
    pub crc: U32,
}
spec_table!(ChecksumRow = 5 in "checksums", 8, 0: id: U32, 4: crc: U32);
