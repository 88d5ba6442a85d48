//! [`Cursor`] is the place where a task writes next: a chunk, and how much of it is used.
//!
//! A cursor is numbers only. Its owner writes the bytes at [`Cursor::place`], calls
//! [`Cursor::advance`], and records the chunk's length before it leaves the chunk by
//! [`Cursor::next_chunk`].

use crate::sion::error::Error;
use crate::sion::layout::{Chunks, LAST_OFFSET, MAX_I32, signed};
use crate::sion::raw;
use crate::span::Span;

/// The place in a task's chunks where the next bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Cursor {
    chunks: Chunks,
    chunk: u32,
    used: u64,
}

impl Cursor {
    /// Makes a cursor at the start of a task's stream. `chunks` must have their globalskip.
    #[must_use]
    pub const fn new(chunks: Chunks) -> Self {
        Self { chunks, chunk: 0, used: 0 }
    }

    /// Makes a cursor after `used` bytes of chunk `chunk`, where an earlier writer stopped.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if a chunk has fewer bytes; [`Error::FileFull`] if a file cannot have
    /// so many chunks.
    pub fn resume(chunks: Chunks, chunk: u64, used: u64) -> Result<Self, Error> {
        if used > chunks.chunksize {
            return Err(Error::OutOfRange {
                field: raw::BlocksizeEntry::blocksize,
                value: signed(used),
                min: 0,
                max: signed(chunks.chunksize),
            });
        }
        let full = Error::FileFull { chunk };
        let index = u32::try_from(chunk).ok().filter(|&index| index < MAX_I32).ok_or(full)?;
        Ok(Self { chunks, chunk: index, used })
    }

    /// The cursor of this task after `used` bytes of chunk `chunk`, see [`resume`](Self::resume).
    pub(in crate::sion) fn at(&self, chunk: u64, used: u64) -> Result<Self, Error> {
        Self::resume(self.chunks, chunk, used)
    }

    /// Sets globalskip.
    pub(in crate::sion) const fn with_globalskip(mut self, globalskip: u64) -> Self {
        self.chunks.globalskip = Some(globalskip);
        self
    }

    /// The index of the current chunk.
    #[must_use]
    pub const fn chunk(&self) -> u32 {
        self.chunk
    }

    /// The bytes of the chunk that are used.
    #[must_use]
    pub const fn used(&self) -> u64 {
        self.used
    }

    /// The bytes of the chunk that are left.
    #[must_use]
    pub const fn room(&self) -> u64 {
        self.chunks.chunksize.saturating_sub(self.used)
    }

    /// The chunksize of the task.
    #[must_use]
    pub const fn chunksize(&self) -> u64 {
        self.chunks.chunksize
    }

    /// The place of the next `len` bytes, or of the rest of the chunk if that is less.
    ///
    /// # Errors
    /// [`Error::FileFull`] if the chunk has no place in a file.
    pub fn place(&self, len: u64) -> Result<Span, Error> {
        let full = Error::FileFull { chunk: self.chunk.into() };
        let chunk = self.chunks.chunk(self.chunk.into()).ok_or(full)?;
        chunk
            .part(self.used, len.min(self.room()))
            .filter(|span| span.end() <= LAST_OFFSET)
            .ok_or(full)
    }

    /// Moves the cursor over `len` written bytes, at most [`Cursor::room`].
    pub const fn advance(&mut self, len: u64) {
        let used = self.used.saturating_add(len);
        self.used = if used < self.chunks.chunksize { used } else { self.chunks.chunksize };
    }

    /// The cursor `len` bytes earlier in the chunk, or at the chunk's start.
    #[must_use]
    pub const fn rewound(&self, len: u64) -> Self {
        Self { used: self.used.saturating_sub(len), ..*self }
    }

    /// Whether `len` bytes fit into the rest of the chunk. If not, they fit into the next chunk.
    ///
    /// # Errors
    /// [`Error::NoRoom`] if the chunksize is 0, and `len` is not; [`Error::RecordTooLong`] if
    /// `len` exceeds the chunksize.
    pub const fn fits(&self, len: u64) -> Result<bool, Error> {
        match self.chunks.chunksize {
            0 if len > 0 => Err(Error::NoRoom),
            chunksize if len > chunksize => Err(Error::RecordTooLong { len, chunksize }),
            _ => Ok(len <= self.room()),
        }
    }

    /// The cursor at the start of the task's next chunk. The rest of this chunk stays unused.
    ///
    /// # Errors
    /// [`Error::NoRoom`] if the chunksize is 0; [`Error::FileFull`] if the next chunk has no
    /// place in a file.
    pub fn next_chunk(&self) -> Result<Self, Error> {
        if self.chunks.chunksize == 0 {
            return Err(Error::NoRoom);
        }
        let next = Self::resume(self.chunks, u64::from(self.chunk).saturating_add(1), 0)?;
        next.place(next.room())?;
        Ok(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHUNKS: Chunks = Chunks { start: 1024, chunksize: 100, globalskip: Some(512) };

    #[test]
    fn bytes_go_behind_each_other_and_then_into_the_next_chunk() {
        let mut cursor = Cursor::new(CHUNKS);
        assert_eq!(cursor.place(60).unwrap(), Span::new(1024, 60).unwrap());
        cursor.advance(60);
        assert_eq!(cursor.place(60).unwrap(), Span::new(1084, 40).unwrap());
        assert_eq!(cursor.fits(40), Ok(true));
        assert_eq!(cursor.fits(41), Ok(false));
        assert_eq!(cursor.fits(101), Err(Error::RecordTooLong { len: 101, chunksize: 100 }));
        let next = cursor.next_chunk().unwrap();
        assert_eq!((next.chunk(), next.used()), (1, 0));
        assert_eq!(next.place(1).unwrap().offset(), 1024 + 512);
        assert_eq!(cursor.rewound(20).place(1).unwrap().offset(), 1024 + 40);
        assert_eq!(cursor.rewound(61).used(), 0);
    }

    #[test]
    fn a_chunk_beyond_the_last_offset_or_count_is_refused() {
        let far = Chunks { start: LAST_OFFSET - 150, chunksize: 100, globalskip: Some(100) };
        assert_eq!(Cursor::new(far).next_chunk(), Err(Error::FileFull { chunk: 1 }));
        let last = Cursor::resume(CHUNKS, u64::from(MAX_I32) - 1, 0).unwrap();
        assert_eq!(last.next_chunk(), Err(Error::FileFull { chunk: MAX_I32.into() }));
        let none = Chunks { chunksize: 0, ..CHUNKS };
        assert_eq!(Cursor::new(none).next_chunk(), Err(Error::NoRoom));
        assert_eq!(Cursor::new(none).fits(1), Err(Error::NoRoom));
    }
}
