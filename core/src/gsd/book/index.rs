//! Entries of ended frames go to slots that no header shows.

use super::commit::{publish, settle};
use super::tail::{Move, Tail};
use super::work::{Bytes, HAND, Work};
use crate::exact::Exact;
use crate::gsd::checksums;
use crate::gsd::create::SECTOR;
use crate::gsd::error::Error;
use crate::gsd::layout::{ENTRY_LEN, IndexBlock, Room, grown, padded, whole_sectors};
use crate::span::{Span, round_up};
use crate::store::usize_to_u64;

impl Tail {
    /// Slots of the current block for entries. While there are no entries, the header may show the
    /// last slots, which must stay empty.
    fn usable_slots(&self) -> u64 {
        let shown = self.image.index();
        match self.committed == 0 && self.index.last(shown.slots) == Some(shown) {
            true => self.index.slots.exact_sub(shown.slots),
            false => self.index.slots,
        }
    }

    /// The number of committed frames of `chunks` chunks, which have `bytes` bytes each, that fit
    /// into a store of `store_len` bytes before the index must grow. `waiting` entries are in
    /// memory.
    pub(super) fn frames_left(&self, chunks: u64, bytes: u64, store_len: u64, waiting: u64) -> u64 {
        let own = u64::from(self.checksums && chunks > 0);
        let room = Room {
            slots: self.index.slots,
            usable: self.usable_slots(),
            entries: self.entries.saturating_add(waiting),
            frames: self.frame,
            shown: self.shown_slots,
            align: self.align(),
        };
        let align = self.align();
        let of = |bytes| round_up(bytes, align).unwrap_or(u64::MAX);
        let rows = chunks.saturating_add(own).saturating_mul(8);
        let sums = of(rows).saturating_mul(own);
        let each = of(bytes).saturating_mul(chunks).saturating_add(sums);
        let end = match own == 1 && self.checksums_id.is_none() {
            // behind the chunks of the frame, at a sector
            true => self.end_with_name(checksums::NAME.len()).saturating_add(SECTOR.get()),
            false => self.data_end,
        };
        let left = round_up(end, align).and_then(|end| store_len.checked_sub(end));
        // Nothing needs to follow the last chunk.
        let last = if own == 1 { rows } else { bytes };
        let padding = of(last).saturating_sub(last);
        let left = left.map_or(0, |left| left.saturating_add(padding));
        let fitting = left.checked_div(each).unwrap_or(u64::MAX);
        room.frames_left(chunks.saturating_add(own)).min(fitting)
    }

    /// The number of entries that the index must have, with padding.
    fn padded(&self) -> u64 {
        let want = padded(self.entries, self.index_frames, self.shown_slots);
        whole_sectors(want, self.align())
    }

    /// Notes entries that were written after the last one.
    fn add_entries(&mut self, bytes: &[u8], checksum: crate::integrity::Checksum) {
        self.index_crc = checksum(self.index_crc, bytes);
        self.sums.add_entries(bytes, checksum);
        self.entries = self.entries.exact_add(usize_to_u64(bytes.len() / 32));
    }
}

/// Writes the entries of ended frames after the entries of the index.
pub(super) fn spill(work: &mut Work<'_>) {
    if work.waiting.last_ended().is_some() {
        work.then(&[settle, free_slots, make_slots, write_ended]);
    }
}

fn make_slots(work: &mut Work<'_>) {
    work.slots = work.tail.entries.exact_add(work.waiting.counts.ended_len());
    if work.slots > work.tail.usable_slots() {
        work.then(&[move_index])
    }
}

fn write_ended(work: &mut Work<'_>) {
    work.then(&[|work| {
        let last = work.waiting.last_ended().unwrap_or(0);
        work.tail.add_entries(work.waiting.ended(), work.checksum);
        work.tail.index_frames = last.saturating_add(1);
        work.waiting.drop_ended();
    }]);
    let offset = work.tail.index.slot(work.tail.entries);
    work.write(offset, Bytes::Ended);
}

/// Makes sure that no header shows the slots of the next entries.
pub(super) fn free_slots(work: &mut Work<'_>) {
    let (tail, shown) = (&work.tail, work.tail.image.index());
    if tail.index.location != shown.location || shown.slots <= tail.committed {
        return; // another block, or the last slots of this one
    }
    // It is a block of gsd, whose empty slots are visible.
    let committed = tail.committed;
    if committed == padded(committed, tail.index_frames, tail.shown_slots) {
        work.shown = committed;
        return work.then(&[publish]);
    }
    work.slots = committed.exact_add(1);
    work.then(&[move_index])
}

/// Fills the index with copies of its last entry, up to the number that it must have.
pub(super) fn pad(work: &mut Work<'_>) {
    let tail = &work.tail;
    let want = tail.padded();
    if want == tail.entries || tail.entries == 0 {
        return;
    }
    if want > tail.usable_slots() {
        work.slots = want;
        return work.then(&[move_index, pad]);
    }
    work.then(&[copy_entries, read_last, fill_with_last, write_padding])
}

fn read_last(work: &mut Work<'_>) {
    let last = work.tail.index.slot(work.tail.entries.exact_sub(1));
    work.read(last, ENTRY_LEN)
}

fn fill_with_last(work: &mut Work<'_>) {
    let mut entry = [0; 32];
    entry.copy_from_slice(work.bytes_read().first_chunk::<32>().unwrap_or(&[0; 32]));
    work.fill_hand(&entry);
}

fn write_padding(work: &mut Work<'_>) {
    let left = work.tail.padded().exact_sub(work.tail.entries);
    let len = usize::try_from(left).unwrap_or(HAND).exact_mul(32).min(HAND);
    if len == 0 {
        return;
    }
    work.done = usize_to_u64(len);
    work.then(&[add_padding, write_padding]);
    let offset = work.tail.index.slot(work.tail.entries);
    work.write(offset, Bytes::Hand(len));
}

fn add_padding(work: &mut Work<'_>) {
    let len = usize::try_from(work.done).unwrap_or(0);
    let padding = work.hand.bytes().get(..len).unwrap_or_default();
    work.tail.add_entries(padding, work.checksum);
}

/// Switches to a new index block of at least `work.slots` slots at the end of the file. The
/// existing entries are copied before the next commit.
pub(super) fn move_index(work: &mut Work<'_>) {
    work.then(&[copy_entries, take_block])
}

fn take_block(work: &mut Work<'_>) {
    let Some(block) = work.ok(index_block(work)) else { return };
    let end = block.exact_span().end();
    if work.lacks(end) {
        return work.reserve(end, take_block);
    }
    let tail = &mut *work.tail;
    tail.moving = Some(Move { from: tail.index, copied: 0, count: tail.entries });
    (tail.index, tail.data_end) = (block, end);
}

/// A block of at least `work.slots` slots at the end of the file.
pub(super) fn index_block(work: &Work<'_>) -> Result<IndexBlock, Error> {
    let full = Error::FileFull { data_end: work.tail.data_end, len: u64::MAX };
    let slots = grown(work.tail.index.slots, work.slots).ok_or(full)?;
    let len = Span::of_table(0, slots, ENTRY_LEN).map_or(u64::MAX, Span::len);
    Ok(IndexBlock { location: work.tail.behind(len)?.offset(), slots })
}

/// Copies the entries that the current index block still lacks.
pub(super) fn copy_entries(work: &mut Work<'_>) {
    let Some(moving) = work.tail.moving else { return };
    let left = moving.count.exact_sub(moving.copied);
    if left == 0 {
        work.tail.moving = None;
        return;
    }
    let count = left.min(work.room_len() / ENTRY_LEN);
    work.then(&[write_copy]);
    work.read(moving.from.slot(moving.copied), count.exact_mul(ENTRY_LEN))
}

fn write_copy(work: &mut Work<'_>) {
    let Some(moving) = work.tail.moving else { return };
    work.then(&[has_copied, copy_entries]);
    let bytes = Bytes::Read(work.bytes_read().len());
    work.write(work.tail.index.slot(moving.copied), bytes);
}

fn has_copied(work: &mut Work<'_>) {
    let count = usize_to_u64(work.bytes_read().len() / 32);
    if let Some(moving) = &mut work.tail.moving {
        moving.copied = moving.copied.exact_add(count);
    }
}
