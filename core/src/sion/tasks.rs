//! All tasks of a physical file, read in windows of the caller's buffer.

use super::ReadError;
use super::error::Error;
use super::layout::Chunks;
use super::locate::{ChunkSum, Task, check_blockcount, check_blocksize};
use super::meta2::{Meta2, entry};
use super::open::Head;
use crate::endian::{I64, U64};
use crate::span::Span;
use crate::step::{DriveError, read_exact};
use crate::store::ReadAt;
use zerocopy::FromBytes;

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
    sum: ChunkSum,
    globalskip: u64,
    /// The tasks that are in the window.
    first: u32,
    count: u32,
    /// Set behind an error that is not one task's own.
    failed: bool,
}

/// In place of a sum: META2 is wrong about this task. No right sum is as large as this.
const WRONG: u64 = u64::MAX;

/// The columns of a window: `count` entries each of the tables, then sums of block sizes, then room
/// for a row of them.
struct Columns<'w> {
    globalranks: &'w mut [u8],
    chunksizes: &'w mut [u8],
    blockcounts: &'w mut [u8],
    sums: &'w mut [u8],
    row: &'w mut [u8],
}

impl<'a, S: ReadAt, W: AsMut<[u8]>> Tasks<'a, S, W> {
    const COLUMNS: usize = 5;
    const NEED: usize = 40;

    pub(super) fn new(store: &'a S, head: &'a Head, mut window: W) -> Result<Self, ReadError<S>> {
        if window.as_mut().len() < Self::NEED {
            return Err(DriveError::BufferTooSmall { need: Self::NEED });
        }
        let globalskip = globalskip(store, head, window.as_mut())?;
        let sum = ChunkSum::new(*head.meta1.layout());
        Ok(Self { store, head, window, sum, globalskip, first: 0, count: 0, failed: false })
    }

    fn columns(window: &mut [u8], count: u32) -> Option<Columns<'_>> {
        let len = usize::try_from(count).ok()?.checked_mul(8)?;
        let (globalranks, rest) = window.split_at_mut_checked(len)?;
        let (chunksizes, rest) = rest.split_at_mut_checked(len)?;
        let (blockcounts, rest) = rest.split_at_mut_checked(len)?;
        let (sums, rest) = rest.split_at_mut_checked(len)?;
        let (row, _) = rest.split_at_mut_checked(len)?;
        Some(Columns { globalranks, chunksizes, blockcounts, sums, row })
    }

    /// Reads the entries of the next tasks into the window.
    fn load(&mut self) -> Result<(), ReadError<S>> {
        let first = self.sum.tasks;
        let left = self.head.meta1.ntasks().saturating_sub(first);
        let fit = (self.window.as_mut().len() >> 3).checked_div(Self::COLUMNS).unwrap_or(0);
        let count = u32::try_from(fit).unwrap_or(u32::MAX).min(left);
        (self.first, self.count) = (first, count);

        let need = DriveError::BufferTooSmall { need: Self::NEED };
        let columns = Self::columns(self.window.as_mut(), count).ok_or(need)?;
        let layout = self.head.meta1.layout();
        let column_of = |table, bytes: &mut [u8]| {
            let offset = entry(table, first).map_or(0, Span::offset);
            read_exact(self.store, offset, bytes)
        };
        column_of(layout.globalranks(), columns.globalranks)?;
        column_of(layout.chunksizes(), columns.chunksizes)?;
        columns.blockcounts.fill(0);
        columns.sums.fill(0);
        if let Some(meta2) = self.head.meta2 {
            column_of(meta2.blockcounts(), columns.blockcounts)?;
            self.sum_rows(&meta2)?;
        }
        Ok(())
    }

    /// Adds up the block sizes of the tasks in the window, row by row. Sums of tasks that META2 is
    /// wrong about become [`WRONG`]: which error comes first must not depend on the window.
    fn sum_rows(&mut self, meta2: &Meta2) -> Result<(), ReadError<S>> {
        let (order, file_len) = (self.head.meta1.order(), self.head.file_len);
        let need = DriveError::BufferTooSmall { need: Self::NEED };
        let columns = Self::columns(self.window.as_mut(), self.count).ok_or(need)?;
        let sums = <[U64]>::mut_from_bytes(columns.sums).unwrap_or_default();
        let mut rows = 0;
        for (count, total) in values(columns.blockcounts).zip(sums.iter_mut()) {
            match check_blockcount(count.get(order), 0, meta2.maxchunks()) {
                Ok(count) => rows = rows.max(count),
                Err(_) => *total = U64::new(WRONG, order),
            }
        }
        for chunk in 0..rows {
            let Some(row) = meta2.blocksizes(chunk) else { break };
            let offset = entry(row, self.first).map_or(0, Span::offset);
            read_exact(self.store, offset, columns.row)?;
            let mut sum = self.sum; // the same tasks once more, to know where their chunks are
            let tasks = values(columns.row)
                .zip(values(columns.chunksizes))
                .zip(values(columns.blockcounts));
            for (((size, chunksize), count), total) in tasks.zip(sums.iter_mut()) {
                let start = self.head.meta1.layout().first_chunk().saturating_add(sum.sum);
                let chunksize = sum.add(chunksize.get(order)).map_err(DriveError::Format)?;
                let is_used = i64::try_from(chunk).unwrap_or(i64::MAX) < count.get(order);
                if !is_used || total.get(order) == WRONG {
                    continue; // an unused entry is 0 or -1, or anything
                }
                let chunks = Chunks { start, chunksize, globalskip: Some(self.globalskip) };
                let size = check_blocksize(size.get(order), 0, chunks.chunk(chunk), file_len);
                let bytes = size.map_or(WRONG, |size| total.get(order).saturating_add(size));
                *total = U64::new(bytes, order);
            }
        }
        Ok(())
    }

    /// The sum of a task's block sizes by itself, or the first thing that is wrong: its block count,
    /// or one of the sizes.
    fn recount(
        &self,
        meta2: &Meta2,
        task: &Task,
        count: i64,
    ) -> Result<Result<u64, Error>, ReadError<S>> {
        let place = entry(meta2.blockcounts(), task.local).map_or(0, Span::offset);
        let count = match check_blockcount(count, place, meta2.maxchunks()) {
            Ok(count) => count,
            Err(error) => return Ok(Err(error)),
        };
        let mut sum = 0u64;
        for chunk in 0..count {
            let place = meta2.blocksizes(chunk).and_then(|row| entry(row, task.local));
            let place = place.map_or(0, Span::offset);
            let mut bytes = [0; 8];
            read_exact(self.store, place, &mut bytes)?;
            let value = I64::from(bytes).get(self.head.meta1.order());
            let span = task.chunks.chunk(chunk);
            match check_blocksize(value, place, span, self.head.file_len) {
                Ok(size) => sum = sum.saturating_add(size),
                Err(error) => return Ok(Err(error)),
            }
        }
        Ok(Ok(sum))
    }

    /// The next task, or what is wrong with it.
    fn next_task(&mut self) -> Result<Result<Listed, Error>, ReadError<S>> {
        let local = self.sum.tasks;
        if local >= self.first.saturating_add(self.count) {
            self.load()?;
        }
        let order = self.head.meta1.order();
        let need = DriveError::BufferTooSmall { need: Self::NEED };
        let columns = Self::columns(self.window.as_mut(), self.count).ok_or(need)?;
        let index = usize::try_from(local.saturating_sub(self.first)).unwrap_or(usize::MAX);
        let at = |column: &[u8]| values(column).nth(index).map_or(0, |value| value.get(order));

        let start = self.head.meta1.layout().first_chunk().saturating_add(self.sum.sum);
        let chunksize = self.sum.add(at(columns.chunksizes)).map_err(DriveError::Format)?;
        let chunks = Chunks { start, chunksize, globalskip: Some(self.globalskip) };
        let (globalrank, count, sum) =
            (at(columns.globalranks), at(columns.blockcounts), at(columns.sums));
        let blockcount = u64::try_from(count).unwrap_or(0);
        let task = Task { local, globalrank, chunks, blockcount };
        let bytes = match (u64::try_from(sum), self.head.meta2) {
            (Err(_), Some(meta2)) => self.recount(&meta2, &task, count)?,
            (sum, _) => Ok(sum.unwrap_or(0)),
        };
        Ok(bytes.map(|bytes| Listed { task, bytes }))
    }
}

impl<S: ReadAt, W: AsMut<[u8]>> Iterator for Tasks<'_, S, W> {
    type Item = Result<Listed, ReadError<S>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed || self.sum.tasks >= self.head.meta1.ntasks() {
            return None;
        }
        Some(match self.next_task() {
            Ok(task) => task.map_err(DriveError::Format),
            Err(error) => {
                self.failed = true;
                Err(error)
            }
        })
    }
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
