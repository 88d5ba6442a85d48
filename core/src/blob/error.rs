//! Errors of blob files, and of requests to them.

use super::names::{Name, Part};
use super::raw::TABLES;
use crate::error::errors;
use crate::field::FieldId;
use core::fmt;
use core::num::NonZeroU32;

errors! {
    /// Why a subfile cannot be read, or why a request is wrong.
    pub enum Error;

    /// A number of a blob is less than 0.
    file Negative {
        id: NonZeroU32,
        /// Which number.
        part: Part,
        blob: u32,
        value: i64,
    } => "{} is {value}, must be at least 0", Of(id, part, blob);

    /// A number of a blob is too large.
    file TooLarge {
        id: NonZeroU32,
        /// Which number.
        part: Part,
        blob: u32,
        value: u64,
        max: u64,
    } => "{} is {value}, must be at most {max}", Of(id, part, blob);

    /// A number of a blob contradicts the others.
    file Differs {
        id: NonZeroU32,
        /// Which number.
        part: Part,
        blob: u32,
        value: u64,
        expected: u64,
    } => "{} is {value}, must be {expected}", Of(id, part, blob);

    /// The elements of all blobs are not as many as the header says.
    file Elements {
        id: NonZeroU32,
        /// The number of elements of all blobs.
        found: u64,
        /// The number that the header has.
        nelems: u64,
    } =>
        "{} is {nelems}, the blobs have {found} elements", Name::Of { id, part: Part::Nelems };

    /// The blobs end before or after the end of the data.
    file Blobs {
        /// The bytes of the blobs.
        found: u64,
        /// The bytes of the data.
        data_len: u64,
    } => "the blobs have {found} bytes, the data have {data_len}";

    /// The data end inside a blob.
    file Cut {
        blob: u32,
        /// The end of the blob, or of the part of it that was needed.
        end: u64,
        /// The end of the data.
        data_end: u64,
    } => "blob {blob} is cut: it needs bytes up to {end}, the data end at {data_end}";

    /// A blob is larger than any file.
    file Size { blob: u32 } => "blob {blob} is larger than any file";

    /// Bytes are not those that were sealed, or the seal itself is damaged.
    file Checksum {
        /// Which checksum of the seal.
        field: FieldId,
        offset: u64,
        stored: u32,
        computed: u32,
    } => "{} at offset {offset} is {stored:#010x}, the bytes have {computed:#010x}", In(field);

    /// A number in the seal is not that of the file.
    file Sealed {
        /// Which number.
        field: FieldId,
        offset: u64,
        /// The value in the seal.
        value: u64,
        /// The value of the file.
        expected: u64,
    } => "{} at offset {offset} is {value}, must be {expected}", In(field);

    /// A seal says that it has more rows than there is room for.
    file SealedRows {
        /// The number of blobs.
        field: FieldId,
        offset: u64,
        /// The number of blobs of each variable in the seal.
        nblobs: u32,
        /// The number of variables in the seal.
        nvars: u32,
        /// Bytes from the end of the header to the first value.
        gap: u64,
    } =>
        "{} at offset {offset} is {nblobs}; the {gap} bytes between header and values have no room \
         for seals of {nblobs} blobs of {nvars} variables", In(field);

    /// A blob of a variable is not as it was sealed.
    file NotAsSealed {
        /// The number of the variable in the header.
        variable: u32,
        blob: u32,
        stored: u32,
        computed: u32,
    } =>
        "blob {blob} of variable {variable} is not as sealed: its bytes have {computed:#010x}, the \
         seal has {stored:#010x}";

    /// A subfile has no blob.
    caller NoBlobs => "a subfile must have at least one blob";

    /// A variable does not have the dimensions of its decomposition.
    caller Partition {
        /// The number of the canonical variable.
        varid: u64,
    } => "variable {varid} does not have the dimensions of its decomposition";

    /// An attribute of the canonical file has a name by which readers tell subfiles from it: its
    /// value would be lost, or the set could not be read.
    caller Reserved {
        name: &'static str,
        /// The number of the canonical variable; `None` for an attribute of the file.
        varid: Option<u32>,
    } => "{} has the attribute {name}, which only subfiles may have", Owner(varid);

    /// Memory for a table is too short.
    capacity Memory {
        /// The number of entries that are needed.
        need: u64,
        /// The number of entries that fit.
        room: u64,
    } => "{need} entries are too many, there is memory for {room}";
}

const _: () = assert!(size_of::<Error>() <= 32);

/// A number of a blob in error texts: `D1.nreqs of blob 3`.
struct Of(NonZeroU32, Part, u32);

impl fmt::Display for Of {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(id, part, blob) = *self;
        write!(f, "{} of blob {blob}", Name::Of { id, part })
    }
}

/// A field of a seal in error texts: `seal.numrecs`.
struct In(FieldId);

impl fmt::Display for In {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.find(TABLES) {
            Some((table, field)) => write!(f, "{}.{}", table.part, field.name),
            None => f.write_str("seal"),
        }
    }
}

/// What has an attribute, in words.
struct Owner(Option<u32>);

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(varid) => write!(f, "variable {varid}"),
            None => f.write_str("the file"),
        }
    }
}
