//! The streams of a file.

use super::Fault;
use crate::sion::write::book::{Ahead, Book};
use crate::sion::write::cursor::Cursor;

/// What a writer knows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Streams<const N: usize> {
    pub(super) book: Book,
    /// The ends of all streams.
    pub(super) cursors: [Cursor; N],
    pub(super) ahead: Ahead,
}

impl<const N: usize> Streams<N> {
    pub(super) fn cursor(&self, local: u32) -> Result<&Cursor, Fault> {
        let local = usize::try_from(local).unwrap_or(usize::MAX);
        self.cursors.get(local).ok_or(Fault::NoTask)
    }

    /// Sets the end of the stream of a task.
    pub(super) fn set_cursor(&mut self, local: u32, end: Cursor) {
        let local = usize::try_from(local).unwrap_or(usize::MAX);
        if let Some(cursor) = self.cursors.get_mut(local) {
            *cursor = end;
        }
    }

    /// The number of chunks of the longest stream.
    pub(super) fn maxchunks(&self) -> u32 {
        let chunks = self.cursors.iter().map(Cursor::chunk);
        chunks.max().unwrap_or(0).saturating_add(1)
    }
}
