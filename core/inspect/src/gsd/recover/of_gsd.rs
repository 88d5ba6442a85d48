//! The slots of an index that gsd has written to, if no checksum proves them.

use super::scan::{self, Run};
use super::torn::Kept;
use crate::gsd::verify::Head;
use crate::gsd::{Failed, each_entry, each_stored};
use crate::subject::Subject;
use alloc::vec::Vec;
use striae_core::gsd::layout::IndexBlock;
use striae_core::span::Span;
use zerocopy::IntoBytes;

/// The index of a new file of gsd.
const FIRST: IndexBlock = IndexBlock { location: 256, slots: 128 };

/// The slots of such an index that count.
#[derive(Debug, Clone, Copy)]
pub(super) struct OfGsd {
    /// All slots inside the file.
    pub(super) slots: u64,
    /// The first empty slot, or the slot after the last entry that continues after a hole: if gsd
    /// found the end of the index there, these frames count.
    pub(super) end: u64,
    /// The first empty slot, if entries continue after it.
    pub(super) hole: Option<u64>,
    /// Whether later used slots do not continue the entries: an append that was cut off has left
    /// them.
    pub(super) has_stale: bool,
    /// Entries before this one were durable before the index moved.
    pub(super) moved: u64,
}

impl OfGsd {
    pub(super) fn look<S: Subject>(subject: &S, head: &Head) -> Result<Self, Failed<S>> {
        let moved = moved(subject, head.shown)?;
        let mut used =
            Self { slots: head.shown.slots, end: 0, hole: None, has_stale: false, moved };
        let (mut empty, mut run, is_sorted) = (None, None::<Run>, head.version.is_sorted());
        each_stored(subject, head.shown, 0..head.shown.slots, |first, entries| {
            for (slot, entry) in (first..).zip(entries) {
                if entry.as_bytes().iter().all(|&byte| byte == 0) {
                    empty = empty.or(Some(slot));
                    continue;
                }
                let offset = head.shown.offset_of(slot);
                let is_plausible = scan::is_plausible(entry, head.file_len.max(128));
                let goes_on = is_plausible
                    && match &mut run {
                        Some(run) => run.take(entry, is_sorted),
                        None => {
                            run = Some(Run::new(offset, entry));
                            true
                        }
                    };
                let is_torn = Kept::of(entry.as_bytes(), offset).is_some();
                used.has_stale = empty.is_some() && !goes_on && !is_torn;
                if used.has_stale {
                    return Ok(false);
                }
                (used.end, used.hole) = (slot.saturating_add(1), empty);
            }
            Ok(true)
        })?;
        Ok(used)
    }
}

/// The number of first entries that are equal in gsd's first block, which was written to until the
/// index moved.
fn moved<S: Subject>(subject: &S, shown: IndexBlock) -> Result<u64, Failed<S>> {
    let (mut first, mut count) = (Vec::new(), 0_u64);
    if shown.location < FIRST.span().map_or(0, Span::end) {
        return Ok(0);
    }
    let slots = 0..FIRST.slots.min(shown.slots);
    each_entry(subject, FIRST, slots.clone(), |_, entry| {
        first.push(*entry);
        Ok(true)
    })?;
    let mut first = first.iter();
    each_entry(subject, shown, slots, |slot, entry| {
        let is_same = entry.is_used() && first.next() == Some(entry);
        count = if is_same { slot.saturating_add(1) } else { count };
        Ok(is_same)
    })?;
    Ok(count)
}
