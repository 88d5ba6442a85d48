//! Errors of ffrecord files.

use super::Party;
use std::io;
use striae_core::ffrecord::Error;
use striae_core::texts;

texts! {
    /// The kind of an error of an ffrecord file, beyond the errors that any file can have.
    #[derive(Debug)]
    #[non_exhaustive]
    pub enum ErrorKind;

    /// The file is not an ffrecord file, or it is damaged, or the caller asked for a part it does
    /// not have.
    Format(error: Error) => "{error}";
    /// A sample is damaged, or its start or end in the offset table.
    Sample { number: u64, error: Error } => "sample {number}: {error}";
    /// A folder does not have exactly one file of a sample.
    NoSampleFile { number: u64 } => "must have one file sample_{number:05}";
}

impl ErrorKind {
    pub(crate) const fn party(&self) -> Party {
        match self {
            Self::Format(error) | Self::Sample { error, .. } => Party::of(error.blames_caller()),
            Self::NoSampleFile { .. } => Party::Argument,
        }
    }

    pub(crate) const fn io_kind(&self) -> io::ErrorKind {
        match self {
            Self::Format(error) if error.blames_caller() => io::ErrorKind::InvalidInput,
            Self::NoSampleFile { .. } => io::ErrorKind::NotFound,
            Self::Format(_) | Self::Sample { .. } => io::ErrorKind::InvalidData,
        }
    }
}

impl From<Error> for ErrorKind {
    fn from(error: Error) -> Self {
        Self::Format(error)
    }
}
