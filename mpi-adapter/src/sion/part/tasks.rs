//! The tasks of a rank in a physical file.

use super::{CHECKSUM, refused};
use crate::error::{Code, Failure};
use crate::sion::outside::OwnTask;
use std::io;
use std::ops::Range;
use striae_core::sion::create::TaskTable;
use striae_core::sion::error::Error as SionError;
use striae_core::sion::filegroups::{BuddySet, BuddyTask, EvenFiles, FileGroups};
use striae_core::sion::pen::{Finished, Pen, Pens};
use striae_core::sion::{self, Chunks};
use striae_core::store::{WriteAt, usize_to_u64};

/// A task of this rank that is written.
#[derive(Debug)]
pub(in crate::sion) struct Task {
    /// The rank of the task in the set; its number if the set was reopened.
    globalrank: u32,
    pen: Pen,
    finished: Vec<Finished>,
    /// The reason why a write failed, until the other ranks get it.
    untold: Option<Failure>,
}

impl Task {
    pub(super) fn new(globalrank: u32, pen: Pen) -> Self {
        Self { globalrank, pen, finished: Vec::new(), untold: None }
    }

    /// The task `number` of a set that is reopened. If its chunks are to be sealed, `renewed` are
    /// all but the last.
    pub(super) fn resume(number: u32, pen: Pen, renewed: Option<Vec<Finished>>) -> Self {
        let mut task = Self::new(number, pen);
        if let Some(finished) = renewed {
            task.pen.renew();
            task.finished = finished;
        }
        task
    }

    pub(in crate::sion) const fn globalrank(&self) -> u32 {
        self.globalrank
    }

    pub(in crate::sion) const fn pen(&self) -> &Pen {
        &self.pen
    }

    /// Writes all of `pieces`, or nothing of them. Nothing is written from block `reach` on.
    ///
    /// # Errors
    /// An error of the operating system, which the other ranks get later;
    /// [`io::ErrorKind::WouldBlock`] if there is no room before block `reach`.
    pub(in crate::sion) fn write_all<W>(
        &mut self,
        pieces: &[&[u8]],
        reach: u64,
        to: &mut W,
    ) -> io::Result<()>
    where
        W: WriteAt<Error = io::Error>,
    {
        let mark = self.pen;
        for piece in pieces {
            let mut bytes = *piece;
            while !bytes.is_empty() {
                match self.write_some(bytes, reach, to) {
                    Ok(n) => bytes = bytes.get(n..).unwrap_or_default(),
                    Err(error) => {
                        self.pen.take_back(&mark);
                        self.finished.retain(|done| done.is_told_by(&mark));
                        return Err(error);
                    }
                }
            }
        }
        Ok(())
    }

    /// Writes bytes up to the end of a chunk, and returns how many.
    ///
    /// # Errors
    /// As [`write_all`](Self::write_all).
    pub(in crate::sion) fn write_some<W>(
        &mut self,
        bytes: &[u8],
        reach: u64,
        to: &mut W,
    ) -> io::Result<usize>
    where
        W: WriteAt<Error = io::Error>,
    {
        let written = self.try_write(bytes, reach, to);
        if let Err(error) = &written
            && error.kind() != io::ErrorKind::WouldBlock
        {
            self.untold.get_or_insert_with(|| Failure::io("writing a stream", error));
        }
        written
    }

    fn try_write<W>(&mut self, bytes: &[u8], reach: u64, to: &mut W) -> io::Result<usize>
    where
        W: WriteAt<Error = io::Error>,
    {
        let pen = &self.pen;
        if pen.cursor().chunksize() == 0 {
            let text = "a task with chunks of 0 bytes has no room";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        if pen.cursor().room() == 0 {
            self.leave()?;
        }
        if u64::from(self.pen.chunk()) >= reach {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let len = usize_to_u64(bytes.len());
        let span = self.pen.cursor().place(len).map_err(io::Error::other)?;
        let len = usize::try_from(span.len()).unwrap_or(usize::MAX);
        let bytes = bytes.get(..len).unwrap_or(bytes);
        to.write_all_at(span.offset(), bytes)?;
        self.wrote(bytes);
        Ok(bytes.len())
    }

    /// Moves to the start of the next chunk.
    fn leave(&mut self) -> io::Result<()> {
        let left = self.pen.leave(|done| {
            self.finished.push(done);
            Ok(())
        });
        left.map_err(io::Error::other)
    }

    /// Counts bytes that were written at the cursor.
    pub(super) fn wrote(&mut self, bytes: &[u8]) {
        let crc = self.pen.crc_after(bytes, CHECKSUM);
        self.pen.wrote(usize_to_u64(bytes.len()), crc);
    }

    /// Counts bytes at the cursor that the program has written itself, in a file without checksums.
    pub(in crate::sion) const fn count(&mut self, len: u64) {
        self.pen.wrote(len, self.pen.crc());
    }

    /// Where the task is, in a file with this number and these blocks.
    pub(in crate::sion) fn own(&self, file: u32, globalskip: u64) -> Option<OwnTask> {
        let cursor = self.pen.cursor();
        let before = u64::from(cursor.chunk()).checked_mul(globalskip)?;
        let start = cursor.place(0).ok()?.offset().checked_sub(before)?;
        let start = start.checked_sub(cursor.used())?;
        let chunksize = cursor.chunksize();
        let chunks = Chunks { start, chunksize, globalskip: Some(globalskip) };
        let (local, globalrank) = (self.pen.local(), self.globalrank.into());
        let place = sion::Task { local, globalrank, chunks, blockcount: 0 };
        Some(OwnTask { task: self.globalrank, file, place })
    }

    /// Leaves the current chunk if fewer than `len` bytes fit into it.
    pub(in crate::sion) fn ensure_free_space(&mut self, len: u64) -> io::Result<()> {
        if !self.pen.cursor().fits(len).map_err(io::Error::other)? {
            self.leave()?;
        }
        Ok(())
    }

    /// The last block that `len` more bytes need; without room for any byte, the present one.
    pub(super) fn block_after(&self, len: u64) -> u64 {
        let cursor = self.pen.cursor();
        let more = match cursor.chunksize() {
            0 => 0,
            chunksize => len.saturating_sub(cursor.room()).div_ceil(chunksize),
        };
        u64::from(cursor.chunk()).saturating_add(more)
    }
}

/// The tasks of this rank in a file, in the order of their local ranks.
#[derive(Debug)]
pub(in crate::sion) struct Mine {
    tasks: Vec<Task>,
    groups: Groups,
    /// The tasks that no rank owns, at rank 0, which writes their entries as they are.
    unowned: Vec<Range<u32>>,
    /// A reason why this rank failed that is not of a task, until the other ranks get it.
    untold: Option<Failure>,
}

/// The physical file and the local rank of each task of a set.
#[derive(Debug, Clone)]
pub(in crate::sion) enum Groups {
    /// An equal number in each file.
    Even(EvenFiles),
    /// Copies of an equal number in each file.
    Buddy(BuddySet<EvenFiles>),
    /// By global rank. Only the rank that writes the mapping has them.
    Listed(Vec<(u32, u32)>),
}

impl Groups {
    /// The global rank of the first task of a file, if those of its tasks follow each other.
    pub(super) fn first(&self, file: u32) -> u32 {
        match self {
            Self::Even(groups) => groups.globalrank(file, 0).unwrap_or(0),
            Self::Buddy(_) | Self::Listed(_) => 0,
        }
    }

    fn address(&self, globalrank: u32) -> Option<(u32, u32)> {
        match self {
            Self::Even(groups) => groups.address(globalrank),
            Self::Buddy(set) => set.address(globalrank),
            Self::Listed(places) => places.get(usize::try_from(globalrank).ok()?).copied(),
        }
    }
}

impl Mine {
    /// `tasks` are in the order of their local ranks.
    pub(super) const fn new(tasks: Vec<Task>, groups: Groups) -> Self {
        Self { tasks, groups, unowned: Vec::new(), untold: None }
    }

    pub(super) fn with_unowned(self, unowned: Vec<Range<u32>>) -> Self {
        Self { unowned, ..self }
    }

    /// As [`with_unowned`](Self::with_unowned), in place.
    pub(super) fn leave_unowned(&mut self, unowned: Vec<Range<u32>>) {
        self.unowned = unowned;
    }

    /// Whether this rank knows the mapping, or need not write it: the first task's rank does.
    pub(super) fn has_mapping(&self) -> bool {
        let is_first = self.runs().any(|range| range.start == 0);
        !is_first || !matches!(&self.groups, Groups::Listed(places) if places.is_empty())
    }

    pub(in crate::sion) fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    pub(in crate::sion) fn tasks_mut(&mut self) -> &mut [Task] {
        &mut self.tasks
    }

    /// The task that [`FileWriter::write`](crate::sion::FileWriter::write) writes.
    pub(super) fn first(&mut self) -> io::Result<&mut Task> {
        let none = || io::Error::new(io::ErrorKind::InvalidInput, "this rank has no task to write");
        self.tasks.first_mut().ok_or_else(none)
    }

    /// The task with this global rank.
    pub(super) fn get_mut(&mut self, globalrank: u32) -> Option<&mut Task> {
        self.tasks.iter_mut().find(|task| task.globalrank == globalrank)
    }

    /// Remembers why this rank failed, for the other ranks.
    pub(super) fn fail(&mut self, what: &'static str, error: &io::Error) {
        self.untold.get_or_insert_with(|| Failure::io(what, error));
    }

    /// As [`fail`](Self::fail), with any reason.
    pub(super) fn fail_with(&mut self, failure: Failure) {
        self.untold.get_or_insert(failure);
    }

    /// The first failure that the other ranks do not know.
    pub(super) fn take_untold(&mut self) -> Option<Failure> {
        let of_task = self.tasks.iter_mut().find_map(|task| task.untold.take());
        self.untold.take().or(of_task)
    }

    /// As [`take_untold`](Self::take_untold), of all reasons that are of this rank: that another
    /// one is lost is none.
    pub(super) fn take_own_failure(&mut self) -> Option<Failure> {
        let all = std::iter::from_fn(|| self.take_untold());
        all.filter(|failure| failure.code() != Code::Lost).collect::<Vec<_>>().into_iter().next()
    }

    pub(super) fn is_failed(&self) -> bool {
        self.untold.is_some() || self.tasks.iter().any(|task| task.untold.is_some())
    }

    /// Number of chunks of the longest stream.
    pub(super) fn chunks(&self) -> u64 {
        let chunks = self.tasks.iter().map(|task| u64::from(task.pen.chunk()).saturating_add(1));
        chunks.max().unwrap_or(1)
    }

    /// The last block that `len` more bytes of each stream need.
    pub(super) fn block_after(&self, len: u64) -> u64 {
        self.tasks.iter().map(|task| task.block_after(len)).max().unwrap_or(0)
    }

    /// All that was written so far is committed.
    pub(super) fn committed(&mut self) {
        for Task { pen, finished, .. } in &mut self.tasks {
            let seen = *pen;
            pen.committed(&seen);
            finished.retain(|done| !done.is_told_by(&seen));
        }
    }

    /// The tasks whose entries this rank writes, as ranges without gaps.
    pub(super) fn runs(&self) -> impl Iterator<Item = Range<u32>> {
        let own = runs(self.tasks.iter().map(|task| task.pen.local()));
        own.chain(self.unowned.iter().cloned())
    }

    fn in_range(&self, range: &Range<u32>) -> &[Task] {
        let place = |local: u32| self.tasks.partition_point(|task| task.pen.local() < local);
        self.tasks.get(place(range.start)..place(range.end)).unwrap_or_default()
    }
}

impl Pens for &Mine {
    fn pens(&self, range: Range<u32>) -> impl Iterator<Item = &Pen> {
        self.in_range(&range).iter().map(|task| &task.pen)
    }

    fn finished(&self, chunk: u32, range: Range<u32>) -> impl Iterator<Item = &Finished> {
        let all = self.in_range(&range).iter().flat_map(|task| &task.finished);
        all.filter(move |done| done.chunk == chunk)
    }

    fn address(&self, globalrank: u32) -> Option<(u32, u32)> {
        self.groups.address(globalrank)
    }
}

/// A task of this rank that is to be made.
#[derive(Debug, Clone, Copy)]
pub(in crate::sion) struct Request {
    /// The rank of the task in its file.
    pub(in crate::sion) local: u32,
    /// The rank of the task in the set.
    pub(in crate::sion) globalrank: u32,
    /// The stored size of its chunks.
    pub(in crate::sion) chunksize: u64,
    /// Whether it is the empty task that this rank has in a file of a buddy set that it keeps.
    pub(in crate::sion) is_keeper: bool,
}

impl Request {
    pub(in crate::sion) const fn new(local: u32, globalrank: u32, chunksize: u64) -> Self {
        Self { local, globalrank, chunksize, is_keeper: false }
    }

    /// The global rank that META1 stores.
    fn stored_rank(&self) -> i64 {
        match self.is_keeper {
            true => BuddyTask::Keeper(self.globalrank).globalrank(),
            false => self.globalrank.into(),
        }
    }
}

/// The entries of a rank's tasks in META1, in the order of their local ranks.
pub(super) struct Requests<'a> {
    pub(super) ntasks: u64,
    pub(super) tasks: &'a [Request],
}

impl Requests<'_> {
    /// The local ranks, as ranges without gaps.
    pub(super) fn runs(&self) -> impl Iterator<Item = Range<u32>> {
        runs(self.tasks.iter().map(|task| task.local))
    }

    fn get(&self, local: u32) -> Option<&Request> {
        let index = self.tasks.binary_search_by_key(&local, |task| task.local).ok()?;
        self.tasks.get(index)
    }
}

impl TaskTable for Requests<'_> {
    fn ntasks(&self) -> u64 {
        self.ntasks
    }

    fn globalrank(&self, local: u32) -> i64 {
        self.get(local).map_or(0, Request::stored_rank)
    }

    fn chunksize(&self, local: u32) -> u64 {
        self.get(local).map_or(0, |task| task.chunksize)
    }
}

/// Ranges without gaps of numbers in order.
pub(super) fn runs(numbers: impl Iterator<Item = u32>) -> impl Iterator<Item = Range<u32>> {
    let mut numbers = numbers.peekable();
    std::iter::from_fn(move || {
        let start = numbers.next()?;
        let mut end = start.saturating_add(1);
        while numbers.next_if(|next| *next == end).is_some() {
            end = end.saturating_add(1);
        }
        Some(start..end)
    })
}

/// The sum of the sizes of the chunks of a rank's tasks.
pub(super) fn sum_of(tasks: &[Request]) -> Result<u64, Failure> {
    let sum = tasks.iter().try_fold(0u64, |sum, task| sum.checked_add(task.chunksize));
    sum.ok_or_else(|| refused(SionError::FileFull { chunk: 0 }))
}
