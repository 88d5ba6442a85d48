//! Checks META2: block counts, block sizes, and the chunks that they describe.

use super::{Failed, FindingKind, Report, records};
use crate::subject::read;
use alloc::vec::Vec;
use striae_core::endian::{ByteOrder, I64};
use striae_core::sion::layout::Chunks;
use striae_core::sion::locate::{ChunkSum, check_blockcount, check_blocksize};
use striae_core::sion::meta2::entry;
use striae_core::sion::{Error, Head, KeyvalMode, Meta2, Task, raw};
use striae_core::span::Span;
use striae_core::store::{ReadAt, usize_to_u64};
use zerocopy::FromBytes;

/// The most entries of a table that are checked at once.
const ENTRIES: u32 = 1 << 14;

/// The places of the tables of a closed file.
pub(super) struct Place {
    pub(super) head: Head,
    pub(super) meta2: Meta2,
    /// `None` if the places of chunks are unknown.
    pub(super) globalskip: Option<u64>,
    /// The end of META2, the mapping and the seal.
    pub(super) end: u64,
}

/// The state of a task when its block sizes are read.
#[derive(Clone, Copy)]
pub(super) struct State {
    pub(super) task: Task,
    /// The error of its block count, if any.
    of_count: Option<Error>,
    /// Whether its chunk size and its block count are allowed.
    is_known: bool,
    /// Whether no error was found in its entries so far.
    is_sound: bool,
}

impl Place {
    /// Calls `each` with one group of consecutive tasks after another. A task with a wrong block
    /// count has no chunks; a task with a wrong chunk size has chunks of no bytes.
    pub(super) fn each_tasks<S: ReadAt>(
        &self,
        store: &S,
        mut each: impl FnMut(&mut [State]) -> Result<(), Failed<S>>,
    ) -> Result<(), Failed<S>> {
        let meta1 = &self.head.meta1;
        let mut sum = ChunkSum::new(*meta1.layout());
        let order = meta1.order();
        let tables = [meta1.layout().chunksizes(), self.meta2.blockcounts()];
        let mut window = [Vec::new(), Vec::new()];
        let mut first = 0;
        while first < meta1.ntasks() {
            let count = meta1.ntasks().saturating_sub(first).min(ENTRIES);
            for (window, table) in window.iter_mut().zip(tables) {
                window.resize(usize::try_from(count).unwrap_or(0).saturating_mul(8), 0);
                read(store, entry(table, first).map_or(0, Span::offset), window)?;
            }
            let [sizes, counts] = window.each_ref().map(|window| entries(window, order));
            let values = (first..).zip(sizes.zip(counts));
            let mut states: Vec<_> =
                values.map(|(local, values)| self.state_of(local, values, &mut sum)).collect();
            each(&mut states)?;
            first = first.saturating_add(count);
        }
        Ok(())
    }

    /// The state of task `local` with this chunk size and block count.
    fn state_of(&self, local: u32, (size, count): (i64, i64), sum: &mut ChunkSum) -> State {
        let start = self.head.meta1.layout().first_chunk().saturating_add(sum.sum());
        let chunksize = add_or_skip(sum, size);
        let offset = entry(self.meta2.blockcounts(), local).map_or(0, Span::offset);
        let blockcount = check_blockcount(count, offset, self.meta2.maxchunks());
        let is_known = chunksize.is_ok() && blockcount.is_ok();
        let chunksize = chunksize.unwrap_or(0);
        let chunks = Chunks { start, chunksize, globalskip: self.globalskip };
        let task = Task { local, globalrank: 0, chunks, blockcount: blockcount.unwrap_or(0) };
        State { task, of_count: blockcount.err(), is_known, is_sound: is_known }
    }

    /// Calls `each` with the first `end` rows of block sizes of `count` tasks from `first` on, and
    /// the index of the first row passed. If there are few tasks, many rows are passed at once.
    pub(super) fn each_rows<S: ReadAt>(
        &self,
        store: &S,
        (first, count): (u32, usize),
        end: u64,
        mut each: impl FnMut(u64, &[u8]) -> Result<(), Failed<S>>,
    ) -> Result<(), Failed<S>> {
        let is_whole_row = u32::try_from(count) == Ok(self.head.meta1.ntasks());
        let most = usize::try_from(ENTRIES).unwrap_or(1).checked_div(count).unwrap_or(1);
        let most = if is_whole_row { most.max(1) } else { 1 };
        let (mut window, mut chunk) = (Vec::new(), 0);
        while let Some(row) = self.meta2.blocksizes(chunk).filter(|_| chunk < end) {
            let rows = usize::try_from(end.saturating_sub(chunk)).unwrap_or(most).min(most);
            window.resize(count.saturating_mul(rows).saturating_mul(8), 0);
            read(store, entry(row, first).map_or(0, Span::offset), &mut window)?;
            each(chunk, &window)?;
            chunk = chunk.saturating_add(usize_to_u64(rows));
        }
        Ok(())
    }
}

/// Checks the tables of META2, and the records of streams.
pub(super) fn check<S: ReadAt>(
    store: &S,
    place: &Place,
    report: &mut Report<'_>,
) -> Result<(), Failed<S>> {
    let (meta1, meta2) = (&place.head.meta1, &place.meta2);
    let mut largest = Some(0); // of all block counts, if all are right
    place.each_tasks(store, |states| {
        for state in &*states {
            state.of_count.into_iter().for_each(|error| report.wrong(error));
            let known = largest.filter(|_| state.is_known);
            largest = known.map(|largest: u64| largest.max(state.task.blockcount));
        }
        check_sizes(store, place, states, report)?;
        if meta1.keyval() == KeyvalMode::Inline && place.globalskip.is_some() {
            let sound = states.iter().filter(|state| state.is_sound);
            records::check(store, sound.map(|state| state.task), report)?;
        }
        Ok(())
    })?;
    if let Some(largest) = largest.filter(|&largest| largest < meta2.maxchunks().into()) {
        let field = raw::CommitFields::maxchunks;
        let offset = meta1.layout().commit_fields().offset();
        let usual = format_args!("{largest}, the largest blockcount");
        report.unusual(field, offset, meta2.maxchunks(), usual);
    }
    Ok(())
}

/// Checks the block sizes of these tasks.
fn check_sizes<S: ReadAt>(
    store: &S,
    place: &Place,
    states: &mut [State],
    report: &mut Report<'_>,
) -> Result<(), Failed<S>> {
    let Some(first) = states.first().map(|state| state.task.local) else { return Ok(()) };
    let rows = u64::from(place.meta2.maxchunks());
    place.each_rows(store, (first, states.len()), rows, |chunk, sizes| {
        let row_len = states.len().saturating_mul(8);
        for (chunk, row) in (chunk..).zip(sizes.chunks_exact(row_len)) {
            let table = place.meta2.blocksizes(chunk).unwrap_or(Span::ZERO);
            for (state, value) in states.iter_mut().zip(entries(row, place.head.meta1.order())) {
                let offset = entry(table, state.task.local).map_or(0, Span::offset);
                check_size(place, state, chunk, (value, offset), report);
            }
        }
        Ok(())
    })
}

/// Checks the block size `value` at `offset`, of chunk `chunk` of a task.
fn check_size(
    place: &Place,
    state: &mut State,
    chunk: u64,
    (value, offset): (i64, u64),
    report: &mut Report<'_>,
) {
    if !state.is_known {
        return; // whether the entry counts, or what it may be, nobody knows
    }
    let Task { local, chunks, blockcount, .. } = state.task;
    if chunk >= blockcount {
        if !matches!(value, 0 | -1) {
            report.add(FindingKind::UnusedSize { offset, task: local, chunk, value });
        }
        return;
    }
    let size = match place.globalskip {
        Some(_) => check_blocksize(value, offset, chunks.chunk(chunk), place.head.file_len),
        // Where the chunk is, nobody knows; how long it is, the task says itself.
        None => check_blocksize(value, offset, Span::new(0, chunks.chunksize), u64::MAX),
    };
    match size {
        Ok(size) => {
            report.summary.data.add(size);
            let used = chunks.chunk(chunk).and_then(|chunk| chunk.part(0, size));
            let tables = Span::between(place.meta2.start(), place.end);
            let both = used.zip(tables).filter(|_| place.globalskip.is_some());
            if let Some((used, tables)) = both.filter(|(used, tables)| used.overlaps(*tables)) {
                report.add(FindingKind::Overlap { offset, task: local, chunk, used, tables });
            }
        }
        Err(error) => {
            state.is_sound = false;
            report.wrong(error);
        }
    }
}

/// The integers of a table.
pub(super) fn entries(table: &[u8], order: ByteOrder) -> impl Iterator<Item = i64> {
    let entries = <[I64]>::ref_from_bytes(table).unwrap_or_default();
    entries.iter().map(move |entry| entry.get(order))
}

/// Adds the next task; if its chunk size is wrong, with chunks of no bytes.
pub(super) fn add_or_skip(sum: &mut ChunkSum, value: i64) -> Result<u64, Error> {
    sum.add(value).inspect_err(|_| {
        let _added = sum.add(0); // fits anywhere
    })
}
