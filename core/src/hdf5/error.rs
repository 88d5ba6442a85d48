//! Errors of HDF5 files.

use super::raw::TABLES;
use crate::error::errors;
use crate::field::{At, FieldId};
use crate::source::Fault;
use crate::step::DriveError;
use crate::words::words;

words! {
    /// A part of HDF5 that striae does not read.
    #[non_exhaustive]
    pub enum Feature;
    /// A version of the superblock other than 0, 2 and 3.
    Superblock => "this version of the superblock";
    /// Addresses or lengths of other than 8 bytes.
    AddressSize => "addresses or lengths that are not of 8 bytes";
    /// A file inside another one.
    BaseAddress => "a file inside another file (base address)";
    /// A version of an object header other than 1 and 2.
    Header => "this version of the object header";
    /// More than [`super::read::object::PENDING`] continuations at once.
    Continuations => "an object header with so many continuations";
    /// A message that is stored in another object.
    Shared => "shared messages";
    /// A group whose links are in a fractal heap.
    DenseLinks => "dense links (a fractal heap)";
    /// A version of a link other than 1, or one that is not hard.
    LinkKind => "links that are not hard links";
    /// Attributes in a fractal heap.
    DenseAttributes => "dense attributes (a fractal heap)";
    /// A version of an attribute that striae does not know.
    AttributeVersion => "this version of an attribute";
    /// A version of a dataspace that striae does not know.
    Dataspace => "this version of the dataspace";
    /// A version of a layout other than 3 and 4.
    LayoutVersion => "this version of the layout";
    /// Values in the object header.
    Compact => "the compact layout";
    /// Values in chunks.
    Chunked => "the chunked layout";
    /// Values of other datasets.
    Virtual => "the virtual layout";
    /// Filters, for instance compression.
    Filters => "filters";
    /// Values in other files.
    External => "external files";
    /// Values without a place in the file.
    NotAllocated => "a dataset whose values have no place in the file";
}

words! {
    /// A part of a dataset.
    pub enum Part;
    /// The dataspace.
    Dataspace => "dataspace";
    /// The datatype.
    Datatype => "datatype";
    /// The layout.
    Layout => "layout";
}

errors! {
    /// Why an HDF5 file cannot be read.
    ///
    /// The text names the field, its offset in the file in bytes, the value found, and the right
    /// values.
    pub enum Error;

    /// The file does not start like an HDF5 file.
    file NotHdf5 {
        /// The first 8 bytes.
        magic: [u8; 8],
    } => "the file starts with \"{}\", not as an HDF5 file", magic.escape_ascii();

    /// The file has a part that striae does not read.
    file Unsupported {
        /// The part.
        feature: Feature,
        offset: u64,
    } => "HDF5: striae does not read {feature}, found at offset {offset}";

    /// A structure has the wrong signature.
    file Signature { offset: u64, found: [u8; 4], expected: [u8; 4] } =>
        "the signature at offset {offset} is \"{}\", must be \"{}\"",
        found.escape_ascii(), expected.escape_ascii();

    /// A checksum is wrong.
    file Checksum { offset: u64, stored: u32, computed: u32 } =>
        "the checksum at offset {offset} is {stored:#010x}, must be {computed:#010x}";

    /// A field has a wrong value.
    file Value { field: FieldId, offset: u64, value: u64 } =>
        "{} is {value}, which is wrong", At(TABLES, field, offset);

    /// The file ends before the end of these data.
    file OutOfFile {
        offset: u64,
        /// The end of the data; `u64::MAX` also if it is larger.
        end: u64,
        file_len: u64,
    } => "data from offset {offset} to {end} are cut, the file ends at {file_len}";

    /// Structures have together more bytes than the file, or than 64 MiB: they lead back to each
    /// other, or names are shared.
    file Ring {
        /// Where the structure is with which they have too many.
        offset: u64,
    } => "with the structure at offset {offset} there are more bytes of structures than of the \
         file, or than 64 MiB: they lead back to each other, or share names";

    /// A dataset lacks a part.
    file Missing {
        offset: u64,
        /// The part.
        part: Part,
    } => "the dataset at offset {offset} has no {part}";

    /// The layout has not as many bytes as dataspace and datatype need.
    file Size {
        /// Where the dataset or attribute is.
        offset: u64,
        /// The bytes of the layout.
        stored: u64,
        /// The bytes of all values; `u64::MAX` also if they are more.
        computed: u64,
    } => "the array at offset {offset} has {stored} bytes, must have {computed} bytes";
}

const _: () = assert!(size_of::<Error>() <= 32);

impl From<Error> for Fault<Error> {
    fn from(error: Error) -> Self {
        Self::Format(error)
    }
}

/// Why reading from a store `S` failed: the store, the file or the caller's memory.
pub type ReadError<S> = DriveError<<S as crate::store::ReadAt>::Error, Fault<Error>>;

/// Why reading from an asynchronous store `S` failed.
#[cfg(feature = "async")]
pub type AsyncError<S> = DriveError<<S as crate::store::AsyncReadAt>::Error, Fault<Error>>;

/// The result of reading a part of a file.
pub(crate) type Result<T> = core::result::Result<T, Fault<Error>>;
