//! A limit for the bytes of chunks that are read or written together.

use striae_core::gsd::{Chunk, Error};

/// The limit for a possibly damaged file, in lengths of the file: one wrong bit makes a chunk at
/// most as long as the file.
const DAMAGED: u64 = 16;

/// Counts the bytes of chunks that are read or written one after another, up to a limit.
///
/// No two chunks of a sound file share bytes, so all of them together are not longer than the file.
/// In a damaged file, many chunks may claim the same bytes, and the output could grow without
/// limit.
#[derive(Debug)]
pub struct Room {
    file_len: u64,
    most: u64,
    bytes: u64,
    last: Option<Chunk>,
}

impl Room {
    /// The limit for a file of this length.
    #[must_use]
    pub const fn new(file_len: u64) -> Self {
        Self { file_len, most: file_len, bytes: 0, last: None }
    }

    /// The limit for a search for damage: sound chunks should still fit next to a few damaged ones.
    #[must_use]
    pub const fn damaged(file_len: u64) -> Self {
        Self { most: file_len.saturating_mul(DAMAGED), ..Self::new(file_len) }
    }

    /// Sets the limit in bytes.
    #[must_use]
    pub const fn most(self, bytes: u64) -> Self {
        Self { most: bytes, ..self }
    }

    /// Counts a chunk, unless it is a copy of the chunk before it, such as the entries that fill an
    /// index.
    ///
    /// # Errors
    /// [`Error::Shared`] if the limit is exceeded.
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
