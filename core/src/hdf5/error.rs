//! Errors of HDF5 files.

use super::raw::TABLES;
use crate::error::errors;
use crate::field::{At, FieldId};
use crate::source::Fault;
use core::fmt;

/// A part of HDF5 that striae does not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Feature {
    /// A version of the superblock other than 0, 2 and 3.
    Superblock,
    /// Addresses or lengths of other than 8 bytes.
    AddressSize,
    /// A file inside another one.
    BaseAddress,
    /// A version of an object header other than 1 and 2.
    Header,
    /// More than [`super::read::object::PENDING`] continuations at once.
    Continuations,
    /// A message that is stored in another object.
    Shared,
    /// A group whose links are in a fractal heap.
    DenseLinks,
    /// A version of a link other than 1, or one that is not hard.
    LinkKind,
    /// Attributes in a fractal heap.
    DenseAttributes,
    /// A version of an attribute that striae does not know.
    AttributeVersion,
    /// A version of a dataspace that striae does not know.
    Dataspace,
    /// A version of a layout other than 3 and 4.
    LayoutVersion,
    /// Values in the object header.
    Compact,
    /// Values in chunks.
    Chunked,
    /// Values of other datasets.
    Virtual,
    /// Filters, for instance compression.
    Filters,
    /// Values in other files.
    External,
    /// Values without a place in the file.
    NotAllocated,
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Superblock => "this version of the superblock",
            Self::AddressSize => "addresses or lengths that are not of 8 bytes",
            Self::BaseAddress => "a file inside another file (base address)",
            Self::Header => "this version of the object header",
            Self::Continuations => "an object header with so many continuations",
            Self::Shared => "shared messages",
            Self::DenseLinks => "dense links (a fractal heap)",
            Self::LinkKind => "links that are not hard links",
            Self::DenseAttributes => "dense attributes (a fractal heap)",
            Self::AttributeVersion => "this version of an attribute",
            Self::Dataspace => "this version of the dataspace",
            Self::LayoutVersion => "this version of the layout",
            Self::Compact => "the compact layout",
            Self::Chunked => "the chunked layout",
            Self::Virtual => "the virtual layout",
            Self::Filters => "filters",
            Self::External => "external files",
            Self::NotAllocated => "a dataset whose values have no place in the file",
        })
    }
}

/// A part of a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Part {
    /// The dataspace.
    Dataspace,
    /// The datatype.
    Datatype,
    /// The layout.
    Layout,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Dataspace => "dataspace",
            Self::Datatype => "datatype",
            Self::Layout => "layout",
        })
    }
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
    file Signature {
        offset: u64,
        /// The signature found.
        found: [u8; 4],
        /// The right signature.
        expected: [u8; 4],
    } =>
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
        /// The start of the data.
        offset: u64,
        /// The end of the data; `u64::MAX` also if it is larger.
        end: u64,
        file_len: u64,
    } => "data from offset {offset} to {end} are cut, the file ends at {file_len}";

    /// Structures lead back to each other.
    file Ring {
        /// Where a structure is that was met before.
        offset: u64,
    } => "the structure at offset {offset} leads back to an earlier one";

    /// A dataset lacks a part.
    file Missing {
        /// Where the dataset is.
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
