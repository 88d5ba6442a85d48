//! What a trajectory is written to.

use crate::error::Fault;
use crate::source::fault;
use striae_core::gsd::{ChunkType, Slot, Version, Writer};
use striae_core::step::DriveError;
use striae_core::store::WriteAt;

/// A GSD file that a [`Writer`](crate::Writer) writes frames to.
///
/// Errors of all methods are the sink's own; what failed is not in the file, and can be tried
/// again.
#[allow(clippy::missing_errors_doc, reason = "above")]
pub trait Sink {
    /// Why it cannot be written.
    type Error;

    /// Layer of the file.
    fn version(&self) -> Version;

    /// Frames that have ended, also such that are not committed.
    fn frames(&self) -> u64;

    /// Adds a chunk to the frame that is being written: rows of `m` values, little-endian.
    fn write_chunk(
        &mut self,
        name: &[u8],
        kind: ChunkType,
        m: u32,
        bytes: &[u8],
    ) -> Result<(), Self::Error>;

    /// Ends the frame and returns its number.
    fn end_frame(&mut self) -> Result<u64, Self::Error>;

    /// Makes all frames that have ended part of the file.
    fn commit(&mut self) -> Result<(), Self::Error>;

    /// Commits for the last time, and ends the file where the last chunk does.
    fn close(&mut self) -> Result<(), Self::Error>;

    /// Removes all frames.
    fn truncate(&mut self) -> Result<(), Self::Error>;

    /// What a writer of trajectories refuses, as an error of this file.
    fn error(&self, fault: Fault) -> Self::Error;
}

/// Core's writer looks a name up in the file's list for each chunk.
impl<S: WriteAt, B: AsMut<[Slot]>> Sink for Writer<S, B> {
    type Error = DriveError<S::Error, Fault>;

    fn version(&self) -> Version {
        Self::version(self)
    }

    fn frames(&self) -> u64 {
        Self::frames(self)
    }

    fn write_chunk(
        &mut self,
        name: &[u8],
        kind: ChunkType,
        m: u32,
        bytes: &[u8],
    ) -> Result<(), Self::Error> {
        let frame = self.frames();
        let id = self.name(name);
        let written = id.and_then(|id| Self::write_chunk(self, id, kind, m, bytes));
        written.map(drop).map_err(|error| match error {
            DriveError::Format(error) if error.blames_caller() => {
                DriveError::Format(Fault::Chunk { frame, name: name.into(), error })
            }
            error => fault(error),
        })
    }

    fn end_frame(&mut self) -> Result<u64, Self::Error> {
        Self::end_frame(self).map_err(fault)
    }

    fn commit(&mut self) -> Result<(), Self::Error> {
        Self::commit(self).map_err(fault)
    }

    fn close(&mut self) -> Result<(), Self::Error> {
        Self::close(self).map_err(fault)
    }

    fn truncate(&mut self) -> Result<(), Self::Error> {
        Self::truncate(self).map_err(fault)
    }

    fn error(&self, fault: Fault) -> Self::Error {
        DriveError::Format(fault)
    }
}
