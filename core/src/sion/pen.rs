//! What a writer knows of a task, as a value: numbers only.
//!
//! Whoever holds a [`Pen`] moves the bytes: to [`Cursor::place`], after which it tells the Pen.
//! Chunks that the task leaves go to a [`Ledger`] until the next commit, which asks for them by
//! [`Since`].

use super::cursor::Cursor;
use super::error::Error;
use super::layout::Chunks;
use super::tables::{Column, Entries, Written};
use crate::integrity::Checksum;
use core::ops::Range;

/// A task that is written to. A copy is what the task was at that moment: it may write on while a
/// commit publishes what the copy says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pen {
    cursor: Cursor,
    local: u32,
    /// First chunk that is not as the last commit says; no later one is, either.
    since: u32,
    /// CRC-32C of what is used of the cursor's chunk, if the file is sealed.
    crc: u32,
    sealed: bool,
    /// Whether anything was accepted since the last commit.
    dirty: bool,
}

impl Pen {
    /// A task without any chunk, to fill memory with.
    pub const EMPTY: Self =
        Self::new(0, Chunks { start: 0, chunksize: 0, globalskip: None }, false);

    /// At the start of the stream of task `local`. `chunks` must have their globalskip.
    #[must_use]
    pub const fn new(local: u32, chunks: Chunks, sealed: bool) -> Self {
        Self::resume(local, Cursor::new(chunks), if sealed { Some(0) } else { None })
    }

    /// Where the last commit says that task `local` stopped. `crc` is the CRC-32C of what is used
    /// of the cursor's chunk, if the file is sealed.
    #[must_use]
    pub const fn resume(local: u32, cursor: Cursor, crc: Option<u32>) -> Self {
        let (crc, sealed) = match crc {
            Some(crc) => (crc, true),
            None => (0, false),
        };
        Self { cursor, local, since: cursor.chunk(), crc, sealed, dirty: false }
    }

    /// Sets how many bytes chunks are apart, which a list of tasks knows only at its end.
    pub(super) const fn with_globalskip(self, globalskip: u64) -> Self {
        Self { cursor: self.cursor.with_globalskip(globalskip), ..self }
    }

    /// Rank of the task in its physical file.
    #[must_use]
    pub const fn local(&self) -> u32 {
        self.local
    }

    /// Where the task writes next.
    #[must_use]
    pub const fn cursor(&self) -> &Cursor {
        &self.cursor
    }

    /// Index of its chunk.
    #[must_use]
    pub const fn chunk(&self) -> u32 {
        self.cursor.chunk()
    }

    /// CRC-32C of what is used of the chunk and then `bytes`; 0 if the file is not sealed.
    #[must_use]
    #[inline]
    pub fn crc_after(&self, bytes: &[u8], checksum: Checksum) -> u32 {
        if self.sealed { checksum(self.crc, bytes) } else { 0 }
    }

    /// CRC-32C of what is used of the chunk and was written; 0 if the file is not sealed.
    #[must_use]
    pub const fn crc(&self) -> u32 {
        self.crc
    }

    /// Counts `len` bytes that were written at the cursor, with which the chunk's checksum is
    /// `crc`.
    #[inline]
    pub const fn wrote(&mut self, len: u64, crc: u32) {
        self.accepted(len);
        self.flushed(crc);
    }

    /// Counts `len` bytes that a buffer took and that will be written later.
    #[inline]
    pub const fn accepted(&mut self, len: u64) {
        self.cursor.advance(len);
        self.dirty |= len > 0;
    }

    /// All that was accepted is written, and the chunk's checksum is `crc`.
    #[inline]
    pub const fn flushed(&mut self, crc: u32) {
        self.crc = crc;
    }

    /// Goes to the start of the task's next chunk, whose block must be entered. What was accepted
    /// must be written.
    ///
    /// # Errors
    /// As [`Cursor::next_chunk`], and the ledger's; the task is where it was then.
    pub fn leave(&mut self, ledger: &mut impl Ledger) -> Result<(), Error> {
        let next = self.cursor.next_chunk()?;
        // What the ledger leaves out is a full chunk, which needs no words but its checksum.
        if self.sealed || self.cursor.room() > 0 {
            ledger.push(self.finished())?;
        }
        (self.cursor, self.crc, self.dirty) = (next, 0, true);
        Ok(())
    }

    /// Makes all chunks of the task new ones, for a file that is to be sealed: each before the
    /// cursor's must be in the ledger.
    pub const fn renew(&mut self) {
        (self.since, self.dirty) = (0, true);
    }

    /// The cursor's chunk as it is.
    #[must_use]
    pub const fn finished(&self) -> Finished {
        let (local, chunk, used, crc) =
            (self.local, self.cursor.chunk(), self.cursor.used(), self.crc);
        Finished { local, chunk, used, crc }
    }

    /// Takes back what was accepted since `mark`, an earlier copy. None of it may have been
    /// committed, and no buffer may hold any of it.
    pub fn take_back(&mut self, mark: &Self, ledger: &mut impl Ledger) {
        ledger.retain(|done| done.local != self.local || done.chunk < mark.chunk());
        // `since` stays: a commit of what came before the mark may have ended meanwhile.
        (self.cursor, self.crc) = (mark.cursor, mark.crc);
    }

    /// What `seen`, an earlier copy, says has been committed. The ledger may forget what
    /// [`Finished::is_told_by`] it.
    pub fn committed(&mut self, seen: &Self) {
        self.since = seen.chunk();
        self.dirty = self.cursor != seen.cursor;
    }

    /// Whether all of it is as the last commit says.
    #[must_use]
    pub const fn is_committed(&self) -> bool {
        !self.dirty
    }
}

/// A chunk that its task has left since the last commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finished {
    /// Rank of the task in its physical file.
    pub local: u32,
    /// Index of the chunk.
    pub chunk: u32,
    /// Bytes of it that are used.
    pub used: u64,
    /// Their CRC-32C; 0 if the file is not sealed.
    pub crc: u32,
}

impl Finished {
    /// No chunk, to fill memory with.
    pub const EMPTY: Self = Self { local: 0, chunk: 0, used: 0, crc: 0 };

    /// Whether a commit of the task as `seen` has it.
    #[must_use]
    pub const fn is_told_by(&self, seen: &Pen) -> bool {
        self.local == seen.local && self.chunk < seen.chunk()
    }
}

/// Chunks that were finished since the last commit, of one task or of several.
pub trait Ledger {
    /// Adds a chunk.
    ///
    /// # Errors
    /// [`Error::LedgerFull`].
    fn push(&mut self, chunk: Finished) -> Result<(), Error>;

    /// Drops all but those that are to be kept.
    fn retain(&mut self, keep: impl FnMut(&Finished) -> bool);
}

/// The Pens of a physical file, as a commit asks for them.
pub trait Pens {
    /// The Pens of those of `tasks` that may not be as the last commit says.
    fn pens(&self, tasks: Range<u32>) -> impl Iterator<Item = &Pen>;

    /// Chunks of index `chunk` that those of `tasks` have left.
    fn finished(&self, chunk: u32, tasks: Range<u32>) -> impl Iterator<Item = &Finished>;

    /// Physical file and local rank of a global rank, if this is the first of several files.
    fn address(&self, globalrank: u32) -> Option<(u32, u32)>;
}

/// All that was written since the last commit.
#[derive(Debug, Clone, Copy)]
pub struct Since<P>(pub P);

impl<P: Pens> Since<P> {
    /// Lays one row over: `current` of a Pen's own chunk, and `finished` of one that it has left.
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
