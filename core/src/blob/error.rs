//! Errors of blob files, and of requests to them.

use super::names::{Name, Part};
use super::raw::TABLES;
use crate::field::FieldId;
use core::fmt;
use core::num::NonZeroU32;

/// Why a subfile cannot be read, or why a request is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Error {
    /// The file: a number of a blob is less than 0.
    Negative {
        /// The decomposition, from 1.
        id: NonZeroU32,
        /// Which number.
        part: Part,
        /// The blob, from 0.
        blob: u32,
        /// The value found.
        value: i64,
    },
    /// The file: a number of a blob is too large.
    TooLarge {
        /// The decomposition, from 1.
        id: NonZeroU32,
        /// Which number.
        part: Part,
        /// The blob, from 0.
        blob: u32,
        /// The value found.
        value: u64,
        /// The largest right value.
        max: u64,
    },
    /// The file: a number of a blob contradicts the others.
    Differs {
        /// The decomposition, from 1.
        id: NonZeroU32,
        /// Which number.
        part: Part,
        /// The blob, from 0.
        blob: u32,
        /// The value found.
        value: u64,
        /// The right value.
        expected: u64,
    },
    /// The file: the elements of all blobs are not as many as the header says.
    Elements {
        /// The decomposition, from 1.
        id: NonZeroU32,
        /// The number of elements of all blobs.
        found: u64,
        /// The number that the header has.
        nelems: u64,
    },
    /// The file: the blobs end before or after the end of the data.
    Blobs {
        /// The bytes of the blobs.
        found: u64,
        /// The bytes of the data.
        data_len: u64,
    },
    /// The file: the data end inside a blob.
    Cut {
        /// The blob, from 0.
        blob: u32,
        /// The end of the blob, or of the part of it that was needed.
        end: u64,
        /// The end of the data.
        data_end: u64,
    },
    /// The file: a blob is larger than any file.
    Size {
        /// The blob, from 0.
        blob: u32,
    },
    /// The file: bytes are not those that were sealed, or the seal itself is damaged.
    Checksum {
        /// Which checksum of the seal.
        field: FieldId,
        /// The offset of the checksum.
        offset: u64,
        /// The checksum found.
        stored: u32,
        /// The checksum of the bytes in the file.
        computed: u32,
    },
    /// The file: a number in the seal is not that of the file.
    Sealed {
        /// Which number.
        field: FieldId,
        /// Its offset.
        offset: u64,
        /// The value in the seal.
        value: u64,
        /// The value of the file.
        expected: u64,
    },
    /// The file: a blob of a variable is not as it was sealed.
    NotAsSealed {
        /// The number of the variable in the header.
        variable: u32,
        /// The blob, from 0.
        blob: u32,
        /// The checksum in the seal.
        stored: u32,
        /// The checksum of the blob's bytes.
        computed: u32,
    },
    /// The caller: a subfile has no blob.
    NoBlobs,
    /// The caller: a variable does not have the dimensions of its decomposition.
    Partition {
        /// The number of the canonical variable.
        varid: u64,
    },
    /// The caller: memory for a table is too short.
    Memory {
        /// The number of entries that are needed.
        need: u64,
        /// The number of entries that fit.
        room: u64,
    },
}

const _: () = assert!(size_of::<Error>() <= 32);

impl Error {
    /// Whether the caller is to blame and not the file.
    #[must_use]
    pub const fn blames_caller(&self) -> bool {
        matches!(self, Self::Memory { .. } | Self::NoBlobs | Self::Partition { .. })
    }
}

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

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Negative { id, part, blob, value } => {
                write!(f, "{} is {value}, must be at least 0", Of(id, part, blob))
            }
            Self::TooLarge { id, part, blob, value, max } => {
                write!(f, "{} is {value}, must be at most {max}", Of(id, part, blob))
            }
            Self::Differs { id, part, blob, value, expected } => {
                write!(f, "{} is {value}, must be {expected}", Of(id, part, blob))
            }
            Self::Elements { id, found, nelems } => {
                let name = Name::Of { id, part: Part::Nelems };
                write!(f, "{name} is {nelems}, the blobs have {found} elements")
            }
            Self::Blobs { found, data_len } => {
                write!(f, "the blobs have {found} bytes, the data have {data_len}")
            }
            Self::Cut { blob, end, data_end } => {
                write!(
                    f,
                    "blob {blob} is cut: it needs bytes up to {end}, the data end at {data_end}"
                )
            }
            Self::Size { blob } => write!(f, "blob {blob} is larger than any file"),
            Self::Checksum { field, offset, stored, computed } => write!(
                f,
                "{} at offset {offset} is {stored:#010x}, the bytes have {computed:#010x}",
                In(field)
            ),
            Self::Sealed { field, offset, value, expected } => {
                write!(f, "{} at offset {offset} is {value}, must be {expected}", In(field))
            }
            Self::NotAsSealed { variable, blob, stored, computed } => write!(
                f,
                "blob {blob} of variable {variable} is not as sealed: its bytes have \
                 {computed:#010x}, the seal has {stored:#010x}"
            ),
            Self::NoBlobs => f.write_str("a subfile must have at least one blob"),
            Self::Partition { varid } => {
                write!(f, "variable {varid} does not have the dimensions of its decomposition")
            }
            Self::Memory { need, room } => {
                write!(f, "{need} entries are too many, there is memory for {room}")
            }
        }
    }
}

impl core::error::Error for Error {}
