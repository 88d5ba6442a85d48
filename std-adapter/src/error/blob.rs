//! Errors of blob files.

use super::build::BuildError;
use crate::shown::Shown;
use std::io;
use striae_core::blob::Error;
use striae_core::cdf;
use striae_inspect::blob::Flaw;

/// The kind of an error of a subfile, beyond the errors that any file can have.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A subfile is damaged.
    Subfile(Flaw),
    /// There is no such subfile.
    Missing,
    /// A subfile without a number in its name, which says where its blobs belong.
    NoNumber,
    /// No subfile of the set can be read.
    NoSubfile,
    /// The text is no value of the type of a variable.
    Value {
        /// The name of the variable.
        name: Box<str>,
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

impl std::fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Subfile(flaw) => flaw.fmt(f),
            Self::Missing => f.write_str("is missing"),
            Self::NoNumber => f.write_str(
                "is a subfile, but its name does not end in its number, as .0000: rename it",
            ),
            Self::NoSubfile => f.write_str("no subfile of the set can be read"),
            Self::Build(error) => error.fmt(f),
            Self::Value { name, text, nc_type } => {
                let (name, text) = (Shown::new(name.as_bytes()), Shown::new(&**text));
                write!(f, "variable {name}: \"{text}\" is no value of its type, {nc_type}")
            }
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
