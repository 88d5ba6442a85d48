//! A physical file, and the tasks that a rank has in it.

use crate::error::{Code, Failure};
use std::convert::Infallible;
use std::io;
use std::path::PathBuf;
use striae::sion as serial;
use striae_core::integrity::crc32c;
use striae_core::sion::position::{Ends, Lengths};
use striae_core::sion::seal::checksum_of;
use striae_core::sion::{Head, Opened, Physical, SealState, Task};
use striae_core::step::DriveError;
use striae_core::store::ReadAt;

/// The most chunks of a task whose lengths are kept in memory. A sparse file may claim 2^31 of
/// them.
const MAX_CHUNKS: u64 = 1 << 24;

/// The most chunks of all tasks of a rank: 512 MiB of lengths.
pub(super) const MAX_KEPT: u64 = 1 << 26;

/// Length in bytes of the window in which chunk lengths, or data to check, are read.
const WINDOW: usize = 1 << 16;

/// A task of this rank.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskEntry {
    /// Number of the task in the set.
    pub task: u64,
    /// Rank and chunks of the task in its physical file.
    pub place: Task,
    /// Length of its stream in bytes.
    pub bytes: u64,
    /// The index of its file in those of this rank.
    pub(in crate::sion) file: usize,
    /// For each chunk the stream position after its last byte.
    pub(in crate::sion) ends: Ends<Vec<u64>>,
}

impl TaskEntry {
    /// The used bytes of each of its chunks.
    pub fn chunk_lens(&self) -> impl Iterator<Item = u64> {
        let mut ends = self.ends.borrowed();
        let mut stretch = move |chunk| Lengths::<Infallible>::stretch(&mut ends, chunk);
        (0..).map_while(move |chunk| Some(stretch(chunk).ok()??.len))
    }
}

/// A file of an older commit of the whole set than another file: its streams are those of the last
/// commit of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OlderFile {
    /// The path of the file.
    pub path: PathBuf,
    /// The number of its commit in the set.
    pub number: u32,
    /// A file of the newest commit.
    pub newer: PathBuf,
    /// The number of that commit.
    pub newest: u32,
}

impl OlderFile {
    /// What to say about the file, or why not to go on.
    #[must_use]
    pub fn into_error(self) -> striae::Error {
        let Self { path, number, newer: first, newest: usual } = self;
        striae::Error::new(&path, serial::ErrorKind::Apart { number, first, usual })
    }
}

/// A physical file of a set.
#[derive(Debug, Clone)]
pub(in crate::sion) struct OfFile {
    /// Its number in the set.
    pub(in crate::sion) number: u32,
    pub(in crate::sion) path: PathBuf,
    pub(in crate::sion) head: Head,
}

/// A physical file with tasks of this rank, which has opened it.
#[derive(Debug)]
pub(in crate::sion) struct Source<F> {
    pub(in crate::sion) of: OfFile,
    pub(super) file: F,
}

impl<F> Source<F>
where
    for<'f> &'f F: ReadAt<Error = io::Error>,
{
    pub(in crate::sion) fn physical(&self) -> Result<Physical<&F>, Failure> {
        match Opened::new(&self.file, self.of.head) {
            Opened::Closed(file) => Ok(file),
            Opened::Unclosed(_) => Err(Failure::new(Code::Unclosed, self.of.path.display())),
        }
    }

    pub(in crate::sion) fn failure(&self, error: DriveError<io::Error, serial::Error>) -> Failure {
        striae::Error::new(&self.of.path, error).into()
    }

    /// The lengths of the chunks of a task, and that of its stream.
    pub(super) fn ends(&self, task: u64, place: Task) -> Result<(Ends<Vec<u64>>, u64), Failure> {
        let count = place.blockcount;
        if count > MAX_CHUNKS {
            let text =
                format_args!("task {task} has {count} chunks, at most {MAX_CHUNKS} are read");
            return Err(Failure::new(Code::Refused, text));
        }
        let (file, mut ends, mut end) = (self.physical()?, Vec::new(), 0u64);
        let row = file.meta2().blockcounts().len();
        let window = usize::try_from(count.saturating_mul(row)).unwrap_or(usize::MAX);
        for len in file.chunk_lens(place, vec![0; window.clamp(8, WINDOW)]) {
            let len = len.map_err(|error| self.failure(error))?;
            end = end.checked_add(len).ok_or_else(overflow)?;
            ends.push(end);
        }
        Ok((Ends::new(ends).ok_or_else(overflow)?, end)) // sums are in order
    }

    /// Compares the data of tasks with the seal of the file, if it has one.
    pub(super) fn check<'t>(
        &self,
        tasks: impl Iterator<Item = &'t TaskEntry>,
    ) -> Result<bool, Failure> {
        let (file, at) = (self.physical()?, |error| self.failure(error));
        let SealState::Sealed(seal) = file.seal().map_err(at)? else { return Ok(false) };
        let mut window = vec![0; WINDOW];
        for entry in tasks {
            for (chunk, len) in (0..).zip(entry.chunk_lens()) {
                let place = entry.place.chunks.chunk(chunk).and_then(|span| span.part(0, len));
                let stored = file.sealed_crc(&seal, entry.place.local, chunk).map_err(at)?;
                let Some(place) = place else { continue }; // all were checked at the open
                let crc = checksum_of(&file.store(), place, 0, crc32c, &mut window);
                if crc.map_err(at)? != stored {
                    let (path, task) = (self.of.path.display(), entry.task);
                    let text = format_args!(
                        "{path}: the data of chunk {chunk} of task {task} is not as sealed"
                    );
                    return Err(Failure::new(Code::Damaged, text));
                }
            }
        }
        Ok(true)
    }
}

fn overflow() -> Failure {
    Failure::new(Code::Damaged, "a stream has 2^64 bytes or more")
}
