//! The structures of a SIONlib file as stored, one for each table of `spec/sion.md`.
//!
//! Their integers have the byte order of META1, which is known when [`Ident`] has been read.

use crate::endian::{ByteOrder, I32, I64, U32, U64};
use crate::field::{Table, spec_table};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The tables of this format by number.
pub const TABLES: &[&Table] = &[
    Ident::TABLE,
    Meta1::TABLE,
    Meta1V2::TABLE,
    GlobalrankEntry::TABLE,
    ChunksizeEntry::TABLE,
    CommitFields::TABLE,
    BlockcountEntry::TABLE,
    BlocksizeEntry::TABLE,
    MappingSize::TABLE,
    MappingEntry::TABLE,
    RecordHeader::TABLE,
    ChunkCrcEntry::TABLE,
    SealTrailer::TABLE,
    SealTrailerV2::TABLE,
];

/// The start of META1 in every fileformat_version (`spec/sion.md#ident`).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Ident {
    /// Must be [`Ident::MAGIC`].
    pub magic: [u8; 4],
    /// Bit 0 of byte 0: order of the metadata, bit 0 of byte 1: order of the user's data; 1 is big.
    pub endianness: [u8; 4],
    /// Version of the library that wrote the file, 1000 * main + sub.
    pub version: I32,
    /// Patch level of that library.
    pub patchlevel: I32,
    /// Version of the file format, 2 to 5.
    pub fileformat_version: I32,
}
spec_table!(Ident = 0 in "META1", 20,
    0: magic: [u8; 4],
    4: endianness: [u8; 4],
    8: version: I32,
    12: patchlevel: I32,
    16: fileformat_version: I32,
);

impl Ident {
    /// Value of `magic`.
    pub const MAGIC: [u8; 4] = *b"sion";

    /// The byte orders of the metadata and of the user's data in `endianness`.
    #[must_use]
    pub fn orders(endianness: [u8; 4]) -> [ByteOrder; 2] {
        // Only these two bits have a meaning; SIONlib looks at no other (sion_metadata.c:350).
        let [meta, data, ..] = endianness;
        [meta, data].map(|byte| if byte & 1 == 0 { ByteOrder::Little } else { ByteOrder::Big })
    }
}

/// The fixed part of META1 since fileformat_version 3 (`spec/sion.md#meta1`).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Meta1 {
    /// Magic, byte orders and versions.
    pub ident: Ident,
    /// Block size of the file system in bytes, as the writer saw it; chunks are aligned to it.
    pub fsblksize: I32,
    /// Tasks in this physical file.
    pub ntasks: I32,
    /// Physical files in the set.
    pub nfiles: I32,
    /// Number of this physical file; 1 in a file that was written serially.
    pub filenumber: I32,
    /// Mode of key-value records in the upper 32 bits, since fileformat_version 5.
    pub flag1: I64,
    /// Always 0.
    pub flag2: I64,
    /// Name of the set as it was given to open, padded by NULs.
    pub filenameprefix: [u8; 1024],
}
spec_table!(Meta1 = 1 in "META1", 1076,
    0: ident: Ident,
    20: fsblksize: I32,
    24: ntasks: I32,
    28: nfiles: I32,
    32: filenumber: I32,
    36: flag1: I64,
    44: flag2: I64,
    52: filenameprefix: [u8; 1024],
);

/// The fixed part of META1 in fileformat_version 2 (`spec/sion.md#meta1-of-fileformat_version-2`).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Meta1V2 {
    /// Magic, byte orders and versions.
    pub ident: Ident,
    /// Block size of the file system in bytes, as the writer saw it; chunks are aligned to it.
    pub fsblksize: I32,
    /// Tasks in this physical file.
    pub ntasks: I32,
    /// Physical files in the set.
    pub nfiles: I32,
    /// Name of the set as it was given to open, padded by NULs.
    pub filenameprefix: [u8; 1024],
}
spec_table!(Meta1V2 = 2 in "META1", 1056,
    0: ident: Ident,
    20: fsblksize: I32,
    24: ntasks: I32,
    28: nfiles: I32,
    32: filenameprefix: [u8; 1024],
);

/// An entry of the first task table, one for each task (`spec/sion.md#task-tables`).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct GlobalrankEntry {
    /// Number that the writer gave the task; any value, not always unique.
    pub globalrank: I64,
}
spec_table!(GlobalrankEntry = 3 in "META1", 8, 0: globalrank: I64);

/// An entry of the second task table, one for each task (`spec/sion.md#task-tables`).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct ChunksizeEntry {
    /// Bytes of each chunk of the task; before fileformat_version 4 they are rounded up when read.
    pub chunksize: I64,
}
spec_table!(ChunksizeEntry = 4 in "META1", 8, 0: chunksize: I64);

/// The end of META1, written when the file is closed (`spec/sion.md#commit-fields`).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct CommitFields {
    /// Most chunks that any task used.
    pub maxchunks: I32,
    /// Offset of META2 in the file; 0 until the file is closed.
    pub start_of_varheader: I64,
}
spec_table!(CommitFields = 5 in "META1", 12, 0: maxchunks: I32, 4: start_of_varheader: I64);

/// An entry of the first table of META2, one for each task (`spec/sion.md#meta2`).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct BlockcountEntry {
    /// Chunks that the task used, at least 1.
    pub blockcount: I64,
}
spec_table!(BlockcountEntry = 6 in "META2", 8, 0: blockcount: I64);

/// An entry of the second table of META2: `maxchunks` rows of one a task (`spec/sion.md#meta2`).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct BlocksizeEntry {
    /// Bytes that the task used of this chunk; 0 or -1 if it did not use it.
    pub blocksize: I64,
}
spec_table!(BlocksizeEntry = 7 in "META2", 8, 0: blocksize: I64);

/// The head of the mapping, in file 0 of a set (`spec/sion.md#mapping`).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct MappingSize {
    /// Entries that follow; 0 in a file that was written serially.
    pub mapping_size: I32,
}
spec_table!(MappingSize = 8 in "mapping", 4, 0: mapping_size: I32);

/// An entry of the mapping: the place of a global rank (`spec/sion.md#mapping`).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct MappingEntry {
    /// Number of the physical file.
    pub filenumber: I32,
    /// Rank in that file.
    pub lrank: I32,
}
spec_table!(MappingEntry = 9 in "mapping", 8, 0: filenumber: I32, 4: lrank: I32);

/// The header of each record in a key-value stream (`spec/sion.md#key-value`).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct RecordHeader {
    /// The key.
    pub key: U64,
    /// Bytes of the value.
    pub len: U64,
}
spec_table!(RecordHeader = 10 in "record", 16, 0: key: U64, 8: len: U64);

/// An entry of the seal's table: `maxchunks` rows with one entry for each task
/// (`spec/sion.md#seal`).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct ChunkCrcEntry {
    /// CRC-32C of the bytes that the task used of this chunk; 0 if it did not use it.
    pub crc: U32,
}
spec_table!(ChunkCrcEntry = 11 in "seal", 4, 0: crc: U32);

/// The end of a seal (`spec/sion.md#seal`).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct SealTrailer {
    /// Version of the seal: 1, or 2 for [`SealTrailerV2`].
    pub seal_version: I32,
    /// Tasks in the physical file when it was sealed.
    pub ntasks: I32,
    /// `maxchunks` of META1 when it was sealed.
    pub maxchunks: I32,
    /// CRC-32C of META1, from the start of the file to the end of the commit fields.
    pub meta1_crc: U32,
    /// `start_of_varheader` of META1 when it was sealed.
    pub start_of_varheader: I64,
    /// Offset of the seal's table.
    pub start_of_seal: I64,
    /// CRC-32C of META2 and the mapping, from start_of_varheader to start_of_seal.
    pub meta2_crc: U32,
    /// CRC-32C of the seal's table.
    pub chunks_crc: U32,
    /// The number of the commit of the whole set, from 1; 0 if the file was committed by itself.
    pub set_number: I32,
    /// CRC-32C of the fields before this one.
    pub trailer_crc: U32,
    /// Must be [`SealTrailer::MAGIC`].
    pub magic: [u8; 16],
}
spec_table!(SealTrailer = 12 in "seal", 64,
    0: seal_version: I32,
    4: ntasks: I32,
    8: maxchunks: I32,
    12: meta1_crc: U32,
    16: start_of_varheader: I64,
    24: start_of_seal: I64,
    32: meta2_crc: U32,
    36: chunks_crc: U32,
    40: set_number: I32,
    44: trailer_crc: U32,
    48: magic: [u8; 16],
);

impl SealTrailer {
    /// Value of `magic`.
    pub const MAGIC: [u8; 16] = *b"striae SION seal";
    /// Value of `seal_version`.
    pub const VERSION: i32 = 1;
}

/// The end of a seal that says of which set its file is (`spec/sion.md#seal`): [`SealTrailer`], but
/// for the 8 bytes of `start_of_seal`, which follows from the other fields.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct SealTrailerV2 {
    /// Version of the seal: 2.
    pub seal_version: I32,
    /// As in [`SealTrailer`].
    pub ntasks: I32,
    /// As in [`SealTrailer`].
    pub maxchunks: I32,
    /// As in [`SealTrailer`].
    pub meta1_crc: U32,
    /// As in [`SealTrailer`].
    pub start_of_varheader: I64,
    /// Entries of the mapping; -1 if there is no mapping, and not its size either.
    pub mapping_size: I32,
    /// The identity of the set, equal in all of its files; not 0.
    pub set_identity: U32,
    /// CRC-32C of META2 and the mapping, from start_of_varheader to the seal's table.
    pub meta2_crc: U32,
    /// As in [`SealTrailer`].
    pub chunks_crc: U32,
    /// As in [`SealTrailer`].
    pub set_number: I32,
    /// As in [`SealTrailer`].
    pub trailer_crc: U32,
    /// As in [`SealTrailer`].
    pub magic: [u8; 16],
}
spec_table!(SealTrailerV2 = 13 in "seal", 64,
    0: seal_version: I32,
    4: ntasks: I32,
    8: maxchunks: I32,
    12: meta1_crc: U32,
    16: start_of_varheader: I64,
    24: mapping_size: I32,
    28: set_identity: U32,
    32: meta2_crc: U32,
    36: chunks_crc: U32,
    40: set_number: I32,
    44: trailer_crc: U32,
    48: magic: [u8; 16],
);

impl SealTrailerV2 {
    /// Value of `seal_version`.
    pub const VERSION: i32 = 2;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::FieldId;

    #[test]
    fn rows_tile_each_table_without_a_gap() {
        for table in TABLES {
            let mut at = 0;
            for field in table.fields {
                assert_eq!(field.offset, at, "{}.{}", table.name, field.name);
                at += field.size;
            }
            assert_eq!(at, table.len, "{}", table.name);
        }
    }

    #[test]
    fn every_field_is_found_under_the_number_of_its_table() {
        for (number, table) in (0u8..).zip(TABLES) {
            for field in table.fields {
                let found = FieldId::new(number, field.offset).find(TABLES).unwrap();
                assert_eq!((found.0.name, found.1.name), (table.name, field.name));
            }
        }
        assert_eq!(Meta1::ntasks.find(TABLES).unwrap().1.name, "ntasks");
        assert_eq!(RecordHeader::len.find(TABLES).unwrap().0.name, "RecordHeader");
        assert_eq!(Meta1V2::nfiles.find(TABLES).unwrap().0.name, "Meta1V2");
    }
}
