//! Recovers sets that were never closed, or whose META2 is damaged: finds the lengths of streams
//! and writes a new set.
//!
//! [`striae_core::sion::recover`] says what proves the length of a stream and what is a guess.
//! Memory: 16 bytes for each chunk with data, and a few bytes for each task.
//!
//! The new set is sound, whatever the old one is: streams of key-value records end with their last
//! whole record, a file has a seal only if all of it is exact, and chunks keep their places only
//! while the file is then not larger than what exists of the old one justifies ([`Demand`]).
//! Otherwise each stream is *placed anew*, in one chunk.

mod anew;
mod demand;
mod part;
mod records;
mod set_commit;
mod write;

pub use set_commit::OfSet;
pub use write::{Bytes, CopyFailed, CopySpan, Unwritten, copy};

use part::Part;

use super::verify::{Failed, PartOfSet};
use crate::certainty::{self, Tally, Word};
use crate::size::Demand;
use alloc::vec;
use alloc::vec::Vec;
use core::convert::Infallible;
use striae_core::integrity::Checksum;
use striae_core::sion::recover::{self as core_recover, Doubt, Proof, Recovered, Sparse};
use striae_core::sion::{Error, Meta1, check_set};
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

/// How certain a stream is. No stream of a file that is there is lost.
pub type Certainty = certainty::Certainty<Proof, Doubt, Infallible>;

/// The part of a set that can be recovered. It holds no stores: the caller must pass the same files
/// to all methods.
#[derive(Debug)]
pub struct Recovery {
    parts: Vec<Part>,
    of_set: OfSet,
    max_size: Option<u64>,
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

impl RecoveredTask {
    /// How certain the stream is.
    #[must_use]
    pub const fn certainty(&self) -> Certainty {
        match self.recovered.certainty {
            core_recover::Certainty::Exact => Certainty::Exact,
            core_recover::Certainty::AsFound(proof) => Certainty::AsFound(proof),
            core_recover::Certainty::Guess(doubt) => Certainty::Guess(doubt),
        }
    }
}

impl Recovery {
    /// Reads META1 of the first file of a set.
    ///
    /// # Errors
    /// An error for a damaged META1; an error of the store.
    pub fn of<S: Sparse>(store: &S, checksum: Checksum) -> Result<Self, Failed<S>> {
        let parts = vec![Part::read(store, checksum)?];
        Ok(Self { parts, of_set: OfSet::EachOwn, max_size: None })
    }

    /// Lets a new file have up to this number of bytes, however small the old one is. Default:
    /// `None`, at most the [limit](Demand::limit) that the old one justifies.
    #[must_use]
    pub fn max_size(self, bytes: Option<u64>) -> Self {
        Self { max_size: bytes, ..self }
    }

    /// Says that file `number` is of a buddy set, in place of one that is lost: the new file has
    /// the streams of that one, and not the empty tasks of a buddy set. Call this before
    /// [`examine`](Self::examine).
    pub fn take_for_lost(&mut self, number: usize) {
        self.parts.get_mut(number).into_iter().for_each(|part| part.is_copy = true);
    }

    /// Whether the streams of file `number` do not keep their places: the file would be larger than
    /// what exists of the old one justifies, or the old one is of a buddy set.
    #[must_use]
    pub fn is_placed_anew(&self, number: usize) -> bool {
        let part = self.parts.get(number);
        part.is_some_and(|part| !part.keeps_places(self.entries(), self.max_size))
    }

    /// The size that all new files have together, and what it is made of.
    #[must_use]
    pub fn demand(&self) -> Demand {
        let none = Demand { size: 0, existing: 0, own: 0 };
        self.parts.iter().fold(none, |sum, part| {
            let kept = part.demand(self.entries());
            let demand = match part.keeps_places(self.entries(), self.max_size) {
                true => kept,
                false => part.demand_anew(self.entries()),
            };
            let demand = demand.unwrap_or(Demand { size: u64::MAX, ..none });
            Demand {
                size: sum.size.saturating_add(demand.size),
                existing: sum.existing.saturating_add(demand.existing),
                own: sum.own.saturating_add(demand.own),
            }
        })
    }

    /// The most entries that the mapping of the new set can have.
    fn entries(&self) -> u64 {
        let ntasks = self.parts.iter().map(|part| u64::from(part.remains.head().meta1.ntasks()));
        if self.parts.len() < 2 { 0 } else { ntasks.fold(0, u64::saturating_add) }
    }

    /// META1 of the first file that was added.
    #[must_use]
    pub fn first(&self) -> Option<&Meta1> {
        self.parts.first().map(|part| &part.remains.head().meta1)
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
        check_set(self.parts.iter().map(|part| part.remains.head()))
    }

    /// Finds the lengths of all streams of file `number`, which is in `store`.
    ///
    /// # Errors
    /// [`Refused`], if the file has too many chunks or cannot be read, or if no new file can have
    /// its streams.
    pub fn examine<S: Sparse>(
        &mut self,
        number: usize,
        store: &S,
    ) -> Result<(), Refused<S::Error>> {
        let (entries, max_size) = (self.entries(), self.max_size);
        let Some(part) = self.parts.get_mut(number) else { return Ok(()) };
        part.examine(store)?;
        // What is examined can be written: in its places, or anew.
        match part.keeps_places(entries, max_size) {
            true => Ok(()),
            false => {
                anew::end(part, entries).map(drop).map_err(|error| DriveError::Format(error).into())
            }
        }
    }

    /// All tasks in order.
    pub fn tasks(&self) -> impl Iterator<Item = RecoveredTask> {
        let tasks = (0..).zip(&self.parts).flat_map(|(file, part)| {
            part.tasks.iter().map(move |task| (file, task.globalrank, task.recovered))
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

    /// Bytes that the new files have outside of holes, at most: those of all streams, and tables,
    /// which are written even if they are zeros.
    #[must_use]
    pub fn stored(&self) -> u64 {
        let (entries, max_size) = (self.entries(), self.max_size);
        let tables = self.parts.iter().map(|part| part.tables(entries, max_size));
        tables.fold(self.bytes(), u64::saturating_add)
    }

    /// The number of this file in its set, if it is recovered without the other files.
    #[must_use]
    pub fn part_of_set(&self) -> Option<PartOfSet> {
        let [part] = self.parts.as_slice() else { return None };
        PartOfSet::of(&part.remains.head().meta1)
    }

    /// The words of all streams together. Files of different sets, or of different commits of the
    /// set, contradict each other.
    #[must_use]
    pub fn tally(&self) -> Tally {
        let is_contradicted = self.of_set.is_contradiction();
        let mut tally = Tally { is_contradicted, ..Tally::default() };
        for task in self.tasks() {
            let (word, bytes) = (task.certainty().word(), task.recovered.bytes);
            tally.add(word, 1);
            tally.coverage.add(bytes);
            if word == Word::Exact {
                tally.coverage.add_checked(bytes);
            }
        }
        tally
    }

    /// Whether checksums prove every byte of every stream, and no file is of another set, or of
    /// another commit of the set, than the others.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.tally().is_exact()
    }

    /// Whether no stream is a guess, and no file is of another set, or of another commit of the
    /// set, than the others.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.tally().is_sound()
    }
}
