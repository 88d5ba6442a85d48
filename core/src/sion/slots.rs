//! What a writer keeps of each task, in memory of the caller's.

use super::commit::{Column, Entries, Written};
use super::cursor::Cursor;
use super::layout::Chunks;
use core::ops::Range;

/// A task that is written to.
#[derive(Debug, Clone, Copy)]
pub struct Slot {
    pub(super) cursor: Cursor,
    /// First chunk that is not as the last commit says; all behind it are not, either.
    pub(super) since: u32,
    /// CRC-32C of what is used of the cursor's chunk, if the file is sealed.
    pub(super) crc: u32,
}

impl Slot {
    /// A task without any chunk, to fill memory with.
    pub const EMPTY: Self = Self {
        cursor: Cursor::new(Chunks { start: 0, chunksize: 0, globalskip: None }),
        since: 0,
        crc: 0,
    };

    /// Where the task writes next.
    #[must_use]
    pub const fn cursor(&self) -> &Cursor {
        &self.cursor
    }
}

/// A chunk that was finished since the last commit, and that its task's slot does not tell of.
#[derive(Debug, Clone, Copy)]
pub struct Finished {
    local: u32,
    chunk: u32,
    used: u64,
    crc: u32,
}

impl Finished {
    /// No chunk, to fill memory with.
    pub const EMPTY: Self = Self { local: 0, chunk: 0, used: 0, crc: 0 };
}

/// Chunks that were finished since the last commit.
#[derive(Debug)]
pub(super) struct Ledger<'m> {
    memory: &'m mut [Finished],
    len: usize,
}

impl<'m> Ledger<'m> {
    pub(super) const fn new(memory: &'m mut [Finished]) -> Self {
        Self { memory, len: 0 }
    }

    pub(super) fn is_full(&self) -> bool {
        self.len >= self.memory.len()
    }

    pub(super) const fn capacity(&self) -> usize {
        self.memory.len()
    }

    /// Adds the chunk that `slot` is about to leave; there must be room.
    pub(super) fn push(&mut self, local: u32, slot: &Slot) {
        let (chunk, used) = (slot.cursor.chunk(), slot.cursor.used());
        if let Some(entry) = self.memory.get_mut(self.len) {
            *entry = Finished { local, chunk, used, crc: slot.crc };
            self.len = self.len.saturating_add(1);
        }
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// Drops all but the first `len` entries.
    pub(super) const fn truncate(&mut self, len: usize) {
        if len < self.len {
            self.len = len;
        }
    }

    fn entries(&self) -> &[Finished] {
        self.memory.get(..self.len).unwrap_or_default()
    }
}

/// All that was written since the last commit.
#[derive(Debug)]
pub(super) struct Since<'a, 'm> {
    pub(super) slots: &'a [Slot],
    pub(super) ledger: &'a Ledger<'m>,
    /// Physical file and local rank of each global rank.
    pub(super) mapping: &'a [(u32, u32)],
}

impl Since<'_, '_> {
    /// Lays one row over: `current` of a cursor's own chunk, `full` of a chunk that the ledger leaves
    /// out, `finished` of one that it has.
    fn lay_row(
        &self,
        entries: &mut Entries<'_>,
        chunk: u32,
        current: impl Fn(&Slot) -> u64,
        finished: impl Fn(&Finished) -> u64,
    ) {
        for (local, slot) in self.tasks(entries.range()) {
            if slot.cursor.chunk() == chunk {
                entries.set(local, current(slot));
            } else if slot.since <= chunk && chunk < slot.cursor.chunk() {
                entries.set(local, slot.cursor.chunksize());
            }
        }
        let range = entries.range();
        for entry in self.ledger.entries() {
            if entry.chunk == chunk && range.contains(&entry.local) {
                entries.set(entry.local, finished(entry));
            }
        }
    }

    fn tasks(&self, range: Range<u32>) -> impl Iterator<Item = (u32, &Slot)> {
        let slots = from(self.slots, range.start);
        range.zip(slots)
    }
}

fn from<T>(entries: &[T], first: u32) -> &[T] {
    usize::try_from(first).ok().and_then(|first| entries.get(first..)).unwrap_or_default()
}

impl Written for Since<'_, '_> {
    fn lay_over(&self, entries: &mut Entries<'_>) {
        match entries.column() {
            Column::Blockcounts => {
                for (local, slot) in self.tasks(entries.range()) {
                    entries.set(local, u64::from(slot.cursor.chunk()).saturating_add(1));
                }
            }
            Column::Blocksizes { chunk } => {
                self.lay_row(entries, chunk, |slot| slot.cursor.used(), |entry| entry.used);
            }
            Column::Crcs { chunk } => {
                self.lay_row(entries, chunk, |slot| slot.crc.into(), |entry| entry.crc.into());
            }
            Column::Mapping => {
                for (globalrank, address) in
                    entries.range().zip(from(self.mapping, entries.range().start))
                {
                    entries.set_address(globalrank, address.0, address.1);
                }
            }
        }
    }
}
