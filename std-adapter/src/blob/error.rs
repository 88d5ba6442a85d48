//! Errors of blob files.

use super::builder::error::BuildError;
use crate::shown::Shown;
use std::io;
use striae_core::blob::{Error, Name};
use striae_core::cdf;
use striae_core::hdf5;
use striae_core::source::{Fault, Miss};
use striae_core::step::DriveError;

/// The kind of an error of a subfile, beyond the errors that any file can have.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The header, or a request, breaks the grammar of netCDF.
    Cdf(cdf::Error),
    /// The HDF5 container is damaged, or has a part that striae does not read.
    Hdf5(hdf5::Error),
    /// The blobs are damaged.
    Format(Error),
    /// The header is cut, or is longer than a header can be.
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
    /// The subfile does not have what the other subfiles have: it belongs to another set.
    OtherSet {
        /// What differs.
        what: &'static str,
    },
    /// There is no such subfile.
    Missing,
    /// No subfile of the set can be read.
    NoSubfile,
    /// The text is no value of this type.
    Value {
        /// The text.
        text: Box<str>,
        /// The type.
        nc_type: cdf::Type,
    },
    /// A new set cannot be made.
    Build(BuildError),
}

impl ErrorKind {
    /// Whether the caller is to blame and not the file.
    #[must_use]
    pub const fn blames_caller(&self) -> bool {
        match self {
            Self::Cdf(error) => error.blames_caller(),
            Self::Format(error) => error.blames_caller(),
            Self::Value { .. } | Self::Build(_) => true,
            _ => false,
        }
    }

    pub(crate) const fn io_kind(&self) -> io::ErrorKind {
        match self {
            Self::Missing => io::ErrorKind::NotFound,
            kind if kind.blames_caller() => io::ErrorKind::InvalidInput,
            _ => io::ErrorKind::InvalidData,
        }
    }
}

impl std::fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Cdf(error) => error.fmt(f),
            Self::Hdf5(error) => error.fmt(f),
            Self::Format(error) => error.fmt(f),
            Self::Cut => f.write_str("the header is cut, or too long"),
            Self::NoDataset { name } => write!(f, "is an HDF5 file without a dataset {name}"),
            Self::NoAttribute { name } => write!(f, "has no attribute {name}"),
            Self::Attribute { name } => write!(f, "the attribute {name} has a wrong value"),
            Self::NoDimension { name } => write!(f, "has no dimension {name}"),
            Self::NoMap { name } => write!(f, "has no variable {name}"),
            Self::MapType { name } => write!(f, "variable {name} is not of type int or int64"),
            Self::Order => f.write_str("the variables of the decompositions are out of order"),
            Self::TwoRecordDims { name } => {
                write!(f, "dimension {} is a second one of length 0", Shown::new(&**name))
            }
            Self::Size { name } => {
                write!(f, "variable {} is larger than any file", Shown::new(&**name))
            }
            Self::Shape { name } => {
                write!(f, "variable {} has wrong dimensions", Shown::new(&**name))
            }
            Self::Dimids { name } => {
                write!(f, "variable {}: wrong attribute global_dimids", Shown::new(&**name))
            }
            Self::DecompositionId { name } => {
                write!(f, "variable {}: wrong attribute decomposition_ID", Shown::new(&**name))
            }
            Self::OtherSet { what } => {
                write!(f, "belongs to another set: its {what} are not those of the other subfiles")
            }
            Self::Missing => f.write_str("is missing"),
            Self::NoSubfile => f.write_str("no subfile of the set can be read"),
            Self::Build(error) => error.fmt(f),
            Self::Value { text, nc_type } => {
                write!(f, "\"{}\" is no value of type {nc_type}", Shown::new(&**text))
            }
        }
    }
}

impl From<cdf::Error> for ErrorKind {
    fn from(error: cdf::Error) -> Self {
        Self::Cdf(error)
    }
}

impl From<Error> for ErrorKind {
    fn from(error: Error) -> Self {
        Self::Format(error)
    }
}

/// An error of reading the HDF5 container, as an error of the file.
pub(crate) fn of_hdf5(error: DriveError<io::Error, Fault<hdf5::Error>>) -> crate::error::ErrorKind {
    match error {
        DriveError::Store(error) => error.into(),
        DriveError::Ended { offset } => crate::error::ErrorKind::Ended { offset },
        DriveError::Format(Fault::Format(error)) => ErrorKind::Hdf5(error).into(),
        DriveError::Format(Fault::Miss(Miss::Ended { .. })) => ErrorKind::Cut.into(),
        error => io::Error::other(error.to_string()).into(),
    }
}
