//! Few ranks open the file for all: each writes its own long pieces, and hands short ones over.
//!
//! A rank's short writes are collected in a buffer of its own. A full buffer, and a write of 64 KiB
//! or more, goes to the file at once, without the other ranks: only the writer of a group opens the
//! file, and it passes its descriptor to the other ranks of its node. When all ranks meet, each
//! writes what it has of 64 KiB and more, and hands the rest over to the writer of its group, which
//! joins what is adjacent. So a file is opened only by the writers, no byte of a long run is copied
//! by another process, and the short pieces of a commit of many ranks are a few writes.
//!
//! The descriptor is sent through a socket that has a name in no folder. A rank in another process
//! gets it if the file is a [`PosixFile`](striae::posix::PosixFile), and a rank of the same process
//! shares any file. If a rank does not get it, because processes of the node do not share memory or
//! are in different network namespaces, all ranks meet when its buffer may be full, and its
//! buffer is handed over. If it writes more at once than the buffer holds, it opens the file.
//!
//! What a rank writes is in the file at the latest when the ranks agree on a commit. A descriptor
//! is valid without the writer; but when a writer dies, its ranks cannot commit any more.

mod behind;
mod handle;
mod pass;
mod runs;
mod shared;

pub(crate) use handle::{Group, Handle, Io};

use crate::collective::Collective;
use crate::error::{Error, Failure};
use crate::file::SharedFile;
use shared::Segment;
use std::io;

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
    /// One writer for all ranks of a node, a buffer of 256 KiB for each rank.
    #[must_use]
    pub const fn new() -> Self {
        Self { ranks_per_writer: u32::MAX, buffer: 256 << 10, shares: true, behind: false }
    }

    /// Sets how many consecutive ranks of a node have a writer in common; the last writer of a node
    /// has the rest. With 1 every rank writes its own buffer, and nothing is handed over. 0 counts
    /// as 1.
    #[must_use]
    pub const fn ranks_per_writer(self, ranks: u32) -> Self {
        Self { ranks_per_writer: if ranks == 0 { 1 } else { ranks }, ..self }
    }

    /// Sets how many bytes of a rank wait at most. Longer writes are made at once; so are those of
    /// 64 KiB or more, if the rank has the file and no thread writes. A writer needs up to 6 MiB
    /// besides, whatever the number of its ranks; with [shared memory](Self::shared_memory) also
    /// about 50 bytes for each piece that waits, of which a rank has at most 65 535.
    #[must_use]
    pub const fn buffer(self, bytes: usize) -> Self {
        Self { buffer: bytes, ..self }
    }

    /// Sets whether the ranks of a node share memory and the open file of their writer. The
    /// buffers are in this memory, if all ranks can have it, so that a writer needs no copy of
    /// them. They are in `/dev/shm`, and take at most half of what is free there when the file is
    /// opened; otherwise what waits is sent by messages. A rank takes its buffer piece by piece, as
    /// it fills. If nothing is left then, it writes by itself.
    ///
    /// Without a call both are shared.
    #[must_use]
    pub const fn shared_memory(self, shares: bool) -> Self {
        Self { shares, ..self }
    }

    /// Sets whether a thread of each rank that writes does so while the ranks go on: of a writer,
    /// and of a rank with a full buffer. It makes no call of the message layer. Such a rank needs
    /// up to 6 MiB more. An error of its writes
    /// is that of all ranks at a later call, at the latest at the commit; a commit waits for it.
    /// Without a call a rank writes before it goes on.
    #[must_use]
    pub const fn write_behind(self, behind: bool) -> Self {
        Self { behind, ..self }
    }

    /// How many bytes wait at most.
    pub(crate) const fn limit(self) -> usize {
        self.buffer
    }

    /// A file that is not open, for a rank of this group.
    pub(crate) fn handle<C: Collective, F: SharedFile + Send + Sync + 'static>(
        self,
        open: impl Fn(bool) -> io::Result<F> + 'static,
        group: Option<Group<C>>,
    ) -> Handle<C, F> {
        let (mut group, mut pass) = (group, None);
        if let Some(group) = &mut group {
            pass = group.pass.take();
        }
        let handle = Handle::new(open, group, self.buffer);
        let handle = if let Some(pass) = pass { handle.passing(pass) } else { handle };
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
            Some(ranks) => {
                comm.agree(mine)?; // before the ranks of a group are by themselves
                (Ok(ranks), Ok(()))
            }
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
        let (segment, pass) = if shares { Segment::new(&comm, self.buffer)? } else { (None, None) };
        Ok(Group { comm, segment, pass, kept_as: Some(kept_as) })
    }
}
