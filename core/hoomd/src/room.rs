//! How many bytes the chunks of a file can have.

use striae_core::gsd::{Chunk, Error};

/// Lengths of a file that chunks have room for if some may be damaged: a wrong bit makes a chunk as
/// long as the file at most.
const DAMAGED: u64 = 16;

/// The bytes of chunks that are read or written, one after another.
///
/// No two chunks of a sound file share bytes, so all together are no longer than the file. Those of
/// another one may all lie in the same place, and what is done with them would be as large as their
/// number makes it.
#[derive(Debug)]
pub struct Room {
    file_len: u64,
    most: u64,
    bytes: u64,
    last: Option<Chunk>,
}

impl Room {
    /// That of a file of this length.
    #[must_use]
    pub const fn new(file_len: u64) -> Self {
        Self { file_len, most: file_len, bytes: 0, last: None }
    }

    /// The room for a search for damage: sound chunks should still find room next to a few that
    /// are not.
    #[must_use]
    pub const fn damaged(file_len: u64) -> Self {
        Self { most: file_len.saturating_mul(DAMAGED), ..Self::new(file_len) }
    }

    /// Sets the number of bytes that there is room for.
    #[must_use]
    pub const fn most(self, bytes: u64) -> Self {
        Self { most: bytes, ..self }
    }

    /// Counts a chunk, unless it is a copy of the one before it, as they fill an index.
    ///
    /// # Errors
    /// [`Error::Shared`].
    pub fn take(&mut self, chunk: &Chunk) -> Result<(), Error> {
        if self.last != Some(*chunk) {
            self.bytes = self.bytes.saturating_add(chunk.span.len());
            self.last = Some(*chunk);
        }
        match self.bytes <= self.most {
            true => Ok(()),
            false => Err(Error::Shared { bytes: self.bytes, file_len: self.file_len }),
        }
    }
}
