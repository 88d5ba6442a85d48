//! Errors of ffrecord files, and of requests to them.

use super::raw::{Header, TABLES};
use crate::field::FieldId;
use core::fmt;

/// Why an ffrecord file cannot be read or written, or why a request is wrong.
///
/// The text names the field, its offset in the file in bytes, the value found, and the right
/// values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Error {
    /// The file: it ends inside the header.
    Cut {
        /// The length of the file in bytes.
        file_len: u64,
    },
    /// The file: a value is less than the smallest right value.
    TooSmall {
        /// The field.
        field: FieldId,
        /// Where it is.
        offset: u64,
        /// The value found.
        value: i64,
        /// The smallest right value.
        min: i64,
    },
    /// The file: a value is larger than the file allows.
    TooLarge {
        /// The field.
        field: FieldId,
        /// Where it is.
        offset: u64,
        /// The value found.
        value: i64,
        /// The largest right value.
        max: i64,
    },
    /// The file: bytes do not match their checksum.
    Checksum {
        /// The checksum's field.
        field: FieldId,
        /// Where it is.
        offset: u64,
        /// The checksum in the file.
        stored: u32,
        /// The checksum of the bytes as they are now.
        computed: u32,
    },
    /// The caller: there is no such sample.
    NoSample {
        /// The number of the sample.
        number: u64,
        /// The number of samples in the file.
        n: u64,
    },
    /// The caller: there are more samples than a file can have, or than were announced.
    TooManySamples {
        /// The number of samples.
        n: u64,
        /// The largest right number.
        max: u64,
    },
    /// The caller: there are fewer samples than were announced.
    TooFewSamples {
        /// The number of samples.
        n: u64,
        /// The number that was announced.
        want: u64,
    },
    /// The caller: bytes have no place in the file, as their offset would be too large.
    FileFull {
        /// The end of the file.
        file_len: u64,
        /// The number of bytes to add.
        len: u64,
    },
}

const _: () = assert!(size_of::<Error>() <= 32);

impl Error {
    /// Whether the caller is to blame and not the file.
    #[must_use]
    pub const fn blames_caller(&self) -> bool {
        matches!(
            self,
            Self::NoSample { .. }
                | Self::TooManySamples { .. }
                | Self::TooFewSamples { .. }
                | Self::FileFull { .. }
        )
    }
}

/// The name of a field in error texts: `header.n at offset 4`.
struct At(FieldId, u64);

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.find(TABLES) {
            Some((table, field)) => write!(f, "{}.{}", table.part, field.name)?,
            None => f.write_str("a field")?,
        }
        write!(f, " at offset {}", self.1)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Cut { file_len } => {
                write!(f, "the header needs {} bytes, but the file ends at {file_len}", {
                    Header::TABLE.len
                })
            }
            Self::TooSmall { field, offset, value, min } => {
                write!(f, "{} is {value}, must be at least {min}", At(field, offset))
            }
            Self::TooLarge { field, offset, value, max } => {
                write!(f, "{} is {value}, must be at most {max}", At(field, offset))
            }
            Self::Checksum { field, offset, stored, computed } => write!(
                f,
                "{} is {stored:#010x}, but the bytes that it covers have {computed:#010x}",
                At(field, offset)
            ),
            Self::NoSample { number, n } => match n.checked_sub(1) {
                None => write!(f, "there is no sample {number}, the file has none"),
                Some(last) => write!(f, "there is no sample {number}, samples are 0 to {last}"),
            },
            Self::TooManySamples { n, max } => {
                write!(f, "{n} samples are too many, must be at most {max}")
            }
            Self::TooFewSamples { n, want } => {
                write!(f, "{n} samples are too few, must be {want} as announced")
            }
            Self::FileFull { file_len, len } => {
                write!(f, "{len} bytes have no place behind the {file_len} that the file has")
            }
        }
    }
}

impl core::error::Error for Error {}
