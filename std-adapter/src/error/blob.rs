//! Errors of blob files.

use super::build::BuildError;
use crate::shown::Shown;
use std::io;
use striae_core::blob::Error;
use striae_core::{cdf, texts};
use striae_inspect::blob::Flaw;

texts! {
    /// The kind of an error of a subfile, beyond the errors that any file can have.
    #[derive(Debug, Clone)]
    #[non_exhaustive]
    pub enum ErrorKind;

    /// A subfile is damaged.
    Subfile(flaw: Flaw) => "{flaw}";
    /// There is no such subfile.
    Missing => "is missing";
    /// A subfile without a number in its name, which says where its blobs belong.
    NoNumber => "is a subfile, but its name does not end in its number, as .0000: rename it";
    /// No subfile of the set can be read.
    NoSubfile => "no subfile of the set can be read";
    /// The text is no value of the type of a variable.
    Value {
        name: Box<str>,
        /// The text.
        text: Box<str>,
        /// The type.
        nc_type: cdf::Type,
    } =>
        "variable {}: \"{}\" is no value of its type, {nc_type}",
        Shown::new(name.as_bytes()), Shown::new(&**text);
    /// A new set cannot be made.
    Build(error: BuildError) => "{error}";
}

impl ErrorKind {
    /// Whether the caller is to blame and not the file.
    #[must_use]
    pub const fn blames_caller(&self) -> bool {
        match self {
            Self::Subfile(flaw) => flaw.blames_caller(),
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

impl From<Flaw> for ErrorKind {
    fn from(flaw: Flaw) -> Self {
        Self::Subfile(flaw)
    }
}

impl From<Error> for ErrorKind {
    fn from(error: Error) -> Self {
        Self::Subfile(error.into())
    }
}
