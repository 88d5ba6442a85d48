//! Collects the entries of one frame after another, and the doubts about them.

use super::evidence::Evidence;
use super::scan::{self, LONGEST_FILE};
use super::torn::{self, Kept};
use super::{Run, Unwritten};
use crate::gsd::Failed;
use crate::subject::Subject;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::mem;
use core::ops::Range;
use striae_core::gsd::Chunk;
use striae_core::gsd::chunk::Limits;
use striae_core::gsd::layout::IndexBlock;
use striae_core::gsd::raw::IndexEntry;
use striae_core::step::DriveError;
use zerocopy::IntoBytes;

/// The entries of a frame, in the order of the index.
#[derive(Debug, Default)]
pub(super) struct Entries {
    pub(super) frame: u64,
    pub(super) chunks: Vec<Chunk>,
    pub(super) slots: Range<u64>,
    /// Whether one of its entries is damaged.
    pub(super) has_lost: bool,
    /// Whether entries before its own are damaged and their frame is unknown.
    pub(super) lost_before: bool,
    /// Whether entries after its own are damaged and their frame is unknown.
    pub(super) lost_after: bool,
    /// Whether they are out of order, in layer 2.
    pub(super) is_disordered: bool,
    /// The ids of the first and the last of them, in layer 1, if two have the same name.
    repeats: Option<(u16, u16)>,
    /// How a crash of gsd may have cut the frame.
    pub(super) torn: Option<Torn>,
}

/// How a crash of gsd may have cut a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Torn {
    /// Entries after its own are lost, up to the end of the index.
    End,
    /// Entries after its own are lost, but later ones are not.
    Hole,
    /// The front of an entry is lost, so it may belong to the next frame.
    Front,
}

/// The contents of a slot.
enum Slot {
    /// An entry, and the number of zero bytes at its front if they are in another sector.
    Entry(IndexEntry, Chunk, Option<u64>),
    /// A damaged entry, with its frame as far as it is plausible.
    Damaged(Option<u64>),
    /// The remains of a crash of gsd, and what they mean for the frame before.
    Crash(Option<Torn>),
}

/// An entry that waits until the next one is known.
struct Waiting {
    slot: u64,
    chunk: Chunk,
    front: Option<u64>,
}

/// Collects entries into frames.
struct Collect<'e, E> {
    is_sorted: bool,
    ends: &'e BTreeSet<u64>,
    each: E,
    present: Option<Entries>,
    /// Frames of damaged entries since the last sound one.
    damaged: Vec<Option<u64>>,
    many_damaged: bool,
    /// The remains of a crash of gsd after the last sound entry, if any.
    crash: Option<Option<Torn>>,
    /// Whether the last entry may belong to the next frame.
    is_last_doubtful: bool,
    waiting: Option<Waiting>,
    /// The last entry whose frame no writer takes, and how many there were.
    far: (Option<IndexEntry>, u64),
}

/// Passes the frames that the index knows to `each`, in order. Returns the number of entries that
/// are left out because no writer takes their frame.
pub(super) fn each_frame<S: Subject>(
    subject: &S,
    evidence: &Evidence,
    each: impl FnMut(&mut Entries) -> Result<(), Failed<S>>,
) -> Result<u64, Failed<S>> {
    let index = &evidence.index;
    let mut collect = Collect {
        is_sorted: evidence.version.is_sorted(),
        ends: &index.ends,
        each,
        present: None,
        damaged: Vec::new(),
        many_damaged: false,
        crash: None,
        is_last_doubtful: false,
        waiting: None,
        far: (None, 0),
    };
    if !index.has_start {
        collect.lose(None);
    }
    let max_frames = evidence.max_frames();
    let mut before: Option<IndexEntry> = None;
    index.each(subject, 0..index.end(), |slot, entry| {
        let read = match entry {
            Some(entry) if before == Some(*entry) => return Ok(true), // a copy that fills the index
            Some(entry) => match read(entry, slot, index.block, max_frames) {
                Some(chunk) if index.of_gsd.is_none() => {
                    before = Some(*entry);
                    collect.order(Waiting { slot, chunk, front: None })?;
                    return Ok(true);
                }
                Some(chunk) => Slot::Entry(*entry, chunk, None),
                None => collect.leave_out(entry, max_frames),
            },
            None => Slot::Damaged(None),
        };
        let read = match (index.of_gsd, entry) {
            (Some(of_gsd), Some(entry)) => {
                let (offset, moved) = (index.block.offset_of(slot), of_gsd.moved);
                collect.look_for_crash(read, entry, slot.cmp(&moved), offset)
            }
            _ => read,
        };
        match read {
            Slot::Entry(entry, chunk, front) => {
                before = Some(entry);
                collect.order(Waiting { slot, chunk, front })?;
            }
            Slot::Damaged(frame) => {
                collect.release(None)?;
                collect.lose(frame);
            }
            Slot::Crash(torn) => {
                collect.release(None)?;
                collect.tear(torn);
            }
        }
        Ok(true)
    })?;
    collect.release(None)?;
    let end = index.end();
    match index.of_gsd {
        Some(of_gsd) if end == index.entries && end < of_gsd.slots => {
            let torn = if index.has_end { Torn::End } else { Torn::Hole };
            let torn = Some(torn).filter(|_| of_gsd.moved < end);
            let torn = torn.filter(|_| collect.may_go_on(index.block.offset_of(end)));
            collect.tear(torn);
        }
        _ if !index.has_end || end < index.entries => collect.lose(None),
        _ => {}
    }
    collect.end(None)?;
    Ok(collect.far.1)
}

/// Passes the saved frames of these runs to `each`, in order: their numbers in the damaged file,
/// and their chunks but those of the id `sums`. Frames without entries have none; those after the
/// last frame with entries are passed if it `has_last`.
pub(super) fn each_saved<S: Subject, E>(
    subject: &S,
    evidence: &Evidence,
    (runs, sums, has_last): (&[Run], Option<u16>, bool),
    mut each: impl FnMut(u64, &[Chunk]) -> Result<(), E>,
) -> Result<(), Unwritten<Failed<S>, E>> {
    let saved = || runs.iter().filter(|run| run.certainty.is_saved());
    let (mut failed, mut saved_runs) = (None, saved().peekable());
    let mut frames = saved().flat_map(|run| run.frames.clone()).peekable();
    let read = each_frame(subject, evidence, |entries| {
        let number = entries.frame;
        while saved_runs.next_if(|run| run.frames.end <= number).is_some() {}
        if !saved_runs.peek().is_some_and(|run| run.frames.contains(&number)) {
            return Ok(());
        }
        if sums.is_some() {
            entries.chunks.retain(|chunk| Some(chunk.id) != sums);
        }
        while let Some(frame) = frames.next_if(|&frame| frame <= number) {
            let chunks = if frame == number { &entries.chunks[..] } else { &[] };
            if let Err(error) = each(frame, chunks) {
                failed = Some(error);
                return Err(DriveError::Ended { offset: 0 }); // stops it, and is not seen
            }
        }
        Ok(())
    });
    match failed {
        Some(error) => return Err(Unwritten::Write(error)),
        None => read.map(drop).map_err(Unwritten::Read)?,
    }
    let mut rest = frames.filter(|_| has_last);
    rest.try_for_each(|frame| each(frame, &[])).map_err(Unwritten::Write)
}

/// The chunk of an entry, if it is plausible. Whether its bytes are there, and its name, is another
/// question.
#[inline]
fn read(entry: &IndexEntry, slot: u64, block: IndexBlock, max_frames: u64) -> Option<Chunk> {
    let limits = Limits { file_len: LONGEST_FILE, names: u32::MAX };
    let chunk = Chunk::parse(entry, block, slot, limits).ok().flatten();
    chunk.filter(|chunk| chunk.frame < max_frames)
}

/// The frame of a damaged entry, if it is plausible.
fn frame_of_damaged(entry: &IndexEntry, max_frames: u64) -> Option<u64> {
    let frame = Some(entry.frame.get()).filter(|&frame| frame < max_frames);
    // An entry of which nothing is left says nothing of its frame either.
    let is_nothing = entry.n.get() == 0 && entry.m.get() == 0 && frame == Some(0);
    frame.filter(|_| !is_nothing)
}

impl Entries {
    /// A frame without entries so far, in the memory of another one.
    fn begin(frame: u64, mut chunks: Vec<Chunk>) -> Self {
        chunks.clear();
        Self { frame, chunks, slots: u64::MAX..u64::MAX, ..Self::default() }
    }

    /// A frame without entries so far, in place of this one.
    #[inline]
    fn begin_next(&mut self, frame: u64) {
        self.chunks.clear();
        let Self { chunks: _, frame: own, slots, torn, .. } = self;
        (*own, *slots, *torn) = (frame, u64::MAX..u64::MAX, None);
        let Self { has_lost, lost_before, lost_after, is_disordered, repeats, .. } = self;
        (*has_lost, *lost_before, *lost_after, *is_disordered) = (false, false, false, false);
        *repeats = None;
    }

    /// Adds the next entry.
    #[inline]
    fn add(&mut self, slot: u64, chunk: Chunk, is_sorted: bool) {
        if let Some(before) = self.chunks.last() {
            self.is_disordered |= is_sorted && chunk.id <= before.id;
        }
        self.slots = self.slots.start.min(slot)..slot.saturating_add(1);
        self.chunks.push(chunk);
    }

    /// Sorts the entries by name, and keeps the last one of each, as readers of layer 1 do.
    fn keep_last(&mut self) {
        let (ends, count) = (self.ends(), self.chunks.len());
        self.chunks.reverse();
        self.chunks.sort_by_key(|chunk| chunk.id); // stable
        self.chunks.dedup_by_key(|chunk| chunk.id);
        self.repeats = ends.filter(|_| self.chunks.len() < count);
    }

    /// The ids of its first and of its last entry.
    fn ends(&self) -> Option<(u16, u16)> {
        Some((self.chunks.first()?.id, self.chunks.last()?.id))
    }

    /// The ids of its first and of its last entry, if these may be entries of the frames before and
    /// after it with a wrong number: its entries are out of order, or two have the same name.
    pub(super) fn strays(&self) -> Option<(u16, u16)> {
        if self.is_disordered { self.ends() } else { self.repeats }
    }

    /// Whether all entries of the frame are known, if its names were at most the names 0 to
    /// `total`.
    pub(super) fn are_all(&self, total: Option<u32>, is_sorted: bool) -> bool {
        let first = self.chunks.first().map(|chunk| u32::from(chunk.id));
        let last = self.chunks.last().map(|chunk| u32::from(chunk.id).saturating_add(1));
        let before = self.lost_before && !(is_sorted && first == Some(0));
        let after = self.lost_after && !(is_sorted && last == total);
        !before && !after
    }
}

impl<F, E: FnMut(&mut Entries) -> Result<(), F>> Collect<'_, E> {
    /// Counts an entry that is not plausible, if that is only for its frame. What fills the index
    /// after it are copies.
    fn leave_out(&mut self, entry: &IndexEntry, max_frames: u64) -> Slot {
        let (last, count) = &mut self.far;
        let is_far = entry.frame.get() >= max_frames && scan::is_plausible(entry, u64::MAX);
        if is_far && *last != Some(*entry) {
            (*last, *count) = (Some(*entry), count.saturating_add(1));
        }
        Slot::Damaged(frame_of_damaged(entry, max_frames))
    }

    fn last_frame(&self) -> Option<u64> {
        self.present.as_ref().map(|present| present.frame)
    }

    /// The last sound entry.
    fn last(&self) -> Option<&Chunk> {
        let present = || self.present.as_ref().and_then(|present| present.chunks.last());
        self.waiting.as_ref().map(|waiting| &waiting.chunk).or_else(present)
    }

    /// Whether the last frame can continue in the empty slot at `offset`.
    fn may_go_on(&self, offset: u64) -> bool {
        self.last().is_some_and(|last| torn::may_have_been(last.frame, offset))
    }

    /// The contents of the slot at `offset`: the remains of a crash of gsd if a crash can have left
    /// it so, else what was read. `side` says on which side it is of the end of the entries that
    /// were durable before the index moved.
    fn look_for_crash(&self, read: Slot, entry: &IndexEntry, side: Ordering, offset: u64) -> Slot {
        let bytes = entry.as_bytes();
        if bytes.iter().all(|&byte| byte == 0) {
            let may_go_on = side.is_gt() && self.may_go_on(offset);
            return Slot::Crash(may_go_on.then_some(Torn::Hole));
        }
        let is_first = !self.damaged.is_empty() || self.crash.is_some();
        match (read, Kept::of(bytes, offset)) {
            // The frame is lost, or part of it, so that it is one of before.
            (Slot::Entry(entry, chunk, _), Some(Kept::Rest(front))) if side.is_ge() => {
                let is_before = |last: &Chunk| match self.is_sorted {
                    true => (chunk.frame, chunk.id) <= (last.frame, last.id),
                    false => chunk.frame < last.frame,
                };
                let is_before = self.last().is_some_and(is_before);
                match is_first || is_before {
                    true => Slot::Crash(Some(Torn::Front)),
                    false => Slot::Entry(entry, chunk, Some(front)),
                }
            }
            (Slot::Damaged(_), Some(Kept::Rest(_))) => Slot::Crash(Some(Torn::Front)),
            (Slot::Damaged(frame), Some(Kept::Front(front))) => {
                let last = self.last().map(|last| last.frame);
                match last.is_some_and(|last| torn::shows(bytes, front, last)) {
                    true if front < 8 => Slot::Crash(Some(Torn::Hole)),
                    true => Slot::Damaged(frame),
                    false => Slot::Crash(None),
                }
            }
            (read, _) => read,
        }
    }

    /// Adds an entry. If its frame is above the frames of its neighbours, it waits until the next
    /// entry is known.
    #[inline]
    fn order(&mut self, next: Waiting) -> Result<(), F> {
        let is_calm = self.damaged.is_empty() && self.crash.is_none() && !self.is_last_doubtful;
        match (&mut self.waiting, &mut self.present) {
            // As in a sound index, where nothing is to be told of the frame before.
            (Some(was), Some(present))
                if is_calm && was.front.is_none() && was.chunk.frame <= next.chunk.frame =>
            {
                if present.frame != was.chunk.frame {
                    if !self.is_sorted {
                        present.keep_last();
                    }
                    (self.each)(present)?;
                    present.begin_next(was.chunk.frame);
                }
                present.add(was.slot, was.chunk, self.is_sorted);
                *was = next;
                Ok(())
            }
            _ => self.order_damaged(next),
        }
    }

    #[inline(never)]
    fn order_damaged(&mut self, next: Waiting) -> Result<(), F> {
        let frame = next.chunk.frame;
        match &self.waiting {
            Some(was) if frame < was.chunk.frame => {
                // Either of them is wrong, if the later one is not before all.
                if self.last_frame().is_none_or(|last| frame >= last) {
                    self.waiting = None;
                    self.lose(None);
                } else {
                    self.release(Some(frame))?;
                }
                self.lose(None);
            }
            Some(_) => {
                self.release(Some(frame))?;
                self.waiting = Some(next);
            }
            None if self.last_frame().is_some_and(|last| frame < last) => self.lose(None),
            None => self.waiting = Some(next),
        }
        Ok(())
    }

    /// Assigns the waiting entry to its frame; `next` is the frame of the next entry, if there is
    /// one.
    fn release(&mut self, next: Option<u64>) -> Result<(), F> {
        let Some(Waiting { slot, chunk, front }) = self.waiting.take() else { return Ok(()) };
        // Another one of the same frame proves the frame, and nothing else of what was lost.
        let is_doubtful = front.is_some_and(|front| front > 8 || next != Some(chunk.frame));
        self.take(slot, chunk)?;
        self.is_last_doubtful = is_doubtful;
        if let Some(present) = self.present.as_mut().filter(|_| is_doubtful) {
            present.torn = Some(Torn::Front);
        }
        Ok(())
    }

    /// Records the remains of a crash of gsd.
    fn tear(&mut self, torn: Option<Torn>) {
        match self.crash {
            None if self.damaged.is_empty() => self.crash = Some(torn),
            None => self.lose(None),
            Some(_) => {}
        }
    }

    /// Records a damaged entry.
    fn lose(&mut self, frame: Option<u64>) {
        match self.damaged.len() < 64 {
            true => self.damaged.push(frame),
            false => self.many_damaged = true,
        }
    }

    fn take(&mut self, slot: u64, chunk: Chunk) -> Result<(), F> {
        if self.last_frame() != Some(chunk.frame) {
            self.end(Some(chunk.frame))?;
        }
        let Some(present) = &mut self.present else { return Ok(()) }; // never: `end` began one
        // Within a frame it does not matter what the damaged ones say of themselves.
        present.has_lost |= !self.damaged.is_empty() || self.crash.is_some();
        self.damaged.clear();
        (self.many_damaged, self.crash) = (false, None);
        present.add(slot, chunk, self.is_sorted);
        Ok(())
    }

    /// Ends the present frame; `next` is the next frame, if there is one.
    fn end(&mut self, next: Option<u64>) -> Result<(), F> {
        let last = self.last_frame();
        let told = if self.damaged.is_empty() { Vec::new() } else { self.told(last, next) };
        let is_unknown = self.many_damaged || told.contains(&None);
        let is_damaged = |frame: Option<u64>| frame.is_some() && told.contains(&frame);
        let mut chunks = Vec::new();
        if let Some(present) = &mut self.present {
            present.has_lost |= is_damaged(last);
            let is_end = self.ends.contains(&present.slots.end);
            match self.crash.filter(|_| !is_end) {
                Some(torn) => present.torn = present.torn.max(torn),
                None => present.lost_after = is_unknown && !is_end,
            }
            if !self.is_sorted {
                present.keep_last();
            }
            (self.each)(present)?;
            chunks = mem::take(&mut present.chunks);
        }
        self.present = next.map(|frame| Entries {
            has_lost: is_damaged(next),
            lost_before: is_unknown || self.crash.is_some(),
            torn: self.is_last_doubtful.then_some(Torn::Front),
            ..Entries::begin(frame, chunks)
        });
        self.damaged.clear();
        (self.many_damaged, self.crash) = (false, None);
        Ok(())
    }

    /// The frames of damaged entries; those that are not between these two are unknown.
    fn told(&self, last: Option<u64>, next: Option<u64>) -> Vec<Option<u64>> {
        let is_between = |frame: u64| {
            last.is_none_or(|last| frame >= last) && next.is_none_or(|next| frame <= next)
        };
        let told = self.damaged.iter().map(|frame| frame.filter(|&frame| is_between(frame)));
        told.collect()
    }
}
