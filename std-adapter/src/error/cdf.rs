//! Errors of netCDF files.

use crate::shown::Shown;
use std::io;
use striae_core::cdf::{Error, Type};
use striae_core::texts;

texts! {
    /// The kind of an error of a netCDF file, beyond the errors that any file can have.
    #[derive(Debug)]
    #[non_exhaustive]
    pub enum ErrorKind;

    /// The file is not a classic netCDF file, or it is damaged, or the caller asked for a part it
    /// does not have.
    Format(error: Error) => "{error}";
    /// The file has no variable of this name.
    NoVariable { name: Box<str> } => "there is no variable {}", Shown::new(name.as_bytes());
    /// The values of a variable are not in the file, or the caller asked for values that the
    /// variable does not have.
    Variable { name: Box<str>, error: Error } =>
        "variable {}: {error}", Shown::new(name.as_bytes());
    /// The caller: the values of a variable have another type.
    NotOfType {
        name: Box<str>,
        /// The type of its values.
        nc_type: Type,
    } => "variable {}: its values are of type {nc_type}", Shown::new(name.as_bytes());
    /// The caller: the memory has not the length of the values.
    Len {
        /// The number of bytes given.
        given: u64,
        /// The number of bytes of the values.
        len: u64,
    } => "there is memory for {given} bytes, the values have {len}";
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

impl From<Error> for ErrorKind {
    fn from(error: Error) -> Self {
        Self::Format(error)
    }
}
