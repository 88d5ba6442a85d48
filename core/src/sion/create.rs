//! Creating a physical file: META1, with commit fields of zeros.
//!
//! The tables come first, and last the first 512 bytes, which say that this is a SIONlib file and how
//! long the tables are. So a file that starts with `sion` has a whole META1, whenever the power went.

use super::error::Error;
use super::layout::Blocks;
use super::locate::ChunkSum;
use super::meta1::Meta1;
use super::raw;
use crate::endian::I64;
use crate::step::{Machine, Step};
use crate::store::usize_to_u64;
use core::convert::Infallible;
use zerocopy::{FromBytes, IntoBytes};

/// The tasks of a new physical file.
pub trait TaskTable {
    /// How many there are.
    fn ntasks(&self) -> u64;

    /// Number of task `local`; any value.
    fn globalrank(&self, local: u32) -> i64;

    /// Bytes of each chunk of task `local`, as META1 says them: already rounded.
    fn chunksize(&self, local: u32) -> u64;
}

/// Tasks as pairs of a global rank and a chunk size.
impl TaskTable for [(i64, u64)] {
    fn ntasks(&self) -> u64 {
        usize_to_u64(self.len())
    }

    fn globalrank(&self, local: u32) -> i64 {
        self.at(local).map_or(0, |task| task.0)
    }

    fn chunksize(&self, local: u32) -> u64 {
        self.at(local).map_or(0, |task| task.1)
    }
}

trait At<T> {
    fn at(&self, local: u32) -> Option<&T>;
}

impl<T> At<T> for [T] {
    fn at(&self, local: u32) -> Option<&T> {
        self.get(usize::try_from(local).ok()?)
    }
}

impl<T: TaskTable + ?Sized> TaskTable for &T {
    fn ntasks(&self) -> u64 {
        (**self).ntasks()
    }

    fn globalrank(&self, local: u32) -> i64 {
        (**self).globalrank(local)
    }

    fn chunksize(&self, local: u32) -> u64 {
        (**self).chunksize(local)
    }
}

/// Where the blocks of a new file with these tasks are.
///
/// # Errors
/// [`Error::OutOfRange`] for a chunk size with which block 0 has no place in a file.
pub fn blocks(meta1: &Meta1, tasks: &(impl TaskTable + ?Sized)) -> Result<Blocks, Error> {
    let layout = meta1.layout();
    let mut sum = ChunkSum::new(*layout);
    for local in 0..meta1.ntasks() {
        let value = i64::try_from(tasks.chunksize(local)).unwrap_or(i64::MAX);
        sum.add(value).map_err(|error| match error {
            Error::TooLarge { field, value, max, .. } => {
                Error::OutOfRange { field, value, min: 0, max }
            }
            error => error,
        })?;
    }
    Ok(Blocks { first: layout.first_chunk(), globalskip: sum.sum() })
}

/// The commit fields of a file that was never closed.
const UNCLOSED: [u8; size_of::<raw::CommitFields>()] = [0; size_of::<raw::CommitFields>()];

/// Bytes that become visible last: the first sector.
const FRONT: usize = 512;

/// Writes META1 of a new, empty physical file.
#[derive(Debug)]
pub struct Create<'w, T> {
    meta1: Meta1,
    fixed: raw::Meta1,
    tasks: T,
    window: &'w mut [u8],
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Globalranks(u32),
    Chunksizes(u32),
    CommitFields,
    Rest,
    SyncTables,
    Front,
    SyncFront,
    Done,
}

impl<'w, T: TaskTable> Create<'w, T> {
    /// Creates a file of `meta1` with these `tasks`. `window` needs 8 bytes; a larger one makes
    /// fewer and larger writes.
    ///
    /// # Errors
    /// [`Error::PrefixTooLong`], [`Error::Window`]; [`Error::OutOfRange`] if there are not as many
    /// tasks as `meta1` says, or for their chunk sizes, see [`blocks`].
    pub fn new(
        meta1: &Meta1,
        prefix: &[u8],
        tasks: T,
        window: &'w mut [u8],
    ) -> Result<(Self, Blocks), Error> {
        let fixed = meta1.to_raw(prefix)?;
        let (value, expected) = (tasks.ntasks(), i64::from(meta1.ntasks()));
        if u64::from(meta1.ntasks()) != value {
            let (field, value) = (raw::Meta1::ntasks, i64::try_from(value).unwrap_or(i64::MAX));
            return Err(Error::OutOfRange { field, value, min: expected, max: expected });
        }
        if window.len() < size_of::<I64>() {
            return Err(Error::Window { need: usize_to_u64(size_of::<I64>()) });
        }
        let blocks = blocks(meta1, &tasks)?;
        let state = State::Globalranks(0);
        Ok((Self { meta1: *meta1, fixed, tasks, window, state }, blocks))
    }

    /// Fills the window with entries of tasks from `first` on, and returns the next task.
    fn fill(&mut self, first: u32, value: impl Fn(&T, u32) -> i64) -> (u32, usize) {
        let (order, ntasks) = (self.meta1.order(), self.meta1.ntasks());
        let count = self.window.len() >> 3;
        let entries = <[I64]>::mut_from_prefix_with_elems(self.window, count);
        let entries = entries.map(|(entries, _)| entries).unwrap_or_default();
        let mut next = first;
        for (entry, local) in entries.iter_mut().zip(first..ntasks) {
            *entry = I64::new(value(&self.tasks, local), order);
            next = local.saturating_add(1);
        }
        let filled = usize::try_from(next.saturating_sub(first)).unwrap_or(usize::MAX);
        (next, filled.saturating_mul(size_of::<I64>()))
    }

    fn window(&self, len: usize) -> &[u8] {
        self.window.get(..len).unwrap_or_default()
    }
}

impl<T: TaskTable> Machine for Create<'_, T> {
    type Output = ();
    type Error = Infallible;

    fn poll(&mut self) -> Step<'_, ()> {
        let layout = *self.meta1.layout();
        let entry = |table: crate::span::Span, local: u32| {
            table.offset().saturating_add(u64::from(local).saturating_mul(8))
        };
        match self.state {
            State::Globalranks(first) => {
                let (next, len) = self.fill(first, |tasks, local| tasks.globalrank(local));
                let is_last = next == layout.ntasks.get();
                self.state = if is_last { State::Chunksizes(0) } else { State::Globalranks(next) };
                Step::Write { offset: entry(layout.globalranks(), first), bytes: self.window(len) }
            }
            State::Chunksizes(first) => {
                let (next, len) = self.fill(first, |tasks, local| {
                    i64::try_from(tasks.chunksize(local)).unwrap_or(i64::MAX)
                });
                let is_last = next == layout.ntasks.get();
                self.state = if is_last { State::CommitFields } else { State::Chunksizes(next) };
                Step::Write { offset: entry(layout.chunksizes(), first), bytes: self.window(len) }
            }
            State::CommitFields => {
                self.state = State::Rest;
                // Not a hole: SIONlib does not notice that a file ends before them.
                Step::Write { offset: layout.commit_fields().offset(), bytes: &UNCLOSED }
            }
            State::Rest => {
                self.state = State::SyncTables;
                let bytes = self.fixed.as_bytes().get(FRONT..).unwrap_or_default();
                Step::Write { offset: usize_to_u64(FRONT), bytes }
            }
            State::SyncTables => {
                self.state = State::Front;
                Step::Sync
            }
            State::Front => {
                self.state = State::SyncFront;
                let bytes = self.fixed.as_bytes().get(..FRONT).unwrap_or_default();
                Step::Write { offset: 0, bytes }
            }
            State::SyncFront => {
                self.state = State::Done;
                Step::Sync
            }
            State::Done => Step::Done(()),
        }
    }

    fn feed(&mut self, _: &[u8]) -> Result<(), Infallible> {
        Ok(())
    }
}
