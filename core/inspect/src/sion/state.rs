//! The state of a physical file without a check: how it was left, and whether it is sealed.

use super::verify::{Failed, each_entry, look_behind, look_for_seal};
use crate::subject::Subject;
use striae_core::sion::locate::ChunkSum;
use striae_core::sion::verdict::Verdict;
use striae_core::sion::{Meta1, Physical};
use striae_core::span::Span;

/// How a physical file was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ending {
    /// Neither closed nor committed: the amount of data written is unknown.
    Unclosed,
    /// META2 is where neither a close nor a commit puts it: something in META1 or META2 is damaged.
    Misplaced,
    /// Committed: META2 is where a commit puts it; later data is not part of the file.
    Committed,
    /// Closed: META2 follows the last block.
    Closed,
}

impl Ending {
    /// Its word in output for programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unclosed => "unclosed",
            Self::Misplaced => "misplaced",
            Self::Committed => "committed",
            Self::Closed => "closed",
        }
    }
}

/// Whether a physical file is sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sealing {
    /// It has a damaged seal, or one that its tables contradict.
    Damaged,
    /// It has a seal of a version that striae does not know.
    Unknown,
    /// It has a seal of an older state: the file was changed later and not sealed again.
    Stale,
    /// It has no seal.
    None,
    /// It has a seal. [`verify`](super::verify()) checks whether the file is unchanged since.
    Sealed,
}

impl Sealing {
    /// Its word in output for programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Damaged => "damaged",
            Self::Unknown => "unknown",
            Self::Stale => "stale",
            Self::None => "none",
            Self::Sealed => "sealed",
        }
    }
}

/// The state of a physical file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    /// Whether it was closed.
    pub ending: Ending,
    /// Whether it is sealed.
    pub sealing: Sealing,
}

/// Finds how a physical file was left. Checks only what decides this.
///
/// # Errors
/// An error for a damaged head; an error of the store.
pub fn state<S: Subject>(store: &S) -> Result<State, Failed<S>> {
    let opened = Physical::open(store, &mut [0; Meta1::MAX_LEN])?;
    let head = opened.head();
    let Some(meta2) = head.meta2 else {
        return Ok(State { ending: Ending::Unclosed, sealing: Sealing::None });
    };
    let layout = head.meta1.layout();
    let mut sum = ChunkSum::new(*layout);
    let mut is_right = true;
    each_entry(store, layout.chunksizes(), head.meta1.order(), |_, value| {
        is_right &= sum.add(value).is_ok();
    })?;
    // Where blocks end is not known if chunk sizes are wrong.
    let (blocks, rows) = (sum.blocks(), meta2.maxchunks());
    let span = Span::between(meta2.start(), meta2.end()).unwrap_or(Span::ZERO);
    let ending = match () {
        () if !is_right || blocks.is_close(rows, meta2.start()) => Ending::Closed,
        () if blocks.is_commit(rows, span, head.meta1.is_first_of_several()) => Ending::Committed,
        () => Ending::Misplaced,
    };

    let end = look_behind(store, head)?.end(head);
    let found = look_for_seal(store, head, end)?;
    let sealing = found.map_or(Sealing::None, |found| match found.verdict() {
        Verdict::Current(_) => Sealing::Sealed,
        Verdict::Stale => Sealing::Stale,
        Verdict::Unknown(..) => Sealing::Unknown,
        Verdict::Damaged(..) | Verdict::Contradicted(_) => Sealing::Damaged,
    });
    Ok(State { ending, sealing })
}
