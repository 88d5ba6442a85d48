//! Finding a chunk of a frame.

use super::File;
use crate::error::Error;
use crate::gsd::{ErrorKind, window};
use striae_core::gsd::chunk::Key;
use striae_core::gsd::{self as core_gsd, Chunk, raw};
use striae_core::step::DriveError;
use window::Seen;

impl File {
    /// Finds the chunk `name` of a frame: its type, rows, columns and place. `None` if the frame
    /// does not have it.
    ///
    /// # Errors
    /// [`Chunk`](ErrorKind::Chunk) if its entry is damaged; an error of the operating
    /// system.
    pub fn find(&self, frame: u64, name: impl AsRef<[u8]>) -> Result<Option<Chunk>, Error> {
        self.find_name(frame, name.as_ref())
    }

    fn find_name(&self, frame: u64, name: &[u8]) -> Result<Option<Chunk>, Error> {
        let names = self.names()?;
        match window::seen_by_name(self.look, self.head(), names, frame, name) {
            Seen::Entry(slot, entry) => self.chunk_in(slot, &entry),
            Seen::NoChunk => Ok(None),
            Seen::Elsewhere(id) => self.search(Key { frame, id }),
        }
    }

    /// Finds a chunk by the id of its name.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub fn find_id(&self, frame: u64, id: u16) -> Result<Option<Chunk>, Error> {
        let key = Key { frame, id };
        match window::seen(self.look, self.head(), key) {
            Seen::Entry(slot, entry) => self.chunk_in(slot, &entry),
            Seen::NoChunk => Ok(None),
            Seen::Elsewhere(_) => self.search(key),
        }
    }

    /// Finds the chunk `name` of a frame, which must have it.
    ///
    /// # Errors
    /// [`core_gsd::Error::NoFrame`] if the file does not have the frame;
    /// [`NoChunk`](ErrorKind::NoChunk) if the frame does not have the chunk; as
    /// [`find`](Self::find).
    pub fn chunk(&self, frame: u64, name: impl AsRef<[u8]>) -> Result<Chunk, Error> {
        let name = name.as_ref();
        if let Some(chunk) = self.find_name(frame, name)? {
            return Ok(chunk);
        }
        self.reader.check_frame(frame).map_err(|error| self.error(error))?;
        Err(self.error(ErrorKind::NoChunk { frame, name: name.into() }))
    }

    /// The chunk of an entry as stored. It is made here, once: to pass it through the results of
    /// several functions took a quarter of the time of a find.
    #[inline]
    fn chunk_in(&self, slot: u64, entry: &raw::IndexEntry) -> Result<Option<Chunk>, Error> {
        let head = self.head();
        match Chunk::parse(entry, head.index(), slot, head.limits()) {
            Ok(chunk) => Ok(chunk),
            Err(error) => Err(self.damaged(entry.key(), error)),
        }
    }

    #[cold]
    #[inline(never)]
    fn search(&self, key: Key) -> Result<Option<Chunk>, Error> {
        let found = window::search(self.reader.store(), self.look, self.head(), key);
        found.map_err(|error| match error {
            DriveError::Format(error) => self.damaged(key, error),
            error => self.error(error),
        })
    }

    #[cold]
    fn damaged(&self, key: Key, error: core_gsd::Error) -> Error {
        self.error(self.in_chunk(key.frame, key.id, error))
    }
}
