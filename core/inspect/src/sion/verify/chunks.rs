//! Checks the checksums of data: the used bytes of every chunk of a sealed file.

use super::meta2::{Place, State, entries};
use super::{Failed, FindingKind, Report};
use crate::subject::{Subject, Sum, read};
use alloc::format;
use alloc::vec::Vec;
use embedded_io::Error as _;
use striae_core::sion::Varheader;
use striae_core::sion::locate::check_blocksize;
use striae_core::sion::raw::ChunkCrcEntry;
use striae_core::span::Span;
use striae_core::step::DriveError;
use zerocopy::FromBytes;

/// A chunk to be checked.
struct Job {
    task: u32,
    chunk: u64,
    used: Span,
    stored: u32,
}

/// Checks the data of a file with a seal, whose table is where `varheader` says. Chunks with a
/// wrong entry in META2 were reported before and are skipped.
pub(super) fn check<S: Subject>(
    store: &S,
    place: &Place,
    varheader: Varheader,
    report: &mut Report<'_>,
) -> Result<(), Failed<S>> {
    if place.globalskip.is_none() {
        return Ok(());
    }
    let mut crcs = Vec::new();
    place.each_tasks(store, |states| {
        let Some(first) = states.first().map(|state| state.task.local) else { return Ok(()) };
        let used = states.iter().map(|state| state.task.blockcount).max().unwrap_or(0);
        place.each_rows(store, (first, states.len()), used, |chunk, sizes| {
            crcs.resize(sizes.len() >> 1, 0);
            read(store, varheader.crc(first, chunk).map_or(0, Span::offset), &mut crcs)?;
            run(store, &jobs(place, states, chunk, (sizes, &crcs)), report);
            Ok(())
        })
    })
}

/// The used chunks of the rows from `chunk` on.
fn jobs(place: &Place, states: &[State], chunk: u64, (sizes, crcs): (&[u8], &[u8])) -> Vec<Job> {
    let order = place.head.meta1.order();
    let crcs = <[ChunkCrcEntry]>::ref_from_bytes(crcs).unwrap_or_default();
    let places = (chunk..).flat_map(|chunk| states.iter().map(move |state| (chunk, &state.task)));
    let entries = entries(sizes, order).zip(crcs).zip(places);
    let jobs = entries.filter_map(|((size, crc), (chunk, task))| {
        let whole = task.chunks.chunk(chunk).filter(|_| chunk < task.blockcount)?;
        let len = check_blocksize(size, 0, Some(whole), place.head.file_len).ok()?;
        let used = whole.part(0, len)?;
        Some(Job { task: task.local, chunk, used, stored: crc.crc.get(order) })
    });
    jobs.collect()
}

/// Compares the checksums of all `jobs`.
fn run<S: Subject>(store: &S, jobs: &[Job], report: &mut Report<'_>) {
    let spans: Vec<_> = jobs.iter().map(|job| job.used).collect();
    let mut jobs = jobs.iter();
    store.sums(Sum::Crc32c, &spans, &mut |crc| {
        let Some(&Job { task, chunk, used, stored }) = jobs.next() else { return };
        if crc.is_ok() {
            report.summary.data.add_checked(used.len());
        }
        report.add(match crc {
            Ok(computed) if computed == stored => return,
            Ok(computed) => FindingKind::Chunk { task, chunk, used, stored, computed },
            Err(DriveError::Ended { offset }) => FindingKind::Ended { offset },
            Err(error) => {
                let (kind, message) = (error.kind(), format!("{error}"));
                FindingKind::UnreadableChunk { task, chunk, used, kind, message }
            }
        });
    });
}
