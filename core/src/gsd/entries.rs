//! Listing chunks: the entries of the index in order, read through a window.

use super::ReadError;
use super::chunk::{Chunk, Limits};
use super::layout::{ENTRY_LEN, IndexBlock};
use super::raw::IndexEntry;
use crate::step::{DriveError, read_exact};
use crate::store::{ReadAt, usize_to_u64};
use core::ops::Range;
use zerocopy::FromBytes;

/// Some chunks in the order of the index.
///
/// Entries that are the same as the one before are passed over: they fill an index that needs more
/// entries than there are chunks. An entry that cannot be right is an error in its place, and those behind it follow; an error of
/// the store is the last item.
#[derive(Debug)]
pub struct Chunks<'s, S, W> {
    store: &'s S,
    index: IndexBlock,
    limits: Limits,
    window: W,
    /// Slots that are in the window.
    have: Range<u64>,
    next: u64,
    end: u64,
    /// Frames behind this one are not listed.
    last_frame: u64,
    /// The entry before the next one.
    before: Option<IndexEntry>,
}

impl<'s, S: ReadAt, W: AsMut<[u8]>> Chunks<'s, S, W> {
    pub(super) const fn new(
        store: &'s S,
        index: IndexBlock,
        limits: Limits,
        slots: Range<u64>,
        last_frame: u64,
        window: W,
    ) -> Self {
        let Range { start: next, end } = slots;
        Self { store, index, limits, window, have: 0..0, next, end, last_frame, before: None }
    }

    /// Number of the slot that the next chunk stands in, if there is one.
    #[must_use]
    pub const fn slot(&self) -> u64 {
        self.next
    }

    /// The raw entry in the next slot; `None` behind the last one.
    fn entry(&mut self) -> Result<Option<IndexEntry>, ReadError<S>> {
        if self.next >= self.end {
            return Ok(None);
        }
        if !self.have.contains(&self.next) {
            self.fill()?;
        }
        let skip = self.next.saturating_sub(self.have.start).saturating_mul(ENTRY_LEN);
        let skip = usize::try_from(skip).unwrap_or(usize::MAX);
        let bytes = self.window.as_mut().get(skip..).unwrap_or_default();
        Ok(IndexEntry::read_from_prefix(bytes).ok().map(|(entry, _)| entry))
    }

    fn fill(&mut self) -> Result<(), ReadError<S>> {
        let window = self.window.as_mut();
        let most = usize_to_u64(window.len() / 32);
        if most == 0 {
            return Err(DriveError::BufferTooSmall { need: 32 });
        }
        let count = self.end.saturating_sub(self.next).min(most);
        let len = usize::try_from(count.saturating_mul(ENTRY_LEN)).unwrap_or(usize::MAX);
        let bytes = window.get_mut(..len).unwrap_or_default();
        self.have = 0..0;
        read_exact(self.store, self.index.offset_of(self.next), bytes)?;
        self.have = self.next..self.next.saturating_add(count);
        Ok(())
    }
}

impl<S: ReadAt, W: AsMut<[u8]>> Iterator for Chunks<'_, S, W> {
    type Item = Result<Chunk, ReadError<S>>;

    fn next(&mut self) -> Option<Self::Item> {
        let (slot, entry) = loop {
            let entry = match self.entry() {
                Ok(entry) => entry?,
                Err(error) => {
                    self.end = self.next;
                    return Some(Err(error));
                }
            };
            if entry.frame.get() > self.last_frame {
                self.end = self.next;
                return None;
            }
            let slot = self.next;
            self.next = slot.saturating_add(1);
            if self.before.replace(entry) != Some(entry) {
                break (slot, entry);
            }
        };
        let chunk = Chunk::parse_used(&entry, self.index, slot, self.limits);
        Some(chunk.map_err(DriveError::Format))
    }
}
