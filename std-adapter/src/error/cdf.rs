//! Errors of netCDF files.

use crate::shown::Shown;
use std::io;
use striae_core::cdf::{Error, Type};

/// The kind of an error of a netCDF file, beyond the errors that any file can have.
#[derive(Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The file is not a classic netCDF file, or it is damaged, or the caller asked for a part it
    /// does not have.
    Format(Error),
    /// The file has no variable of this name.
    NoVariable {
        /// The name.
        name: Box<str>,
    },
    /// The values of a variable are not in the file, or the caller asked for values that the
    /// variable does not have.
    Variable {
        /// The name of the variable.
        name: Box<str>,
        /// The error.
        error: Error,
    },
    /// The caller: the values of a variable have another type.
    NotOfType {
        /// The name of the variable.
        name: Box<str>,
        /// The type of its values.
        nc_type: Type,
    },
    /// The caller: the memory has not the length of the values.
    Len {
        /// The number of bytes given.
        given: u64,
        /// The number of bytes of the values.
        len: u64,
    },
}

impl ErrorKind {
    /// Whether the caller is to blame and not the file.
    #[must_use]
    pub const fn blames_caller(&self) -> bool {
        match self {
            Self::Format(error) | Self::Variable { error, .. } => error.blames_caller(),
            Self::NoVariable { .. } => false,
            Self::NotOfType { .. } | Self::Len { .. } => true,
        }
    }

    pub(crate) const fn io_kind(&self) -> io::ErrorKind {
        match self {
            Self::NoVariable { .. } => io::ErrorKind::NotFound,
            kind if kind.blames_caller() => io::ErrorKind::InvalidInput,
            _ => io::ErrorKind::InvalidData,
        }
    }
}

impl std::fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Format(error) => error.fmt(f),
            Self::NoVariable { name } => {
                write!(f, "there is no variable {}", Shown::new(name.as_bytes()))
            }
            Self::Variable { name, error } => {
                write!(f, "variable {}: {error}", Shown::new(name.as_bytes()))
            }
            Self::NotOfType { name, nc_type } => {
                write!(
                    f,
                    "variable {}: its values are of type {nc_type}",
                    Shown::new(name.as_bytes())
                )
            }
            Self::Len { given, len } => {
                write!(f, "there is memory for {given} bytes, the values have {len}")
            }
        }
    }
}

impl From<Error> for ErrorKind {
    fn from(error: Error) -> Self {
        Self::Format(error)
    }
}
