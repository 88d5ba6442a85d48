//! The data that tasks wrote since the last commit, recorded at one moment.

use std::ops::Range;
use striae_core::sion::pen::{Finished, Pen, Pens};

/// The data that the tasks of a physical file wrote since the last commit.
#[derive(Debug)]
pub(super) struct Snapshot<'a> {
    /// The pen of each task that wrote anything, in order of ranks.
    pub(super) pens: Vec<Pen>,
    /// Finished chunks, in order of chunks, then ranks.
    finished: Vec<Finished>,
    /// File and local rank of each global rank, if this is the first file of a set of several.
    mapping: &'a [(u32, u32)],
}

impl<'a> Snapshot<'a> {
    pub(super) const fn new(mapping: &'a [(u32, u32)]) -> Self {
        Self { pens: Vec::new(), finished: Vec::new(), mapping }
    }

    /// Adds a task and its finished chunks. Its rank must be above the ranks of all earlier tasks.
    pub(super) fn add(&mut self, pen: &Pen, finished: &[Finished]) {
        self.pens.push(*pen);
        self.finished.extend_from_slice(finished);
    }

    /// Sorts the chunks, after all tasks are added.
    pub(super) fn sort(&mut self) {
        self.finished.sort_unstable_by_key(|done| (done.chunk, done.local));
    }

    /// The largest number of chunks of a task.
    pub(super) fn maxchunks(&self) -> u32 {
        // Exact: a file has fewer than 2^31 chunks of a task.
        self.pens.iter().map(|pen| pen.chunk().saturating_add(1)).max().unwrap_or(1)
    }
}

impl Pens for &Snapshot<'_> {
    fn pens(&self, tasks: Range<u32>) -> impl Iterator<Item = &Pen> {
        let at = |local| self.pens.partition_point(|pen| pen.local() < local);
        self.pens.get(at(tasks.start)..at(tasks.end)).unwrap_or_default().iter()
    }

    fn finished(&self, chunk: u32, tasks: Range<u32>) -> impl Iterator<Item = &Finished> {
        let at =
            |local| self.finished.partition_point(|done| (done.chunk, done.local) < (chunk, local));
        self.finished.get(at(tasks.start)..at(tasks.end)).unwrap_or_default().iter()
    }

    fn address(&self, globalrank: u32) -> Option<(u32, u32)> {
        self.mapping.get(usize::try_from(globalrank).ok()?).copied()
    }
}
