//! Writing a chunk piece by piece.

use super::file::Gathered;
use super::file::chunk_error;
use crate::error::Error;
use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use striae_core::gsd::{self as core_gsd, Chunk, Slot};
use striae_hoomd::Name;

/// A chunk whose length is not known before it is finished: see
/// [`FileWriter::begin_chunk`](super::FileWriter::begin_chunk).
///
/// If it is dropped before it is [finished](Self::finish), the frame does not have the chunk.
pub struct ChunkWriter<'a> {
    chunk: core_gsd::ChunkWriter<'a, Gathered, Vec<Slot>>,
    path: &'a Path,
    frame: u64,
    name: Box<[u8]>,
}

impl<'a> ChunkWriter<'a> {
    pub(super) fn new(
        chunk: core_gsd::ChunkWriter<'a, Gathered, Vec<Slot>>,
        path: &'a Path,
        frame: u64,
        name: &[u8],
    ) -> Self {
        Self { chunk, path, frame, name: name.into() }
    }

    /// Bytes written so far.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.chunk.len()
    }

    /// Whether no bytes are written so far.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.chunk.is_empty()
    }

    /// Adds the chunk to the open frame.
    ///
    /// # Errors
    /// [`Rows`](core_gsd::Error::Rows) if the bytes are not whole rows; the frame does not have the
    /// chunk then.
    pub fn finish(self) -> Result<Chunk, Error> {
        let Self { chunk, path, frame, name } = self;
        chunk.finish().map_err(|error| chunk_error(path, frame, &name, error))
    }

    /// Core's writer of the chunk.
    pub(super) const fn core(&mut self) -> &mut core_gsd::ChunkWriter<'a, Gathered, Vec<Slot>> {
        &mut self.chunk
    }

    pub(in crate::gsd) fn write_raw(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let (path, frame) = (self.path, self.frame);
        self.chunk.write(bytes).map_err(|error| chunk_error(path, frame, &self.name, error))
    }
}

impl Write for ChunkWriter<'_> {
    /// Adds all of the bytes, or none after an error. Rows need not be complete.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_raw(bytes)?;
        Ok(bytes.len())
    }

    /// Does nothing: only a commit makes anything part of the file.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Leaves out the long memory of the file's writer.
impl fmt::Debug for ChunkWriter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("ChunkWriter");
        all.field("path", &self.path).field("frame", &self.frame);
        all.field("name", &Name(&self.name)).field("len", &self.len()).finish_non_exhaustive()
    }
}
