//! The machine that writes META2 of a file whose chunks are all full but the last of each task.

use crate::endian::{ByteOrder, I64};
use crate::sion::cursor::Cursor;
use crate::sion::tables::{Emit, Publication};
use crate::sion::varheader::Varheader;
use crate::sion::visible::Visible;
use crate::span::Span;
use crate::step::{Machine, Step};
use crate::store::{copy_front, usize_to_u64};
use core::cmp::Ordering;
use core::convert::Infallible;
use zerocopy::IntoBytes;

/// Entries that are written at once.
const ENTRIES: usize = 8;

/// The bytes that a driver of [`Rows`] reads at once.
pub(super) const PIECE: usize = size_of::<[I64; ENTRIES]>();

/// Writes META2 and the mapping, which has no entries.
#[derive(Debug)]
pub(super) struct Rows<'c> {
    /// The ends of the streams; `None` to copy the last commit.
    cursors: Option<&'c [Cursor]>,
    order: ByteOrder,
    /// The bytes that are left to write.
    left: Span,
    /// Where the last commit has them.
    old: u64,
    /// The task of the next entry, and its row: that of the blockcounts, or of a chunk after it.
    task: usize,
    row: u32,
    /// Whether the next bytes of the last commit were read.
    is_read: bool,
    piece: [I64; ENTRIES],
}

impl<'c> Rows<'c> {
    /// Makes a machine that writes nothing before [`restart`](Emit::restart).
    pub(super) const fn idle(cursors: Option<&'c [Cursor]>) -> Self {
        let order = ByteOrder::HOST;
        let (left, old, task, row, is_read) = (Span::ZERO, 0, 0, 0, false);
        Self { cursors, order, left, old, task, row, is_read, piece: [I64::new(0, order); ENTRIES] }
    }

    /// Fills the piece with the next entries.
    fn fill(&mut self, cursors: &[Cursor]) {
        for entry in &mut self.piece {
            let value = cursors.get(self.task).map_or(0, |cursor| value(cursor, self.row));
            *entry = I64::new(value.cast_signed(), self.order); // of chunks that are in a file
            self.task = self.task.saturating_add(1);
            if self.task >= cursors.len() {
                (self.task, self.row) = (0, self.row.saturating_add(1));
            }
        }
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

impl Emit for Rows<'_> {
    fn restart(&mut self, publication: &Publication) {
        (self.order, self.left) = (publication.meta1.order(), publication.new.span());
        self.old = publication.old.as_ref().map_or(0, Varheader::start);
        (self.task, self.row, self.is_read) = (0, 0, false);
    }

    fn visible(&mut self, publication: &Publication) -> Option<Visible> {
        self.left.is_empty().then(|| Visible::unsealed(publication))
    }
}

impl Machine for Rows<'_> {
    type Output = ();
    type Error = Infallible;

    fn poll(&mut self) -> Step<'_, ()> {
        let len = usize::try_from(self.left.len()).unwrap_or(usize::MAX).min(PIECE);
        if len == 0 {
            return Step::Done(());
        }
        let len_of_piece = usize_to_u64(len);
        match self.cursors {
            None if !self.is_read => {
                return Step::Read { offset: self.old, need: len, want: len_of_piece };
            }
            None => self.is_read = false,
            Some(cursors) => self.fill(cursors),
        }
        let offset = self.left.offset();
        self.old = self.old.saturating_add(len_of_piece);
        self.left = self.left.skip(len_of_piece);
        Step::Write { offset, bytes: self.piece.as_bytes().get(..len).unwrap_or_default() }
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Infallible> {
        copy_front(bytes, self.piece.as_mut_bytes());
        self.is_read = true;
        Ok(())
    }
}
