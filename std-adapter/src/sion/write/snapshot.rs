//! What tasks wrote since the last commit, at one moment.

use super::stream::Chunk;
use striae_core::sion::commit::{Column, Entries, Written};

/// What one task wrote since the last commit.
#[derive(Debug, Clone)]
pub(super) struct Wrote {
    /// The task's rank in its physical file.
    pub(super) local: u32,
    /// First chunk that is not as the last commit says.
    pub(super) since: u32,
    /// That chunk and all behind it, to the one that is written to.
    pub(super) chunks: Vec<Chunk>,
}

impl Wrote {
    /// Chunks that the task has used.
    pub(super) fn blockcount(&self) -> u32 {
        self.since.saturating_add(u32::try_from(self.chunks.len()).unwrap_or(u32::MAX))
    }

    fn chunk(&self, chunk: u32) -> Option<&Chunk> {
        let index = chunk.checked_sub(self.since)?;
        self.chunks.get(usize::try_from(index).ok()?)
    }
}

/// What the tasks of a physical file wrote since the last commit, in order of their ranks.
#[derive(Debug, Default)]
pub(super) struct Snapshot<'a> {
    pub(super) tasks: Vec<Wrote>,
    /// File and local rank of each global rank, if this is the first file of a set of several.
    pub(super) mapping: &'a [(u32, u32)],
}

impl Snapshot<'_> {
    /// Chunks of the task that has most.
    pub(super) fn maxchunks(&self) -> u32 {
        self.tasks.iter().map(Wrote::blockcount).max().unwrap_or(1)
    }
}

impl Written for Snapshot<'_> {
    fn lay_over(&self, entries: &mut Entries<'_>) {
        let (range, column) = (entries.range(), entries.column());
        if column == Column::Mapping {
            let first = usize::try_from(range.start).unwrap_or(usize::MAX);
            for (globalrank, address) in range.zip(self.mapping.get(first..).unwrap_or_default()) {
                entries.set_address(globalrank, address.0, address.1);
            }
            return;
        }
        let first = self.tasks.partition_point(|wrote| wrote.local < range.start);
        let tasks = self.tasks.iter().skip(first).take_while(|wrote| wrote.local < range.end);
        for wrote in tasks {
            let value = match column {
                Column::Blocksizes { chunk } => wrote.chunk(chunk).map(|chunk| chunk.used),
                Column::Crcs { chunk } => wrote.chunk(chunk).map(|chunk| chunk.crc.into()),
                _ => Some(wrote.blockcount().into()),
            };
            if let Some(value) = value {
                entries.set(wrote.local, value);
            }
        }
    }
}
