//! Files to which a trajectory is written.

use crate::error::Fault;
use crate::source::fault;
use striae_core::gsd::{ChunkType, Slot, Version, Writer};
use striae_core::step::DriveError;
use striae_core::store::WriteAt;

/// A GSD file to which a [`Writer`](crate::Writer) writes frames.
///
/// All methods return the sink's own error. The data of a failed call is not in the file, and the
/// call can be repeated.
///
/// Other crates may implement it; a method of a later version has a default.
#[allow(clippy::missing_errors_doc, reason = "above")]
pub trait Sink {
    /// The error of the sink.
    type Error;

    /// Version of the GSD layer of the file.
    fn version(&self) -> Version;

    /// Number of frames that have ended, including uncommitted ones.
    fn frames(&self) -> u64;

    /// Adds a chunk to the current frame: rows of `m` little-endian values.
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

    /// Commits for the last time and cuts the file after its last chunk.
    fn close(&mut self) -> Result<(), Self::Error>;

    /// Removes all frames.
    fn truncate(&mut self) -> Result<(), Self::Error>;

    /// Converts an error of the writer of trajectories to an error of this file.
    fn error(&self, fault: Fault) -> Self::Error;
}

/// Core's writer searches the file's name list for the name of each chunk.
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
