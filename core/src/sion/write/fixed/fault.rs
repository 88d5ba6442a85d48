//! What can be wrong with a call, in one byte.

use crate::sion::error::Error;
use crate::step::DriveError;
use crate::store::Swapped;

/// Why a stream cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Fault {
    /// The store is neither empty nor a file of this shape.
    NotBlank,
    /// The file has another shape, or another program wrote its last commit. A
    /// [`Writer`](crate::sion::Writer) may be able to go on with it.
    Another,
    /// The commit fields or META2 are damaged.
    Damaged,
    /// After an error, the store does not have the file that is being written. Its medium was
    /// changed, and nothing is written to the new one. The writer goes on when the medium is back.
    Swapped,
    /// The shape has no task with this number.
    NoTask,
    /// The chunksize of the task is 0.
    NoChunks,
    /// A chunk or META2 has no place in a file.
    Full,
}

impl Fault {
    /// An error of a cursor or a Book without its values.
    pub(super) const fn of(error: Error) -> Self {
        match error {
            Error::RecordTooLong { .. } => Self::NoChunks,
            _ => Self::Full,
        }
    }

    /// [`of`](Self::of) an error of work in a store.
    pub(super) fn in_store<S>(error: DriveError<S, Error>) -> DriveError<S, Self> {
        error.map_format(Self::of)
    }
}

impl core::fmt::Display for Fault {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::NotBlank => "the store is neither empty nor a file of this shape",
            Self::Another => "the file has another shape, or another program wrote its last commit",
            Self::Damaged => "the commit fields or META2 are damaged",
            Self::Swapped => "the store does not have the file that is being written",
            Self::NoTask => "the shape has no task with this number",
            Self::NoChunks => "the chunksize of the task is 0",
            Self::Full => "the file is full",
        })
    }
}

impl core::error::Error for Fault {}

impl<S> From<Fault> for DriveError<S, Fault> {
    fn from(fault: Fault) -> Self {
        Self::Format(fault)
    }
}

impl Swapped for Fault {
    const SWAPPED: Self = Self::Swapped;
}
