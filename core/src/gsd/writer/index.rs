//! Entries of ended frames go to slots that no header shows yet.

use super::tail::{MAX_LEN, Move};
use super::{Slot, WriteError, Writer};
use crate::gsd::create::SECTOR;
use crate::gsd::error::Error;
use crate::gsd::layout::{ENTRY_LEN, IndexBlock, grown, padded, whole_sectors};
use crate::span::{Span, round_up};
use crate::step::{DriveError, read_exact};
use crate::store::{WriteAt, copy_front, usize_to_u64};

/// Most bytes that are copied at once. Memory for millions of chunks may be lent, which nobody has
/// touched yet, and that takes longer than a few more reads.
const MAX_COPY: usize = 1 << 16;

impl<S: WriteAt, B: AsMut<[Slot]>> Writer<S, B> {
    /// Writes the entries of ended frames behind those of the index.
    pub(super) fn spill(&mut self) -> Result<(), WriteError<S>> {
        let Some(last) = self.buffer.last_ended() else { return Ok(()) };
        self.settle()?;
        self.make_writable()?;
        let ended = self.buffer.ended();
        let count = usize_to_u64(ended.len() / 32);
        let slots = self.tail.entries.saturating_add(count);
        if slots > self.usable_slots() {
            self.move_index(slots)?;
        }
        let ended = self.buffer.ended();
        let offset = self.tail.index.offset_of(self.tail.entries);
        self.store.write_all_at(offset, ended).map_err(DriveError::Store)?;
        self.tail.index_crc = (self.checksum)(self.tail.index_crc, ended);
        self.tail.sums.add_entries(ended, self.checksum);
        self.tail.entries = slots;
        self.tail.index_frames = last.saturating_add(1);
        self.buffer.drop_ended();
        Ok(())
    }

    /// Slots of the present block that entries may use. While there is no entry, the header may show
    /// the last ones, which must stay empty.
    fn usable_slots(&self) -> u64 {
        let (index, shown) = (self.tail.index, self.tail.image.index());
        match self.tail.committed == 0 && index.last(shown.slots) == Some(shown) {
            true => index.slots.saturating_sub(shown.slots),
            false => index.slots,
        }
    }

    /// Makes sure that no header shows the slots that entries go to next.
    pub(super) fn make_writable(&mut self) -> Result<(), WriteError<S>> {
        let (tail, shown) = (&self.tail, self.tail.image.index());
        if tail.index.location != shown.location || shown.slots <= tail.committed {
            return Ok(()); // another block, or the last slots of this one
        }
        // The block is one of gsd's, and its empty slots are shown.
        let committed = tail.committed;
        match committed == padded(committed, tail.index_frames, tail.shown_slots) {
            true => self.publish(committed),
            false => self.move_index(committed.saturating_add(1)),
        }
    }

    /// Fills the index with copies of its last entry, up to as many entries as it must have.
    #[inline(never)]
    pub(super) fn pad(&mut self) -> Result<(), WriteError<S>> {
        let entries = self.tail.entries;
        let want = padded(entries, self.tail.index_frames, self.tail.shown_slots);
        let want = whole_sectors(want, self.tail.align());
        if want == entries || entries == 0 {
            return Ok(());
        }
        if want > self.usable_slots() {
            self.move_index(want)?;
        }
        self.copy_entries()?;
        let last = self.tail.index.offset_of(entries.saturating_sub(1));
        let (mut entry, mut copies) = ([0; 32], [0; 256]);
        read_exact(&self.store, last, &mut entry)?;
        for copy in copies.chunks_exact_mut(32) {
            copy_front(&entry, copy);
        }
        let (mut crc, mut slot) = (self.tail.index_crc, entries);
        while slot < want {
            let left = usize::try_from(want.saturating_sub(slot)).unwrap_or(usize::MAX);
            let bytes = copies.get(..left.saturating_mul(32)).unwrap_or(&copies);
            let offset = self.tail.index.offset_of(slot);
            self.store.write_all_at(offset, bytes).map_err(DriveError::Store)?;
            crc = (self.checksum)(crc, bytes);
            self.tail.sums.add_entries(bytes, self.checksum);
            slot = slot.saturating_add(usize_to_u64(bytes.len() / 32));
        }
        (self.tail.index_crc, self.tail.entries) = (crc, want);
        Ok(())
    }

    /// Makes a fresh block of at least `slots` at the end of the file the present one. The entries
    /// that there are follow before the next commit.
    pub(super) fn move_index(&mut self, slots: u64) -> Result<(), WriteError<S>> {
        self.copy_entries()?;
        let data_end = self.tail.data_end;
        let full = DriveError::Format(Error::FileFull { data_end, len: u64::MAX });
        let slots = grown(self.tail.index.slots, slots).ok_or(full)?;
        let block = self.behind(Span::of_table(0, slots, ENTRY_LEN).map_or(u64::MAX, Span::len));
        let block = block.map_err(DriveError::Format)?;
        self.reserve(block.end())?;
        let tail = &mut self.tail;
        let from = tail.index;
        tail.moving = Some(Move { from, copied: 0, count: tail.entries });
        tail.index = IndexBlock { location: block.offset(), slots };
        tail.data_end = block.end();
        Ok(())
    }

    /// Copies the entries that the present index block still lacks.
    pub(super) fn copy_entries(&mut self) -> Result<(), WriteError<S>> {
        while let Some(moving) = self.tail.moving {
            let left = moving.count.saturating_sub(moving.copied);
            if left == 0 {
                self.tail.moving = None;
                break;
            }
            let mut small = [0; 256];
            let scratch = self.buffer.scratch();
            let scratch = if scratch.len() < small.len() { &mut small } else { scratch };
            let most = scratch.len().min(MAX_COPY) / 32;
            let count = left.min(usize_to_u64(most));
            let len = usize::try_from(count.saturating_mul(ENTRY_LEN)).unwrap_or(0);
            let bytes = scratch.get_mut(..len).unwrap_or_default();
            read_exact(&self.store, moving.from.offset_of(moving.copied), bytes)?;
            let to = self.tail.index.offset_of(moving.copied);
            self.store.write_all_at(to, bytes).map_err(DriveError::Store)?;
            let copied = moving.copied.saturating_add(count);
            self.tail.moving = Some(Move { copied, ..moving });
        }
        Ok(())
    }

    /// Writes zeros from one offset to another.
    pub(super) fn write_zeros(&mut self, mut from: u64, to: u64) -> Result<(), WriteError<S>> {
        const ZEROS: [u8; 256] = [0; 256];
        while from < to {
            let left = usize::try_from(to.saturating_sub(from)).unwrap_or(usize::MAX);
            let zeros = ZEROS.get(..left).unwrap_or(&ZEROS);
            self.store.write_all_at(from, zeros).map_err(DriveError::Store)?;
            from = from.saturating_add(usize_to_u64(zeros.len()));
        }
        Ok(())
    }

    /// Room for a block of `len` bytes at the end of the file, at a sector at least.
    pub(super) fn behind(&self, len: u64) -> Result<Span, Error> {
        let tail = &self.tail;
        let unit = tail.align().max(SECTOR);
        let start = round_up(tail.data_end, unit);
        let span = start.and_then(|start| Span::new(start, len));
        let span = span.filter(|span| span.end() <= MAX_LEN);
        span.ok_or(Error::FileFull { data_end: tail.data_end, len })
    }

    /// Makes the store at least `end` bytes long: a record speaks of all that it reserves.
    pub(super) fn reserve(&mut self, end: u64) -> Result<(), WriteError<S>> {
        if self.tail.store_len < end {
            self.store.set_size(end).map_err(DriveError::Store)?;
            self.tail.store_len = end;
        }
        Ok(())
    }
}
