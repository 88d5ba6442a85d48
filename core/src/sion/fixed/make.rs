//! The machine that makes a new file.

use crate::step::{Machine, Step};
use crate::store::usize_to_u64;
use core::convert::Infallible;

/// Empties a store and writes META1. The first sector is written last: a file that starts with
/// `sion` has a complete META1, also after a power cut.
#[derive(Debug)]
pub(super) struct Make<'s> {
    front: &'s [u8],
    rest: &'s [u8],
    stage: Stage,
}

#[derive(Debug, Clone, Copy)]
enum Stage {
    Empty,
    SyncEmpty,
    Rest,
    SyncRest,
    Front,
    SyncFront,
    Done,
}

/// The length of the part that is written last.
const FRONT: usize = 512;

impl<'s> Make<'s> {
    pub(super) fn new(meta1: &'s [u8]) -> Self {
        let (front, rest) = meta1.split_at_checked(FRONT).unwrap_or((meta1, &[]));
        Self { front, rest, stage: Stage::Empty }
    }

    /// The machine for a store that has nothing but parts of this META1: many devices cannot cut a
    /// file.
    pub(super) fn again(meta1: &'s [u8]) -> Self {
        Self { stage: Stage::Rest, ..Self::new(meta1) }
    }
}

impl Machine for Make<'_> {
    type Output = ();
    type Error = Infallible;

    fn poll(&mut self) -> Step<'_, ()> {
        let (next, step) = match self.stage {
            Stage::Empty => (Stage::SyncEmpty, Step::SetSize { len: 0 }),
            // A power cut must not leave an old size, see `writer::begin`.
            Stage::SyncEmpty => (Stage::Rest, Step::Sync),
            Stage::Rest => {
                let offset = usize_to_u64(self.front.len());
                (Stage::SyncRest, Step::Write { offset, bytes: self.rest })
            }
            Stage::SyncRest => (Stage::Front, Step::Sync),
            Stage::Front => (Stage::SyncFront, Step::Write { offset: 0, bytes: self.front }),
            Stage::SyncFront => (Stage::Done, Step::Sync),
            Stage::Done => (Stage::Done, Step::Done(())),
        };
        self.stage = next;
        step
    }

    fn feed(&mut self, _: &[u8]) -> Result<(), Infallible> {
        Ok(())
    }
}
