//! The entries of one frame after another, and what is doubtful about them.

use super::evidence::Evidence;
use super::scan::is_plausible;
use crate::gsd::verify::Failed;
use crate::posix::PosixFile;
use std::collections::BTreeSet;
use std::ops::Range;
use striae_core::gsd::Chunk;
use striae_core::gsd::chunk::Limits;
use striae_core::gsd::layout::IndexBlock;
use striae_core::gsd::raw::IndexEntry;

/// The entries of a frame, in the order of the index.
#[derive(Debug)]
pub(super) struct Entries {
    pub(super) frame: u64,
    pub(super) chunks: Vec<Chunk>,
    pub(super) slots: Range<u64>,
    /// Whether an entry that was its is damaged.
    pub(super) has_lost: bool,
    /// Whether entries in front of its own are damaged, whose frame is not known.
    pub(super) lost_before: bool,
    /// The same behind.
    pub(super) lost_after: bool,
    /// Whether they are not in order, or two are of one name.
    pub(super) is_disordered: bool,
}

/// What a slot has.
enum Slot {
    Entry(IndexEntry, Chunk),
    /// Its frame, as far as that can be believed.
    Damaged(Option<u64>),
}

/// Puts entries together to frames.
struct Collect<'e> {
    is_sorted: bool,
    ends: &'e BTreeSet<u64>,
    each: &'e mut dyn FnMut(Entries) -> Result<(), Failed>,
    present: Option<Entries>,
    /// Frames of damaged entries since the last sound one.
    damaged: Vec<Option<u64>>,
    many_damaged: bool,
}

/// Hands the frames that the index knows of to `each`, in order.
pub(super) fn each_frame(
    store: &PosixFile,
    evidence: &Evidence,
    each: &mut dyn FnMut(Entries) -> Result<(), Failed>,
) -> Result<(), Failed> {
    let index = &evidence.index;
    let mut collect = Collect {
        is_sorted: evidence.version.is_sorted(),
        ends: &index.ends,
        each,
        present: None,
        damaged: Vec::new(),
        many_damaged: false,
    };
    if !index.has_start {
        collect.lose(None);
    }
    let max_frames = evidence.max_frames();
    let mut before: Option<IndexEntry> = None;
    let mut waiting: Option<(u64, Chunk)> = None;
    index.each(store, 0..index.end(), &mut |slot, entry| {
        let read = match entry {
            Some(entry) if before == Some(*entry) => return Ok(true), // a copy that fills the index
            Some(entry) => read(entry, slot, index.block, max_frames),
            None => Slot::Damaged(None),
        };
        let Slot::Entry(entry, chunk) = read else {
            if let Some((slot, chunk)) = waiting.take() {
                collect.take(slot, chunk)?;
            }
            if let Slot::Damaged(frame) = read {
                collect.lose(frame);
            }
            return Ok(true);
        };
        before = Some(entry);
        // An entry whose frame is behind those of its neighbours waits until the next one is known.
        match waiting.take() {
            Some((at, was)) if chunk.frame < was.frame => {
                // Either of them is wrong, if the later one is not before all.
                if collect.last_frame().is_none_or(|last| chunk.frame >= last) {
                    collect.lose(None);
                } else {
                    collect.take(at, was)?;
                }
                collect.lose(None);
            }
            Some((at, was)) => {
                collect.take(at, was)?;
                waiting = Some((slot, chunk));
            }
            None if collect.last_frame().is_some_and(|last| chunk.frame < last) => {
                collect.lose(None);
            }
            None => waiting = Some((slot, chunk)),
        }
        Ok(true)
    })?;
    if let Some((slot, chunk)) = waiting {
        collect.take(slot, chunk)?;
    }
    if !index.has_end || index.end() < index.entries {
        collect.lose(None);
    }
    collect.end(None)
}

fn read(entry: &IndexEntry, slot: u64, block: IndexBlock, max_frames: u64) -> Slot {
    // Whether its bytes are there, and its name, is another question.
    let limits = Limits { file_len: u64::MAX, names: u32::MAX };
    let frame = Some(entry.frame.get()).filter(|&frame| frame < max_frames);
    match Chunk::parse(entry, block, slot, limits) {
        Ok(Some(chunk)) if is_plausible(entry, max_frames) => Slot::Entry(*entry, chunk),
        // An entry of which nothing is left says nothing of its frame either.
        _ if entry.n.get() == 0 && entry.m.get() == 0 && frame == Some(0) => Slot::Damaged(None),
        _ => Slot::Damaged(frame),
    }
}

impl Entries {
    /// Sorts them by their names, and keeps the last one of each, as readers of layer 1 do.
    fn keep_last(&mut self) {
        self.chunks.reverse();
        self.chunks.sort_by_key(|chunk| chunk.id); // stable
        self.chunks.dedup_by_key(|chunk| chunk.id);
    }

    /// Whether all entries of the frame are known, if it had those of the names 0 to `total` at most.
    pub(super) fn are_all(&self, total: Option<u32>, is_sorted: bool) -> bool {
        let first = self.chunks.first().map(|chunk| u32::from(chunk.id));
        let last = self.chunks.last().map(|chunk| u32::from(chunk.id).saturating_add(1));
        let before = self.lost_before && !(is_sorted && first == Some(0));
        let after = self.lost_after && !(is_sorted && last == total);
        !before && !after
    }
}

impl Collect<'_> {
    fn last_frame(&self) -> Option<u64> {
        self.present.as_ref().map(|present| present.frame)
    }

    /// A damaged entry.
    fn lose(&mut self, frame: Option<u64>) {
        match self.damaged.len() < 64 {
            true => self.damaged.push(frame),
            false => self.many_damaged = true,
        }
    }

    fn take(&mut self, slot: u64, chunk: Chunk) -> Result<(), Failed> {
        if self.last_frame() != Some(chunk.frame) {
            self.end(Some(chunk.frame))?;
        }
        let Some(present) = &mut self.present else { return Ok(()) }; // never: `end` began one
        // Within a frame it does not matter what the damaged ones say of themselves.
        present.has_lost |= !self.damaged.is_empty();
        self.damaged.clear();
        self.many_damaged = false;
        if let Some(before) = present.chunks.last() {
            present.is_disordered |= self.is_sorted && chunk.id <= before.id;
        }
        present.slots = present.slots.start.min(slot)..slot.saturating_add(1);
        present.chunks.push(chunk);
        Ok(())
    }

    /// The present frame has no more entries; that of the next one, if there is one.
    fn end(&mut self, next: Option<u64>) -> Result<(), Failed> {
        let last = self.last_frame();
        let is_between = |frame: u64| {
            last.is_none_or(|last| frame >= last) && next.is_none_or(|next| frame <= next)
        };
        let told = self.damaged.iter().map(|frame| frame.filter(|&frame| is_between(frame)));
        let told: Vec<_> = told.collect();
        let is_unknown = self.many_damaged || told.contains(&None);
        let is_damaged = |frame: Option<u64>| frame.is_some() && told.contains(&frame);
        if let Some(mut present) = self.present.take() {
            present.has_lost |= is_damaged(last);
            present.lost_after = is_unknown && !self.ends.contains(&present.slots.end);
            if !self.is_sorted {
                present.keep_last();
            }
            (self.each)(present)?;
        }
        if let Some(frame) = next {
            self.present = Some(Entries {
                frame,
                chunks: Vec::new(),
                slots: u64::MAX..u64::MAX,
                has_lost: is_damaged(next),
                lost_before: is_unknown,
                lost_after: false,
                is_disordered: false,
            });
        }
        self.damaged.clear();
        self.many_damaged = false;
        Ok(())
    }
}
