//! [`Flaw`]: why a subfile, or a part of it, cannot be read.

use alloc::boxed::Box;
use core::fmt;
use striae_core::blob::{Error, Name};
use striae_core::cdf;
use striae_core::hdf5;
use striae_core::source::{Fault, Miss};
use striae_core::step::DriveError;

/// Why a subfile of a blob set, or a part of it, cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Flaw {
    /// The header, or the place of values, breaks the grammar of netCDF.
    Cdf(cdf::Error),
    /// The HDF5 container is damaged, or has a part that striae does not read.
    Hdf5(hdf5::Error),
    /// The blobs are damaged.
    Format(Error),
    /// The file is cut.
    Cut,
    /// The file is an HDF5 file without one of the two datasets.
    NoDataset {
        /// The name of the dataset.
        name: &'static str,
    },
    /// The header does not have this attribute.
    NoAttribute {
        /// The name of the attribute.
        name: &'static str,
    },
    /// An attribute of the file does not have the value that it must have.
    Attribute {
        /// The name of the attribute.
        name: &'static str,
    },
    /// The header does not have this dimension.
    NoDimension {
        /// The dimension.
        name: Name,
    },
    /// The header does not have this variable, which describes a decomposition.
    NoMap {
        /// The variable.
        name: Name,
    },
    /// A variable that describes a decomposition has a type without integers.
    MapType {
        /// The variable.
        name: Name,
    },
    /// The variables that describe the decompositions are not in the order that the HDF5 container
    /// must have.
    Order,
    /// Two dimensions have length 0.
    TwoRecordDims {
        /// The name of the second one.
        name: Box<str>,
    },
    /// The values of a variable are more than a file can have.
    Size {
        /// The name of the variable.
        name: Box<str>,
    },
    /// A variable does not have the dimensions that it must have.
    Shape {
        /// The name of the variable.
        name: Box<str>,
    },
    /// The attribute `global_dimids` of a variable is not there or is wrong.
    Dimids {
        /// The name of the variable.
        name: Box<str>,
    },
    /// The attribute `decomposition_ID` of a variable is no decomposition.
    DecompositionId {
        /// The name of the variable.
        name: Box<str>,
    },
    /// A blob of a variable is not as it was sealed.
    NotAsSealed {
        /// The name of the variable.
        name: Box<str>,
        /// The blob, from 0.
        blob: u32,
        /// The checksum in the seal.
        stored: u32,
        /// The checksum of the blob's bytes.
        computed: u32,
    },
    /// The subfile does not have what the other subfiles have: it belongs to another set.
    OtherSet {
        /// What differs.
        what: &'static str,
    },
    /// The subfile was sealed as another one of its set.
    OtherPlace {
        /// The number that it was sealed with.
        number: u32,
        /// The number of subfiles of its set.
        nsubfiles: u32,
    },
    /// The subfile was sealed before the other ones were: they have more records.
    Older {
        /// How many records it lacks.
        by: u64,
    },
    /// The subfile has no seal, and other ones have: nothing ties it to the set. Its values count.
    NoSeal,
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

    /// An error of reading bytes that are in memory.
    pub(super) fn of_memory<E, M>(error: DriveError<M, Self>) -> DriveError<E, Self> {
        match error {
            DriveError::Format(flaw) => DriveError::Format(flaw),
            _ => DriveError::Format(Self::Cut),
        }
    }

    pub(super) fn of_hdf5<E>(error: DriveError<E, Fault<hdf5::Error>>) -> DriveError<E, Self> {
        match error {
            DriveError::Format(Fault::Miss(Miss::Ended { .. })) => DriveError::Format(Self::Cut),
            // The memory is what a search needs.
            DriveError::Format(Fault::Miss(_)) => DriveError::Format(Self::Cut),
            DriveError::Format(Fault::Format(error)) => DriveError::Format(Self::Hdf5(error)),
            error => error.map_format(|_| Self::Cut),
        }
    }
}

/// A name in error texts.
struct Shown<'a>(&'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.escape_debug().fmt(f)
    }
}

/// What to expect of other HDF5 files, as those of netCDF-4.
const ONLY: &str = "of HDF5 files, striae reads only the blob files of E3SM-IO";

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cdf(error) => error.fmt(f),
            Self::Hdf5(error @ hdf5::Error::Unsupported { .. }) => write!(f, "{error}; {ONLY}"),
            Self::Hdf5(error) => error.fmt(f),
            Self::Format(error) => error.fmt(f),
            Self::Cut => f.write_str("the file is cut"),
            Self::NoDataset { name } => {
                write!(f, "is an HDF5 file without a dataset {name}; {ONLY}")
            }
            Self::NoAttribute { name } => write!(f, "has no attribute {name}"),
            Self::Attribute { name } => write!(f, "the attribute {name} has a wrong value"),
            Self::NoDimension { name } => write!(f, "has no dimension {name}"),
            Self::NoMap { name } => write!(f, "has no variable {name}"),
            Self::MapType { name } => write!(f, "variable {name} is not of type int or int64"),
            Self::Order => f.write_str("the variables of the decompositions are out of order"),
            Self::TwoRecordDims { name } => {
                write!(f, "dimension {} is a second one of length 0", Shown(name))
            }
            Self::Size { name } => write!(f, "variable {} is larger than any file", Shown(name)),
            Self::Shape { name } => write!(f, "variable {} has wrong dimensions", Shown(name)),
            Self::Dimids { name } => {
                write!(f, "variable {}: wrong attribute global_dimids", Shown(name))
            }
            Self::DecompositionId { name } => {
                write!(f, "variable {}: wrong attribute decomposition_ID", Shown(name))
            }
            Self::NotAsSealed { name, blob, stored, computed } => write!(
                f,
                "variable {}: blob {blob} is not as sealed: its bytes have {computed:#010x}, the \
                 seal has {stored:#010x}",
                Shown(name)
            ),
            Self::OtherSet { what } => {
                write!(f, "belongs to another set: its {what} are not those of the other subfiles")
            }
            Self::OtherPlace { number, nsubfiles } => {
                write!(f, "was sealed as subfile {number} of {nsubfiles}")
            }
            Self::Older { by: 1 } => {
                f.write_str("is older than the other subfiles: it was sealed with 1 record less")
            }
            Self::Older { by } => {
                write!(f, "is older than the other subfiles: it was sealed with {by} records less")
            }
            Self::NoSeal => {
                f.write_str("has no seal, but other subfiles have: it may be of another set")
            }
        }
    }
}

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
