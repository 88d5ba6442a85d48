//! Checksums of data: the used bytes of every chunk of a sealed file, by all processors.

use super::meta2::{Place, TASKS, entries, load, task_of};
use super::{Failed, FindingKind, Report, WINDOW, read};
use crate::each::{all_processors, for_each};
use crate::posix::PosixFile;
use crate::store::bulk::{self, Ahead, Bulk};
use crc32c::crc32c_append;
use rustix::fs::SeekFrom;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use striae_core::sion::locate::{ChunkSum, check_blocksize};
use striae_core::sion::meta2::entry;
use striae_core::sion::raw::ChunkCrcEntry;
use striae_core::sion::{Meta2, Task, Varheader};
use striae_core::span::Span;
use striae_core::step::DriveError;
use striae_core::store::usize_to_u64;
use zerocopy::FromBytes;

/// A shorter chunk is read without asking for holes: that takes as long as reading it.
const SHORTEST_HOLE: u64 = 1 << 16;

/// A chunk to be checked.
#[derive(Clone, Copy)]
struct Job {
    task: u32,
    chunk: u64,
    used: Span,
    stored: u32,
}

/// Checks the data of a file whose seal has its table where `varheader` says. Chunks of which META2
/// says something wrong are left out, as that was reported.
pub(super) fn check(
    bulk: &Bulk,
    place: &Place,
    varheader: Varheader,
    report: &mut Report<'_>,
) -> Result<(), Failed> {
    let (Some(meta2), Some(_)) = (place.head.meta2, place.globalskip) else { return Ok(()) };
    let meta1 = &place.head.meta1;
    let mut sum = ChunkSum::new(*meta1.layout());
    let mut first = 0;
    while first < meta1.ntasks() {
        let count = meta1.ntasks().saturating_sub(first).min(TASKS);
        let (sizes, counts) = load(bulk.file(), place, &meta2, first, count)?;
        let tasks = (first..).zip(entries(&sizes).zip(entries(&counts)));
        let tasks: Vec<_> = tasks
            .map(|(local, (size, count))| {
                let values = (size.get(meta1.order()), count.get(meta1.order()));
                task_of(place, &meta2, local, values, &mut sum).0 // no chunks if its count is wrong
            })
            .collect();
        Rows { bulk, place, meta2, varheader, tasks: &tasks }.check(report)?;
        first = first.saturating_add(count);
    }
    Ok(())
}

/// Consecutive tasks, and what META2 and the seal say of their chunks.
struct Rows<'a> {
    bulk: &'a Bulk,
    place: &'a Place,
    meta2: Meta2,
    varheader: Varheader,
    tasks: &'a [Task],
}

impl Rows<'_> {
    /// Checks the chunks of these tasks, row by row; of a few tasks, many rows at once.
    fn check(&self, report: &mut Report<'_>) -> Result<(), Failed> {
        let Some(first) = self.tasks.first().map(|task| task.local) else { return Ok(()) };
        let store = self.bulk.file();
        let count = self.tasks.len();
        let ntasks = u64::from(self.place.head.meta1.ntasks());
        let is_whole_row = u64::try_from(count) == Ok(ntasks);
        let most = usize::try_from(TASKS).unwrap_or(1).checked_div(count).unwrap_or(1);
        let most = if is_whole_row { most.max(1) } else { 1 };

        let used = self.tasks.iter().map(|task| task.blockcount).max().unwrap_or(0);
        let (mut sizes, mut crcs) = (Vec::new(), Vec::new());
        let mut chunk = 0;
        while let Some(row) = self.meta2.blocksizes(chunk).filter(|_| chunk < used) {
            let left = usize::try_from(used.saturating_sub(chunk)).unwrap_or(most);
            let len = count.saturating_mul(left.min(most));
            sizes.resize(len.saturating_mul(8), 0);
            read(store, entry(row, first).map_or(0, Span::offset), &mut sizes)?;
            crcs.resize(len.saturating_mul(4), 0);
            read(store, self.varheader.crc(first, chunk).map_or(0, Span::offset), &mut crcs)?;
            let jobs = self.jobs(chunk, &sizes, &crcs);
            run(self.bulk, &jobs, report);
            chunk = chunk.saturating_add(usize_to_u64(left.min(most)));
        }
        Ok(())
    }

    /// The used chunks of the rows from `chunk` on.
    fn jobs(&self, chunk: u64, sizes: &[u8], crcs: &[u8]) -> Vec<Job> {
        let head = &self.place.head;
        let order = head.meta1.order();
        let crcs = <[ChunkCrcEntry]>::ref_from_bytes(crcs).unwrap_or_default();
        let places = (chunk..).flat_map(|chunk| self.tasks.iter().map(move |task| (chunk, task)));
        let entries = entries(sizes).zip(crcs).zip(places);
        let jobs = entries.filter_map(|((size, crc), (chunk, task))| {
            if chunk >= task.blockcount {
                return None;
            }
            let whole = task.chunks.chunk(chunk)?;
            let len = check_blocksize(size.get(order), 0, Some(whole), head.file_len).ok()?;
            let used = whole.part(0, len)?;
            Some(Job { task: task.local, chunk, used, stored: crc.crc.get(order) })
        });
        jobs.collect()
    }
}

/// Computes the checksums of all `jobs`, and reports those that differ in their order.
fn run(bulk: &Bulk, jobs: &[Job], report: &mut Report<'_>) {
    let progress = report.progress;
    let bytes = jobs.iter().map(|job| job.used.len()).fold(0, u64::saturating_add);
    // A thread takes longer to start than a window to be checked.
    let worth = usize::try_from(bytes).unwrap_or(usize::MAX).checked_div(WINDOW).unwrap_or(0);
    // What is read directly is read ahead, several reads at once, which needs one that asks in order.
    let most = if bulk.is_direct() { NonZeroUsize::MIN } else { all_processors() };
    let threads = NonZeroUsize::new(worth).unwrap_or(NonZeroUsize::MIN).min(most);
    let bad = Mutex::new(Vec::new());
    let checked = AtomicU64::new(0);
    let items = (0usize..).zip(jobs).map(Ok);
    let done = for_each(items, threads, || {
        let (mut ahead, mut zeros) = (Ahead::default(), Vec::new());
        let (bad, checked) = (&bad, &checked);
        move |(index, job): (usize, &Job)| {
            let crc = crc_of(bulk, job.used, (&mut ahead, &mut zeros), progress);
            if crc.is_ok() {
                checked.fetch_add(job.used.len(), Ordering::Relaxed);
            }
            if !matches!(crc, Ok(crc) if crc == job.stored) {
                bad.lock().unwrap_or_else(PoisonError::into_inner).push((index, *job, crc));
            }
            Ok(())
        }
    });
    debug_assert!(done.is_ok(), "what fails is in `bad`");
    report.summary.data.add_checked(checked.into_inner());
    let mut bad = bad.into_inner().unwrap_or_else(PoisonError::into_inner);
    bad.sort_unstable_by_key(|(index, ..)| *index);
    for (_, Job { task, chunk, used, stored }, crc) in bad {
        report.damage(match crc {
            Ok(computed) => FindingKind::Chunk { task, chunk, used, stored, computed },
            Err(DriveError::Ended { offset }) => FindingKind::Ended { offset },
            Err(error) => {
                let kind = match &error {
                    DriveError::Store(error) => error.kind(),
                    _ => std::io::ErrorKind::Other,
                };
                let message = error.to_string();
                FindingKind::UnreadableChunk { task, chunk, used, kind, message }
            }
        });
    }
}

/// The checksum of the bytes of `span`. Holes are not read.
fn crc_of(
    bulk: &Bulk,
    span: Span,
    (ahead, zeros): (&mut Ahead, &mut Vec<u8>),
    progress: &dyn Fn(u64),
) -> Result<u32, Failed> {
    let (mut crc, mut at) = (0, span.offset());
    let mut add = |bytes: &[u8]| {
        crc = crc32c_append(crc, bytes);
        progress(usize_to_u64(bytes.len()));
    };
    while at < span.end() {
        let (start, end) = match span.len() < SHORTEST_HOLE {
            true => (at, span.end()),
            false => next_data(bulk.file(), at, span.end()),
        };
        for piece in Span::between(at, start).into_iter().flat_map(|hole| hole.pieces(bulk::WINDOW))
        {
            let len = usize::try_from(piece.len()).unwrap_or(usize::MAX);
            if zeros.len() < len {
                zeros.resize(len, 0);
            }
            add(zeros.get(..len).unwrap_or_default());
        }
        if let Some(data) = Span::between(start, end) {
            ahead.read_pieces(bulk, data, &mut |bytes| {
                add(bytes);
                true
            })?;
        }
        at = end;
    }
    Ok(crc)
}

/// Start and end of the next data at or behind `at`, in a part of the file that ends at `last`;
/// both are its end if only a hole follows.
fn next_data(store: &PosixFile, at: u64, last: u64) -> (u64, u64) {
    let start = match rustix::fs::seek(store, SeekFrom::Data(at)) {
        Ok(start) => start.clamp(at, last),
        // The file system does not know its holes, or this one is at the end of the file, or that
        // has moved: reading tells.
        Err(_) => return (at, last),
    };
    match rustix::fs::seek(store, SeekFrom::Hole(start)) {
        Ok(end) if end > start => (start, end.min(last)),
        _ => (start, last),
    }
}
