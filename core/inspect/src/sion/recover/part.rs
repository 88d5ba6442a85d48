//! One physical file that is recovered: the used bytes of its chunks.

use super::records::{Used, cut, record_ends};
use super::{Refused, WINDOW};
use crate::sion::verify::Failed;
use crate::subject::read;
use alloc::vec;
use alloc::vec::Vec;
use striae_core::endian::U32;
use striae_core::integrity::Checksum;
use striae_core::sion::recover::{
    Certainty, Doubt, Recovered, Remains, Scratch, SetCommit, Sparse,
};
use striae_core::sion::{Error, KeyvalMode, Task};
use striae_core::span::Span;
use striae_core::step::DriveError;
use striae_core::store::ReadAt;

/// The most chunks with data of one physical file; each takes 16 bytes of memory.
const MAX_USED: usize = 1 << 25;

/// The most block sizes of a META2, which is 4 GiB then.
const MAX_BLOCKSIZES: u64 = 1 << 29;

/// The result for a task.
#[derive(Debug, Clone, Copy)]
pub(super) struct TaskPart {
    pub(super) globalrank: i64,
    /// The start of its first chunk.
    pub(super) start: u64,
    pub(super) recovered: Recovered,
}

/// A physical file that is recovered. It holds no store: the caller must pass the same file each
/// time.
#[derive(Debug)]
pub(super) struct Part {
    /// The state of the file.
    pub(super) remains: Remains,
    /// The bytes of the file that are not in holes.
    pub(super) stored: u64,
    pub(super) tasks: Vec<TaskPart>,
    /// The used chunks, in file order.
    pub(super) used: Vec<Used>,
    /// Whether this is a file of a buddy set, in place of a lost one.
    pub(super) is_copy: bool,
}

impl Part {
    /// Reads META1 and everything else that helps to find the lengths of streams.
    pub(super) fn read<S: Sparse>(store: &S, checksum: Checksum) -> Result<Self, Failed<S>> {
        let remains = Remains::read(store, checksum, &mut vec![0; WINDOW])?;
        let stored = stored_len(store, remains.head().file_len).map_err(DriveError::Store)?;
        Ok(Self { remains, stored, tasks: Vec::new(), used: Vec::new(), is_copy: false })
    }

    /// This file with each stream in one chunk, one after another.
    pub(super) fn gathered(&self) -> Self {
        let one = |task: &TaskPart| {
            let recovered = Recovered { blockcount: 1, ..task.recovered };
            TaskPart { recovered, ..*task }
        };
        let tasks: Vec<_> = self.tasks.iter().map(one).collect();
        let used = (0..).zip(&tasks).map(|(local, task)| Used {
            chunk: 0,
            local,
            len: task.recovered.bytes,
        });
        let used = used.filter(|used| used.len > 0).collect();
        Self { remains: self.remains, stored: self.stored, tasks, used, is_copy: self.is_copy }
    }

    /// Whether the new file has a seal: if everything in it is as it was sealed, in this file. A
    /// seal of other bytes would make it a damaged file, and one of the present bytes would hide
    /// what is wrong with them.
    pub(super) fn is_sealed(&self) -> bool {
        let is_exact = |task: &TaskPart| task.recovered.certainty.is_exact();
        self.remains.is_sealed() && !self.is_copy && self.tasks.iter().all(is_exact)
    }

    /// The number of the commit of the whole set that this file is of; 0 if it is of none.
    pub(super) const fn set_number(&self) -> u32 {
        match self.remains.set_commit() {
            SetCommit::Number(number) => number,
            SetCommit::Own | SetCommit::Unknown => 0,
        }
    }

    /// This file in the state of commit `number` of the whole set, if it has that.
    pub(super) fn at_set_commit<S: Sparse>(
        &self,
        store: &S,
        number: u32,
    ) -> Result<Option<Remains>, Failed<S>> {
        self.remains.at_set_commit(store, number, &mut vec![0; WINDOW])
    }

    /// The span of the used bytes of a chunk.
    pub(super) fn place(&self, used: &Used) -> Option<Span> {
        let task = self.tasks.get(usize::try_from(used.local).ok()?)?;
        let skip = u64::from(used.chunk).checked_mul(self.remains.blocks().globalskip)?;
        Span::new(task.start.checked_add(skip)?, used.len)
    }

    /// The largest number of chunks of a task.
    pub(super) fn maxchunks(&self) -> u64 {
        self.tasks.iter().map(|task| task.recovered.blockcount).max().unwrap_or(1).max(1)
    }

    /// Finds the lengths of all streams.
    pub(super) fn examine<S: Sparse>(&mut self, store: &S) -> Result<(), Refused<S::Error>> {
        let (mut tables, mut window) = (vec![0; WINDOW], vec![0; WINDOW]);
        let mut scratch = Scratch::new(&mut window);
        let (mut tasks, mut used) = (Vec::new(), Vec::new());
        let is_keyval = self.remains.head().meta1.keyval() == KeyvalMode::Inline;
        for (local, task) in (0..).zip(self.own_tasks(store, &mut tables)?) {
            let (task, from, mut full) = (task?, used.len(), None);
            let mut each = |chunk, len| match u32::try_from(chunk) {
                Ok(chunk) if used.len() < MAX_USED => {
                    used.push(Used { chunk, local, len });
                    Ok(())
                }
                _ => {
                    full = Some(chunk);
                    Err(Error::FileFull { chunk })
                }
            };
            let recovered = self.remains.recover(store, &task, &mut scratch, &mut each);
            let mut recovered = match full {
                Some(chunk) => return Err(self.too_many(chunk.saturating_add(1))),
                None => recovered?,
            };
            if is_keyval {
                let order = self.remains.head().meta1.order();
                let chunks = used.get(from..).unwrap_or_default();
                let ends = record_ends(store, task.chunks, chunks, order)?;
                let is_proven = recovered.certainty.is_sound() && ends.whole == recovered.bytes;
                let end = if is_proven { ends.whole } else { ends.seen };
                if end < recovered.bytes {
                    cut(&mut used, from, end);
                    let last = used.get(from..).and_then(<[Used]>::last);
                    recovered.blockcount =
                        last.map_or(1, |last| u64::from(last.chunk).saturating_add(1));
                    recovered.bytes = end;
                    if recovered.certainty.is_sound() {
                        recovered.certainty = Certainty::Guess(Doubt::NoRecord);
                    }
                }
            }
            let (globalrank, start) = (task.globalrank, task.chunks.start);
            tasks.push(TaskPart { globalrank, start, recovered });
        }
        used.sort_unstable_by_key(|used: &Used| (used.chunk, used.local));
        (self.tasks, self.used) = (tasks, used);
        let (rows, limit) = (self.maxchunks(), self.limit());
        if rows > limit { Err(self.too_many(rows)) } else { Ok(()) }
    }

    /// The tasks, without the empty ones that a file of a buddy set has before its copies.
    fn own_tasks<'a, S: Sparse>(
        &'a self,
        store: &'a S,
        tables: &'a mut [u8],
    ) -> Result<impl Iterator<Item = Result<Task, Failed<S>>>, Failed<S>> {
        let tasks = self.remains.tasks(store, tables)?.map(|listed| Ok(listed?.task));
        let is_keeper = |task: &Result<Task, Failed<S>>| {
            let is_empty = |task: &Task| task.globalrank < 0 && task.chunks.chunksize == 0;
            self.is_copy && task.as_ref().is_ok_and(is_empty)
        };
        Ok(tasks.skip_while(is_keeper))
    }

    /// The largest allowed number of chunks of a task.
    fn limit(&self) -> u64 {
        let ntasks = u64::from(self.remains.head().meta1.ntasks());
        let rows = MAX_BLOCKSIZES.checked_div(ntasks).unwrap_or(0);
        rows.clamp(1, i32::MAX.unsigned_abs().into())
    }

    fn too_many<E>(&self, blockcount: u64) -> Refused<E> {
        Refused::TooManyChunks { blockcount, limit: self.limit() }
    }

    /// The sealed checksums of the used chunks; empty if the file has no sound ones.
    pub(super) fn sealed_crcs<S: ReadAt>(&self, store: &S) -> Result<Vec<u32>, Failed<S>> {
        let mut crcs = Vec::new();
        let sealed = self.remains.varheader().filter(|_| self.is_sealed());
        let Some(varheader) = sealed else { return Ok(crcs) };
        let order = self.remains.head().meta1.order();
        let (mut window, mut at) = (Vec::new(), 0);
        crcs.reserve(self.used.len());
        for used in &self.used {
            let place = varheader.crc(used.local, used.chunk.into()).map_or(0, Span::offset);
            // Chunks are in the order of their checksums.
            if entry_in(&window, place.saturating_sub(at)).is_none() {
                let left = varheader.crcs().end().saturating_sub(place);
                window.resize(usize::try_from(left).unwrap_or(WINDOW).min(WINDOW), 0);
                at = place;
                read(store, at, &mut window)?;
            }
            let crc = entry_in(&window, place.saturating_sub(at));
            crcs.push(crc.map_or(0, |crc| U32::from(crc).get(order)));
        }
        Ok(crcs)
    }
}

/// The bytes of a file of this length that are not in holes.
fn stored_len<S: Sparse>(store: &S, file_len: u64) -> Result<u64, S::Error> {
    let (mut sum, mut at) = (0_u64, 0);
    while let Some(rest) = Span::between(at, file_len).filter(|rest| !rest.is_empty()) {
        let Some(part) = store.first_data(rest)? else { break };
        sum = sum.saturating_add(part.len());
        at = part.end().max(at.saturating_add(1));
    }
    Ok(sum)
}

/// The checksum at `skip`, if all of it is in `window`.
fn entry_in(window: &[u8], skip: u64) -> Option<[u8; 4]> {
    window.get(usize::try_from(skip).ok()?..)?.first_chunk().copied()
}
