//! What can be wrong with a log, in one byte.

use crate::step::DriveError;
use crate::store::Swapped;

/// Why a log cannot be opened or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Fault {
    /// The store is neither blank nor a GSD file.
    NotBlank,
    /// Another program made the file, or it has another shape. A [`Logger`](crate::gsd::Logger) may
    /// be able to go on with it.
    Another,
    /// The header is neither whole nor torn by a power cut: another program has appended, and a
    /// [`Logger`](crate::gsd::Logger) can go on with the file; or it is damaged.
    Damaged,
    /// After an error, the store does not have the log that is being written. Its medium was
    /// changed, and nothing is written to the new one. The logger goes on when the medium is back.
    Swapped,
    /// The shape has no name with this id.
    NoName,
    /// The frame has a chunk of this name.
    Duplicate,
    /// The bytes are not whole rows, or rows have no columns.
    Rows,
    /// The frame has no chunks.
    NoChunks,
    /// The frame has as many chunks as there is memory for.
    FrameFull,
    /// No file can have the name: it is empty, or has a NUL.
    BadName,
    /// The index has no slots left for the frame, or the file or a list in it would be too long.
    Full,
}

impl core::fmt::Display for Fault {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::NotBlank => "the store is neither blank nor a GSD file",
            Self::Another => "another program made the file, or it has another shape",
            Self::Damaged => "another program has changed the file, or it is damaged",
            Self::Swapped => "the store does not have the log that is being written",
            Self::NoName => "the shape has no name with this id",
            Self::Duplicate => "the frame has a chunk of this name already",
            Self::Rows => "the bytes are not whole rows",
            Self::NoChunks => "the frame has no chunks",
            Self::FrameFull => "the frame has as many chunks as there is memory for",
            Self::BadName => "a name cannot be empty or have a NUL",
            Self::Full => "the log is full",
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
