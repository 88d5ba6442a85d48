//! What can be wrong with a call, in one byte.

use crate::sion::error::Error;
use crate::step::DriveError;
use crate::store::Swapped;
use crate::words::words;

words! {
    /// Why a stream cannot be written.
    #[non_exhaustive]
    pub enum Fault;
    /// The store is neither empty nor a file of this shape.
    NotBlank => "the store is neither empty nor a file of this shape";
    /// The file has another shape, or another program wrote its last commit. A
    /// [`Writer`](crate::sion::Writer) may be able to go on with it.
    Another => "the file has another shape, or another program wrote its last commit";
    /// The commit fields or META2 are damaged.
    Damaged => "the commit fields or META2 are damaged";
    /// After an error, the store does not have the file that is being written. Its medium was
    /// changed, and nothing is written to the new one. The writer goes on when the medium is back.
    Swapped => "the store does not have the file that is being written";
    /// The shape has no task with this number.
    NoTask => "the shape has no task with this number";
    /// The chunksize of the task is 0.
    NoChunks => "the chunksize of the task is 0";
    /// A chunk or META2 has no place in a file.
    Full => "the file is full";
}

impl Fault {
    /// An error of a cursor or a Book without its values.
    pub(super) const fn of(error: Error) -> Self {
        match error {
            Error::NoRoom => Self::NoChunks,
            _ => Self::Full,
        }
    }

    /// [`of`](Self::of) an error of work in a store.
    pub(super) fn in_store<S>(error: DriveError<S, Error>) -> DriveError<S, Self> {
        error.map_format(Self::of)
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
