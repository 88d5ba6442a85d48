//! Errors of classic netCDF files, and of requests to them.

use super::cursor::ListKind;
use super::kind::Type;
use super::raw::TABLES;
use crate::field::FieldId;
use crate::store::usize_to_u64;
use core::fmt;

/// Why an item of a definition is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Flaw {
    /// The name is empty, longer than 256 bytes, or has a character that netCDF refuses.
    Name,
    /// An item before it in the list has this name.
    SameName,
    /// A dimension has length 0, as one before it: only the record dimension may have it.
    SecondRecordDim,
    /// The record dimension is not the first of a variable.
    RecordDimNotFirst,
    /// There is no dimension with this number.
    NoDim,
    /// The version has no such type.
    NoType,
    /// The bytes of an attribute are not whole values.
    Values,
    /// The length or the number of items exceeds what the version can express.
    Length,
    /// The variable, or its place, exceeds what the version can express.
    Size,
    /// The definition has changed since it was checked.
    Changed,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Name => "its name is empty, too long, or has a wrong character",
            Self::SameName => "an item before it has its name",
            Self::SecondRecordDim => "its length is 0, as that of the record dimension",
            Self::RecordDimNotFirst => "the record dimension is not its first",
            Self::NoDim => "one of its dimensions does not exist",
            Self::NoType => "the version does not have its type",
            Self::Values => "its bytes are not whole values",
            Self::Length => "its length is too large for the version",
            Self::Size => "it is too large, or too far from the start, for the version",
            Self::Changed => "the definition has changed since it was checked",
        })
    }
}

/// Why a classic netCDF file cannot be read or written, or why a request is wrong.
///
/// The text names the field, its offset in the file in bytes, the value found, and the right
/// values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Error {
    /// The file: it does not start like a classic netCDF file.
    NotCdf {
        /// The first 4 bytes.
        magic: [u8; 4],
    },
    /// The file: it ends inside the header.
    Cut {
        /// The field that is cut.
        field: FieldId,
        /// Where it should be.
        offset: u64,
        /// The length of the file in bytes.
        file_len: u64,
    },
    /// The file: a list has the wrong tag.
    Tag {
        /// Where the tag is.
        offset: u64,
        /// The tag found.
        tag: u32,
        /// The right tag; 0 is also right for a list without items.
        expected: u32,
    },
    /// The file: its version has no type with this number.
    NoType {
        /// Where the type is.
        offset: u64,
        /// The type found.
        nc_type: u32,
    },
    /// The file: a variable has a dimension that does not exist.
    NoDim {
        /// Where the dimid is.
        offset: u64,
        /// The dimid found.
        dimid: u64,
        /// The number of dimensions.
        ndims: u64,
    },
    /// The file: a name is not UTF-8.
    NotUtf8 {
        /// The offset of its first wrong byte.
        offset: u64,
    },
    /// The file: a value is less than the smallest right value.
    TooSmall {
        /// The field.
        field: FieldId,
        /// Where it is.
        offset: u64,
        /// The value found.
        value: u64,
        /// The smallest right value.
        min: u64,
    },
    /// The file: a value is larger than the largest right value.
    TooLarge {
        /// The field.
        field: FieldId,
        /// Where it is.
        offset: u64,
        /// The value found.
        value: u64,
        /// The largest right value.
        max: u64,
    },
    /// The file: two dimensions have length 0; only the record dimension may have it.
    TwoRecordDims {
        /// The number of the first.
        first: u64,
        /// The number of the second.
        second: u64,
    },
    /// The file: the record dimension is not the first one of a variable.
    RecordDimNotFirst {
        /// Number of the variable.
        varid: u64,
    },
    /// The file: a variable, or a record, is larger than any file.
    Size {
        /// Where its values begin.
        begin: u64,
    },
    /// The file: it ends before the end of these data.
    OutOfFile {
        /// The start of the data.
        offset: u64,
        /// The end of the data.
        end: u64,
        /// The length of the file in bytes.
        file_len: u64,
    },
    /// The caller: an item of a definition is wrong.
    Define {
        /// The list of the item.
        list: ListKind,
        /// Number of the variable, for its attributes; else 0.
        varid: u64,
        /// Number of the item in the list.
        number: u64,
        /// The fault.
        flaw: Flaw,
    },
    /// The caller: no file of this version has so many records.
    Records {
        /// The number of records.
        numrecs: u64,
        /// The largest number.
        max: u64,
    },
    /// The caller: the window is too short.
    Window {
        /// The bytes of the window.
        len: u64,
        /// The fewest bytes.
        min: u64,
    },
    /// The caller: the memory for the variables is too short.
    VarsMemory {
        /// The number of variables.
        nvars: u64,
        /// The number of variables that fit.
        room: u64,
    },
    /// The caller: there is no such variable.
    NoVar {
        /// Number of the variable.
        varid: u64,
        /// The number of variables.
        nvars: u64,
    },
    /// The caller: the values have another type than the variable.
    Type {
        /// Number of the variable.
        varid: u64,
        /// The type of the variable.
        nc_type: Type,
        /// The type of the values.
        given: Type,
    },
    /// The caller: the values have another number of bytes than the place for them.
    Count {
        /// Number of the variable.
        varid: u64,
        /// The right number of bytes.
        len: u64,
        /// The number of bytes given.
        given: u64,
    },
    /// The caller: a region is not one of the variable.
    Shape {
        /// Number of the variable.
        varid: u64,
    },
    /// The caller: the memory for the lengths of dimensions is too short.
    DimsMemory {
        /// The number of dimensions.
        ndims: u64,
        /// The number of dimensions that fit.
        room: u64,
    },
    /// The caller: the number of dimensions is not that of the variable.
    Rank {
        /// The number of dimensions of the variable.
        ndims: u64,
        /// The number of dimensions given.
        given: u64,
    },
    /// The caller: an index exceeds the length of its dimension.
    OutOfShape {
        /// Number of the dimension among those of the variable.
        dim: u64,
        /// The last index of the request.
        last: u64,
        /// The length of the dimension.
        length: u64,
    },
    /// The caller: a stride is 0.
    ZeroStride {
        /// Number of the dimension among those of the variable.
        dim: u64,
    },
}

const _: () = assert!(size_of::<Error>() <= 32);

impl Error {
    /// The error of a window that is too short.
    pub(super) fn window(len: usize, min: usize) -> Self {
        Self::Window { len: usize_to_u64(len), min: usize_to_u64(min) }
    }

    /// The text of an error that only a writer makes.
    fn fmt_writing(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Define { list, varid, number, flaw } => match list {
                ListKind::Dims => write!(f, "dimension {number}: {flaw}"),
                ListKind::Gatts => write!(f, "attribute {number} of the file: {flaw}"),
                ListKind::Vatts => write!(f, "attribute {number} of variable {varid}: {flaw}"),
                ListKind::Vars => write!(f, "variable {number}: {flaw}"),
            },
            Self::Records { numrecs, max } => {
                write!(f, "there cannot be {numrecs} records, at most {max}")
            }
            Self::VarsMemory { nvars, room } => {
                write!(f, "{nvars} variables are too many, there is memory for {room}")
            }
            Self::NoVar { varid, nvars } => {
                write!(f, "there is no variable {varid}, the file has {nvars}")
            }
            Self::Type { varid, nc_type, given } => {
                write!(f, "the values for variable {varid} are {given}, must be {nc_type}")
            }
            Self::Count { varid, len, given } => {
                write!(f, "the values for variable {varid} have {given} bytes, must have {len}")
            }
            Self::Shape { varid } => {
                write!(f, "the region has another layout or shape than variable {varid}")
            }
            Self::Window { len, min } => {
                write!(f, "the window of {len} bytes is too small, must be at least {min} bytes")
            }
            _ => Ok(()), // `fmt` has the others
        }
    }

    /// Whether the caller is to blame and not the file.
    #[must_use]
    pub const fn blames_caller(&self) -> bool {
        matches!(
            self,
            Self::DimsMemory { .. }
                | Self::Rank { .. }
                | Self::OutOfShape { .. }
                | Self::ZeroStride { .. }
                | Self::Define { .. }
                | Self::Records { .. }
                | Self::VarsMemory { .. }
                | Self::NoVar { .. }
                | Self::Type { .. }
                | Self::Count { .. }
                | Self::Shape { .. }
                | Self::Window { .. }
        )
    }
}

/// The name of a field in error texts: `list.nelems at offset 12`.
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
            Self::NotCdf { magic } => {
                write!(f, "the file starts with \"{}\", not as a netCDF file", magic.escape_ascii())
            }
            Self::Cut { field, offset, file_len } => {
                write!(f, "{} is cut, the file ends at {file_len}", At(field, offset))
            }
            Self::Tag { offset, tag, expected } => {
                write!(f, "list.tag at offset {offset} is {tag}, must be {expected}")
            }
            Self::NoType { offset, nc_type } => {
                write!(f, "nc_type at offset {offset} is {nc_type}, the version has no such type")
            }
            Self::NoDim { offset, dimid, ndims } => {
                write!(f, "var.dimid at offset {offset} is {dimid}, there are {ndims} dimensions")
            }
            Self::NotUtf8 { offset } => write!(f, "the name at offset {offset} is not UTF-8"),
            Self::TooSmall { field, offset, value, min } => {
                write!(f, "{} is {value}, must be at least {min}", At(field, offset))
            }
            Self::TooLarge { field, offset, value, max } => {
                write!(f, "{} is {value}, must be at most {max}", At(field, offset))
            }
            Self::TwoRecordDims { first, second } => {
                write!(f, "dimensions {first} and {second} both have length 0")
            }
            Self::RecordDimNotFirst { varid } => {
                write!(f, "the record dimension is not the first of variable {varid}")
            }
            Self::Size { begin } => {
                write!(f, "the variable whose values begin at {begin} is larger than any file")
            }
            Self::OutOfFile { offset, end, file_len } => {
                write!(f, "data from offset {offset} to {end} are cut, the file ends at {file_len}")
            }
            Self::DimsMemory { ndims, room } => {
                write!(f, "{ndims} dimensions are too many, there is memory for {room}")
            }
            Self::Rank { ndims, given } => {
                write!(f, "{given} dimensions are given, the variable has {ndims}")
            }
            Self::OutOfShape { dim, last, length } => {
                write!(f, "there is no index {last} in dimension {dim}, its length is {length}")
            }
            Self::ZeroStride { dim } => write!(f, "the stride in dimension {dim} is 0"),
            _ => self.fmt_writing(f),
        }
    }
}

impl core::error::Error for Error {}
