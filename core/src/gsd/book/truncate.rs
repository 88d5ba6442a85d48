//! Truncation: it removes the frames and names of a file.

use super::adopt::{adopt, make_record, up_to};
use super::commit::{cut_store, publish, settle};
use super::tail::Tail;
use super::upgrade::{forget, remember};
use super::work::{Job, Work, write_zeros};
use crate::gsd::create::{Blocks, SHADOW};
use crate::gsd::error::Error;
use crate::gsd::layout::{IndexBlock, NameBlock, SHOWN_SLOTS};
use crate::gsd::raw::Shadow;
use crate::span::Span;

/// Slots, and units of the name list, of a truncated file: as in a new file.
const SLOTS: u64 = 2 * SHOWN_SLOTS;
const UNITS: u64 = 16;

/// Removes all frames and names, and frees their room. At any time, the file has all of its frames,
/// or none.
pub(super) fn truncate(work: &mut Work<'_>) {
    // First empty blocks at the end: the place of a new file's blocks is still in use.
    work.then(&[settle, adopt, empty_aside, move_shadows, empty_low])
}

fn empty_aside(work: &mut Work<'_>) {
    let data_end = work.tail.data_end;
    work.done = data_end;
    work.then(&[remember, take_blocks, publish, is_empty, forget])
}

/// Moves the shadows of a file that gsd made: they are at the place of the new blocks, or after it.
fn move_shadows(work: &mut Work<'_>) {
    if work.tail.image.commit.shadow.get() <= SHADOW {
        return;
    }
    work.block = up_to(SHADOW, work.tail.data_end);
    work.then(&[make_record])
}

fn empty_low(work: &mut Work<'_>) {
    work.done = SHADOW.saturating_add(Shadow::BOTH_LEN);
    let Some(low) = work.ok(blocks(work)) else { return };
    if low.end > work.tail.index.location.min(work.tail.names.location) {
        return; // the file was shorter than a new one
    }
    let end_low: Job = |work| {
        work.done = SHADOW.saturating_add(Shadow::BOTH_LEN);
        let low = blocks(work).map(|low| low.end);
        work.tail.data_end = low.unwrap_or(work.tail.data_end);
    };
    work.then(&[remember, take_blocks, publish, is_empty, forget, end_low, cut_store])
}

/// The blocks of an empty file after `work.done`.
fn blocks(work: &Work<'_>) -> Result<Blocks, Error> {
    Blocks::behind(work.done, work.tail.align(), UNITS, SLOTS)
}

/// Switches to the blocks after `work.done`.
fn take_blocks(work: &mut Work<'_>) {
    let Some(Blocks { names, index, end }) = work.ok(blocks(work)) else { return };
    if work.lacks(end) {
        return work.reserve(end, take_blocks);
    }
    work.zeros = names.span().unwrap_or(Span::ZERO);
    work.shown = 0;
    let shadow = work.tail.image.commit.shadow.get();
    let data_end = end.max(shadow.saturating_add(Shadow::BOTH_LEN));
    work.tail.empty(names, index, data_end);
    work.then(&[write_zeros])
}

impl Tail {
    /// Sets the state to no frames and no names in these blocks.
    const fn empty(&mut self, names: NameBlock, index: IndexBlock, data_end: u64) {
        (self.names, self.index) = (names, index);
        (self.names_len, self.names_count, self.names_crc) = (0, 0, 0);
        (self.names_torn, self.names_found) = (false, false);
        (self.checksums_id, self.names_before) = (None, None);
        (self.entries, self.committed, self.index_frames, self.frame) = (0, 0, 0, 0);
        (self.index_crc, self.crc_from, self.moving) = (0, 0, None);
        (self.data_end, self.placed_from) = (data_end, None);
    }
}

fn is_empty(work: &mut Work<'_>) {
    work.waiting.counts.clear();
}
