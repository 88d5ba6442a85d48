//! A writer's state of a task, as a value: numbers only.
//!
//! The owner of a [`Pen`] writes the bytes to [`Cursor::place`] and then updates the Pen. Chunks
//! that the task has left are in a ledger until the next commit, which gets them from [`Since`].

use super::cursor::Cursor;
use super::tables::{Column, Entries, Written};
use crate::integrity::Checksum;
use crate::sion::error::Error;
use crate::sion::layout::Chunks;
use core::ops::Range;

/// A task that is written. A copy is a snapshot: the task may write on while a commit publishes the
/// copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pen {
    cursor: Cursor,
    local: u32,
    /// The first chunk that differs from the last commit; all later chunks differ, too.
    since: u32,
    /// CRC-32C of the used bytes of the cursor's chunk, if the file is sealed.
    crc: u32,
    sealed: bool,
    /// Whether bytes were accepted since the last commit.
    dirty: bool,
}

impl Pen {
    /// A task without chunks, to initialize memory.
    pub const EMPTY: Self =
        Self::new(0, Chunks { start: 0, chunksize: 0, globalskip: None }, false);

    /// The Pen of task `local` at the start of its stream. `chunks` must have their globalskip.
    #[must_use]
    pub const fn new(local: u32, chunks: Chunks, sealed: bool) -> Self {
        Self::resume(local, Cursor::new(chunks), if sealed { Some(0) } else { None })
    }

    /// The Pen of task `local` at the end of its stream in the last commit. `crc` is the CRC-32C of
    /// the used bytes of the cursor's chunk, if the file is sealed.
    #[must_use]
    pub const fn resume(local: u32, cursor: Cursor, crc: Option<u32>) -> Self {
        let (crc, sealed) = match crc {
            Some(crc) => (crc, true),
            None => (0, false),
        };
        Self { cursor, local, since: cursor.chunk(), crc, sealed, dirty: false }
    }

    /// The local rank of the task.
    #[must_use]
    pub const fn local(&self) -> u32 {
        self.local
    }

    /// Where the task writes next.
    #[must_use]
    pub const fn cursor(&self) -> &Cursor {
        &self.cursor
    }

    /// The index of the current chunk.
    #[must_use]
    pub const fn chunk(&self) -> u32 {
        self.cursor.chunk()
    }

    /// CRC-32C of the used bytes of the chunk followed by `bytes`; 0 if the file is not sealed.
    #[must_use]
    #[inline]
    pub fn crc_after(&self, bytes: &[u8], checksum: Checksum) -> u32 {
        if self.sealed { checksum(self.crc, bytes) } else { 0 }
    }

    /// CRC-32C of the bytes of the chunk that were written; 0 if the file is not sealed.
    #[must_use]
    pub const fn crc(&self) -> u32 {
        self.crc
    }

    /// Counts `len` bytes that were written at the cursor. `crc` is the chunk's checksum with these
    /// bytes.
    #[inline]
    pub const fn wrote(&mut self, len: u64, crc: u32) {
        self.accepted(len);
        self.flushed(crc);
    }

    /// Counts `len` bytes that a buffer has accepted and that are written later.
    #[inline]
    pub const fn accepted(&mut self, len: u64) {
        self.cursor.advance(len);
        self.dirty |= len > 0;
    }

    /// Says that all accepted bytes are written. `crc` is the chunk's checksum.
    #[inline]
    pub const fn flushed(&mut self, crc: u32) {
        self.crc = crc;
    }

    /// Moves to the start of the task's next chunk, whose block must be entered. All accepted bytes
    /// must be written. `keep` adds the chunk to the ledger; it is not called for a chunk that the
    /// ledger leaves out.
    ///
    /// # Errors
    /// See [`Cursor::next_chunk`]; the error of `keep`. After an error, the Pen is unchanged.
    pub fn leave(&mut self, keep: impl FnOnce(Finished) -> Result<(), Error>) -> Result<(), Error> {
        let next = self.cursor.next_chunk()?;
        // What the ledger leaves out is a full chunk, which needs no words but its checksum.
        if self.sealed || self.cursor.room() > 0 {
            keep(self.finished())?;
        }
        (self.cursor, self.crc, self.dirty) = (next, 0, true);
        Ok(())
    }

    /// Marks all chunks of the task as new, for a file that is to be sealed. Each chunk before the
    /// cursor's must be in the ledger.
    pub const fn renew(&mut self) {
        (self.since, self.dirty) = (0, true);
    }

    /// The cursor's chunk in its current state.
    #[must_use]
    pub const fn finished(&self) -> Finished {
        let (local, chunk, used, crc) =
            (self.local, self.cursor.chunk(), self.cursor.used(), self.crc);
        Finished { local, chunk, used, crc }
    }

    /// Takes back the bytes that were accepted since `mark`, an earlier copy. None of them may be
    /// committed or in a buffer. The ledger keeps those chunks of the task for which
    /// [`Finished::is_told_by`] of `mark` returns true; the caller drops the others.
    pub const fn take_back(&mut self, mark: &Self) {
        // `since` stays: a commit of what came before the mark may have ended meanwhile.
        (self.cursor, self.crc) = (mark.cursor, mark.crc);
    }

    /// Says that the state in `seen`, an earlier copy, was committed. The ledger may drop the
    /// chunks for which [`Finished::is_told_by`] returns true.
    pub fn committed(&mut self, seen: &Self) {
        self.since = seen.chunk();
        self.dirty = self.cursor != seen.cursor;
    }

    /// Whether the task has not changed since the last commit.
    #[must_use]
    pub const fn is_committed(&self) -> bool {
        !self.dirty
    }
}

/// A chunk that its task has left since the last commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finished {
    /// The local rank of the task.
    pub local: u32,
    /// The index of the chunk.
    pub chunk: u32,
    /// The bytes of the chunk that are used.
    pub used: u64,
    /// Their CRC-32C; 0 if the file is not sealed.
    pub crc: u32,
}

impl Finished {
    /// No chunk, to initialize memory.
    pub const EMPTY: Self = Self { local: 0, chunk: 0, used: 0, crc: 0 };

    /// Whether a commit of the task in the state `seen` includes this chunk.
    #[must_use]
    pub const fn is_told_by(&self, seen: &Pen) -> bool {
        self.local == seen.local && self.chunk < seen.chunk()
    }
}

/// The Pens and finished chunks of a physical file, as a commit needs them.
///
/// Other crates may implement it; a method of a later version has a default.
pub trait Pens {
    /// The Pens of all tasks in the range `tasks` that may differ from the last commit.
    fn pens(&self, tasks: Range<u32>) -> impl Iterator<Item = &Pen>;

    /// The chunks with index `chunk` that tasks in the range `tasks` have left.
    fn finished(&self, chunk: u32, tasks: Range<u32>) -> impl Iterator<Item = &Finished>;

    /// The physical file and the local rank of a global rank, if this is the first of several
    /// files.
    fn address(&self, globalrank: u32) -> Option<(u32, u32)>;
}

/// All changes since the last commit.
#[derive(Debug, Clone, Copy)]
pub struct Since<P>(pub P);

impl<P: Pens> Since<P> {
    /// Sets the entries of one row: `current` of a Pen's own chunk, `finished` of a chunk that its
    /// task has left.
    fn lay_row(
        &self,
        entries: &mut Entries<'_>,
        chunk: u32,
        current: impl Fn(&Pen) -> u64,
        finished: impl Fn(&Finished) -> u64,
    ) {
        for pen in self.0.pens(entries.range()) {
            if pen.chunk() == chunk {
                entries.set(pen.local, current(pen));
            } else if pen.since <= chunk && chunk < pen.chunk() {
                entries.set(pen.local, pen.cursor.chunksize()); // unless the ledger has it
            }
        }
        for done in self.0.finished(chunk, entries.range()) {
            entries.set(done.local, finished(done));
        }
    }
}

impl<P: Pens> Written for Since<P> {
    fn lay_over(&self, entries: &mut Entries<'_>) {
        match entries.column() {
            Column::Blockcounts => {
                for pen in self.0.pens(entries.range()) {
                    entries.set(pen.local, u64::from(pen.chunk()).saturating_add(1));
                }
            }
            Column::Blocksizes { chunk } => {
                self.lay_row(entries, chunk, |pen| pen.cursor.used(), |done| done.used);
            }
            Column::Crcs { chunk } => {
                self.lay_row(entries, chunk, |pen| pen.crc.into(), |done| done.crc.into());
            }
            Column::Mapping => {
                for globalrank in entries.range() {
                    if let Some((file, lrank)) = self.0.address(globalrank) {
                        entries.set_address(globalrank, file, lrank);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHUNKS: Chunks = Chunks { start: 1024, chunksize: 100, globalskip: Some(512) };

    #[test]
    fn a_task_is_committed_until_it_accepts_a_byte() {
        let mut pen = Pen::new(3, CHUNKS, false);
        assert!(pen.is_committed());
        pen.accepted(0);
        assert!(pen.is_committed());
        pen.accepted(40);
        assert!(!pen.is_committed());
        pen.accepted(0);
        assert!(!pen.is_committed(), "it has bytes that no commit has");
        let seen = pen;
        pen.committed(&seen);
        assert!(pen.is_committed());
        pen.accepted(1);
        pen.committed(&seen);
        assert!(!pen.is_committed(), "the byte came while the commit was made");
    }

    #[test]
    fn a_pen_that_is_taken_back_is_at_the_mark() {
        let mark = Pen::resume(3, Cursor::resume(CHUNKS, 2, 40).unwrap(), Some(5));
        let mut pen = Pen::resume(3, Cursor::resume(CHUNKS, 4, 7).unwrap(), Some(6));
        pen.take_back(&mark);
        assert_eq!((pen.cursor(), pen.crc()), (mark.cursor(), 5));
    }

    #[test]
    fn a_commit_tells_of_the_chunks_that_its_task_had_left() {
        let seen = Pen::resume(3, Cursor::resume(CHUNKS, 2, 7).unwrap(), None);
        for (local, chunk) in (0..6).flat_map(|local| (0..5).map(move |chunk| (local, chunk))) {
            let done = Finished { local, chunk, used: 100, crc: 0 };
            assert_eq!(done.is_told_by(&seen), local == 3 && chunk < 2, "{done:?}");
        }
    }

    #[test]
    fn all_chunks_of_a_task_are_new_in_a_file_that_is_to_be_sealed() {
        let cursor = Cursor::resume(CHUNKS, 2, 7).unwrap();
        let mut pen = Pen::resume(3, cursor, Some(9));
        assert!(pen.is_committed());
        assert_eq!((pen.since, pen.crc()), (2, 9));
        pen.renew();
        assert!(!pen.is_committed());
        assert_eq!(pen.since, 0);
    }
}
