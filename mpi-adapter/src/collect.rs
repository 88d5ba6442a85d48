//! Few ranks write for all: what the others write waits in memory and is handed over.
//!
//! A rank's short writes are collected in a buffer of its own. When all ranks meet, each hands its
//! buffer over to the writer of its group, which joins what is adjacent and writes it. So a file
//! is opened only by the writers, and a commit of many ranks is a few large writes.
//!
//! A rank whose buffer is full, or that writes more at once than the buffer holds, does not wait
//! for the others: it opens the file and writes by itself. What it writes is in the file at the
//! latest when the ranks agree on a commit.

mod behind;
mod handle;
mod runs;
mod shared;

pub(crate) use handle::{Group, Handle, Io};

use crate::collective::Collective;
use crate::error::{Error, Failure};
use shared::Segment;
use std::io;
use striae_core::store::WriteAt;

/// The ranks with the same writer, if this rank does not write for itself, and its failure.
type Grouped<C> = (Option<Group<C>>, Result<(), Failure>);

/// Who writes for whom, and how much waits in memory.
///
/// ```
/// use striae_mpi::sion::Builder;
/// use striae_mpi::{Collect, Collective, Threads};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("run.sion");
/// let done = Threads::new(6).run(|rank| {
///     let collect = Collect::new().ranks_per_writer(3); // ranks 0 and 3 open the file
///     let mut file = Builder::new().collect(collect).create(rank, &path)?;
///     for step in 0..1000_u64 {
///         file.coll_write(&step.to_le_bytes())?; // all ranks; messages only when buffers are full
///     }
///     file.close().map(drop)
/// });
/// done.into_iter().try_for_each(|done| done.expect("no rank panicked"))?;
/// assert_eq!(striae::sion::File::open(&path)?.task(5)?.bytes, 8000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Collect {
    ranks_per_writer: u32,
    buffer: usize,
    shares: bool,
    behind: bool,
}

impl Default for Collect {
    fn default() -> Self {
        Self::new()
    }
}

impl Collect {
    /// One writer for all ranks of a node, a buffer of 1 MiB for each rank.
    #[must_use]
    pub const fn new() -> Self {
        Self { ranks_per_writer: u32::MAX, buffer: 1 << 20, shares: true, behind: false }
    }

    /// Sets how many consecutive ranks of a node have a writer in common; the last writer of a node
    /// has the rest. With 1 every rank writes its own buffer, and nothing is handed over. 0 counts
    /// as 1.
    #[must_use]
    pub const fn ranks_per_writer(self, ranks: u32) -> Self {
        Self { ranks_per_writer: if ranks == 0 { 1 } else { ranks }, ..self }
    }

    /// Sets how many bytes of a rank wait at most. Longer writes are made at once. A writer needs
    /// up to 6 MiB besides, whatever the number of its ranks.
    #[must_use]
    pub const fn buffer(self, bytes: usize) -> Self {
        Self { buffer: bytes, ..self }
    }

    /// Sets whether the buffers are in memory that the ranks of a node share, if all of them can
    /// have it, so that a writer needs no copy of them. They are in `/dev/shm`, and take at most
    /// half of what is free there when the file is opened; otherwise what waits is sent by
    /// messages. A rank takes its buffer piece by piece, as it fills. If nothing is left then, it
    /// writes by itself.
    /// Without a call memory is shared.
    #[must_use]
    pub const fn shared_memory(self, shares: bool) -> Self {
        Self { shares, ..self }
    }

    /// Sets whether a thread of each writer writes what its ranks hand over, while they go on. It
    /// makes no call of the message layer. A writer then needs 6 MiB more. An error of its writes
    /// is that of all ranks at a later call, at the latest at the commit; a commit waits for it.
    /// Without a call the writer writes before its ranks go on.
    #[must_use]
    pub const fn write_behind(self, behind: bool) -> Self {
        Self { behind, ..self }
    }

    /// How many bytes wait at most.
    pub(crate) const fn limit(self) -> usize {
        self.buffer
    }

    /// A file that is not open, for a rank of this group.
    pub(crate) fn handle<C: Collective, F>(
        self,
        open: impl Fn(bool) -> io::Result<F> + 'static,
        group: Option<Group<C>>,
    ) -> Handle<C, F>
    where
        F: Send + Sync + 'static,
        for<'f> &'f F: WriteAt<Error = io::Error>,
    {
        let handle = Handle::new(open, group, self.buffer);
        if self.behind { handle.write_behind() } else { handle }
    }

    /// The ranks that have their writer in common; the lowest is the writer. `None` if every rank
    /// writes for itself. All ranks call this, and pass the failure to their next collective; a
    /// rank that fails still answers its group. [`Handle::leave`] lets `comm` keep their
    /// communicator for the next file.
    ///
    /// # Errors
    /// The failure of the lowest rank that has one, at all ranks.
    pub(crate) fn group<C: Collective>(
        self,
        comm: &C,
        mine: Result<(), Failure>,
    ) -> Result<Grouped<C>, Error> {
        if self.ranks_per_writer == 1 {
            return Ok((None, mine));
        }
        let kept_as = u64::from(self.ranks_per_writer);
        let (ranks, mine) = match comm.kept(kept_as) {
            Some(ranks) => (Ok(ranks), mine),
            // From here on only the ranks of a node know of an error.
            None => (self.ranks_of(comm.node(mine)?), Ok(())),
        };
        Ok(match ranks.and_then(|ranks| self.group_of(ranks, kept_as)) {
            Ok(group) => (Some(group), mine),
            Err(error) => (None, mine.and(Err(error.into()))),
        })
    }

    fn ranks_of<C: Collective>(self, node: C) -> Result<C, Error> {
        if self.ranks_per_writer >= node.size() {
            return Ok(node);
        }
        let color = node.rank().checked_div(self.ranks_per_writer).unwrap_or(0);
        let group = node.split(Ok(color));
        node.free(group.as_ref().map(drop).map_err(|error| error.clone().into()))?;
        group
    }

    fn group_of<C: Collective>(self, comm: C, kept_as: u64) -> Result<Group<C>, Error> {
        let shares = self.shares && self.buffer > 0 && comm.size() > 1;
        let segment = if shares { Segment::new(&comm, self.buffer)? } else { None };
        Ok(Group { comm, segment, kept_as: Some(kept_as) })
    }
}
