//! What can be said of a physical file without checking it: how it was left, whether it is sealed.

use super::verify::{Failed, each_entry, look_behind, look_for_seal};
use crate::subject::Subject;
use striae_core::sion::locate::ChunkSum;
use striae_core::sion::verdict::Verdict;
use striae_core::sion::{Meta1, Physical};

/// How a physical file was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ending {
    /// Neither closed nor committed: how much was written is not known.
    Unclosed,
    /// Committed: META2 is where a commit puts it, and what was written later is not in the file.
    Committed,
    /// Closed: META2 is right behind the last block.
    Closed,
}

/// Whether a physical file is sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sealing {
    /// It has a seal that is damaged, or that its tables contradict.
    Damaged,
    /// It has one of an older state: it was changed later, and not sealed again.
    Stale,
    /// It has none.
    None,
    /// It has one. Whether the file is still as it was sealed, [`verify`](super::verify()) checks.
    Sealed,
}

/// How a physical file was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    /// Whether it was closed.
    pub ending: Ending,
    /// Whether it is sealed.
    pub sealing: Sealing,
}

/// Looks how a physical file was left. Nothing is checked that does not matter to that.
///
/// # Errors
/// What is wrong with its head; the store's.
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
    let is_elsewhere = is_right && !sum.blocks().is_close(meta2.maxchunks(), meta2.start());
    let ending = if is_elsewhere { Ending::Committed } else { Ending::Closed };

    let end = look_behind(store, head)?.end(head);
    let found = look_for_seal(store, head, end)?;
    let sealing = found.map_or(Sealing::None, |found| match found.verdict() {
        Verdict::Current(_) => Sealing::Sealed,
        Verdict::Stale => Sealing::Stale,
        Verdict::Damaged(..) | Verdict::Unknown(..) | Verdict::Contradicted(_) => Sealing::Damaged,
    });
    Ok(State { ending, sealing })
}
