//! Truncation: it removes the frames and names of a file.

use super::desk::{Desk, Failure};
use super::tail::{Move, NO_NAME, NO_NAMES, Tail};
use super::upgrade::Undo;
use crate::gsd::error::Error;
use crate::gsd::layout::{IndexBlock, NameBlock, SHOWN_SLOTS};
use crate::gsd::raw::Shadow;
use crate::gsd::write::create::{Blocks, SHADOW};
#[twin(WriteAt)]
use crate::store::WriteAt;
use striae_twin::twin;

/// Slots, and units of the name list, of a truncated file: as in a new file.
const SLOTS: u64 = 2 * SHOWN_SLOTS;
const UNITS: u64 = 16;
/// Where the blocks of a new file begin.
const LOW: u64 = SHADOW + Shadow::BOTH_LEN;

#[twin(WriteAt)]
impl<S: WriteAt> Desk<'_, S, S::Error> {
    /// Removes all frames and names, and frees their room. At any time, the file has all of its
    /// frames, or none.
    pub(super) async fn truncate(&mut self) -> Result<(), Failure> {
        self.settle().await?;
        self.adopt().await?;
        // First empty blocks at the end: the place of a new file's blocks is still in use.
        let aside = self.disk.check(self.tail.blocks_behind(self.tail.data_end))?;
        self.move_to(aside).await?;
        if self.tail.image.commit.shadow.get() > SHADOW {
            // Shadows of a file that gsd made are at the place of the new blocks, or after it.
            self.make_record(SHADOW, self.tail.data_end.max(SHADOW)).await?;
        }
        let low = self.disk.check(self.tail.blocks_behind(LOW))?;
        if low.end > self.tail.index.location.min(self.tail.names.location) {
            return Ok(()); // the file was shorter than a new one
        }
        let end = low.end;
        self.move_to(low).await?;
        self.tail.data_end = end;
        self.cut_store().await
    }

    /// Makes these blocks those of the file, which is empty then.
    async fn move_to(&mut self, blocks: Blocks) -> Result<(), Failure> {
        let undo = Undo::new(self);
        undo.desk.reserve(blocks.end).await?;
        let shadows = undo.desk.tail.image.commit.shadow.get().saturating_add(Shadow::BOTH_LEN);
        undo.desk.tail.empty(blocks.names, blocks.index, blocks.end.max(shadows));
        undo.desk.disk.write_zeros(blocks.names.exact_span()).await?;
        undo.desk.publish(0).await?;
        undo.desk.waiting.counts.clear();
        undo.forget();
        Ok(())
    }
}

impl Tail {
    /// The blocks of an empty file after `end`.
    fn blocks_behind(&self, end: u64) -> Result<Blocks, Error> {
        Blocks::behind(end, self.align(), UNITS, SLOTS)
    }

    /// Sets the state to no frames and no names in these blocks.
    const fn empty(&mut self, names: NameBlock, index: IndexBlock, data_end: u64) {
        (self.names, self.index) = (names, index);
        (self.names_len, self.names_count, self.names_crc) = (0, 0, 0);
        (self.names_torn, self.names_found) = (false, false);
        (self.checksums_id, self.names_before) = (NO_NAME, NO_NAMES);
        (self.entries, self.committed, self.index_frames, self.frame) = (0, 0, 0, 0);
        (self.index_crc, self.crc_from, self.moving) = (0, 0, Move::NOTHING);
        (self.data_end, self.placed_from) = (data_end, None);
    }
}
