//! A writer's state of its tasks, in the caller's memory.

use crate::sion::error::Error;
use crate::sion::write::pen::{Finished, Pen, Pens};
use crate::store::usize_to_u64;
use core::ops::Range;

/// The memory that a writer works in.
#[derive(Debug)]
pub struct Memory<'m> {
    /// One Pen for each task.
    pub pens: &'m mut [Pen],
    /// Room for the chunks that are finished between two commits. In a file without a seal, chunks
    /// that are full need no room.
    pub ledger: &'m mut [Finished],
    /// At least [`WINDOW`](super::WINDOW) bytes; a larger window makes fewer and larger writes.
    pub window: &'m mut [u8],
}

/// The tasks of a physical file.
#[derive(Debug)]
pub(super) struct Tasks<'m> {
    pens: &'m mut [Pen],
    ledger: &'m mut [Finished],
    /// The number of chunks in the ledger.
    left: usize,
    /// The physical file and the local rank of each global rank.
    mapping: &'m [(u32, u32)],
}

impl<'m> Tasks<'m> {
    /// Makes the state of as many tasks as there are Pens.
    pub(super) const fn new(
        pens: &'m mut [Pen],
        ledger: &'m mut [Finished],
        mapping: &'m [(u32, u32)],
    ) -> Self {
        Self { pens, ledger, left: 0, mapping }
    }

    /// Keeps only the first `ntasks` tasks.
    pub(super) fn limit(&mut self, ntasks: u32) -> Result<(), Error> {
        let have = usize_to_u64(self.pens.len());
        let count = usize::try_from(ntasks).unwrap_or(usize::MAX);
        let pens = core::mem::take(&mut self.pens).get_mut(..count);
        self.pens = pens.ok_or(Error::Pens { ntasks: ntasks.into(), have })?;
        Ok(())
    }

    pub(super) const fn pens(&mut self) -> &mut [Pen] {
        self.pens
    }

    pub(super) fn pen(&self, local: u32) -> Result<&Pen, Error> {
        let pen = usize::try_from(local).ok().and_then(|local| self.pens.get(local));
        pen.ok_or_else(|| self.no_task(local))
    }

    pub(super) fn pen_mut(&mut self, local: u32) -> Result<&mut Pen, Error> {
        let no_task = self.no_task(local);
        let pen = usize::try_from(local).ok().and_then(|local| self.pens.get_mut(local));
        pen.ok_or(no_task)
    }

    fn no_task(&self, local: u32) -> Error {
        Error::NoTask { task: local.into(), ntasks: usize_to_u64(self.pens.len()) }
    }

    /// The present state of a task.
    pub(super) fn draft(&self, local: u32) -> Result<Draft, Error> {
        Ok(Draft { pen: *self.pen(local)?, left: self.left })
    }

    /// Moves `draft` to the start of its next chunk, whose block must be entered.
    pub(super) fn leave(&mut self, draft: &mut Draft) -> Result<(), Error> {
        let capacity = usize_to_u64(self.ledger.len());
        draft.pen.leave(|done| {
            *self.ledger.get_mut(draft.left).ok_or(Error::LedgerFull { capacity })? = done;
            draft.left = draft.left.saturating_add(1);
            Ok(())
        })
    }

    /// Makes `draft` the state of its task.
    pub(super) fn keep(&mut self, draft: &Draft) {
        if let Ok(pen) = self.pen_mut(draft.pen.local()) {
            *pen = draft.pen;
            self.left = draft.left;
        }
    }

    /// The number of chunks of the longest stream.
    pub(super) fn maxchunks(&self) -> u32 {
        self.pens.iter().map(|pen| pen.chunk().saturating_add(1)).max().unwrap_or(1)
    }

    /// Records that all written bytes are committed.
    pub(super) fn committed(&mut self) {
        self.left = 0;
        for pen in self.pens.iter_mut() {
            let seen = *pen;
            pen.committed(&seen);
        }
    }
}

/// A task that is written on: its Pen, and the number of chunks that all tasks have left. If the
/// work fails, the task stays as it was.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) pen: Pen,
    left: usize,
}

impl Pens for &Tasks<'_> {
    fn pens(&self, tasks: Range<u32>) -> impl Iterator<Item = &Pen> {
        let range = [tasks.start, tasks.end].map(|n| usize::try_from(n).unwrap_or(usize::MAX));
        let [start, end] = range.map(|n| n.min(self.pens.len()));
        self.pens.get(start..end).unwrap_or_default().iter()
    }

    fn finished(&self, chunk: u32, tasks: Range<u32>) -> impl Iterator<Item = &Finished> {
        let entries = self.ledger.get(..self.left).unwrap_or_default();
        entries.iter().filter(move |done| done.chunk == chunk && tasks.contains(&done.local))
    }

    fn address(&self, globalrank: u32) -> Option<(u32, u32)> {
        self.mapping.get(usize::try_from(globalrank).ok()?).copied()
    }
}
