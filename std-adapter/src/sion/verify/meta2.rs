//! META2: block counts and block sizes, and the chunks that they are about.

use super::part::skip_task;
use super::{Failed, FindingKind, Report, WINDOW, read, records};
use crate::posix::PosixFile;
use striae_core::endian::I64;
use striae_core::sion::layout::Chunks;
use striae_core::sion::locate::{ChunkSum, check_blockcount, check_blocksize};
use striae_core::sion::meta2::entry;
use striae_core::sion::{Error, Head, KeyvalMode, Meta2, Task, raw};
use striae_core::span::Span;
use zerocopy::FromBytes;

/// Tasks that are checked at once: a window of them is about as large as one of tables.
pub(super) const TASKS: u32 = 1 << 14;

/// Where the tables of a closed file are.
pub(super) struct Place {
    pub(super) head: Head,
    /// `None` if places of chunks are not known.
    pub(super) globalskip: Option<u64>,
    /// End of META2, the mapping and the seal.
    pub(super) end: u64,
}

/// What is known of a task when its block sizes are read.
struct State {
    task: Task,
    /// Whether its chunk size and its block count are right.
    is_known: bool,
    /// Whether nothing was wrong with its entries so far.
    is_sound: bool,
}

/// Checks the tables of META2, and the records of streams.
pub(super) fn check(
    store: &PosixFile,
    place: &Place,
    report: &mut Report<'_>,
) -> Result<(), Failed> {
    let Some(meta2) = place.head.meta2 else { return Ok(()) };
    let meta1 = &place.head.meta1;
    let mut sum = ChunkSum::new(*meta1.layout());
    let mut largest = Some(0); // of all block counts, if all are right
    let mut first = 0;
    while first < meta1.ntasks() {
        let count = meta1.ntasks().saturating_sub(first).min(TASKS);
        let (sizes, counts) = load(store, place, &meta2, first, count)?;
        let mut tasks: Vec<_> = (first..)
            .zip(entries(&sizes).zip(entries(&counts)))
            .map(|(local, (size, count))| {
                let values = (size.get(meta1.order()), count.get(meta1.order()));
                check_task(place, &meta2, local, values, &mut sum, report)
            })
            .collect();
        for state in &tasks {
            let known = largest.filter(|_| state.is_known);
            largest = known.map(|largest: u64| largest.max(state.task.blockcount));
        }
        check_sizes(store, place, &meta2, &mut tasks, report)?;
        if meta1.keyval() == KeyvalMode::Inline && place.globalskip.is_some() {
            let sound = tasks.iter().filter(|state| state.is_sound);
            records::check(store, sound.map(|state| state.task), report)?;
        }
        first = first.saturating_add(count);
    }
    if let Some(largest) = largest.filter(|&largest| largest < meta2.maxchunks().into()) {
        let field = raw::CommitFields::maxchunks;
        let offset = meta1.layout().commit_fields().offset();
        let usual = format_args!("{largest}, the largest blockcount");
        report.unusual(field, offset, meta2.maxchunks(), usual);
    }
    Ok(())
}

/// Reads chunk sizes and block counts of `count` tasks from `first` on.
pub(super) fn load(
    store: &PosixFile,
    place: &Place,
    meta2: &Meta2,
    first: u32,
    count: u32,
) -> Result<(Vec<u8>, Vec<u8>), Failed> {
    let len = usize::try_from(count).unwrap_or(0).saturating_mul(8);
    let (mut sizes, mut counts) = (vec![0; len], vec![0; len]);
    let chunksizes = place.head.meta1.layout().chunksizes();
    read(store, entry(chunksizes, first).map_or(0, Span::offset), &mut sizes)?;
    read(store, entry(meta2.blockcounts(), first).map_or(0, Span::offset), &mut counts)?;
    Ok((sizes, counts))
}

/// Task `local`, and what is wrong with its chunk size and its block count, `size` and `count`.
pub(super) fn task_of(
    place: &Place,
    meta2: &Meta2,
    local: u32,
    (size, count): (i64, i64),
    sum: &mut ChunkSum,
) -> (Task, [Option<Error>; 2]) {
    let start = place.head.meta1.layout().first_chunk().saturating_add(sum.sum());
    let chunksize = sum.add(size);
    if chunksize.is_err() {
        skip_task(sum);
    }
    let offset = entry(meta2.blockcounts(), local).map_or(0, Span::offset);
    let blockcount = check_blockcount(count, offset, meta2.maxchunks());
    let chunks = Chunks { start, chunksize: chunksize.unwrap_or(0), globalskip: place.globalskip };
    let task = Task { local, globalrank: 0, chunks, blockcount: blockcount.unwrap_or(0) };
    (task, [chunksize.err(), blockcount.err()])
}

/// Checks the block count of task `local`. Its chunk size was reported when META1 was checked.
fn check_task(
    place: &Place,
    meta2: &Meta2,
    local: u32,
    values: (i64, i64),
    sum: &mut ChunkSum,
    report: &mut Report<'_>,
) -> State {
    let (task, [of_size, of_count]) = task_of(place, meta2, local, values, sum);
    of_count.into_iter().for_each(|error| report.wrong(error));
    let is_known = of_size.is_none() && of_count.is_none();
    State { task, is_known, is_sound: is_known }
}

/// Checks the block sizes of these tasks, row by row; of a few tasks, many rows at once.
fn check_sizes(
    store: &PosixFile,
    place: &Place,
    meta2: &Meta2,
    tasks: &mut [State],
    report: &mut Report<'_>,
) -> Result<(), Failed> {
    let order = place.head.meta1.order();
    let Some(first) = tasks.first().map(|state| state.task.local) else { return Ok(()) };
    let row_len = tasks.len().saturating_mul(8);
    let is_whole_row = u64::try_from(row_len) == Ok(meta2.blockcounts().len());
    let rows = if is_whole_row { WINDOW.checked_div(row_len).unwrap_or(1).max(1) } else { 1 };

    let maxchunks = u64::from(meta2.maxchunks());
    let mut window = Vec::new();
    let mut chunk = 0;
    while let Some(row) = meta2.blocksizes(chunk).filter(|_| chunk < maxchunks) {
        let rows = usize::try_from(maxchunks.saturating_sub(chunk)).unwrap_or(rows).min(rows);
        window.resize(row_len.saturating_mul(rows), 0);
        read(store, entry(row, first).map_or(0, Span::offset), &mut window)?;
        for bytes in window.chunks_exact(row_len) {
            let row = meta2.blocksizes(chunk).unwrap_or(row);
            for (state, value) in tasks.iter_mut().zip(entries(bytes)) {
                let offset = entry(row, state.task.local).map_or(0, Span::offset);
                check_size(place, meta2, state, chunk, (value.get(order), offset), report);
            }
            chunk = chunk.saturating_add(1);
        }
    }
    Ok(())
}

/// Checks a block size: that of chunk `chunk` of a task, the `value` at `offset`.
fn check_size(
    place: &Place,
    meta2: &Meta2,
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
            let field = raw::BlocksizeEntry::blocksize;
            let usual = format_args!("0 or -1, as task {local} did not use chunk {chunk}");
            report.unusual(field, offset, value, usual);
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
            let tables = Span::between(meta2.start(), place.end);
            let both = used.zip(tables).filter(|_| place.globalskip.is_some());
            if let Some((used, tables)) = both.filter(|(used, tables)| used.overlaps(*tables)) {
                report.damage(FindingKind::Overlap { offset, task: local, chunk, used, tables });
            }
        }
        Err(error) => {
            state.is_sound = false;
            report.wrong(error);
        }
    }
}

/// The stored integers of a table.
pub(super) fn entries(table: &[u8]) -> std::slice::Iter<'_, I64> {
    <[I64]>::ref_from_bytes(table).unwrap_or_default().iter()
}
