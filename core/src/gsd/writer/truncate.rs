//! Truncating: the same file without frames and names.

use super::tail::Tail;
use super::{Slot, WriteError, Writer};
use crate::gsd::create::{Blocks, SHADOW};
use crate::gsd::error::Error;
use crate::gsd::layout::SHOWN_SLOTS;
use crate::gsd::raw::Shadow;
use crate::step::DriveError;
use crate::store::WriteAt;

/// Slots and units of name list of a file that was truncated: as of a new one.
const SLOTS: u64 = 2 * SHOWN_SLOTS;
const UNITS: u64 = 16;

impl<S: WriteAt, B: AsMut<[Slot]>> Writer<S, B> {
    /// Removes all frames and names, and gives back their room. What waits for a commit is gone, too.
    ///
    /// Whatever happens, the file has all that it had, or nothing.
    ///
    /// # Errors
    /// [`Error::FileFull`]; the store's own, also if it cannot be cut: the file is empty then, and
    /// as long as before.
    pub fn truncate(&mut self) -> Result<(), WriteError<S>> {
        self.settle()?;
        self.adopt()?;
        // Out of the way first: the place of the blocks of a new file is still in use.
        let aside = Blocks::behind(self.tail.data_end, self.tail.align(), UNITS, SLOTS);
        self.empty_at(aside.map_err(DriveError::Format)?)?;
        if self.tail.image.commit.shadow.get() != SHADOW {
            // those of a file that gsd made stand where the blocks will be, or behind them
            self.record_at(SHADOW, self.tail.data_end)?;
        }
        let from = SHADOW.saturating_add(Shadow::BOTH_LEN);
        let low = Blocks::behind(from, self.tail.align(), UNITS, SLOTS);
        let low = low.map_err(DriveError::Format)?;
        if low.end > self.tail.index.location.min(self.tail.names.location) {
            return Ok(()); // the file was shorter than a new one
        }
        self.empty_at(low)?;
        self.tail.data_end = low.end;
        self.store.set_size(low.end).map_err(DriveError::Store)?;
        self.tail.store_len = low.end;
        self.store.sync().map_err(DriveError::Store)
    }

    /// Publishes an empty file with these blocks.
    fn empty_at(&mut self, blocks: Blocks) -> Result<(), WriteError<S>> {
        let before = self.tail;
        let emptied = self.publish_empty(blocks);
        if emptied.is_err() && !self.tail.is_torn {
            let Tail { store_len, stands, .. } = self.tail;
            self.tail = Tail { store_len, stands, ..before };
        } else {
            self.buffer.clear();
        }
        emptied
    }

    fn publish_empty(&mut self, blocks: Blocks) -> Result<(), WriteError<S>> {
        let Blocks { names, index, end } = blocks;
        let full = Error::FileFull { data_end: end, len: 0 };
        let names_span = names.span().ok_or(DriveError::Format(full))?;
        let shadow_end = self.tail.image.commit.shadow.get().saturating_add(Shadow::BOTH_LEN);
        self.reserve(end)?;
        self.write_zeros(names_span.offset(), names_span.end())?;
        let tail = &mut self.tail;
        (tail.names, tail.index) = (names, index);
        (tail.names_len, tail.names_count, tail.names_crc) = (0, 0, 0);
        (tail.names_torn, tail.names_found) = (false, false);
        (tail.checksums_id, tail.names_before) = (None, None);
        (tail.entries, tail.committed, tail.index_frames, tail.frame) = (0, 0, 0, 0);
        (tail.index_crc, tail.crc_from, tail.moving) = (0, 0, None);
        tail.data_end = end.max(shadow_end);
        self.publish(0)
    }
}
