//! Errors of copies.

use super::{Error, ErrorKind};
use std::io;
use std::path::Path;

/// An error of a copy; the variant says which of the two files it is about.
#[derive(Debug)]
pub enum CopyError {
    /// The source could not be read.
    Read(io::Error),
    /// The source ended before the end of the span.
    Ended {
        /// Offset at which a byte was expected.
        offset: u64,
    },
    /// The target could not be written.
    Write(io::Error),
}

impl CopyError {
    /// This error as an [`Error`] with the path of the file that it is about.
    #[must_use]
    pub fn of_files(self, from: &Path, to: &Path) -> Error {
        match self {
            Self::Read(error) => Error::new(from, error),
            Self::Ended { offset } => Error::new(from, ErrorKind::Ended { offset }),
            Self::Write(error) => Error::new(to, error),
        }
    }
}

impl std::fmt::Display for CopyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Read(error) => write!(f, "reading: {error}"),
            Self::Ended { offset } => write!(f, "ended at offset {offset} while it was read"),
            Self::Write(error) => write!(f, "writing: {error}"),
        }
    }
}

impl std::error::Error for CopyError {}
