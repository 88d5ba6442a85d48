//! Errors of ffrecord files, and of requests to them.

use super::raw::{Header, TABLES};
use crate::error::errors;
use crate::field::{At, FieldId};
use crate::step::DriveError;

errors! {
    /// Why an ffrecord file cannot be read or written, or why a request is wrong.
    ///
    /// The text names the field, its offset in the file in bytes, the value found, and the right
    /// values.
    pub enum Error;

    /// The file ends inside the header.
    file Cut { file_len: u64 } =>
        "the header needs {} bytes, but the file ends at {file_len}", Header::TABLE.len;

    /// A value is less than the smallest right value.
    file TooSmall { field: FieldId, offset: u64, value: i64, min: i64 } =>
        "{} is {value}, must be at least {min}", at(field, offset);

    /// A value is larger than the file allows.
    file TooLarge { field: FieldId, offset: u64, value: i64, max: i64 } =>
        "{} is {value}, must be at most {max}", at(field, offset);

    /// Bytes do not match their checksum.
    file Checksum { field: FieldId, offset: u64, stored: u32, computed: u32 } =>
        "{} is {stored:#010x}, but the bytes that it covers have {computed:#010x}",
        at(field, offset);

    /// There is no such sample.
    caller NoSample {
        /// The number of the sample.
        number: u64,
        /// The number of samples in the file.
        n: u64,
    } => |f| {
        match n.checked_sub(1) {
            None => write!(f, "there is no sample {number}, the file has none"),
            Some(last) => write!(f, "there is no sample {number}, samples are 0 to {last}"),
        }
    };

    /// There are more samples than a file can have, or than were announced.
    caller TooManySamples {
        /// The number of samples.
        n: u64,
        max: u64,
    } => "{n} samples are too many, must be at most {max}";

    /// There are fewer samples than were announced.
    caller TooFewSamples {
        /// The number of samples.
        n: u64,
        /// The number that was announced.
        want: u64,
    } => "{n} samples are too few, must be {want} as announced";

    /// Bytes have no place in the file, as their offset would be too large.
    caller FileFull {
        file_len: u64,
        /// The number of bytes to add.
        len: u64,
    } => "{len} bytes have no place behind the {file_len} that the file has";
}

const _: () = assert!(size_of::<Error>() <= 32);

/// A field with its place, as texts name it: `header.n at offset 4`.
const fn at(field: FieldId, offset: u64) -> At {
    At(TABLES, field, offset)
}

/// Why reading from a store `S` failed: the store, the file or the caller's buffer.
pub type ReadError<S> = DriveError<<S as crate::store::ReadAt>::Error, Error>;

/// Why reading from an asynchronous store `S` failed.
#[cfg(feature = "async")]
pub type AsyncError<S> = DriveError<<S as crate::store::AsyncReadAt>::Error, Error>;
