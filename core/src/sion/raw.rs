//! The structures of a SIONlib file as stored, one for each table of `spec/sion.md`.
//!
//! Their integers have the byte order of META1, which is known when [`Ident`] has been read.

use crate::endian::{ByteOrder, I32, I64, U32, U64};
use crate::field::{Table, spec_table};

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

spec_table! {
    /// The start of META1 in every fileformat_version (`spec/sion.md#ident`).
    pub struct Ident = 0 in "META1", 20;
    /// Must be [`Ident::MAGIC`].
    0: pub magic: [u8; 4],
    /// Bit 0 of byte 0: order of the metadata, bit 0 of byte 1: order of the user's data; 1 is big.
    4: pub endianness: [u8; 4],
    /// Version of the library that wrote the file, 1000 * main + sub.
    8: pub version: I32,
    /// Patch level of that library.
    12: pub patchlevel: I32,
    /// Version of the file format, 2 to 5.
    16: pub fileformat_version: I32,
}

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

spec_table! {
    /// The fixed part of META1 since fileformat_version 3 (`spec/sion.md#meta1`).
    pub struct Meta1 = 1 in "META1", 1076;
    /// Magic, byte orders and versions.
    0: pub ident: Ident,
    /// Block size of the file system in bytes, as the writer saw it; chunks are aligned to it.
    20: pub fsblksize: I32,
    /// Tasks in this physical file.
    24: pub ntasks: I32,
    /// Physical files in the set.
    28: pub nfiles: I32,
    /// Number of this physical file; 1 in a file that was written serially.
    32: pub filenumber: I32,
    /// Mode of key-value records in the upper 32 bits, since fileformat_version 5.
    36: pub flag1: I64,
    /// Always 0.
    44: pub flag2: I64,
    /// Name of the set as it was given to open, padded by NULs.
    52: pub filenameprefix: [u8; 1024],
}

spec_table! {
    /// The fixed part of META1 in fileformat_version 2
    /// (`spec/sion.md#meta1-of-fileformat_version-2`).
    pub struct Meta1V2 = 2 in "META1", 1056;
    /// Magic, byte orders and versions.
    0: pub ident: Ident,
    /// Block size of the file system in bytes, as the writer saw it; chunks are aligned to it.
    20: pub fsblksize: I32,
    /// Tasks in this physical file.
    24: pub ntasks: I32,
    /// Physical files in the set.
    28: pub nfiles: I32,
    /// Name of the set as it was given to open, padded by NULs.
    32: pub filenameprefix: [u8; 1024],
}

spec_table! {
    /// An entry of the first task table, one for each task (`spec/sion.md#task-tables`).
    pub struct GlobalrankEntry = 3 in "META1", 8;
    /// Number that the writer gave the task; any value, not always unique.
    0: pub globalrank: I64,
}

spec_table! {
    /// An entry of the second task table, one for each task (`spec/sion.md#task-tables`).
    pub struct ChunksizeEntry = 4 in "META1", 8;
    /// Bytes of each chunk of the task; before fileformat_version 4 they are rounded up when read.
    0: pub chunksize: I64,
}

spec_table! {
    /// The end of META1, written when the file is closed (`spec/sion.md#commit-fields`).
    pub struct CommitFields = 5 in "META1", 12;
    /// Most chunks that any task used.
    0: pub maxchunks: I32,
    /// Offset of META2 in the file; 0 until the file is closed.
    4: pub start_of_varheader: I64,
}

spec_table! {
    /// An entry of the first table of META2, one for each task (`spec/sion.md#meta2`).
    pub struct BlockcountEntry = 6 in "META2", 8;
    /// Chunks that the task used, at least 1.
    0: pub blockcount: I64,
}

spec_table! {
    /// An entry of the second table of META2: `maxchunks` rows of one a task
    /// (`spec/sion.md#meta2`).
    pub struct BlocksizeEntry = 7 in "META2", 8;
    /// Bytes that the task used of this chunk; 0 or -1 if it did not use it.
    0: pub blocksize: I64,
}

spec_table! {
    /// The head of the mapping, in file 0 of a set (`spec/sion.md#mapping`).
    pub struct MappingSize = 8 in "mapping", 4;
    /// Entries that follow; 0 in a file that was written serially.
    0: pub mapping_size: I32,
}

spec_table! {
    /// An entry of the mapping: the place of a global rank (`spec/sion.md#mapping`).
    pub struct MappingEntry = 9 in "mapping", 8;
    /// Number of the physical file.
    0: pub filenumber: I32,
    /// Rank in that file.
    4: pub lrank: I32,
}

spec_table! {
    /// The header of each record in a key-value stream (`spec/sion.md#key-value`).
    pub struct RecordHeader = 10 in "record", 16;
    /// The key.
    0: pub key: U64,
    /// Bytes of the value.
    8: pub len: U64,
}

spec_table! {
    /// An entry of the seal's table: `maxchunks` rows with one entry for each task
    /// (`spec/sion.md#seal`).
    pub struct ChunkCrcEntry = 11 in "seal", 4;
    /// CRC-32C of the bytes that the task used of this chunk; 0 if it did not use it.
    0: pub crc: U32,
}

spec_table! {
    /// The end of a seal (`spec/sion.md#seal`).
    pub struct SealTrailer = 12 in "seal", 64;
    /// Version of the seal: 1, or 2 for [`SealTrailerV2`].
    0: pub seal_version: I32,
    /// Tasks in the physical file when it was sealed.
    4: pub ntasks: I32,
    /// `maxchunks` of META1 when it was sealed.
    8: pub maxchunks: I32,
    /// CRC-32C of META1, from the start of the file to the end of the commit fields.
    12: pub meta1_crc: U32,
    /// `start_of_varheader` of META1 when it was sealed.
    16: pub start_of_varheader: I64,
    /// Offset of the seal's table.
    24: pub start_of_seal: I64,
    /// CRC-32C of META2 and the mapping, from start_of_varheader to start_of_seal.
    32: pub meta2_crc: U32,
    /// CRC-32C of the seal's table.
    36: pub chunks_crc: U32,
    /// The number of the commit of the whole set, from 1; 0 if the file was committed by itself.
    40: pub set_number: I32,
    /// CRC-32C of the fields before this one.
    44: pub trailer_crc: U32,
    /// Must be [`SealTrailer::MAGIC`].
    48: pub magic: [u8; 16],
}

impl SealTrailer {
    /// Value of `magic`.
    pub const MAGIC: [u8; 16] = *b"striae SION seal";
    /// Value of `seal_version`.
    pub const VERSION: i32 = 1;
}

spec_table! {
    /// The end of a seal that says of which set its file is (`spec/sion.md#seal`): [`SealTrailer`],
    /// but for the 8 bytes of `start_of_seal`, which follows from the other fields.
    pub struct SealTrailerV2 = 13 in "seal", 64;
    /// Version of the seal: 2.
    0: pub seal_version: I32,
    /// As in [`SealTrailer`].
    4: pub ntasks: I32,
    /// As in [`SealTrailer`].
    8: pub maxchunks: I32,
    /// As in [`SealTrailer`].
    12: pub meta1_crc: U32,
    /// As in [`SealTrailer`].
    16: pub start_of_varheader: I64,
    /// Entries of the mapping; -1 if there is no mapping, and not its size either.
    24: pub mapping_size: I32,
    /// The identity of the set, equal in all of its files; not 0.
    28: pub set_identity: U32,
    /// CRC-32C of META2 and the mapping, from start_of_varheader to the seal's table.
    32: pub meta2_crc: U32,
    /// As in [`SealTrailer`].
    36: pub chunks_crc: U32,
    /// As in [`SealTrailer`].
    40: pub set_number: I32,
    /// As in [`SealTrailer`].
    44: pub trailer_crc: U32,
    /// As in [`SealTrailer`].
    48: pub magic: [u8; 16],
}

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
