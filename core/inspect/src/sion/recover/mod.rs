//! Recovers sets that were never closed, or whose META2 is damaged: finds the lengths of streams
//! and writes a new set.
//!
//! [`striae_core::sion::recover`] says what proves the length of a stream and what is a guess.
//! Memory: 16 bytes for each chunk with data, and a few bytes for each task.

mod part;
mod set_commit;
mod write;

pub use set_commit::OfSet;
pub use write::{Bytes, CopyFailed, CopySpan, Unwritten, copy};

use part::Part;

use super::verify::{Failed, PartOfSet};
use alloc::vec;
use alloc::vec::Vec;
use striae_core::integrity::Checksum;
use striae_core::sion::recover::{Recovered, Sparse};
use striae_core::sion::{Error, check_set};
use striae_core::step::DriveError;

/// Length of windows in bytes.
const WINDOW: usize = 1 << 18;

/// The reason why a set cannot be recovered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused<E> {
    /// The store failed or became shorter, or META1 is damaged.
    Failed(DriveError<E, Error>),
    /// A physical file has more than 2^25 chunks with data, or its META2 would be longer than 4
    /// GiB.
    TooManyChunks {
        /// The number of chunks.
        blockcount: u64,
        /// The largest number that a task may have.
        limit: u64,
    },
}

impl<E> From<DriveError<E, Error>> for Refused<E> {
    fn from(error: DriveError<E, Error>) -> Self {
        Self::Failed(error)
    }
}

/// The part of a set that can be recovered. It holds no stores: the caller must pass the same files
/// to all methods.
#[derive(Debug)]
pub struct Recovery {
    parts: Vec<Part>,
    of_set: OfSet,
}

/// A task of a set that is recovered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecoveredTask {
    /// Number of the task in the set.
    pub task: u64,
    /// Number of its physical file in the set.
    pub file: u32,
    /// The global rank that the writer gave it.
    pub globalrank: i64,
    /// The result for its stream.
    pub recovered: Recovered,
}

impl Recovery {
    /// Reads META1 of the first file of a set.
    ///
    /// # Errors
    /// An error for a damaged META1; an error of the store.
    pub fn of<S: Sparse>(store: &S, checksum: Checksum) -> Result<Self, Failed<S>> {
        Ok(Self { parts: vec![Part::read(store, checksum)?], of_set: OfSet::EachOwn })
    }

    /// Number of files of the set; 1 if this is not the first of several.
    #[must_use]
    pub fn nfiles(&self) -> u32 {
        let first = self.parts.first().map(|part| part.remains().head().meta1);
        first.filter(|meta1| meta1.is_first_of_several()).map_or(1, |meta1| meta1.nfiles())
    }

    /// Adds the next file of the set.
    ///
    /// # Errors
    /// An error for a damaged META1; an error of the store.
    pub fn add<S: Sparse>(&mut self, store: &S, checksum: Checksum) -> Result<(), Failed<S>> {
        self.parts.push(Part::read(store, checksum)?);
        Ok(())
    }

    /// Checks that the files belong to one set, if there are several.
    ///
    /// # Errors
    /// The first contradiction between the files.
    pub fn check_set(&self) -> Result<(), Error> {
        check_set(self.parts.iter().map(|part| part.remains().head()))
    }

    /// Finds the lengths of all streams of file `number`, which is in `store`.
    ///
    /// # Errors
    /// [`Refused`], if the file has too many chunks or cannot be read.
    pub fn examine<S: Sparse>(
        &mut self,
        number: usize,
        store: &S,
    ) -> Result<(), Refused<S::Error>> {
        self.parts.get_mut(number).map_or(Ok(()), |part| part.examine(store))
    }

    /// All tasks in order.
    pub fn tasks(&self) -> impl Iterator<Item = RecoveredTask> {
        let tasks = (0..).zip(&self.parts).flat_map(|(file, part)| {
            part.tasks().iter().map(move |task| (file, task.globalrank, task.recovered))
        });
        (0..).zip(tasks).map(|(task, (file, globalrank, recovered))| RecoveredTask {
            task,
            file,
            globalrank,
            recovered,
        })
    }

    /// Bytes of all streams.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.tasks().fold(0, |sum, task| sum.saturating_add(task.recovered.bytes))
    }

    /// The number of this file in its set, if it is recovered without the other files.
    #[must_use]
    pub fn part_of_set(&self) -> Option<PartOfSet> {
        let [part] = self.parts.as_slice() else { return None };
        PartOfSet::of(&part.remains().head().meta1)
    }

    /// Whether no length of a stream is a guess, and no file of another commit of the set than the
    /// others.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        let is_apart = matches!(self.of_set, OfSet::Apart { .. });
        !is_apart && self.tasks().all(|task| task.recovered.certainty.is_exact())
    }
}
