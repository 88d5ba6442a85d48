//! Frames of the schema hoomd: no frame is more certain than the values that it takes from frame 0.

use super::evidence::Evidence;
use super::frames::{each_frame, each_saved};
use super::names::Names;
use super::{Certainty, Doubt, Limits, Run, Unwritten, at_most, sums};
use crate::gsd::Failed;
use crate::size::Demand;
use crate::subject::{Subject, read};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::mem;
use striae_core::gsd::Chunk;
use striae_hoomd::fallback::{Fallback, Need};
use striae_hoomd::schema::{self, Group};

/// The bytes that the entry of a chunk has.
const ENTRY: u64 = 32;

/// The sound part of a lost frame 0, for the frames that take values from it.
#[derive(Debug, Clone)]
pub(super) struct FirstFrame {
    fallback: Fallback,
    /// Its chunks that are as they were written.
    right: Vec<Chunk>,
    /// Whether a frame was seen; the first one becomes frame 0 of the new file.
    has_first: bool,
    /// What each frame without chunks after the first frame needs.
    of_empty: Option<OfEmpty>,
    /// The number of bytes that may still be taken, with their entries.
    left: u64,
    /// What frames take in all.
    pub(super) taken: Taken,
}

/// What frames without chunks need: the same for all of them, as such a frame has no ids and the
/// numbers of members of frame 0.
///
/// There may be a frame for each byte of the file, and tens of thousands of chunks in frame 0. So a
/// value is looked at only while it can be taken, which is as often as there are bytes for it, and
/// once more.
#[derive(Debug, Clone)]
struct OfEmpty {
    /// Those that could be taken so far. What is left becomes less, so no other one can be later.
    needs: Vec<Need>,
    /// Whether there are others.
    has_lost: bool,
}

/// What frames take from a lost frame 0.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Taken {
    pub(super) bytes: u64,
    pub(super) chunks: u64,
}

impl FirstFrame {
    /// The values that a frame of the new file needs besides its own chunks. Frames must be passed
    /// in order.
    pub(super) fn needs<S: Subject>(
        &mut self,
        subject: &S,
        names: &Names,
        own: &[Chunk],
    ) -> Result<Vec<Need>, Failed<S>> {
        if own.is_empty() && self.has_first {
            return self.needs_of_empty(subject, names);
        }
        let right = &self.right;
        let members = |group| members(subject, names, [own, right], group);
        let mut needs = self.fallback.needs(own, members)?;
        if !self.has_first {
            self.has_first = true;
            self.fallback.set_first(own, |id| names.get(id).unwrap_or_default(), members)?;
        }
        for need in &mut needs {
            if !self.take(need) {
                *need = Need::Lost;
            }
        }
        Ok(needs)
    }

    /// The values that a frame without chunks needs, which is not the first one.
    fn needs_of_empty<S: Subject>(
        &mut self,
        subject: &S,
        names: &Names,
    ) -> Result<Vec<Need>, Failed<S>> {
        let mut of_empty = match self.of_empty.take() {
            Some(known) => known,
            None => {
                let members = |group| members(subject, names, [&self.right, &[]], group);
                OfEmpty { needs: self.fallback.needs(&[], members)?, has_lost: false }
            }
        };
        let all = of_empty.needs.len();
        of_empty.needs.retain(|need| self.take(need));
        of_empty.has_lost |= of_empty.needs.len() < all;
        let mut needs = of_empty.needs.clone();
        needs.extend(of_empty.has_lost.then_some(Need::Lost)); // of one or many
        self.of_empty = Some(of_empty);
        Ok(needs)
    }

    /// Takes a value, if as many bytes are left.
    fn take(&mut self, need: &Need) -> bool {
        let left = self.left.checked_sub(need.bytes().saturating_add(ENTRY));
        if let Some(left) = left {
            self.left = left;
            self.taken.bytes = self.taken.bytes.saturating_add(need.bytes());
            self.taken.chunks = self.taken.chunks.saturating_add(1);
        }
        left.is_some()
    }
}

/// N of a group from the first of these chunks that states it; 0 if it is unknown, as it may be in
/// frames that are a guess.
fn members<S: Subject>(
    subject: &S,
    names: &Names,
    chunks: [&[Chunk]; 2],
    group: Group,
) -> Result<u64, Failed<S>> {
    let field = group.count();
    let is_it = |chunk: &&Chunk| names.get(chunk.id) == Some(field.name.as_bytes());
    let chunk = chunks.into_iter().flatten().find(is_it);
    let Some(chunk) = chunk.filter(|chunk| field.check(chunk, Some(1)).is_ok()) else {
        return Ok(0);
    };
    let mut bytes = [0; 4];
    read(subject, chunk.span.offset(), &mut bytes)?;
    Ok(u32::from_le_bytes(bytes).into())
}

/// Decides how certain frames of the schema hoomd are, from the values that they take from frame 0,
/// and finds the values that they need from it.
pub(super) fn judge<S: Subject>(
    subject: &S,
    evidence: &Evidence,
    names: &Names,
    runs: Vec<Run>,
) -> Result<(Vec<Run>, Option<FirstFrame>), Failed<S>> {
    let Some(first) = runs.first().filter(|_| evidence.schema == schema::NAME) else {
        return Ok((runs, None));
    };
    let limit = match first.certainty {
        Certainty::Exact => return Ok((runs, None)),
        Certainty::AsFound(proof) => Certainty::AsFound(proof),
        Certainty::Guess(_) => Certainty::Guess(Doubt::First),
        Certainty::Lost(_) => return without_first(subject, evidence, names, runs, None),
    };
    Ok((limited(runs, limit), None))
}

fn limited(runs: Vec<Run>, limit: Certainty) -> Vec<Run> {
    let limited = |run: Run| Run { certainty: at_most(run.certainty, limit), ..run };
    runs.into_iter().map(limited).collect()
}

/// Decides how certain frames are without frame 0, and finds the values that they need from it.
/// `forbidden` has the ids of its chunks that the schema forbids, if that is why it is lost.
pub(super) fn without_first<S: Subject>(
    subject: &S,
    evidence: &Evidence,
    names: &Names,
    runs: Vec<Run>,
    forbidden: Option<&BTreeSet<u16>>,
) -> Result<(Vec<Run>, Option<FirstFrame>), Failed<S>> {
    let Some(taken) = left_of_first(subject, evidence, names, forbidden)? else {
        return Ok((limited(runs, Certainty::Guess(Doubt::First)), None));
    };
    let (mut limits, mut first) = (Limits::default(), taken.clone());
    each_saved(subject, evidence, (&runs, names.sums, true), |frame, chunks| {
        let needs = first.needs(subject, names, chunks)?;
        let is_known = |need: &Need| matches!(need, Need::Copy(_) | Need::Default(..));
        if !needs.iter().all(is_known) {
            limits.push(frame, Certainty::Guess(Doubt::First));
        }
        Ok(())
    })
    .map_err(Unwritten::into_one)?;
    let taken = FirstFrame { taken: first.taken, ..taken };
    Ok((Run::limited(&runs, &limits), Some(taken)))
}

/// The sound part of frame 0, if the list of its chunks is known.
fn left_of_first<S: Subject>(
    subject: &S,
    evidence: &Evidence,
    names: &Names,
    forbidden: Option<&BTreeSet<u16>>,
) -> Result<Option<FirstFrame>, Failed<S>> {
    let mut first = None;
    each_frame(subject, evidence, |entries| {
        if entries.frame == 0 {
            first = Some(mem::take(&mut entries.chunks));
        }
        Ok(())
    })?;
    let chunks = first.filter(|chunks| {
        let fits = chunks.iter().all(|chunk| chunk.span.fits(evidence.file_len));
        fits && !names.are_doubtful
    });
    let Some(chunks) = chunks else { return Ok(None) };
    let mut right = match (sums::right(subject, &chunks, names.sums)?, forbidden) {
        (Some(right), _) => right,
        (None, Some(_)) => chunks.clone(), // nothing but the schema contradicts them
        (None, None) => return Ok(None),
    };
    right.retain(|chunk| forbidden.is_none_or(|ids| !ids.contains(&chunk.id)));
    let is_lost = |id: u16| !right.iter().any(|chunk| chunk.id == id);
    let own: Vec<Chunk> =
        chunks.iter().filter(|chunk| Some(chunk.id) != names.sums).copied().collect();
    let name = |id| names.get(id).unwrap_or_default();
    let members = |group| members(subject, names, [&right, &[]], group);
    let fallback = Fallback::new(&own, name, members)?.without(&own, name, is_lost);
    let left = Demand { size: 0, existing: evidence.file_len, own: 0 }.limit();
    Ok(Some(FirstFrame {
        fallback,
        right,
        has_first: false,
        of_empty: None,
        left,
        taken: Taken::default(),
    }))
}
