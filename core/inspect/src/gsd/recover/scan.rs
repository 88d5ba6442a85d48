//! Searches the whole file for superseded index blocks: runs of plausible entries.

use crate::gsd::Failed;
use crate::subject::{Subject, read, read_pieces, stored_parts};
use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;
use striae_core::gsd::ChunkType;
use striae_core::gsd::layout::chunk_len;
use striae_core::gsd::raw::IndexEntry;
use striae_core::span::Span;
use striae_core::step::DriveError;
use zerocopy::{FromBytes, IntoBytes};

/// The smallest number of entries of a block that is recognized.
const SHORTEST: u64 = 2;

/// The number of slots after a block that are examined: 4 KiB, the most common size of a loss.
const BEHIND: u64 = 128;

/// The number of entries of a block that are compared with those slots.
const OWN: u64 = 1 << 12;

/// The most blocks that are kept; the longest ones.
const MAX_BLOCKS: usize = 64;

/// No chunk is past this offset.
pub(super) const LONGEST_FILE: u64 = 1 << 56;

/// A possible index block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block {
    pub(super) location: u64,
    pub(super) entries: u64,
    /// Whether it ends there, or continues after a slot that is not an entry.
    pub(super) has_end: bool,
}

/// Whether this can be an entry; its chunk may be past the end of the file.
pub(super) fn is_plausible(entry: &IndexEntry, max_frames: u64) -> bool {
    let location = u64::try_from(entry.location.get()).unwrap_or(0);
    let (n, m, frame) = (entry.n.get(), entry.m.get(), entry.frame.get());
    let kind = ChunkType::from_number(entry.kind).filter(|_| entry.flags == 0 && m > 0);
    let len = kind.and_then(|kind| chunk_len(n, m, kind));
    let end = len.and_then(|len| location.checked_add(len));
    frame < max_frames && location >= 256 && end.is_some_and(|end| end <= LONGEST_FILE)
}

/// A run of entries whose offsets are equal modulo 32.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    start: u64,
    next: u64,
    entries: u64,
    last: IndexEntry,
    /// The lowest possible offset of the next frame's chunks.
    frame_start: u64,
    data_end: u64,
}

impl Run {
    /// A run that starts with `entry`.
    pub(super) fn new(start: u64, entry: &IndexEntry) -> Self {
        let (next, data_end) = (start.saturating_add(32), end_of(entry));
        Self { start, next, entries: 1, last: *entry, frame_start: 0, data_end }
    }

    /// Whether `entry` can follow: it is in order, and its frame's chunks are after those of
    /// earlier frames.
    pub(super) fn take(&mut self, entry: &IndexEntry, is_sorted: bool) -> bool {
        let (frame, last) = (entry.frame.get(), self.last.frame.get());
        let location = u64::try_from(entry.location.get()).unwrap_or(0);
        let is_copy = *entry == self.last;
        let in_order = match is_sorted {
            true => is_copy || entry.key() > self.last.key(),
            false => frame >= last,
        };
        let frame_start = if frame > last { self.data_end } else { self.frame_start };
        if !in_order || location < frame_start {
            return false;
        }
        self.frame_start = frame_start;
        self.data_end = self.data_end.max(end_of(entry));
        self.last = *entry;
        self.entries = self.entries.saturating_add(1);
        self.next = self.next.saturating_add(32);
        true
    }
}

fn end_of(entry: &IndexEntry) -> u64 {
    let kind = ChunkType::from_number(entry.kind);
    let len = kind.and_then(|kind| chunk_len(entry.n.get(), entry.m.get(), kind)).unwrap_or(0);
    u64::try_from(entry.location.get()).unwrap_or(0).saturating_add(len)
}

/// What is known of the entries that are searched for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sought {
    pub(super) max_frames: u64,
    pub(super) is_sorted: bool,
    pub(super) file_len: u64,
}

/// Searches every offset of the file that is not in a hole: an entry is not zero.
pub(super) fn find_blocks<S: Subject>(
    subject: &S,
    sought: Sought,
) -> Result<Vec<Block>, Failed<S>> {
    let mut search = Search { sought, runs: [None; 32], found: Vec::new() };
    let from = 256.min(sought.file_len);
    let all = Span::between(from, sought.file_len).unwrap_or(Span::ZERO);
    for part in stored_parts(subject, all, 31).map_err(DriveError::Store)? {
        let (mut at, mut rest) = (part.offset(), Vec::new());
        read_pieces(subject, part, &mut Vec::new(), &mut |piece| {
            rest.extend_from_slice(piece);
            for window in rest.windows(32) {
                if let Ok(entry) = IndexEntry::ref_from_bytes(window) {
                    search.look(at, entry);
                }
                at = at.saturating_add(1);
            }
            let keep = rest.len().saturating_sub(31);
            rest.drain(..keep);
            true
        })?;
        search.end_part();
    }
    search.keep(MAX_BLOCKS);
    let blocks = search.found.iter().map(|run| {
        let has_end = has_end(subject, run, sought)?;
        Ok(Block { location: run.start, entries: run.entries, has_end })
    });
    blocks.collect()
}

/// Whether nothing after the run continues it. No frame is in two blocks, so a block that ends,
/// full or not, ends with a frame.
fn has_end<S: Subject>(subject: &S, run: &Run, sought: Sought) -> Result<bool, Failed<S>> {
    let slots = |slots: Option<Span>| -> Result<Vec<u8>, Failed<S>> {
        let slots = slots.unwrap_or(Span::ZERO);
        let mut bytes = vec![0; usize::try_from(slots.len()).unwrap_or(usize::MAX)];
        read(subject, slots.offset(), &mut bytes)?;
        Ok(bytes)
    };
    let left = Span::between(run.next, sought.file_len).map_or(0, Span::len) / 32;
    let behind = slots(Span::of_table(run.next, left.min(BEHIND), 32))?;
    // Another block may stand there, with the same entries once more.
    let entries = Span::of_table(run.start, run.entries, 32).unwrap_or(Span::ZERO); // up to `next`
    let before = run.entries.saturating_sub(OWN).saturating_mul(32);
    let own = slots(entries.rest(before))?;
    let own: BTreeSet<&[u8]> = own.chunks_exact(32).collect();
    let entries = <[IndexEntry]>::ref_from_bytes(&behind).unwrap_or_default();
    let goes_on = entries.iter().filter(|entry| !own.contains(entry.as_bytes())).any(|entry| {
        is_plausible(entry, sought.max_frames) && Run { ..*run }.take(entry, sought.is_sorted)
    });
    Ok(left > 0 && !goes_on)
}

struct Search {
    sought: Sought,
    runs: [Option<Run>; 32],
    found: Vec<Run>,
}

impl Search {
    #[inline]
    fn look(&mut self, at: u64, entry: &IndexEntry) {
        let phase = usize::try_from(at % 32).unwrap_or(0);
        let run = self.runs.get_mut(phase).and_then(|run| run.take_if(|run| run.next == at));
        if run.is_none() && (entry.flags != 0 || !(1..=11).contains(&entry.kind)) {
            return;
        }
        self.look_closer(at, phase, entry, run);
    }

    fn look_closer(&mut self, at: u64, phase: usize, entry: &IndexEntry, run: Option<Run>) {
        let is_plausible = is_plausible(entry, self.sought.max_frames);
        let mut next = None;
        if let Some(mut run) = run {
            if is_plausible && run.take(entry, self.sought.is_sorted) {
                next = Some(run);
            } else {
                self.close(run);
            }
        }
        // The first chunk must be there, or nothing is.
        if next.is_none() && is_plausible && end_of(entry) <= self.sought.file_len {
            next = Some(Run::new(at, entry));
        }
        if let Some(place) = self.runs.get_mut(phase) {
            *place = next;
        }
    }

    /// No run goes on after the end of a part.
    fn end_part(&mut self) {
        let runs = core::mem::take(&mut self.runs);
        runs.into_iter().flatten().for_each(|run| self.close(run));
    }

    fn close(&mut self, run: Run) {
        if run.entries < SHORTEST {
            return;
        }
        self.found.push(run);
        if self.found.len() >= MAX_BLOCKS.saturating_mul(2) {
            self.keep(MAX_BLOCKS);
        }
    }

    /// Keeps the longest runs.
    fn keep(&mut self, most: usize) {
        if self.found.len() > most {
            self.found.sort_unstable_by_key(|run| Reverse(run.entries));
            self.found.truncate(most);
        }
    }
}
