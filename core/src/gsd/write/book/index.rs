//! Entries of ended frames go to slots that no header shows.

use super::desk::{Desk, Failure};
use super::tail::{Move, NO_NAME, Tail};
use crate::exact::Exact;
use crate::gsd::disk::checksums;
use crate::gsd::error::Error;
use crate::gsd::layout::{ENTRY_LEN, IndexBlock, Room, SECTOR, grown, padded, whole_sectors};
use crate::span::{Span, round_up};
#[twin(WriteAt)]
use crate::store::WriteAt;
use crate::store::usize_to_u64;
use striae_twin::twin;

impl Tail {
    /// Slots of the current block for entries. While there are no entries, the header may show the
    /// last slots, which must stay empty.
    #[cfg_attr(target_os = "none", inline(never))] // a device's code is small
    pub(super) fn usable_slots(&self) -> u64 {
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
        let end = match own == 1 && self.checksums_id == NO_NAME {
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
    pub(super) fn padded(&self) -> u64 {
        let want = padded(self.entries, self.index_frames, self.shown_slots);
        whole_sectors(want, self.align())
    }

    /// Notes entries that were written after the last one.
    #[cfg_attr(target_os = "none", inline(never))] // a device's code is small
    pub(super) fn add_entries(&mut self, bytes: &[u8], checksum: crate::integrity::Checksum) {
        self.index_crc = checksum(self.index_crc, bytes);
        self.sums.add_entries(bytes, checksum);
        self.entries = self.entries.exact_add(usize_to_u64(bytes.len() / 32));
    }

    /// A block of at least `slots` slots at the end of the file.
    pub(super) fn index_block(&self, slots: u64) -> Result<IndexBlock, Error> {
        let full = Error::FileFull { data_end: self.data_end, len: u64::MAX };
        let slots = grown(self.index.slots, slots).ok_or(full)?;
        let len = Span::of_table(0, slots, ENTRY_LEN).map_or(u64::MAX, Span::len);
        Ok(IndexBlock { location: self.behind(len)?.offset(), slots })
    }
}

#[twin(WriteAt)]
impl<S: WriteAt> Desk<'_, S, S::Error> {
    /// Makes sure that no header shows the slots of the next entries.
    pub(super) async fn free_slots(&mut self) -> Result<(), Failure> {
        let (tail, shown) = (&*self.tail, self.tail.image.index());
        if tail.index.location != shown.location || shown.slots <= tail.committed {
            return Ok(()); // another block, or the last slots of this one
        }
        // It is a block of gsd, whose empty slots are visible.
        let committed = tail.committed;
        match committed == padded(committed, tail.index_frames, tail.shown_slots) {
            true => self.publish(committed).await,
            false => self.move_index(committed.exact_add(1)).await,
        }
    }

    /// Switches to a new index block of at least `slots` slots at the end of the file. The existing
    /// entries are copied before the next commit.
    pub(super) async fn move_index(&mut self, slots: u64) -> Result<(), Failure> {
        self.copy_entries().await?;
        let block = self.disk.check(self.tail.index_block(slots))?;
        let end = block.exact_span().end();
        self.reserve(end).await?;
        let tail = &mut *self.tail;
        let from = Span::exact(tail.index.location, tail.entries.exact_mul(ENTRY_LEN));
        tail.moving = Move { from, to: block.location };
        (tail.index, tail.data_end) = (block, end);
        Ok(())
    }

    /// Copies the entries that the current index block still lacks.
    pub(super) async fn copy_entries(&mut self) -> Result<(), Failure> {
        while !self.tail.moving.from.is_empty() {
            let mut moving = self.tail.moving;
            self.copy_front(&mut moving).await?;
            self.tail.moving = moving;
        }
        Ok(())
    }
}
