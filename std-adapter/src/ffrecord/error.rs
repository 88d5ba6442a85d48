//! What can be wrong with an ffrecord file.

use std::io;
use striae_core::ffrecord::Error;

/// What is wrong with an ffrecord file, besides what is wrong with any file.
#[derive(Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The file is no ffrecord file, or a damaged one; or the caller asked for what is not there.
    Format(Error),
    /// A sample is damaged, or where it should start or end.
    Sample {
        /// Its number.
        number: u64,
        /// What is wrong with it.
        error: Error,
    },
}

impl ErrorKind {
    pub(crate) const fn io_kind(&self) -> io::ErrorKind {
        match self {
            Self::Format(error) if error.blames_caller() => io::ErrorKind::InvalidInput,
            Self::Format(_) | Self::Sample { .. } => io::ErrorKind::InvalidData,
        }
    }
}

impl std::fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Format(error) => error.fmt(f),
            Self::Sample { number, error } => write!(f, "sample {number}: {error}"),
        }
    }
}

impl From<Error> for ErrorKind {
    fn from(error: Error) -> Self {
        Self::Format(error)
    }
}
