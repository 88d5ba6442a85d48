//! Errors of HDF5 files.

use super::raw::TABLES;
use crate::field::FieldId;
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
    /// More than [`super::object::PENDING`] continuations at once.
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

/// Why an HDF5 file cannot be read.
///
/// The text names the field, its offset in the file in bytes, the value found, and the right
/// values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Error {
    /// The file: it does not start like an HDF5 file.
    NotHdf5 {
        /// The first 8 bytes.
        magic: [u8; 8],
    },
    /// The file has a part that striae does not read.
    Unsupported {
        /// The part.
        feature: Feature,
        /// Where the part is.
        offset: u64,
    },
    /// The file: a structure has the wrong signature.
    Signature {
        /// Where the signature is.
        offset: u64,
        /// The signature found.
        found: [u8; 4],
        /// The right signature.
        expected: [u8; 4],
    },
    /// The file: a checksum is wrong.
    Checksum {
        /// Where the checksum is.
        offset: u64,
        /// The checksum found.
        stored: u32,
        /// The checksum of the bytes.
        computed: u32,
    },
    /// The file: a field has a wrong value.
    Value {
        /// The field.
        field: FieldId,
        /// Where it is.
        offset: u64,
        /// The value found.
        value: u64,
    },
    /// The file: it ends before the end of these data.
    OutOfFile {
        /// The start of the data.
        offset: u64,
        /// The end of the data; `u64::MAX` also if it is larger.
        end: u64,
        /// The length of the file in bytes.
        file_len: u64,
    },
    /// The file: structures lead back to each other.
    Ring {
        /// Where a structure is that was met before.
        offset: u64,
    },
    /// The file: a dataset lacks a part.
    Missing {
        /// Where the dataset is.
        offset: u64,
        /// The part.
        part: Part,
    },
    /// The file: the layout has not as many bytes as dataspace and datatype need.
    Size {
        /// Where the dataset or attribute is.
        offset: u64,
        /// The bytes of the layout.
        stored: u64,
        /// The bytes of all values; `u64::MAX` also if they are more.
        computed: u64,
    },
}

const _: () = assert!(size_of::<Error>() <= 32);

impl From<Error> for Fault<Error> {
    fn from(error: Error) -> Self {
        Self::Format(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NotHdf5 { magic } => {
                write!(f, "the file starts with \"{}\", not as an HDF5 file", magic.escape_ascii())
            }
            Self::Unsupported { feature, offset } => {
                write!(f, "HDF5: striae does not read {feature}, found at offset {offset}")
            }
            Self::Signature { offset, found, expected } => write!(
                f,
                "the signature at offset {offset} is \"{}\", must be \"{}\"",
                found.escape_ascii(),
                expected.escape_ascii(),
            ),
            Self::Checksum { offset, stored, computed } => write!(
                f,
                "the checksum at offset {offset} is {stored:#010x}, must be {computed:#010x}"
            ),
            Self::Value { field, offset, value } => {
                match field.find(TABLES) {
                    Some((table, field)) => write!(f, "{}.{}", table.part, field.name)?,
                    None => f.write_str("a field")?,
                }
                write!(f, " at offset {offset} is {value}, which is wrong")
            }
            Self::OutOfFile { offset, end, file_len } => {
                write!(f, "data from offset {offset} to {end} are cut, the file ends at {file_len}")
            }
            Self::Ring { offset } => {
                write!(f, "the structure at offset {offset} leads back to an earlier one")
            }
            Self::Missing { offset, part } => {
                let part = match part {
                    Part::Dataspace => "dataspace",
                    Part::Datatype => "datatype",
                    Part::Layout => "layout",
                };
                write!(f, "the dataset at offset {offset} has no {part}")
            }
            Self::Size { offset, stored, computed } => write!(
                f,
                "the array at offset {offset} has {stored} bytes, must have {computed} bytes"
            ),
        }
    }
}

impl core::error::Error for Error {}
