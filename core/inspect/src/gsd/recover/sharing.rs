//! Frames that share bytes with one another.

use super::evidence::Evidence;
use super::frames::each_saved;
use super::judge::Judged;
use super::{Certainty, Doubt, Limits, Loss, Proof, Run, Unwritten};
use crate::gsd::Failed;
use crate::gsd::sorted::each_sorted;
use crate::subject::Subject;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use striae_core::gsd::Chunk;
use striae_core::span::Span;

/// Saved frames that share bytes become lost, unless their checksums or a commit prove them: one of
/// them is wrong, and nothing says which. `sums` is the id of checksums.
pub(super) fn judge<S: Subject>(
    subject: &S,
    evidence: &Evidence,
    sums: Option<u16>,
    judged: &mut Judged,
) -> Result<(), Failed<S>> {
    let sharing = find(subject, evidence, &judged.runs)?;
    let mut limits = Limits::default();
    for run in judged.runs.iter().filter(|run| is_doubtful(run.certainty)) {
        for &frame in sharing.range(run.frames.clone()).filter(|&&frame| !judged.is_right(frame)) {
            limits.push(frame, Certainty::Lost(Loss::Overlap));
        }
    }
    let mut lost = limits.0.iter().flat_map(|(frames, _)| frames.clone()).peekable();
    if lost.peek().is_none() {
        return Ok(());
    }
    let mut unsaved = 0_u64;
    each_saved(subject, evidence, (&judged.runs, sums, false), |frame, chunks| {
        while lost.next_if(|&lost| lost < frame).is_some() {}
        if lost.peek() == Some(&frame) {
            let bytes = chunks.iter().map(|chunk| chunk.span.len());
            unsaved = bytes.fold(unsaved, u64::saturating_add);
        }
        Ok(())
    })
    .map_err(Unwritten::into_one)?;
    judged.coverage.bytes = judged.coverage.bytes.saturating_sub(unsaved);
    judged.runs = Run::limited(&judged.runs, &limits);
    Ok(())
}

/// Whether another frame with the same bytes shows that the frame may be wrong.
const fn is_doubtful(certainty: Certainty) -> bool {
    matches!(
        certainty,
        Certainty::AsFound(Proof::Unnamed | Proof::Shown)
            | Certainty::Guess(Doubt::Header | Doubt::Index | Doubt::Superseded | Doubt::Torn)
    )
}

/// The saved frames that share bytes with other saved frames.
fn find<S: Subject>(
    subject: &S,
    evidence: &Evidence,
    runs: &[Run],
) -> Result<BTreeSet<u64>, Failed<S>> {
    let mut sharing = BTreeSet::new();
    // The chunk that ends last. A chunk that shares bytes with any before it does so with this one.
    let mut last: Option<Chunk> = None;
    let key = |chunk: &Chunk| (chunk.span.offset(), chunk.frame, chunk.span.len());
    let pass = |each: &mut dyn FnMut(Chunk)| {
        let done = each_saved(subject, evidence, (runs, None, false), |_, chunks| {
            chunks.iter().filter(|chunk| !chunk.span.is_empty()).for_each(|chunk| each(*chunk));
            Ok(())
        });
        done.map_err(Unwritten::into_one)
    };
    each_sorted(key, pass, |chunk| {
        if let Some(other) = last.filter(|last| last.span.overlaps(chunk.span))
            && other.frame != chunk.frame
        {
            sharing.extend([other.frame, chunk.frame]);
        }
        let end = last.map_or(0, |last: Chunk| last.span.end());
        last = if chunk.span.end() > end { Some(chunk) } else { last };
    })?;
    Ok(sharing)
}

/// The bytes from the first one of these chunks to the last, if they have any.
pub(super) fn hull(chunks: &[Chunk]) -> Option<Span> {
    let spans = chunks.iter().map(|chunk| chunk.span).filter(|span| !span.is_empty());
    spans.reduce(|all, span| {
        let (start, end) = (all.offset().min(span.offset()), all.end().max(span.end()));
        Span::between(start, end).unwrap_or(all)
    })
}

/// Whether two of these chunks share bytes. Most of them follow one another in the file.
pub(super) fn share_bytes(chunks: &[Chunk]) -> bool {
    if chunks.is_sorted_by(|a, b| a.span.end() <= b.span.offset()) {
        return false;
    }
    // A span without bytes would hide that those on both sides of it share some.
    let spans = chunks.iter().map(|chunk| chunk.span).filter(|span| !span.is_empty());
    let mut spans: Vec<Span> = spans.collect();
    spans.sort_unstable_by_key(|span| span.offset());
    spans.iter().zip(spans.iter().skip(1)).any(|(a, b)| a.overlaps(*b))
}
