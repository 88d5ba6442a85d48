//! [`Tasks`] lists all tasks of a physical file.

use super::locate::{ChunkSum, Task, check_blockcount, check_blocksize};
use crate::endian::{ByteOrder, I64};
use crate::sion::disk::head::Head;
use crate::sion::disk::meta2::entry;
#[twin(ReadError = AsyncError)]
use crate::sion::error::ReadError;
use crate::sion::layout::{Chunks, signed};
use crate::span::Span;
use crate::step::DriveError;
#[twin(read_exact)]
use crate::step::read_exact;
#[twin(ReadAt)]
use crate::store::ReadAt;
use crate::store::usize_to_u64;
use striae_twin::twin;
use zerocopy::{FromBytes, IntoBytes, transmute};

/// A task and the length of its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Listed {
    /// The task.
    pub task: Task,
    /// The length of its stream in bytes; 0 in a file that was never closed.
    pub bytes: u64,
}

/// Lists all tasks of a physical file in order, read in windows.
///
/// If META2 is wrong about a task, the list has an error in its place and goes on with the next
/// task. Any other error, such as one of the store, ends the list.
#[derive(Debug)]
pub struct Tasks<'a, S, W> {
    store: &'a S,
    head: &'a Head,
    window: W,
    globalskip: u64,
    /// The tasks in the window: the first one and their number.
    first: u32,
    count: u32,
    /// The end of the tasks that the window can return.
    end: u32,
    /// The next task, and the offset of the first chunk of the first task after the window.
    next: u32,
    start: u64,
    /// Set after an error that ends the list.
    failed: bool,
}

/// Marks a task that META2 is wrong about. It takes the place of the sum, which is never negative.
const WRONG: i64 = -1;

/// The columns of a window, with one entry for each task: three of the file's tables, sums of
/// blocksizes, and rows of blocksizes. When the rows are summed, the offsets of first chunks
/// replace them.
///
/// Entries are converted to the host's byte order as soon as they are read.
struct Columns<'w> {
    globalranks: &'w mut [I64],
    chunksizes: &'w mut [I64],
    blockcounts: &'w mut [I64],
    sums: &'w mut [I64],
    /// The rest of the window: several rows if there are few tasks.
    rows: &'w mut [I64],
}

const COLUMNS: usize = 5;
pub(in crate::sion) const NEED: usize = 40;

impl<'w> Columns<'w> {
    fn new(window: &'w mut [u8], count: u32) -> Option<Self> {
        let count = usize::try_from(count).ok()?;
        let entries = window.len() >> 3;
        let (all, _) = <[I64]>::mut_from_prefix_with_elems(window, entries).ok()?;
        let (globalranks, rest) = all.split_at_mut_checked(count)?;
        let (chunksizes, rest) = rest.split_at_mut_checked(count)?;
        let (blockcounts, rest) = rest.split_at_mut_checked(count)?;
        let (sums, rows) = rest.split_at_mut_checked(count)?;
        Some(Self { globalranks, chunksizes, blockcounts, sums, rows })
    }
}

impl Columns<'_> {
    /// The most chunks of a task. Begins the sums, and marks tasks that META2 is wrong about with
    /// [`WRONG`]: which error comes first must not depend on the window.
    fn longest(&mut self, maxchunks: u32) -> u64 {
        let mut rows = 0;
        for (count, sum) in self.blockcounts.iter().zip(&mut *self.sums) {
            let count = check_blockcount(count.get(ByteOrder::HOST), 0, maxchunks);
            rows = rows.max(*count.as_ref().unwrap_or(&0));
            let begin = if count.is_ok() { 0 } else { WRONG };
            *sum = I64::new(begin, ByteOrder::HOST);
        }
        rows
    }

    /// Adds up the blocksizes in the first of the rows: those of chunk `chunk`, where the chunk of
    /// the first task is at `start`, and of later ones.
    fn sum_rows(&mut self, len: usize, chunk: u64, start: u64, globalskip: u64, file_len: u64) {
        let tasks = self.sums.len().max(1);
        let sizes = self.rows.get(..len).unwrap_or_default();
        for (row, chunk) in sizes.chunks_exact(tasks).zip(chunk..) {
            let mut start = start.saturating_add(chunk.saturating_mul(globalskip));
            let used = signed(chunk);
            let sizes = row.iter().zip(self.chunksizes.iter());
            let tasks = sizes.zip(self.blockcounts.iter()).zip(self.sums.iter_mut());
            for (((size, chunksize), count), sum) in tasks {
                let chunksize = chunksize.get(ByteOrder::HOST).unsigned_abs();
                let before = sum.get(ByteOrder::HOST);
                // an entry of a chunk that is not used is 0 or -1, or anything
                if used < count.get(ByteOrder::HOST) && before != WRONG {
                    let place = Span::new(start, chunksize);
                    let size = check_blocksize(size.get(ByteOrder::HOST), 0, place, file_len);
                    let size = size.ok().and_then(|size| before.checked_add_unsigned(size));
                    *sum = I64::new(size.unwrap_or(WRONG), ByteOrder::HOST);
                }
                start = start.saturating_add(chunksize);
            }
        }
    }

    /// Replaces the rows by the offsets of first chunks, the first one at `next`. Returns where the
    /// chunk after them begins.
    fn place_chunks(&mut self, mut next: u64) -> u64 {
        for (size, start) in self.chunksizes.iter().zip(&mut *self.rows) {
            *start = I64::new(signed(next), ByteOrder::HOST);
            next = next.saturating_add(size.get(ByteOrder::HOST).unsigned_abs());
        }
        next
    }
}

impl<S, W: AsMut<[u8]>> Tasks<'_, S, W> {
    /// Task `local`, which is in the window, and the sum of its blocksizes.
    #[inline]
    fn in_window(&mut self, local: u32) -> (Task, i64) {
        let mut at = usize::try_from(local.wrapping_sub(self.first)).unwrap_or(usize::MAX);
        let stride = usize::try_from(self.count).unwrap_or(usize::MAX);
        let (entries, _) = self.window.as_mut().as_chunks();
        let value = |entry: &[u8; 8]| I64::get(transmute!(*entry), ByteOrder::HOST);
        let [globalrank, chunksize, count, sum, start] = [(); COLUMNS].map(|()| {
            let value = entries.get(at).map_or(0, value);
            at = at.wrapping_add(stride);
            value
        });
        let chunks = Chunks {
            start: start.unsigned_abs(),
            chunksize: chunksize.unsigned_abs(),
            globalskip: Some(self.globalskip),
        };
        let blockcount = u64::try_from(count).unwrap_or(0);
        (Task { local, globalrank, chunks, blockcount }, sum)
    }
}

#[twin(ReadAt, ReadError = AsyncError)]
impl<'a, S: ReadAt, W: AsMut<[u8]>> Tasks<'a, S, W> {
    pub(in crate::sion) async fn new(
        store: &'a S,
        head: &'a Head,
        mut window: W,
    ) -> Result<Self, ReadError<S>> {
        let memory = window.as_mut();
        if memory.len() < NEED {
            return Err(DriveError::BufferTooSmall { need: NEED });
        }
        store.will_read(&head.tables()).await;
        let layout = head.meta1.layout();
        let (table, mut sum) = (layout.chunksizes(), ChunkSum::new(*layout));
        while let Some(next) = entry(table, sum.tasks) {
            let rest = Span::between(next.offset(), table.end()).unwrap_or(Span::ZERO);
            let bytes = rest.front_of(memory);
            read_exact(store, next.offset(), bytes).await?;
            sum.add_all(values(bytes), head.meta1.order())?;
        }
        let (globalskip, start) = (sum.sum, layout.first_chunk());
        let (first, count, end, next, failed) = (0, 0, 0, 0, false);
        Ok(Self { store, head, window, globalskip, first, count, end, next, start, failed })
    }

    /// The next task: that of the [`Iterator`].
    #[inline] // a list of all tasks is a loop over this
    #[allow(clippy::should_implement_trait, reason = "it does, and this has two forms")]
    pub async fn next(&mut self) -> Option<Result<Listed, ReadError<S>>> {
        if self.failed || self.next >= self.head.meta1.ntasks() {
            return None;
        }
        if self.next >= self.end
            && let Err(error) = self.load().await
        {
            self.failed = true;
            return Some(Err(error));
        }
        let (task, sum) = self.in_window(self.next);
        let bytes = match u64::try_from(sum) {
            Ok(bytes) => Ok(bytes),
            Err(_) => self.recount(task).await,
        };
        self.next = self.next.saturating_add(1);
        // What is wrong in the file ends this task, what is wrong with the store the list.
        self.failed = matches!(bytes, Err(DriveError::Store(_) | DriveError::Ended { .. }));
        Some(bytes.map(|bytes| Listed { task, bytes }))
    }

    /// Reads the entries of the next tasks into the window.
    #[cold]
    async fn load(&mut self) -> Result<(), ReadError<S>> {
        let (store, head, first) = (self.store, self.head, self.next);
        let (layout, order) = (head.meta1.layout(), head.meta1.order());
        let window = self.window.as_mut();
        let fit = (window.len() >> 3).checked_div(COLUMNS).unwrap_or(0);
        let left = head.meta1.ntasks().saturating_sub(first);
        let count = u32::try_from(fit).unwrap_or(u32::MAX).min(left);
        let small = DriveError::BufferTooSmall { need: NEED };
        let mut columns = Columns::new(window, count).ok_or(small)?;

        let place = |table: Span| entry(table, first).map_or(0, Span::offset);
        read_exact(store, place(layout.globalranks()), columns.globalranks.as_mut_bytes()).await?;
        to_host(columns.globalranks, order);
        read_exact(store, place(layout.chunksizes()), columns.chunksizes.as_mut_bytes()).await?;
        convert(columns.chunksizes, order, |requested| {
            // All of them were checked when they were added up.
            signed(layout.stored_chunksize(requested.unsigned_abs()).unwrap_or(0))
        });
        if let Some(meta2) = &head.meta2 {
            let counts = columns.blockcounts.as_mut_bytes();
            read_exact(store, place(meta2.blockcounts()), counts).await?;
            to_host(columns.blockcounts, order);
            let (rows, mut chunk) = (columns.longest(meta2.maxchunks()), 0);
            let tasks = columns.sums.len().max(1);
            // If the window holds all tasks, rows follow each other without a gap.
            let is_all = count == head.meta1.ntasks();
            let fit = columns.rows.len().checked_div(tasks).unwrap_or(1).max(1);
            let batch = if is_all { fit } else { 1 };
            while chunk < rows {
                let left = usize::try_from(rows.saturating_sub(chunk)).unwrap_or(usize::MAX);
                let batch = batch.min(left);
                let len = batch.saturating_mul(tasks);
                let sizes = columns.rows.get_mut(..len).unwrap_or_default();
                let row = meta2.blocksizes(chunk).unwrap_or(Span::ZERO);
                read_exact(store, place(row), sizes.as_mut_bytes()).await?;
                to_host(sizes, order);
                columns.sum_rows(len, chunk, self.start, self.globalskip, head.file_len);
                chunk = chunk.saturating_add(usize_to_u64(batch));
            }
        } else {
            columns.blockcounts.as_mut_bytes().fill(0);
            columns.sums.as_mut_bytes().fill(0);
        }
        self.start = columns.place_chunks(self.start);
        (self.first, self.count, self.end) = (first, count, first.saturating_add(count));
        Ok(())
    }

    /// Adds up the blocksizes of a task that is marked [`WRONG`], to find its first error: in its
    /// blockcount or a blocksize.
    #[cold]
    async fn recount(&self, task: Task) -> Result<u64, ReadError<S>> {
        let Some(meta2) = &self.head.meta2 else { return Ok(0) };
        let mut bytes = [0; 8];
        let at = entry(meta2.blockcounts(), task.local).map_or(0, Span::offset);
        read_exact(self.store, at, &mut bytes).await?;
        let count = check_blockcount(self.head.integer_in(&bytes), at, meta2.maxchunks())?;
        let mut sum = 0u64;
        for chunk in 0..count {
            let row = meta2.blocksizes(chunk).and_then(|row| entry(row, task.local));
            let at = row.map_or(0, Span::offset);
            read_exact(self.store, at, &mut bytes).await?;
            let (value, place) = (self.head.integer_in(&bytes), task.chunks.chunk(chunk));
            sum = sum.saturating_add(check_blocksize(value, at, place, self.head.file_len)?);
        }
        Ok(sum)
    }
}

impl<S: ReadAt, W: AsMut<[u8]>> Iterator for Tasks<'_, S, W> {
    type Item = Result<Listed, ReadError<S>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        Tasks::next(self)
    }
}

/// Converts the entries of a column from `order` to the host's byte order, and applies `change`.
fn convert(column: &mut [I64], order: ByteOrder, change: impl Fn(i64) -> i64) {
    for entry in column {
        *entry = I64::new(change(entry.get(order)), ByteOrder::HOST);
    }
}

/// Converts the entries of a column from `order` to the host's byte order.
fn to_host(column: &mut [I64], order: ByteOrder) {
    if order != ByteOrder::HOST {
        convert(column, order, |value| value);
    }
}

/// The stored integers at the start of `bytes`.
pub(in crate::sion) fn values(bytes: &[u8]) -> &[I64] {
    let entries = <[I64]>::ref_from_prefix_with_elems(bytes, bytes.len() >> 3);
    entries.map_or(&[], |(entries, _)| entries)
}
