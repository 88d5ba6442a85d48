//! Decides which frames are saved, and how certain they are.

use super::evidence::Evidence;
use super::frames::{Entries, Torn, each_frame};
use super::names::Names;
use super::sharing::{self, hull, share_bytes};
use super::sums::{self, SumVerdict};
use super::torn::{self, Tail};
use super::trajectory::{self, FirstFrame};
use super::{Certainty, Doubt, Loss, Proof, Run, at_most};
use crate::finding::Coverage;
use crate::gsd::Failed;
use crate::subject::Subject;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::mem;
use core::ops::Range;
use striae_core::gsd::{Chunk, ChunkType};
use striae_core::span::Span;
use striae_hoomd::room::Room;

/// A frame whose entries are those of a commit.
const COMMITTED: Certainty = Certainty::AsFound(Proof::Committed);

/// The results for all frames.
#[derive(Debug, Default)]
pub(super) struct Judged {
    pub(super) runs: Vec<Run>,
    /// The bytes of saved chunks, and how many of them were compared with checksums.
    pub(super) coverage: Coverage,
    /// Saved frames whose checksums are right.
    pub(super) right: Vec<Range<u64>>,
    /// The number of chunks of saved frames, or more.
    pub(super) chunks: u64,
    /// Whether there are chunks of text, which layer 1 does not have.
    pub(super) has_text: bool,
    /// The values that frames take from a lost frame 0.
    pub(super) taken: Option<FirstFrame>,
    /// Entries that are left out because no writer takes their frame.
    pub(super) left_out: u64,
}

impl Judged {
    /// Whether the checksums of a saved frame are right.
    pub(super) fn is_right(&self, frame: u64) -> bool {
        let after = self.right.partition_point(|frames| frames.end <= frame);
        self.right.get(after).is_some_and(|frames| frames.contains(&frame))
    }
}

/// A frame that waits for the next one, which may show that entries of it are missing.
struct Held {
    frame: u64,
    certainty: Certainty,
    /// Whether its checksums prove its chunks, apart from all other doubts.
    is_right: bool,
    /// From the first byte of its chunks to the last, if they have any.
    data: Option<Span>,
    bytes: u64,
    chunks: u64,
    ids: Vec<u16>,
    has_text: bool,
    lost_after: bool,
    /// Whether it is known which chunks it has, whatever its neighbours are.
    is_proven: bool,
    /// The id of its last entry, if that may be one of the next frame.
    stray: Option<u16>,
}

struct Judge<'a, S> {
    subject: &'a S,
    evidence: &'a Evidence,
    names: &'a mut Names,
    judged: Judged,
    held: Option<Held>,
    /// The ids of the chunks of the frame that waits.
    held_ids: Vec<u16>,
    /// The end of the chunks of saved frames.
    data_end: u64,
    /// Whether the chunks of a saved frame start before this end.
    are_disordered: bool,
    /// The bytes of the file after the last frame's chunks.
    tail: Tail,
    /// Ids of saved chunks whose names are unknown.
    unknown: BTreeSet<u16>,
    /// The limit for chunks that are compared with checksums.
    room: Room,
    /// The limit for chunks that are saved.
    saved: Room,
}

pub(super) fn judge<S: Subject>(
    subject: &S,
    evidence: &Evidence,
    names: &mut Names,
) -> Result<Judged, Failed<S>> {
    let (judged, unknown) = (Judged::default(), BTreeSet::new());
    let (held, data_end, are_disordered) = (None, 0, false);
    let [room, saved] = [Room::damaged(evidence.file_len), Room::damaged(evidence.file_len)];
    let tail = Tail::new();
    let mut judge = Judge {
        subject,
        evidence,
        names,
        judged,
        held,
        held_ids: Vec::new(),
        data_end,
        are_disordered,
        tail,
        unknown,
        room,
        saved,
    };
    judge.learn_sums()?;
    judge.judged.left_out = each_frame(subject, evidence, |entries| judge.take(entries))?;
    judge.release();
    let Judge { mut judged, names, unknown, are_disordered, .. } = judge;
    if are_disordered {
        sharing::judge(subject, evidence, names.sums, &mut judged)?;
    }
    unknown.into_iter().for_each(|id| names.invent(id));
    let mut runs = mem::take(&mut judged.runs);
    if judged.has_text && !evidence.version.is_sorted() && names.replace_cut() {
        let limit = Certainty::Guess(Doubt::Names);
        runs.iter_mut().for_each(|run| run.certainty = at_most(run.certainty, limit));
    }
    let (mut runs, taken) = trajectory::judge(subject, evidence, names, runs)?;
    Run::number(&mut runs);
    Ok(Judged { runs, taken, ..judged })
}

impl<S: Subject> Judge<'_, S> {
    /// Finds the id of the name of checksums, if that name was lost, with the help of a whole
    /// frame.
    fn learn_sums(&mut self) -> Result<(), Failed<S>> {
        if !self.has_lost_sums() {
            return Ok(());
        }
        let (subject, evidence) = (self.subject, self.evidence);
        let names = &mut *self.names;
        let mut room = Room::damaged(evidence.file_len);
        each_frame(subject, evidence, |entries| {
            let fits = entries.chunks.iter().all(|chunk| chunk.span.fits(evidence.file_len));
            if fits && names.sums.is_none() {
                sums::learn(subject, &entries.chunks, names, &mut room)?;
            }
            Ok(())
        })
        .map(drop)
    }

    /// Whether frames have checksums, and the name of these was lost and not found again. Of names
    /// that are as committed none was lost: then no frame has any, whatever the record states.
    fn has_lost_sums(&self) -> bool {
        let record = self.evidence.record.filter(|record| record.checksums);
        self.names.sums.is_none() && record.is_some_and(|record| self.names.proven < record.names)
    }

    fn take(&mut self, entries: &Entries) -> Result<(), Failed<S>> {
        entries.chunks.iter().for_each(|chunk| self.tail.take(chunk));
        let said = self.said(entries)?;
        let is_right = matches!(said, Ok(SumVerdict::Right));
        let mut certainty =
            said.map_or_else(Certainty::Lost, |said| self.certainty(entries, &said));
        let data = hull(&entries.chunks);
        // Frames follow one another in most files. Where they do not, some may share bytes.
        let held = self.held.as_ref().filter(|held| held.certainty.is_saved());
        let held_end = held.and_then(|held| held.data.map(Span::end));
        let behind = self.data_end.max(held_end.unwrap_or(0));
        self.are_disordered |=
            certainty.is_saved() && data.is_some_and(|data| data.offset() < behind);
        let is_proven = is_right || is_proven(certainty);
        let strays = entries.strays().filter(|_| !is_proven);
        self.doubt_neighbours(entries, strays, &mut certainty, is_proven);
        let is_sum = |chunk: &&Chunk| Some(chunk.id) == self.names.sums;
        let mut own = entries.chunks.iter().filter(|chunk| !is_sum(chunk));
        if certainty.is_saved() && own.any(|chunk| self.saved.take(chunk).is_err()) {
            certainty = Certainty::Lost(Loss::Overlap);
        }
        let is_doubtful = |held: &Held| held.lost_after || held.stray.is_some();
        let before = self.held.as_ref().map(|held| (held.frame, is_doubtful(held)));
        self.release();
        self.gap(before, entries, strays.is_some());
        self.held_ids.clear();
        self.held_ids.extend(entries.chunks.iter().map(|chunk| chunk.id));
        let held = self.held.insert(Held {
            frame: entries.frame,
            certainty,
            is_right,
            data,
            bytes: 0,
            chunks: 0,
            ids: Vec::new(),
            has_text: false,
            lost_after: entries.lost_after,
            is_proven,
            stray: strays.map(|(_, last)| last),
        });
        for chunk in entries.chunks.iter().filter(|chunk| Some(chunk.id) != self.names.sums) {
            held.bytes = held.bytes.saturating_add(chunk.span.len());
            held.chunks = held.chunks.saturating_add(1);
            held.has_text |= chunk.kind == ChunkType::Character;
            if self.names.get(chunk.id).is_none() {
                held.ids.push(chunk.id);
            }
        }
        Ok(())
    }

    /// Entries that are out of order may have a wrong frame: then the first of these entries is one
    /// of the frame that waits, or the last of that one is one of theirs.
    fn doubt_neighbours(
        &mut self,
        entries: &Entries,
        strays: Option<(u16, u16)>,
        certainty: &mut Certainty,
        is_proven: bool,
    ) {
        let Some(held) = &mut self.held else { return };
        // In layer 2, an id is that of an entry after all entries of a frame, or before all.
        let is_sorted = self.evidence.version.is_sorted();
        let fits = |own: u16, id: u16, side| match is_sorted {
            true => own.cmp(&id) == side,
            false => own != id,
        };
        let lost = Certainty::Lost(Loss::Neighbour);
        if let Some((first, _)) = strays.filter(|_| !held.is_proven && held.certainty.is_saved())
            && self.held_ids.iter().all(|&id| fits(id, first, Ordering::Less))
        {
            held.certainty = lost;
        }
        if let Some(last) = held.stray.filter(|_| !is_proven && certainty.is_saved())
            && entries.chunks.iter().all(|chunk| fits(chunk.id, last, Ordering::Greater))
        {
            *certainty = lost;
        }
    }

    /// Records the frames without chunks before these entries, if there are any. `has_strays` says
    /// whether the entries may be theirs.
    fn gap(&mut self, before: Option<(u64, bool)>, entries: &Entries, has_strays: bool) {
        let start = before.map_or(0, |(frame, _)| frame.saturating_add(1));
        if start >= entries.frame {
            return;
        }
        let is_lost = has_strays || entries.lost_before || before.is_some_and(|(_, lost)| lost);
        let certainty = match is_lost {
            true => Certainty::Lost(Loss::Neighbour),
            // They are only as certain as the entry before them: it may have been one of theirs.
            false => match self.belief(entries.slots.start.saturating_sub(1)..entries.slots.end) {
                COMMITTED => Certainty::Exact, // they have no bytes
                belief => belief,
            },
        };
        self.push(start..entries.frame, certainty);
    }

    /// The result of a frame's checksums, or why they cannot be used.
    fn said(&mut self, entries: &Entries) -> Result<Result<SumVerdict, Loss>, Failed<S>> {
        if entries.chunks.iter().any(|chunk| !chunk.span.fits(self.evidence.file_len)) {
            return Ok(Err(Loss::Cut));
        }
        let id = self.names.sums;
        if id.is_none() {
            return Ok(Ok(SumVerdict::Nothing));
        }
        let has_sums = entries.chunks.iter().any(|chunk| Some(chunk.id) == id);
        if has_sums && entries.chunks.iter().any(|chunk| self.room.take(chunk).is_err()) {
            return Ok(Err(Loss::Overlap)); // as nothing else makes sound chunks that many
        }
        sums::check(self.subject, &entries.chunks, id).map(Ok)
    }

    fn certainty(&self, entries: &Entries, said: &SumVerdict) -> Certainty {
        let lost = Certainty::Lost;
        let belief = self.belief(entries.slots.clone());
        match *said {
            SumVerdict::Right if self.names.are_doubtful => return Certainty::Guess(Doubt::Names),
            SumVerdict::Right => return self.by_checksums(entries, belief),
            SumVerdict::Damaged if belief == COMMITTED => {
                return Certainty::Guess(Doubt::Checksums);
            }
            SumVerdict::Damaged => return lost(Loss::Checksums),
            SumVerdict::Wrong(loss) => return lost(loss),
            SumVerdict::Nothing if self.has_lost_sums() => return lost(Loss::Checksums),
            SumVerdict::Nothing => {}
        }
        if belief == COMMITTED {
            let has_bytes = entries.chunks.iter().any(|chunk| !chunk.span.is_empty());
            return if has_bytes { belief } else { Certainty::Exact };
        }
        if entries.has_lost {
            return lost(Loss::Entry);
        }
        if entries.is_disordered {
            return lost(Loss::Order);
        }
        if !entries.are_all(self.names.total, self.evidence.version.is_sorted()) {
            return lost(Loss::Neighbour);
        }
        let Evidence { index, names, names_are_whole, .. } = self.evidence;
        let names = names.span().filter(|_| *names_are_whole).unwrap_or(Span::ZERO);
        let tables = [index.span(), names];
        let in_table = |chunk: &Chunk| tables.iter().any(|&table| chunk.span.overlaps(table));
        if entries.chunks.iter().any(in_table) || share_bytes(&entries.chunks) {
            return lost(Loss::Overlap);
        }
        match belief {
            Certainty::AsFound(_) if self.may_lack(entries) => Certainty::Guess(Doubt::Torn),
            belief => belief,
        }
    }

    /// The certainty of a frame whose checksums are all right; they prove everything except its
    /// names.
    fn by_checksums(&self, entries: &Entries, belief: Certainty) -> Certainty {
        let is_named = |chunk: &Chunk| u32::from(chunk.id) < self.names.proven;
        // Frames of a file that was truncated, or that were never committed, may be left, too.
        let data_end = self.evidence.record.map_or(0, |record| record.data_end);
        let is_behind = entries.chunks.iter().any(|chunk| chunk.span.end() > data_end);
        let is_unrelated = self.evidence.index.is_unrelated || is_behind;
        match belief {
            Certainty::Guess(Doubt::Header) => belief,
            Certainty::Guess(Doubt::Superseded) if is_unrelated => belief,
            _ if entries.chunks.iter().all(is_named) => Certainty::Exact,
            _ => Certainty::AsFound(Proof::Unnamed),
        }
    }

    /// Whether a crash of gsd may have cut the frame.
    fn may_lack(&self, entries: &Entries) -> bool {
        let Some(torn) = entries.torn else { return false };
        let total =
            self.names.total.map_or(u16::MAX, |total| u16::try_from(total).unwrap_or(u16::MAX));
        let last = entries.chunks.last().filter(|_| self.evidence.version.is_sorted());
        let has = |id: u16| entries.chunks.iter().any(|chunk| chunk.id == id);
        let mut others =
            (last.map_or(0, |last| last.id.saturating_add(1))..total).filter(|&id| !has(id));
        match torn {
            Torn::Front => true,
            Torn::Hole => others.next().is_some(),
            // All bytes of chunks were in the file before any entry was, so only entries of chunks
            // without any are lost if all bytes are accounted for.
            Torn::End => {
                let Evidence { index, names, file_len, .. } = self.evidence;
                let blocks = [index.all(), names.span()].map(|span| span.unwrap_or(Span::ZERO));
                let has_more = self.tail.has_more(*file_len, &blocks);
                others.any(|id| has_more || self.says_something_empty(id))
            }
        }
    }

    fn says_something_empty(&self, id: u16) -> bool {
        let name = self.names.get(id).unwrap_or_default();
        torn::says_something_empty(&self.evidence.schema, name)
    }

    /// How certain the index and the names are.
    fn belief(&self, slots: Range<u64>) -> Certainty {
        match self.evidence.index.belief(slots) {
            COMMITTED if self.names.are_doubtful => Certainty::Guess(Doubt::Names),
            belief => belief,
        }
    }

    /// Ends the wait: the held frame gets its final certainty.
    fn release(&mut self) {
        let Some(mut held) = self.held.take() else { return };
        let certainty = match held.certainty {
            Certainty::AsFound(_) if !held.ids.is_empty() => Certainty::Guess(Doubt::Names),
            certainty => certainty,
        };
        if certainty.is_saved() {
            self.data_end = self.data_end.max(held.data.map_or(0, Span::end));
            self.judged.coverage.add(held.bytes);
            self.judged.chunks = self.judged.chunks.saturating_add(held.chunks);
            if held.is_right {
                self.judged.coverage.add_checked(held.bytes);
                match self.judged.right.last_mut() {
                    Some(last) if last.end == held.frame => last.end = held.frame.saturating_add(1),
                    _ => self.judged.right.push(held.frame..held.frame.saturating_add(1)),
                }
            }
            self.judged.has_text |= held.has_text;
            self.unknown.extend(held.ids.drain(..));
        }
        self.push(held.frame..held.frame.saturating_add(1), certainty);
    }

    fn push(&mut self, frames: Range<u64>, certainty: Certainty) {
        let certainty = match certainty {
            Certainty::AsFound(_) if self.names.are_doubtful => Certainty::Guess(Doubt::Names),
            certainty => certainty,
        };
        Run::push(&mut self.judged.runs, frames, certainty);
    }
}

/// Whether it is known which chunks a frame of this certainty has.
const fn is_proven(certainty: Certainty) -> bool {
    matches!(
        certainty,
        Certainty::Exact
            | Certainty::AsFound(Proof::Committed)
            | Certainty::Guess(Doubt::Checksums)
    )
}
