//! The machines that create a physical file: they write META1, with commit fields of zeros.
//!
//! The tables are written first. The first 512 bytes are written last: they hold the magic and the
//! lengths of the tables. So a file that starts with `sion` has a complete META1, also after a
//! power cut.

use super::error::Error;
use super::layout::{Blocks, ENTRY_LEN, Layout};
use super::locate::ChunkSum;
use super::meta1::Meta1;
use super::raw;
use crate::endian::{ByteOrder, I64};
use crate::integrity::{Checksum, Crc32cParts};
use crate::span::Span;
use crate::step::{Machine, Step};
use crate::store::usize_to_u64;
use core::convert::Infallible;
use core::ops::Range;
use zerocopy::{FromBytes, IntoBytes};

/// The tasks of a new physical file.
pub trait TaskTable {
    /// The number of tasks.
    fn ntasks(&self) -> u64;

    /// The globalrank of task `local`; any value.
    fn globalrank(&self, local: u32) -> i64;

    /// The chunksize of task `local` as META1 stores it: already rounded.
    fn chunksize(&self, local: u32) -> u64;
}

/// Tasks as pairs of a globalrank and a chunksize.
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

/// The places of the blocks of a new file with these tasks.
///
/// # Errors
/// [`Error::OutOfRange`] for a chunksize with which block 0 has no place in a file.
pub fn blocks(meta1: &Meta1, tasks: &(impl TaskTable + ?Sized)) -> Result<Blocks, Error> {
    let layout = meta1.layout();
    let mut sum = ChunkSum::new(*layout);
    for local in 0..meta1.ntasks() {
        let value = i64::try_from(tasks.chunksize(local)).unwrap_or(i64::MAX);
        sum.add(value).map_err(blame_caller)?;
    }
    Ok(sum.blocks())
}

/// The error of a chunksize that comes from the caller and not from a file.
pub(super) const fn blame_caller(error: Error) -> Error {
    match error {
        Error::TooLarge { field, value, max, .. } => {
            Error::OutOfRange { field, value, min: 0, max }
        }
        error => error,
    }
}

/// The commit fields of a file that was never closed.
const UNCLOSED: [u8; size_of::<raw::CommitFields>()] = [0; size_of::<raw::CommitFields>()];

/// The length of the part that is written last: the first sector.
const FRONT: usize = 512;

/// Writes META1 of a new, empty physical file: [`TaskTables`], then the [`Front`]. The output is
/// the CRC-32C of META1 before the commit fields; without a `checksum` it is meaningless.
#[derive(Debug)]
pub struct Create<'w, T> {
    tables: TaskTables<'w, T>,
    front: Front,
    /// The CRC-32C of META1, once its tables are written.
    crc: Option<u32>,
}

impl<'w, T: TaskTable> Create<'w, T> {
    /// Makes a machine that creates a file with this `meta1` and these `tasks`. `window` needs 8
    /// bytes; a larger window makes fewer and larger writes.
    ///
    /// # Errors
    /// [`Error::PrefixTooLong`] above 1023 bytes; [`Error::Window`] if `window` is too small;
    /// [`Error::OutOfRange`] if the number of tasks is not that of `meta1`, for a NUL in the
    /// prefix, or for a chunksize that is too large, see [`blocks`].
    pub fn new(
        meta1: &Meta1,
        prefix: &[u8],
        tasks: T,
        checksum: Option<Checksum>,
        window: &'w mut [u8],
    ) -> Result<(Self, Blocks), Error> {
        let front = Front::new(meta1, prefix)?;
        let (value, expected) = (tasks.ntasks(), i64::from(meta1.ntasks()));
        if u64::from(meta1.ntasks()) != value {
            let (field, value) = (raw::Meta1::ntasks, i64::try_from(value).unwrap_or(i64::MAX));
            return Err(Error::OutOfRange { field, value, min: expected, max: expected });
        }
        let blocks = blocks(meta1, &tasks)?;
        let tables = TaskTables::new(meta1, 0..meta1.ntasks(), tasks, checksum, window)?;
        Ok((Self { tables, front, crc: None }, blocks))
    }
}

impl<T: TaskTable> Machine for Create<'_, T> {
    type Output = u32;
    type Error = Infallible;

    fn poll(&mut self) -> Step<'_, u32> {
        if !self.tables.is_done() {
            return self.tables.poll().map(|_| 0);
        }
        let (sums, checksum) = (self.tables.sums, self.tables.checksum);
        let crc = self.crc.get_or_insert_with(|| self.front.meta1_crc(sums, checksum));
        self.front.poll().map(|()| *crc)
    }

    fn feed(&mut self, _: &[u8]) -> Result<(), Infallible> {
        Ok(())
    }
}

/// Writes the entries of a range of tasks in META1's tables. The output is their checksum, which is
/// joined with those of the other ranges; without a `checksum` it is meaningless.
#[derive(Debug)]
pub struct TaskTables<'w, T> {
    layout: Layout,
    order: ByteOrder,
    /// The tasks whose entries are written.
    range: Range<u32>,
    tasks: T,
    checksum: Option<Checksum>,
    window: &'w mut [u8],
    next: Next,
    sums: Crc32cParts,
}

/// The next entry to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Globalrank(u32),
    Chunksize(u32),
    Done,
}

impl<'w, T: TaskTable> TaskTables<'w, T> {
    /// Makes a machine that writes the entries of the tasks in `range`. `window` needs 8 bytes.
    ///
    /// # Errors
    /// [`Error::Window`] if `window` is too small.
    pub fn new(
        meta1: &Meta1,
        range: Range<u32>,
        tasks: T,
        checksum: Option<Checksum>,
        window: &'w mut [u8],
    ) -> Result<Self, Error> {
        if window.len() < size_of::<I64>() {
            return Err(Error::Window { need: usize_to_u64(size_of::<I64>()) });
        }
        let (layout, order, sums) = (*meta1.layout(), meta1.order(), Crc32cParts::NONE);
        let next = if range.is_empty() { Next::Done } else { Next::Globalrank(range.start) };
        Ok(Self { layout, order, range, tasks, checksum, window, next, sums })
    }

    fn is_done(&self) -> bool {
        self.next == Next::Done
    }

    /// Fills the window with entries of `table` for tasks from `first` on. Returns the next task,
    /// if there is one, and the place to write to.
    fn fill(
        &mut self,
        first: u32,
        table: Span,
        value: impl Fn(&T, u32) -> i64,
    ) -> (Option<u32>, Span) {
        let count = self.window.len() >> 3;
        let entries = <[I64]>::mut_from_prefix_with_elems(self.window, count);
        let entries = entries.map(|(entries, _)| entries).unwrap_or_default();
        let mut next = first;
        for (entry, local) in entries.iter_mut().zip(first..self.range.end) {
            *entry = I64::new(value(&self.tasks, local), self.order);
            next = local.saturating_add(1);
        }
        let len = u64::from(next.saturating_sub(first)).saturating_mul(ENTRY_LEN);
        let place = table.part(u64::from(first).saturating_mul(ENTRY_LEN), len);
        let place = place.unwrap_or(Span::ZERO); // inside: the range is of the file's tasks
        if let Some(checksum) = self.checksum {
            let end = self.layout.commit_fields().offset();
            let crc = checksum(0, self.window(place));
            self.sums.add(crc, len, end.saturating_sub(place.end()));
        }
        ((next < self.range.end).then_some(next), place)
    }

    fn window(&self, place: Span) -> &[u8] {
        let len = usize::try_from(place.len()).unwrap_or(usize::MAX);
        self.window.get(..len).unwrap_or_default()
    }
}

impl<T: TaskTable> Machine for TaskTables<'_, T> {
    type Output = Crc32cParts;
    type Error = Infallible;

    fn poll(&mut self) -> Step<'_, Crc32cParts> {
        let (next, place) = match self.next {
            Next::Globalrank(first) => {
                let table = self.layout.globalranks();
                let (next, place) = self.fill(first, table, |tasks, local| tasks.globalrank(local));
                (next.map_or(Next::Chunksize(self.range.start), Next::Globalrank), place)
            }
            Next::Chunksize(first) => {
                let (next, place) = self.fill(first, self.layout.chunksizes(), |tasks, local| {
                    i64::try_from(tasks.chunksize(local)).unwrap_or(i64::MAX)
                });
                (next.map_or(Next::Done, Next::Chunksize), place)
            }
            Next::Done => return Step::Done(self.sums),
        };
        self.next = next;
        Step::Write { offset: place.offset(), bytes: self.window(place) }
    }

    fn feed(&mut self, _: &[u8]) -> Result<(), Infallible> {
        Ok(())
    }
}

/// Writes the rest of META1 when its tables are written: the commit fields, which are zeros, the
/// fixed part, and last its first 512 bytes, which start with `sion`.
#[derive(Debug)]
pub struct Front {
    layout: Layout,
    fixed: raw::Meta1,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    CommitFields,
    Rest,
    SyncTables,
    Front,
    SyncFront,
    Done,
}

impl Front {
    /// Makes the machine for a file with this `meta1`.
    ///
    /// # Errors
    /// [`Error::PrefixTooLong`] above 1023 bytes; [`Error::OutOfRange`] if the prefix has a NUL.
    pub fn new(meta1: &Meta1, prefix: &[u8]) -> Result<Self, Error> {
        let (layout, fixed) = (*meta1.layout(), meta1.to_raw(prefix)?);
        Ok(Self { layout, fixed, state: State::CommitFields })
    }

    /// The CRC-32C of META1 before the commit fields; `tables` is the checksum of all its tables.
    #[must_use]
    pub fn meta1_crc(&self, mut tables: Crc32cParts, checksum: Option<Checksum>) -> u32 {
        let Some(checksum) = checksum else { return 0 };
        let (fixed, end) = (self.layout.fixed(), self.layout.commit_fields().offset());
        let crc = checksum(0, self.fixed.as_bytes());
        tables.add(crc, fixed.len(), end.saturating_sub(fixed.end()));
        tables.crc(end)
    }
}

impl Machine for Front {
    type Output = ();
    type Error = Infallible;

    fn poll(&mut self) -> Step<'_, ()> {
        match self.state {
            State::CommitFields => {
                self.state = State::Rest;
                // Not a hole: SIONlib does not notice that a file ends before them.
                Step::Write { offset: self.layout.commit_fields().offset(), bytes: &UNCLOSED }
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
