//! Errors of classic netCDF files, and of requests to them.

use super::kind::{ListKind, Type};
use super::raw::TABLES;
use crate::error::errors;
use crate::field::{At, FieldId};
use crate::step::DriveError;
use crate::store::{Swapped, usize_to_u64};
use crate::words::words;

words! {
    /// Why an item of a definition is wrong.
    #[non_exhaustive]
    pub enum Flaw;
    /// The name is empty, longer than 256 bytes, or has a character that netCDF refuses.
    Name => "its name is empty, too long, or has a wrong character";
    /// An item before it in the list has this name.
    SameName => "an item before it has its name";
    /// A dimension has length 0, as one before it: only the record dimension may have it.
    SecondRecordDim => "its length is 0, as that of the record dimension";
    /// The record dimension is not the first of a variable.
    RecordDimNotFirst => "the record dimension is not its first";
    /// There is no dimension with this number.
    NoDim => "one of its dimensions does not exist";
    /// The version has no such type.
    NoType => "the version does not have its type";
    /// The bytes of an attribute are not whole values.
    Values => "its bytes are not whole values";
    /// The length or the number of items exceeds what the version can express.
    Length => "its length is too large for the version";
    /// The variable, or its place, exceeds what the version can express.
    Size => "it is too large, or too far from the start, for the version";
    /// The definition has changed since it was checked.
    Changed => "the definition has changed since it was checked";
}

errors! {
    /// Why a classic netCDF file cannot be read or written, or why a request is wrong.
    ///
    /// The text names the field, its offset in the file in bytes, the value found, and the right
    /// values.
    pub enum Error;

    /// The file does not start like a classic netCDF file.
    file NotCdf {
        /// The first 4 bytes.
        magic: [u8; 4],
    } => "the file starts with \"{}\", not as a netCDF file", magic.escape_ascii();

    /// The file ends inside the header.
    file Cut {
        /// The field that is cut.
        field: FieldId,
        /// Where it should be.
        offset: u64,
        file_len: u64,
    } => "{} is cut, the file ends at {file_len}", at(field, offset);

    /// A list has the wrong tag.
    file Tag {
        offset: u64,
        /// The tag found.
        tag: u32,
        /// The right tag; 0 is also right for a list without items.
        expected: u32,
    } => "list.tag at offset {offset} is {tag}, must be {expected}";

    /// The version of the file has no type with this number.
    file NoType {
        offset: u64,
        /// The type found.
        nc_type: u32,
    } => "nc_type at offset {offset} is {nc_type}, the version has no such type";

    /// A variable has a dimension that does not exist.
    file NoDim {
        offset: u64,
        /// The dimid found.
        dimid: u64,
        /// The number of dimensions.
        ndims: u64,
    } => "var.dimid at offset {offset} is {dimid}, there are {ndims} dimensions";

    /// A name is not UTF-8.
    file NotUtf8 {
        /// The offset of its first wrong byte.
        offset: u64,
    } => "the name at offset {offset} is not UTF-8";

    /// A value is less than the smallest right value.
    file TooSmall { field: FieldId, offset: u64, value: u64, min: u64 } =>
        "{} is {value}, must be at least {min}", at(field, offset);

    /// A value is larger than the largest right value.
    file TooLarge { field: FieldId, offset: u64, value: u64, max: u64 } =>
        "{} is {value}, must be at most {max}", at(field, offset);

    /// Two dimensions have length 0; only the record dimension may have it.
    file TwoRecordDims {
        /// The number of the first.
        first: u64,
        /// The number of the second.
        second: u64,
    } => "dimensions {first} and {second} both have length 0";

    /// The record dimension is not the first one of a variable.
    file RecordDimNotFirst {
        /// Number of the variable.
        varid: u64,
    } => "the record dimension is not the first of variable {varid}";

    /// A variable, or a record, is larger than any file.
    file Size {
        /// Where its values begin.
        begin: u64,
    } => "the variable whose values begin at {begin} is larger than any file";

    /// The file ends before the end of these data.
    file OutOfFile {
        offset: u64,
        /// The end of the data.
        end: u64,
        file_len: u64,
    } => "data from offset {offset} to {end} are cut, the file ends at {file_len}";

    /// An item of a definition is wrong.
    caller Define {
        /// The list of the item.
        list: ListKind,
        /// Number of the variable, for its attributes; else 0.
        varid: u64,
        /// Number of the item in the list.
        number: u64,
        /// The fault.
        flaw: Flaw,
    } => |f| {
        match list {
            ListKind::Dims => write!(f, "dimension {number}: {flaw}"),
            ListKind::Gatts => write!(f, "attribute {number} of the file: {flaw}"),
            ListKind::Vatts => write!(f, "attribute {number} of variable {varid}: {flaw}"),
            ListKind::Vars => write!(f, "variable {number}: {flaw}"),
        }
    };

    /// No file of this version has so many records.
    caller Records {
        /// The number of records.
        numrecs: u64,
        max: u64,
    } => "there cannot be {numrecs} records, at most {max}";

    /// After an error, the store does not have the file that is being written. Nothing is written
    /// to another medium; the writer goes on when its own one is back.
    caller Swapped => "the store does not have the file that is being written";

    /// The window is too short.
    capacity Window {
        /// The bytes of the window.
        len: u64,
        min: u64,
    } => "the window of {len} bytes is too small, must be at least {min} bytes";

    /// The memory for the variables is too short.
    capacity VarsMemory {
        /// The number of variables.
        nvars: u64,
        /// The number of variables that fit.
        room: u64,
    } => "{nvars} variables are too many, there is memory for {room}";

    /// There is no such variable.
    caller NoVar {
        /// Number of the variable.
        varid: u64,
        /// The number of variables.
        nvars: u64,
    } => "there is no variable {varid}, the file has {nvars}";

    /// The values have another type than the variable.
    caller Type {
        /// Number of the variable.
        varid: u64,
        /// The type of the variable.
        nc_type: Type,
        /// The type of the values.
        given: Type,
    } => "the values for variable {varid} are {given}, must be {nc_type}";

    /// The values have another number of bytes than the place for them.
    caller Count {
        /// Number of the variable.
        varid: u64,
        /// The right number of bytes.
        len: u64,
        /// The number of bytes given.
        given: u64,
    } => "the values for variable {varid} have {given} bytes, must have {len}";

    /// A region is not one of the variable.
    caller Shape {
        /// Number of the variable.
        varid: u64,
    } => "the region has another layout or shape than variable {varid}";

    /// The memory for the lengths of dimensions is too short.
    capacity DimsMemory {
        /// The number of dimensions.
        ndims: u64,
        /// The number of dimensions that fit.
        room: u64,
    } => "{ndims} dimensions are too many, there is memory for {room}";

    /// The number of dimensions is not that of the variable.
    caller Rank {
        /// The number of dimensions of the variable.
        ndims: u64,
        /// The number of dimensions given.
        given: u64,
    } => "{given} dimensions are given, the variable has {ndims}";

    /// An index exceeds the length of its dimension.
    caller OutOfShape {
        /// Number of the dimension among those of the variable.
        dim: u64,
        /// The last index of the request.
        last: u64,
        /// The length of the dimension.
        length: u64,
    } => "there is no index {last} in dimension {dim}, its length is {length}";

    /// A stride is 0.
    caller ZeroStride {
        /// Number of the dimension among those of the variable.
        dim: u64,
    } => "the stride in dimension {dim} is 0";
}

const _: () = assert!(size_of::<Error>() <= 32);

impl Error {
    /// The error of a window that is too short.
    pub(super) fn window(len: usize, min: usize) -> Self {
        Self::Window { len: usize_to_u64(len), min: usize_to_u64(min) }
    }
}

impl<S> From<Error> for DriveError<S, Error> {
    fn from(error: Error) -> Self {
        Self::Format(error)
    }
}

impl Swapped for Error {
    const SWAPPED: Self = Self::Swapped;
}

/// A field with its place, as texts name it: `list.nelems at offset 12`.
const fn at(field: FieldId, offset: u64) -> At {
    At(TABLES, field, offset)
}

/// Why reading from a store `S` failed: the store, the file or the caller's buffer.
pub type ReadError<S> = DriveError<<S as crate::store::ReadAt>::Error, Error>;

/// Why reading from an asynchronous store `S` failed.
#[cfg(feature = "async")]
pub type AsyncError<S> = DriveError<<S as crate::store::AsyncReadAt>::Error, Error>;
