//! What can be wrong with a log, in one byte.

use crate::step::DriveError;
#[twin(ReadAt)]
use crate::store::ReadAt;
use crate::store::Swapped;
use crate::words::words;
use striae_twin::twin;

words! {
    /// Why a log cannot be opened or written.
    #[non_exhaustive]
    pub enum Fault;
    /// The store is neither blank nor a GSD file.
    NotBlank => "the store is neither blank nor a GSD file";
    /// Another program made the file, or it has another shape. A [`Logger`](crate::gsd::Logger) may
    /// be able to go on with it.
    Another => "another program made the file, or it has another shape";
    /// The header is neither whole nor torn by a power cut: another program has appended, and a
    /// [`Logger`](crate::gsd::Logger) can go on with the file; or it is damaged.
    Damaged => "another program has changed the file, or it is damaged";
    /// After an error, the store does not have the log that is being written. Its medium was
    /// changed, and nothing is written to the new one. The logger goes on when the medium is back.
    Swapped => "the store does not have the log that is being written";
    /// The shape has no name with this id.
    NoName => "the shape has no name with this id";
    /// The frame has a chunk of this name.
    Duplicate => "the frame has a chunk of this name already";
    /// The bytes are not whole rows, or rows have no columns.
    Rows => "the bytes are not whole rows";
    /// The frame has no chunks.
    NoChunks => "the frame has no chunks";
    /// The frame has as many chunks as there is memory for.
    FrameFull => "the frame has as many chunks as there is memory for";
    /// No file can have the name: it is empty, or has a NUL.
    BadName => "a name cannot be empty or have a NUL";
    /// The index has no slots left for the frame, or the file or a list in it would be too long.
    Full => "the log is full";
}

/// Why logging to a store `S` failed.
pub type FixedError<S> = DriveError<<S as ReadAt>::Error, Fault>;

/// Why logging to an asynchronous store `S` failed.
#[cfg(feature = "async")]
pub type AsyncFixedError<S> = DriveError<<S as AsyncReadAt>::Error, Fault>;

impl core::error::Error for Fault {}

impl<S> From<Fault> for DriveError<S, Fault> {
    fn from(fault: Fault) -> Self {
        Self::Format(fault)
    }
}

impl Swapped for Fault {
    const SWAPPED: Self = Self::Swapped;
}
