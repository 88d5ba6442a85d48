//! Truncating: the same file without frames and names.

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

/// Slots and units of name list of a file that was truncated: as of a new one.
const SLOTS: u64 = 2 * SHOWN_SLOTS;
const UNITS: u64 = 16;

/// Removes all frames and names, and gives back their room. Whatever happens, the file has all that
/// it had, or nothing.
pub(super) fn truncate(work: &mut Work<'_>) {
    // Out of the way first: the place of the blocks of a new file is still in use.
    work.then(&[settle, adopt, empty_aside, move_shadows, empty_low])
}

fn empty_aside(work: &mut Work<'_>) {
    let data_end = work.tail.data_end;
    work.done = data_end;
    work.then(&[remember, take_blocks, publish, is_empty, forget])
}

/// The shadows of a file that gsd made stand where the blocks will be, or behind them.
fn move_shadows(work: &mut Work<'_>) {
    if work.tail.image.commit.shadow.get() == SHADOW {
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

/// The blocks of an empty file behind `work.done`.
fn blocks(work: &Work<'_>) -> Result<Blocks, Error> {
    Blocks::behind(work.done, work.tail.align(), UNITS, SLOTS)
}

/// Makes the blocks behind `work.done` the present ones.
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
    /// No frames and no names in these blocks.
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
