//! All tasks of a physical file, read in windows of the caller's buffer.

use super::ReadError;
use super::layout::Chunks;
use super::locate::{ChunkSum, Task, check_blockcount, check_blocksize};
use super::meta2::{Meta2, entry};
use super::open::Head;
use crate::endian::{ByteOrder, I64};
use crate::span::Span;
use crate::step::{DriveError, read_exact};
use crate::store::ReadAt;
use zerocopy::{FromBytes, IntoBytes};

/// A task and the length of its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Listed {
    /// The task.
    pub task: Task,
    /// Bytes of its stream; 0 in a file that was never closed.
    pub bytes: u64,
}

/// All tasks of a physical file in order, read in windows.
///
/// What META2 says wrong of a task is an error in its place, and the tasks behind it follow. Another
/// error, such as the store's, ends the list.
#[derive(Debug)]
pub struct Tasks<'a, S, W> {
    store: &'a S,
    head: &'a Head,
    window: W,
    globalskip: u64,
    /// The tasks that are in the window.
    first: u32,
    count: u32,
    /// The next task, and where the first chunk of the first task behind the window starts.
    next: u32,
    start: u64,
    /// Set behind an error that is not one task's own.
    failed: bool,
}

/// In place of a sum: META2 is wrong about this task. No right sum is as large as this.
const WRONG: i64 = -1;

/// The columns of a window, an entry a task in each: three of the file's tables, then sums of block
/// sizes, then rows of block sizes, and when those are summed, offsets of first chunks.
///
/// Entries are brought into the host's byte order as soon as they have been read.
struct Columns<'w> {
    globalranks: &'w mut [I64],
    chunksizes: &'w mut [I64],
    blockcounts: &'w mut [I64],
    sums: &'w mut [I64],
    /// All that is left of the window: several rows if there are few tasks.
    rows: &'w mut [I64],
}

const COLUMNS: usize = 5;
pub(super) const NEED: usize = 40;

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

impl<'a, S: ReadAt, W: AsMut<[u8]>> Tasks<'a, S, W> {
    pub(super) fn new(store: &'a S, head: &'a Head, mut window: W) -> Result<Self, ReadError<S>> {
        if window.as_mut().len() < NEED {
            return Err(DriveError::BufferTooSmall { need: NEED });
        }
        let globalskip = globalskip(store, head, window.as_mut())?;
        let start = head.meta1.layout().first_chunk();
        Ok(Self {
            store,
            head,
            window,
            globalskip,
            first: 0,
            count: 0,
            next: 0,
            start,
            failed: false,
        })
    }

    /// Reads the entries of the next tasks into the window.
    #[cold]
    fn load(&mut self) -> Result<(), ReadError<S>> {
        let left = self.head.meta1.ntasks().saturating_sub(self.next);
        let window = self.window.as_mut();
        let fit = (window.len() >> 3).checked_div(COLUMNS).unwrap_or(0);
        let count = u32::try_from(fit).unwrap_or(u32::MAX).min(left);
        (self.first, self.count) = (self.next, count);

        let need = DriveError::BufferTooSmall { need: NEED };
        let mut columns = Columns::new(window, count).ok_or(need)?;
        let (layout, order) = (self.head.meta1.layout(), self.head.meta1.order());
        read_column(self.store, layout.globalranks(), self.first, columns.globalranks)?;
        read_column(self.store, layout.chunksizes(), self.first, columns.chunksizes)?;
        convert(columns.globalranks, order, |globalrank| globalrank);
        convert(columns.chunksizes, order, |requested| {
            // All of them were checked when they were added up.
            let stored = layout.stored_chunksize(requested.unsigned_abs()).unwrap_or(0);
            i64::try_from(stored).unwrap_or(i64::MAX)
        });
        columns.blockcounts.as_mut_bytes().fill(0);
        columns.sums.as_mut_bytes().fill(0);
        if let Some(meta2) = self.head.meta2 {
            read_column(self.store, meta2.blockcounts(), self.first, columns.blockcounts)?;
            convert(columns.blockcounts, order, |count| count);
            self.sum_rows(&meta2)?;
            columns = Columns::new(self.window.as_mut(), count)
                .ok_or(DriveError::BufferTooSmall { need: NEED })?;
        }
        for (size, start) in columns.chunksizes.iter().zip(columns.rows) {
            *start = I64::new(i64::try_from(self.start).unwrap_or(i64::MAX), ByteOrder::HOST);
            self.start = self.start.saturating_add(size.get(ByteOrder::HOST).unsigned_abs());
        }
        Ok(())
    }

    /// Adds up the block sizes of the tasks in the window, row by row. Sums of tasks that META2 is
    /// wrong about become [`WRONG`]: which error comes first must not depend on the window.
    fn sum_rows(&mut self, meta2: &Meta2) -> Result<(), ReadError<S>> {
        let (order, file_len) = (self.head.meta1.order(), self.head.file_len);
        let need = DriveError::BufferTooSmall { need: NEED };
        let columns = Columns::new(self.window.as_mut(), self.count).ok_or(need)?;
        let mut rows = 0;
        for (count, sum) in columns.blockcounts.iter().zip(columns.sums.iter_mut()) {
            match check_blockcount(count.get(ByteOrder::HOST), 0, meta2.maxchunks()) {
                Ok(count) => rows = rows.max(count),
                Err(_) => *sum = I64::new(WRONG, ByteOrder::HOST),
            }
        }
        let tasks = columns.sums.len().max(1);
        // If the window holds all tasks, the next row stands right behind one.
        let is_all = self.count == self.head.meta1.ntasks();
        let batch = if is_all { columns.rows.len().checked_div(tasks).unwrap_or(1) } else { 1 };
        let mut chunk = 0;
        while chunk < rows {
            let Some(table) = meta2.blocksizes(chunk) else { break };
            let left = usize::try_from(rows.saturating_sub(chunk)).unwrap_or(usize::MAX);
            let len = batch.min(left).saturating_mul(tasks);
            let sizes = columns.rows.get_mut(..len).unwrap_or_default();
            read_column(self.store, table, self.first, sizes)?;
            convert(sizes, order, |size| size);
            for row in sizes.chunks_exact(tasks) {
                let skip = chunk.saturating_mul(self.globalskip);
                let mut start = self.start.saturating_add(skip);
                let used = i64::try_from(chunk).unwrap_or(i64::MAX);
                let sizes = row.iter().zip(columns.chunksizes.iter());
                let tasks = sizes.zip(columns.blockcounts.iter()).zip(columns.sums.iter_mut());
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
                chunk = chunk.saturating_add(1);
            }
        }
        Ok(())
    }

    /// The sum of a task's block sizes by itself, or the first thing that is wrong: its block count,
    /// or one of the sizes.
    fn recount(&self, meta2: &Meta2, task: &Task) -> Result<u64, ReadError<S>> {
        let read = |place: u64| {
            let mut bytes = [0; 8];
            read_exact(self.store, place, &mut bytes)?;
            Ok(I64::from(bytes).get(self.head.meta1.order()))
        };
        let place = entry(meta2.blockcounts(), task.local).map_or(0, Span::offset);
        let count = check_blockcount(read(place)?, place, meta2.maxchunks());
        let mut sum = 0u64;
        for chunk in 0..count.map_err(DriveError::Format)? {
            let place = meta2.blocksizes(chunk).and_then(|row| entry(row, task.local));
            let place = place.map_or(0, Span::offset);
            let span = task.chunks.chunk(chunk);
            let size = check_blocksize(read(place)?, place, span, self.head.file_len);
            sum = sum.saturating_add(size.map_err(DriveError::Format)?);
        }
        Ok(sum)
    }

    /// The task `local`, which is in the window, and the sum of its block sizes.
    #[inline]
    fn in_window(&mut self, local: u32) -> (Task, i64) {
        let index = usize::try_from(local.saturating_sub(self.first)).unwrap_or(usize::MAX);
        let stride = usize::try_from(self.count).unwrap_or(usize::MAX);
        let window = self.window.as_mut();
        let (entries, _) =
            <[I64]>::ref_from_prefix_with_elems(window, window.len() >> 3).unwrap_or_default();
        let mut at = index;
        let [globalrank, chunksize, count, sum, start] = [(); COLUMNS].map(|()| {
            let value = entries.get(at).map_or(0, |entry| entry.get(ByteOrder::HOST));
            at = at.saturating_add(stride);
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

    /// The sum of a task that META2 is wrong about, if it is right after all.
    #[cold]
    fn wrong(&mut self, task: &Task) -> Result<u64, ReadError<S>> {
        let Some(meta2) = self.head.meta2 else { return Ok(0) };
        let sum = self.recount(&meta2, task);
        // What is wrong in the file ends this task, what is wrong with the store the list.
        self.failed = matches!(sum, Err(DriveError::Store(_) | DriveError::Ended { .. }));
        sum
    }
}

impl<S: ReadAt, W: AsMut<[u8]>> Iterator for Tasks<'_, S, W> {
    type Item = Result<Listed, ReadError<S>>;

    #[inline] // a list of all tasks is a loop over this
    fn next(&mut self) -> Option<Self::Item> {
        if self.failed || self.next >= self.head.meta1.ntasks() {
            return None;
        }
        if self.next >= self.first.saturating_add(self.count) {
            if let Err(error) = self.load() {
                self.failed = true;
                return Some(Err(error));
            }
        }
        let (task, sum) = self.in_window(self.next);
        self.next = self.next.saturating_add(1);
        let bytes = match u64::try_from(sum) {
            Ok(bytes) => bytes,
            Err(_) => match self.wrong(&task) {
                Ok(bytes) => bytes,
                Err(error) => return Some(Err(error)),
            },
        };
        Some(Ok(Listed { task, bytes }))
    }
}

/// Brings the entries of a column, as read in `order`, into the host's order.
fn convert(column: &mut [I64], order: ByteOrder, change: impl Fn(i64) -> i64) {
    for entry in column {
        *entry = I64::new(change(entry.get(order)), ByteOrder::HOST);
    }
}

/// Fills `column` with the entries of a table from task `first` on.
fn read_column<S: ReadAt>(
    store: &S,
    table: Span,
    first: u32,
    column: &mut [I64],
) -> Result<(), ReadError<S>> {
    let offset = entry(table, first).map_or(0, Span::offset);
    read_exact(store, offset, column.as_mut_bytes())
}

/// The stored integers of a column.
pub(super) fn values(column: &[u8]) -> core::slice::Iter<'_, I64> {
    <[I64]>::ref_from_bytes(column).unwrap_or_default().iter()
}

/// The sum of all chunk sizes.
fn globalskip<S: ReadAt>(store: &S, head: &Head, window: &mut [u8]) -> Result<u64, ReadError<S>> {
    let layout = head.meta1.layout();
    let mut sum = ChunkSum::new(*layout);
    while let Some(next) = entry(layout.chunksizes(), sum.tasks) {
        let left = layout.chunksizes().end().saturating_sub(next.offset());
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        let len = left.min(window.len() & !7);
        let bytes = window.get_mut(..len).unwrap_or_default();
        read_exact(store, next.offset(), bytes)?;
        for value in values(bytes) {
            sum.add(value.get(head.meta1.order())).map_err(DriveError::Format)?;
        }
    }
    Ok(sum.sum)
}
