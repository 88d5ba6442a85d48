//! A writer without its store.

use super::Fault;
use super::rows::Rows;
use crate::sion::book::{Ahead, Book};
use crate::sion::cursor::Cursor;
use crate::sion::publish::{Goal, Publish, Terms};
use crate::step::DriveError;
use crate::store::usize_to_u64;
use embedded_io::ErrorKind;

/// What a writer knows.
#[derive(Debug)]
pub(super) struct Streams<const N: usize> {
    pub(super) book: Book,
    /// The ends of all streams.
    pub(super) cursors: [Cursor; N],
    pub(super) ahead: Ahead,
}

/// Bytes that are being put into the stream of a task. They are in the stream after
/// [`Streams::end`], not before.
#[derive(Debug)]
pub(super) struct Put<'b> {
    local: usize,
    cursor: Cursor,
    left: &'b [u8],
}

impl<const N: usize> Streams<N> {
    pub(super) fn cursor(&self, local: u32) -> Result<&Cursor, Fault> {
        let local = usize::try_from(local).unwrap_or(usize::MAX);
        self.cursors.get(local).ok_or(Fault::NoTask)
    }

    pub(super) fn put<'b>(&self, local: u32, bytes: &'b [u8]) -> Result<Put<'b>, Fault> {
        let cursor = *self.cursor(local)?;
        Ok(Put { local: usize::try_from(local).unwrap_or(usize::MAX), cursor, left: bytes })
    }

    /// Ends a `put` whose bytes are all written.
    pub(super) fn end(&mut self, put: &Put<'_>) {
        if let Some(cursor) = self.cursors.get_mut(put.local) {
            *cursor = put.cursor;
        }
    }

    /// Whether `block` is not entered yet, so that the last commit may be in the way.
    pub(super) fn must_enter(&self, block: u32) -> bool {
        u64::from(block) >= self.book.entered()
    }

    /// The machine that enters `block` in a file of `file_len` bytes.
    pub(super) fn enter(&mut self, block: u32, file_len: u64) -> Publish<'_, Rows<'_>> {
        self.publish(Goal::Enter(block), file_len)
    }

    pub(super) fn commit(&mut self, file_len: u64) -> Publish<'_, Rows<'_>> {
        self.publish(Goal::Commit(self.maxchunks()), file_len)
    }

    pub(super) fn close(&mut self, file_len: u64) -> Publish<'_, Rows<'_>> {
        self.publish(Goal::Close(self.maxchunks(), Book::close), file_len)
    }

    fn publish(&mut self, goal: Goal, file_len: u64) -> Publish<'_, Rows<'_>> {
        let terms = Terms { ahead: self.ahead, file_len, checksum: none, set_number: 0 };
        let cursors = match goal {
            Goal::Enter(_) => None,
            _ => Some(self.cursors.as_slice()),
        };
        Publish::new(&mut self.book, goal, terms, Rows::idle(cursors))
    }

    /// The result of a close: its store may be unable to cut the file.
    pub(super) fn closed<E: embedded_io::Error>(
        &self,
        closed: Result<(), DriveError<E, Fault>>,
    ) -> Result<(), DriveError<E, Fault>> {
        match closed {
            // All but the cut was done, and the device has no way to do that.
            Err(DriveError::Store(error))
                if error.kind() == ErrorKind::Unsupported && self.book.is_closed() =>
            {
                Ok(())
            }
            closed => closed,
        }
    }

    /// The number of chunks of the longest stream.
    fn maxchunks(&self) -> u32 {
        let chunks = self.cursors.iter().map(Cursor::chunk);
        chunks.max().unwrap_or(0).saturating_add(1)
    }
}

impl<'b> Put<'b> {
    /// The block of the next bytes, or `None` if all are written.
    pub(super) fn block(&mut self) -> Result<Option<u32>, Fault> {
        if self.left.is_empty() {
            return Ok(None);
        }
        if self.cursor.room() == 0 {
            self.cursor = self.cursor.next_chunk().map_err(Fault::of)?;
        }
        Ok(Some(self.cursor.chunk()))
    }

    /// The bytes that are written next, and their offset. The block must be entered.
    pub(super) fn part(&mut self) -> Result<(u64, &'b [u8]), Fault> {
        let room = usize::try_from(self.cursor.room()).unwrap_or(usize::MAX);
        let (part, left) = self.left.split_at_checked(room).unwrap_or((self.left, &[]));
        let len = usize_to_u64(part.len());
        let place = self.cursor.place(len).map_err(Fault::of)?;
        self.cursor.advance(len);
        self.left = left;
        Ok((place.offset(), part))
    }
}

/// The checksum in a file that has none.
fn none(_: u32, _: &[u8]) -> u32 {
    0
}
