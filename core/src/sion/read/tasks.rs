//! [`Tasks`] lists all tasks of a physical file.

use super::locate::{ChunkSum, Task, check_blockcount, check_blocksize};
use crate::endian::{ByteOrder, I64};
use crate::sion::ReadError;
use crate::sion::disk::head::Head;
use crate::sion::disk::meta2::entry;
use crate::sion::error::Error;
use crate::sion::layout::{Chunks, ENTRY_LEN};
use crate::span::Span;
use crate::step::{DriveError, Fill, Need, ReadMachine, ReadStep, drive_read, fill};
use crate::store::{ReadAt, usize_to_u64};
use core::convert::Infallible;
use zerocopy::{FromBytes, IntoBytes};
#[cfg(feature = "async")]
use {
    crate::sion::AsyncError,
    crate::step::{drive_read_async, fill_async},
    crate::store::AsyncReadAt,
};

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
    /// The column that is read next; `None` if the window is complete.
    column: Option<Column>,
    /// The end of the tasks that the window can return.
    end: u32,
    /// The next task, and the offset of the first chunk of the first task after the window.
    next: u32,
    start: u64,
    /// Set after an error that ends the list.
    failed: bool,
}

/// The tables that are read into the window, in this order.
#[derive(Debug, Clone, Copy)]
enum Column {
    Globalranks,
    Chunksizes,
    Blockcounts,
    /// Blocksizes from this chunk on, up to the most chunks of a task.
    Rows {
        chunk: u64,
        rows: u64,
    },
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

impl<'a, S, W: AsMut<[u8]>> Tasks<'a, S, W> {
    /// Makes the list; `globalskip` is the sum of all chunksizes.
    fn of(store: &'a S, head: &'a Head, window: W, globalskip: u64) -> Self {
        Self {
            store,
            head,
            window,
            globalskip,
            first: 0,
            count: 0,
            column: None,
            end: 0,
            next: 0,
            start: head.meta1.layout().first_chunk(),
            failed: false,
        }
    }

    const fn is_over(&self) -> bool {
        self.failed || self.next >= self.head.meta1.ntasks()
    }

    /// The columns of the window.
    fn columns(&mut self) -> Option<Columns<'_>> {
        Columns::new(self.window.as_mut(), self.count)
    }

    /// The number of rows of blocksizes to read at once.
    fn batch(&mut self, chunk: u64, rows: u64) -> usize {
        // If the window holds all tasks, rows follow each other without a gap.
        let is_all = self.count == self.head.meta1.ntasks();
        let room = self.columns().map_or(0, |columns| columns.rows.len());
        let tasks = usize::try_from(self.count).unwrap_or(usize::MAX).max(1);
        let batch = if is_all { room.checked_div(tasks).unwrap_or(1) } else { 1 };
        batch.min(usize::try_from(rows.saturating_sub(chunk)).unwrap_or(usize::MAX))
    }

    /// Converts a column that was read to the host's byte order and returns the next column.
    fn take_in(&mut self, column: Column) -> Option<Column> {
        let (layout, order) = (self.head.meta1.layout(), self.head.meta1.order());
        let has_meta2 = self.head.meta2.is_some();
        if let Column::Rows { chunk, rows } = column {
            let batch = self.batch(chunk, rows);
            self.sum_rows(chunk, batch);
            let chunk = chunk.saturating_add(usize_to_u64(batch));
            return (chunk < rows).then_some(Column::Rows { chunk, rows });
        }
        let columns = self.columns()?;
        match column {
            Column::Globalranks => {
                to_host(columns.globalranks, order);
                return Some(Column::Chunksizes);
            }
            Column::Chunksizes => convert(columns.chunksizes, order, |requested| {
                // All of them were checked when they were added up.
                let stored = layout.stored_chunksize(requested.unsigned_abs()).unwrap_or(0);
                i64::try_from(stored).unwrap_or(i64::MAX)
            }),
            _ => {
                to_host(columns.blockcounts, order);
                return self.longest().map(|rows| Column::Rows { chunk: 0, rows });
            }
        }
        columns.blockcounts.as_mut_bytes().fill(0);
        columns.sums.as_mut_bytes().fill(0);
        has_meta2.then_some(Column::Blockcounts)
    }

    /// The most chunks of a task in the window, if any. Marks tasks that META2 is wrong about with
    /// [`WRONG`]: which error comes first must not depend on the window.
    fn longest(&mut self) -> Option<u64> {
        let maxchunks = self.head.meta2?.maxchunks();
        let columns = self.columns()?;
        let mut rows = 0;
        for (count, sum) in columns.blockcounts.iter().zip(columns.sums) {
            match check_blockcount(count.get(ByteOrder::HOST), 0, maxchunks) {
                Ok(count) => rows = rows.max(count),
                Err(_) => *sum = I64::new(WRONG, ByteOrder::HOST),
            }
        }
        Some(rows).filter(|&rows| rows > 0)
    }

    /// Adds up the blocksizes of the tasks in the window: `batch` rows from chunk `chunk` on.
    fn sum_rows(&mut self, chunk: u64, batch: usize) {
        let (order, file_len) = (self.head.meta1.order(), self.head.file_len);
        let (first_start, globalskip) = (self.start, self.globalskip);
        let Some(columns) = self.columns() else { return };
        let tasks = columns.sums.len().max(1);
        let sizes = columns.rows.get_mut(..batch.saturating_mul(tasks)).unwrap_or_default();
        to_host(sizes, order);
        for (row, chunk) in sizes.chunks_exact(tasks).zip(chunk..) {
            let skip = chunk.saturating_mul(globalskip);
            let mut start = first_start.saturating_add(skip);
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
        }
    }

    /// Completes the window: replaces the rows by the offsets of first chunks.
    fn end_window(&mut self) {
        let mut next = self.start;
        if let Some(columns) = self.columns() {
            for (size, start) in columns.chunksizes.iter().zip(columns.rows) {
                *start = I64::new(i64::try_from(next).unwrap_or(i64::MAX), ByteOrder::HOST);
                next = next.saturating_add(size.get(ByteOrder::HOST).unsigned_abs());
            }
        }
        self.start = next;
        self.end = self.first.saturating_add(self.count);
    }

    /// Task `local`, which is in the window, and the sum of its blocksizes.
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

    /// Reads the entries of a task that is marked [`WRONG`] again, to find the error.
    #[cold]
    fn recount(&self, task: &Task) -> Recount<'a> {
        Recount { head: self.head, task: *task, blockcount: None, chunk: 0, sum: 0 }
    }

    /// The item for the next task: the task and the sum of its blocksizes, or its error.
    #[inline]
    fn listed<E>(
        &mut self,
        task: Task,
        bytes: Result<u64, DriveError<E, Error>>,
    ) -> Result<Listed, DriveError<E, Error>> {
        self.next = self.next.saturating_add(1);
        // What is wrong in the file ends this task, what is wrong with the store the list.
        self.failed = matches!(bytes, Err(DriveError::Store(_) | DriveError::Ended { .. }));
        bytes.map(|bytes| Listed { task, bytes })
    }
}

impl<S, W: AsMut<[u8]>> Fill for Tasks<'_, S, W> {
    type Error = Error;

    fn need(&mut self) -> Result<Option<Need<'_>>, DriveError<Infallible, Error>> {
        if self.next < self.end {
            return Ok(None);
        }
        let column = match self.column {
            Some(column) => column,
            None => {
                let left = self.head.meta1.ntasks().saturating_sub(self.next);
                let fit = (self.window.as_mut().len() >> 3).checked_div(COLUMNS).unwrap_or(0);
                let count = u32::try_from(fit).unwrap_or(u32::MAX).min(left);
                (self.first, self.count) = (self.next, count);
                *self.column.insert(Column::Globalranks)
            }
        };
        let batch = match column {
            Column::Rows { chunk, rows } => self.batch(chunk, rows),
            _ => 1,
        };
        let (first, head) = (self.first, self.head);
        let columns = self.columns().ok_or(DriveError::BufferTooSmall { need: NEED })?;
        let len = columns.sums.len().saturating_mul(batch);
        let (table, memory) = match column {
            Column::Globalranks => (Some(head.meta1.layout().globalranks()), columns.globalranks),
            Column::Chunksizes => (Some(head.meta1.layout().chunksizes()), columns.chunksizes),
            Column::Blockcounts => {
                (head.meta2.map(|meta2| meta2.blockcounts()), columns.blockcounts)
            }
            Column::Rows { chunk, .. } => (
                head.meta2.and_then(|meta2| meta2.blocksizes(chunk)),
                columns.rows.get_mut(..len).unwrap_or_default(),
            ),
        };
        let offset = table.and_then(|table| entry(table, first)).map_or(0, Span::offset);
        Ok(Some((offset, memory.as_mut_bytes())))
    }

    fn filled(&mut self) {
        self.column = self.column.and_then(|column| self.take_in(column));
        if self.column.is_none() {
            self.end_window();
        }
    }
}

impl<'a, S: ReadAt, W: AsMut<[u8]>> Tasks<'a, S, W> {
    pub(in crate::sion) fn new(
        store: &'a S,
        head: &'a Head,
        mut window: W,
    ) -> Result<Self, ReadError<S>> {
        let mut sum = Globalskip::new(head, window.as_mut()).map_err(DriveError::of_memory)?;
        store.will_read(&head.tables());
        let globalskip = drive_read(&mut sum, store, window.as_mut())?;
        Ok(Self::of(store, head, window, globalskip))
    }

    /// Reads the entries of the next tasks into the window.
    #[cold]
    fn load(&mut self) -> Result<(), ReadError<S>> {
        fill(self, self.store)
    }
}

impl<S: ReadAt, W: AsMut<[u8]>> Iterator for Tasks<'_, S, W> {
    type Item = Result<Listed, ReadError<S>>;

    #[inline] // a list of all tasks is a loop over this
    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over() {
            return None;
        }
        if self.next >= self.end
            && let Err(error) = self.load()
        {
            self.failed = true;
            return Some(Err(error));
        }
        let (task, sum) = self.in_window(self.next);
        let bytes = match u64::try_from(sum) {
            Ok(bytes) => Ok(bytes),
            Err(_) => drive_read(&mut self.recount(&task), self.store, &mut [0; 8]),
        };
        Some(self.listed(task, bytes))
    }
}

#[cfg(feature = "async")]
impl<'a, S: AsyncReadAt, W: AsMut<[u8]>> Tasks<'a, S, W> {
    pub(in crate::sion) async fn new_async(
        store: &'a S,
        head: &'a Head,
        mut window: W,
    ) -> Result<Self, AsyncError<S>> {
        let mut sum = Globalskip::new(head, window.as_mut()).map_err(DriveError::of_memory)?;
        store.will_read(&head.tables()).await;
        let globalskip = drive_read_async(&mut sum, store, window.as_mut()).await?;
        Ok(Self::of(store, head, window, globalskip))
    }

    /// The next task: [`Iterator::next`] for an asynchronous store.
    pub async fn next_async(&mut self) -> Option<Result<Listed, AsyncError<S>>> {
        if self.is_over() {
            return None;
        }
        if self.next >= self.end
            && let Err(error) = fill_async(self, self.store).await
        {
            self.failed = true;
            return Some(Err(error));
        }
        let (task, sum) = self.in_window(self.next);
        let bytes = match u64::try_from(sum) {
            Ok(bytes) => Ok(bytes),
            Err(_) => drive_read_async(&mut self.recount(&task), self.store, &mut [0; 8]).await,
        };
        Some(self.listed(task, bytes))
    }
}

/// Adds up the blocksizes of one task, or finds its first error: in its blockcount or a blocksize.
#[derive(Debug)]
struct Recount<'a> {
    head: &'a Head,
    task: Task,
    blockcount: Option<u64>,
    chunk: u64,
    sum: u64,
}

impl Recount<'_> {
    fn place(&self) -> u64 {
        let table = self.head.meta2.and_then(|meta2| match self.blockcount {
            None => Some(meta2.blockcounts()),
            Some(_) => meta2.blocksizes(self.chunk),
        });
        table.and_then(|table| entry(table, self.task.local)).map_or(0, Span::offset)
    }
}

impl ReadMachine for Recount<'_> {
    type Output = u64;
    type Error = Error;

    fn poll(&mut self) -> ReadStep<u64> {
        match self.blockcount.is_some_and(|count| self.chunk >= count) {
            true => ReadStep::Done(self.sum),
            false => ReadStep::Read { offset: self.place(), need: 8, want: ENTRY_LEN },
        }
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let (value, place) = (self.head.integer_in(bytes), self.place());
        if self.blockcount.is_none() {
            let maxchunks = self.head.meta2.map_or(0, |meta2| meta2.maxchunks());
            self.blockcount = Some(check_blockcount(value, place, maxchunks)?);
            return Ok(());
        }
        let span = self.task.chunks.chunk(self.chunk);
        let size = check_blocksize(value, place, span, self.head.file_len)?;
        (self.sum, self.chunk) = (self.sum.saturating_add(size), self.chunk.saturating_add(1));
        Ok(())
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

/// The stored integers of a column.
pub(in crate::sion) fn values(column: &[u8]) -> core::slice::Iter<'_, I64> {
    <[I64]>::ref_from_bytes(column).unwrap_or_default().iter()
}

/// Adds up all chunksizes.
#[derive(Debug)]
struct Globalskip<'a> {
    head: &'a Head,
    sum: ChunkSum,
}

impl<'a> Globalskip<'a> {
    /// Checks that `window` has [`NEED`] bytes.
    fn new(head: &'a Head, window: &[u8]) -> Result<Self, DriveError<Infallible, Error>> {
        match window.len() < NEED {
            true => Err(DriveError::BufferTooSmall { need: NEED }),
            false => Ok(Self { head, sum: ChunkSum::new(*head.meta1.layout()) }),
        }
    }
}

impl ReadMachine for Globalskip<'_> {
    type Output = u64;
    type Error = Error;

    fn poll(&mut self) -> ReadStep<u64> {
        let table = self.head.meta1.layout().chunksizes();
        match entry(table, self.sum.tasks).map(Span::offset) {
            None => ReadStep::Done(self.sum.sum),
            Some(offset) => {
                ReadStep::Read { offset, need: 8, want: table.end().saturating_sub(offset) }
            }
        }
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let whole = bytes.get(..bytes.len() & !7).unwrap_or_default();
        self.sum.add_all(values(whole).as_slice(), self.head.meta1.order())
    }
}
