//! META2 of a file whose chunks are all full but the last of each task.

use crate::endian::I64;
use crate::sion::disk::varheader::Varheader;
use crate::sion::raw::SealTrailer;
use crate::sion::write::cursor::Cursor;
use crate::sion::write::tables::{Piece, Pieces, Publication, sealed};
use crate::span::Span;
use crate::store::{copy_front, usize_to_u64};
use core::cmp::Ordering;
use zerocopy::IntoBytes;

/// The bytes of a piece.
pub(super) const PIECE: usize = size_of::<[I64; 8]>();

/// META2 and the mapping, which has no entries.
#[derive(Debug)]
pub(super) struct Rows<'c> {
    /// The ends of the streams; `None` to copy the last commit.
    cursors: Option<&'c [Cursor]>,
    /// The bytes that are left to write.
    left: Span,
    /// Where the last commit has them.
    old: u64,
    /// The task of the next entry, and its row: that of the blockcounts, or of a chunk after it.
    task: usize,
    row: u32,
}

impl<'c> Rows<'c> {
    /// The rows of these streams; `None` to copy the last commit.
    pub(super) const fn of(cursors: Option<&'c [Cursor]>) -> Self {
        Self { cursors, left: Span::ZERO, old: 0, task: 0, row: 0 }
    }
}

impl sealed::Sealed for Rows<'_> {}

impl Pieces for Rows<'_> {
    fn start(&mut self, publication: &Publication) {
        self.left = publication.new.span();
        self.old = publication.old.as_ref().map_or(0, Varheader::start);
        (self.task, self.row) = (0, 0);
    }

    fn next(&mut self, _: &Publication, most: usize) -> Option<Piece> {
        let len = usize::try_from(self.left.len()).unwrap_or(usize::MAX).min(most);
        let old = self.cursors.is_none().then_some(self.old);
        let piece = Piece { at: self.left.offset(), len, old };
        self.old = self.old.saturating_add(usize_to_u64(len));
        self.left = self.left.skip(usize_to_u64(len));
        (len > 0).then_some(piece)
    }

    fn fill(&mut self, publication: &Publication, bytes: &mut [u8]) {
        let (Some(cursors), order) = (self.cursors, publication.meta1.order()) else { return };
        for entry in bytes.chunks_mut(size_of::<I64>()) {
            let value = cursors.get(self.task).map_or(0, |cursor| value(cursor, self.row));
            let value = I64::new(value.cast_signed(), order); // of chunks that are in a file
            copy_front(value.as_bytes(), entry);
            self.task = self.task.saturating_add(1);
            if self.task >= cursors.len() {
                (self.task, self.row) = (0, self.row.saturating_add(1));
            }
        }
    }

    fn trailer(&self, _: &Publication) -> Option<SealTrailer> {
        None
    }
}

/// The entry of a task in row `row`. After the last row it is 0, as the size of the mapping is.
fn value(cursor: &Cursor, row: u32) -> u64 {
    let Some(chunk) = row.checked_sub(1) else {
        return u64::from(cursor.chunk()).saturating_add(1);
    };
    match chunk.cmp(&cursor.chunk()) {
        Ordering::Less => cursor.chunksize(),
        Ordering::Equal => cursor.used(),
        Ordering::Greater => 0,
    }
}
