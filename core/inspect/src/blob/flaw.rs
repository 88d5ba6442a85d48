//! [`Flaw`]: why a subfile, or a part of it, cannot be read.

use crate::finding::Count;
use alloc::boxed::Box;
use striae_core::blob::{Error, Name};
use striae_core::cdf;
use striae_core::hdf5;
use striae_core::source::{Fault, Miss};
use striae_core::step::DriveError;
use striae_core::texts;

texts! {
    /// Why a subfile of a blob set, or a part of it, cannot be read.
    #[derive(Debug, Clone, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum Flaw;

    /// The header, or the place of values, breaks the grammar of netCDF.
    Cdf(error: cdf::Error) => "{error}";
    /// The header, which is the dataset header_blob of an HDF5 file, breaks the grammar of netCDF.
    HeaderBlob {
        /// The offset of the dataset in the file.
        at: u64,
        /// The error; its offsets are from the start of the dataset.
        error: cdf::Error,
    } => "in header_blob, whose byte 0 is at offset {at} of the file: {error}";
    /// The dataset header_blob of an HDF5 file is longer than any header is.
    LongHeader {
        /// Its length.
        len: u64,
        /// The most bytes that are read.
        most: u64,
    } => "header_blob has {len} bytes, and at most {most} are read";
    /// The header of an HDF5 file does not say how many records there are, as that of a CDF-5 file
    /// need not, whose length says it.
    NoNumrecs => "numrecs in header_blob is that of a file of unknown length: it must be a number";
    /// The HDF5 container is damaged, or has a part that striae does not read.
    Hdf5(error: hdf5::Error) => |f| {
        match error {
            hdf5::Error::Unsupported { .. } => write!(f, "{error}; {ONLY}"),
            error => error.fmt(f),
        }
    };
    /// The blobs are damaged.
    Format(error: Error) => "{error}";
    /// The file ends before bytes that it must have.
    Cut {
        /// The end of the bytes that are needed.
        end: u64,
        file_len: u64,
    } => "the file is cut: it ends at offset {file_len}, and has bytes up to {end} by its tables";
    /// The file is an HDF5 file without one of the two datasets.
    NoDataset { name: &'static str } => "is an HDF5 file without a dataset {name}; {ONLY}";
    /// The header does not have this attribute.
    NoAttribute { name: &'static str } => "has no attribute {name}";
    /// An attribute of the file does not have the value that it must have.
    Attribute { name: &'static str } => "the attribute {name} has a wrong value";
    /// The header does not have this dimension.
    NoDimension { name: Name } => "has no dimension {name}";
    /// The header does not have this variable, which describes a decomposition.
    NoMap { name: Name } => "has no variable {name}";
    /// A variable that describes a decomposition has a type without integers.
    MapType { name: Name } => "variable {name} is not of type int or int64";
    /// The variables that describe the decompositions are not in the order that the HDF5 container
    /// must have.
    Order => "the variables of the decompositions are out of order";
    /// Two dimensions have length 0.
    TwoRecordDims { name: Box<str> }
        => "dimension {} is a second one of length 0", name.escape_debug();
    /// The values of a variable are more than a file can have.
    Size { name: Box<str> } => "variable {} is larger than any file", name.escape_debug();
    /// A variable does not have the dimensions that it must have.
    Shape { name: Box<str> } => "variable {} has wrong dimensions", name.escape_debug();
    /// The attribute `global_dimids` of a variable is not there or is wrong.
    Dimids { name: Box<str> } => "variable {}: wrong attribute global_dimids", name.escape_debug();
    /// The attribute `decomposition_ID` of a variable is no decomposition.
    DecompositionId { name: Box<str> }
        => "variable {}: wrong attribute decomposition_ID", name.escape_debug();
    /// A blob of a variable is not as it was sealed.
    NotAsSealed { name: Box<str>, blob: u32, stored: u32, computed: u32 }
        => "variable {}: blob {blob} is not as sealed: its bytes have {computed:#010x}, the seal \
         has {stored:#010x}",
        name.escape_debug();
    /// The subfile does not have what the other subfiles have: it belongs to another set.
    OtherSet {
        /// What differs.
        what: &'static str,
    } => "belongs to another set: its {what} are not those of the other subfiles";
    /// The subfile was sealed as another one of its set.
    OtherPlace {
        /// The number that it was sealed with.
        number: u32,
        /// The number of subfiles of its set.
        nsubfiles: u32,
    } => "was sealed as subfile {number} of {nsubfiles}";
    /// The subfile was sealed before the other ones were: they have more records.
    Older {
        /// How many records it lacks.
        by: u64,
    } => "is older than the other subfiles: it was sealed with {} less", Count(*by, "record");
    /// The subfile has no seal, and other ones have: nothing ties it to the set. Its values count.
    NoSeal => "has no seal, but other subfiles have: it may be of another set";
}

impl Flaw {
    /// Whether the caller is to blame and not the file.
    #[must_use]
    pub const fn blames_caller(&self) -> bool {
        match self {
            // A definition or a region that is wrong was made of the numbers and names of the file.
            Self::Cdf(_) => false,
            Self::Format(error) => error.blames_caller(),
            _ => false,
        }
    }

    pub(super) fn of_cdf<E>(error: DriveError<E, cdf::Error>) -> DriveError<E, Self> {
        error.map_format(Self::Cdf)
    }

    pub(super) fn of_blob<E>(error: DriveError<E, Error>) -> DriveError<E, Self> {
        error.map_format(Self::Format)
    }

    /// An error of reading a header that is in memory, and at this offset in an HDF5 file.
    pub(super) fn of_header_blob<E, M>(error: DriveError<M, Self>, at: u64) -> DriveError<E, Self> {
        match error {
            DriveError::Format(Self::Cdf(error)) => {
                DriveError::Format(Self::HeaderBlob { at, error })
            }
            DriveError::Format(flaw) => DriveError::Format(flaw),
            DriveError::BufferTooSmall { need } => DriveError::BufferTooSmall { need },
            DriveError::Ended { offset } => DriveError::Ended { offset: at.saturating_add(offset) },
            _ => DriveError::Ended { offset: at }, // memory has no other errors
        }
    }

    /// An error of reading a container of `file_len` bytes.
    pub(super) fn of_hdf5<E>(
        error: DriveError<E, Fault<hdf5::Error>>,
        file_len: u64,
    ) -> DriveError<E, Self> {
        error.map_format(|fault| match fault {
            Fault::Format(error) => Self::Hdf5(error),
            Fault::Miss(Miss::Ended { offset, len }) => {
                Self::Cut { end: offset.saturating_add(len), file_len }
            }
            Fault::Miss(_) => Self::Cut { end: u64::MAX, file_len }, // the memory is enough
        })
    }
}

/// What to expect of other HDF5 files, as those of netCDF-4.
const ONLY: &str = "of HDF5 files, striae reads only the blob files of E3SM-IO";

impl core::error::Error for Flaw {}

impl From<cdf::Error> for Flaw {
    fn from(error: cdf::Error) -> Self {
        Self::Cdf(error)
    }
}

impl From<Error> for Flaw {
    fn from(error: Error) -> Self {
        Self::Format(error)
    }
}
