//! The machine that finds one task, and the checks of a task's entries.

use crate::endian::{ByteOrder, I64};
use crate::sion::disk::head::Head;
use crate::sion::disk::meta2::entry;
use crate::sion::error::Error;
use crate::sion::layout::{Blocks, Chunks, ENTRY_LEN, LAST_OFFSET, Layout, signed};
use crate::sion::raw;
use crate::span::{Span, Stride};
use crate::step::{ReadMachine, ReadStep};
use zerocopy::FromBytes;

/// A task of a physical file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Task {
    /// The local rank, from 0.
    pub local: u32,
    /// The globalrank that the writer stored; any value, not always unique.
    pub globalrank: i64,
    /// The places of its chunks.
    pub chunks: Chunks,
    /// The number of chunks that the task used; 0 in a file that was never closed.
    pub blockcount: u64,
}

/// The sum of the chunksizes of META1, task after task.
#[derive(Debug, Clone, Copy)]
pub struct ChunkSum {
    layout: Layout,
    /// The number of tasks added so far.
    pub(in crate::sion) tasks: u32,
    /// The sum of their chunksizes: the place of the next task's first chunk, from the first chunk
    /// of task 0.
    pub(in crate::sion) sum: u64,
    /// The length of the longest possible block: one that ends at [`LAST_OFFSET`].
    longest: u64,
}

impl ChunkSum {
    /// Makes a sum without tasks, for a file with this layout.
    #[must_use]
    pub const fn new(layout: Layout) -> Self {
        let longest = LAST_OFFSET.saturating_sub(layout.first_chunk());
        Self { layout, tasks: 0, sum: 0, longest }
    }

    /// The sum of the chunksizes so far: the place of the next task's first chunk, from the first
    /// chunk of task 0. After the last task it is globalskip.
    #[must_use]
    pub const fn sum(&self) -> u64 {
        self.sum
    }

    /// The places of blocks. Call it after the last task was added.
    #[must_use]
    pub const fn blocks(&self) -> Blocks {
        Blocks { first: self.layout.first_chunk(), globalskip: self.sum }
    }

    /// Adds the next task, with the entry `value` in META1, and returns its chunksize in the file.
    ///
    /// # Errors
    /// [`Error::TooSmall`] if `value` is negative; [`Error::TooLarge`] if the block would end after
    /// [`LAST_OFFSET`]. The task is not added then.
    #[inline]
    pub const fn add(&mut self, value: i64) -> Result<u64, Error> {
        if value >= 0
            && let Some(chunksize) = self.layout.stored_chunksize(value.unsigned_abs())
            && let Some(sum) = self.sum.checked_add(chunksize)
            && sum <= self.longest
        {
            self.sum = sum;
            self.tasks = self.tasks.saturating_add(1);
            return Ok(chunksize);
        }
        Err(self.refusal(value))
    }

    /// Adds the next tasks, with these entries in META1: [`add`](Self::add) for each of them.
    ///
    /// Sums without a decision for each entry are several times as fast; only if one of them may be
    /// wrong, they are added one by one.
    pub(in crate::sion) fn add_all(
        &mut self,
        entries: &[I64],
        order: ByteOrder,
    ) -> Result<(), Error> {
        if self.layout.stored_chunksize_is_exact()
            && let Ok(count) = u32::try_from(entries.len())
        {
            // The order is known in each loop: the processor adds several entries at once.
            let (all, sum) = match order {
                ByteOrder::Little => sum_of(entries, |entry| entry.get(ByteOrder::Little)),
                ByteOrder::Big => sum_of(entries, |entry| entry.get(ByteOrder::Big)),
            };
            if all >= 0
                && let Ok(sum) = u64::try_from(sum.saturating_add(self.sum.into()))
                && sum <= self.longest
            {
                (self.sum, self.tasks) = (sum, self.tasks.saturating_add(count));
                return Ok(());
            }
        }
        entries.iter().try_for_each(|entry| self.add(entry.get(order)).map(drop))
    }

    #[cold]
    const fn refusal(&self, value: i64) -> Error {
        let field = raw::ChunksizeEntry::chunksize;
        let offset = match entry(self.layout.chunksizes(), self.tasks) {
            Some(entry) => entry.offset(),
            None => 0,
        };
        if value < 0 {
            return Error::TooSmall { field, offset, value, min: 0 };
        }
        let max = self.longest.saturating_sub(self.sum).cast_signed(); // no more than LAST_OFFSET
        Error::TooLarge { field, offset, value, max }
    }
}

/// All bits that any of the entries has, and the sum of the entries as unsigned integers. It is
/// exact for fewer than 2^32 entries: the sums of their halves have room.
fn sum_of(entries: &[I64], get: impl Fn(I64) -> i64) -> (i64, u128) {
    let (mut all, mut low, mut high) = (0, 0_u64, 0_u64);
    for &entry in entries {
        let value = get(entry);
        all |= value;
        low = low.wrapping_add(value.cast_unsigned() & u64::from(u32::MAX));
        high = high.wrapping_add(value.cast_unsigned() >> 32);
    }
    (all, (u128::from(high) << 32).saturating_add(low.into()))
}

/// Checks a blockcount of META2: `value` is the entry at `offset`.
///
/// # Errors
/// [`Error::TooSmall`] and [`Error::TooLarge`].
#[inline]
pub fn check_blockcount(value: i64, offset: u64, maxchunks: u32) -> Result<u64, Error> {
    let field = raw::BlockcountEntry::blockcount;
    match u64::try_from(value) {
        // SIONlib writes the commit fields first when it closes a file, and 1 for a task without
        // data: a 0 is a META2 that was never written.
        Ok(0) | Err(_) => Err(Error::TooSmall { field, offset, value, min: 1 }),
        Ok(count) if count <= u64::from(maxchunks) => Ok(count),
        Ok(_) => Err(Error::TooLarge { field, offset, value, max: maxchunks.into() }),
    }
}

/// Checks a blocksize of META2: `value` is the entry at `offset`, for a chunk in use at `place`.
///
/// # Errors
/// [`Error::TooSmall`] and [`Error::TooLarge`].
#[inline]
pub fn check_blocksize(
    value: i64,
    offset: u64,
    place: Option<Span>,
    file_len: u64,
) -> Result<u64, Error> {
    let field = raw::BlocksizeEntry::blocksize;
    let max = place.map_or(0, |place| place.len().min(file_len.saturating_sub(place.offset())));
    match u64::try_from(value) {
        Ok(0) => Ok(0), // an empty chunk has no byte that could lie outside
        Ok(size) if size <= max => Ok(size),
        Ok(_) => Err(Error::TooLarge { field, offset, value, max: signed(max) }),
        Err(_) => Err(Error::TooSmall { field, offset, value, min: 0 }),
    }
}

/// Finds a task by its local rank: reads its entries and adds up the chunksizes before it.
///
/// The chunksizes of later tasks are read only if the task has a second chunk, or if the file was
/// never closed and the number of its chunks is unknown. The only memory is the driver's buffer, of
/// at least 8 bytes.
#[derive(Debug)]
pub struct Locate {
    head: Head,
    state: State,
    /// What is known of the task.
    task: Task,
    sum: ChunkSum,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Globalrank,
    Blockcount,
    Chunksizes,
}

impl Locate {
    /// Makes a machine that finds the task with local rank `local` in the file with this head.
    ///
    /// # Errors
    /// [`Error::NoTask`] if there is no such task.
    pub fn new(head: &Head, local: u32) -> Result<Self, Error> {
        let ntasks = head.meta1.ntasks();
        if local >= ntasks {
            return Err(Error::NoTask { task: local.into(), ntasks: ntasks.into() });
        }
        let chunks = Chunks { start: 0, chunksize: 0, globalskip: None };
        let task = Task { local, globalrank: 0, chunks, blockcount: 0 };
        let sum = ChunkSum::new(*head.meta1.layout());
        Ok(Self { head: *head, state: State::Globalrank, task, sum })
    }

    /// The places of all entries that may be read, before the first read.
    #[inline(always)] // nothing is left of it where a store does not listen
    pub(in crate::sion) fn ahead(&self) -> [Stride; 3] {
        let layout = self.head.meta1.layout();
        let one = |table| Stride::one(entry(table, self.task.local).unwrap_or(Span::ZERO));
        let blockcount = self.head.meta2.map_or(Stride::NONE, |meta2| one(meta2.blockcounts()));
        [one(layout.globalranks()), blockcount, Stride::one(layout.chunksizes())]
    }

    /// Whether the places of chunks after the first are needed.
    const fn needs_globalskip(&self) -> bool {
        self.head.meta2.is_none() || self.task.blockcount > 1
    }
}

impl ReadMachine for Locate {
    type Output = Task;
    type Error = Error;

    fn poll(&mut self) -> ReadStep<Task> {
        let layout = self.head.meta1.layout();
        let one = |table: Span, local| {
            let offset = entry(table, local).map_or(0, Span::offset);
            ReadStep::Read { offset, need: 8, want: ENTRY_LEN }
        };
        match (self.state, self.head.meta2) {
            (State::Globalrank, _) => one(layout.globalranks(), self.task.local),
            (State::Blockcount, Some(meta2)) => one(meta2.blockcounts(), self.task.local),
            (State::Blockcount, None) | (State::Chunksizes, _) => {
                let end = match self.needs_globalskip() {
                    true => layout.ntasks.get(),
                    false => self.task.local.saturating_add(1),
                };
                let want = u64::from(end.saturating_sub(self.sum.tasks)).saturating_mul(ENTRY_LEN);
                match entry(layout.chunksizes(), self.sum.tasks) {
                    Some(next) if want > 0 => {
                        ReadStep::Read { offset: next.offset(), need: 8, want }
                    }
                    _ => {
                        let globalskip = self.needs_globalskip().then_some(self.sum.sum);
                        let chunks = Chunks { globalskip, ..self.task.chunks };
                        ReadStep::Done(Task { chunks, ..self.task })
                    }
                }
            }
        }
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let order = self.head.meta1.order();
        let (entries, _) =
            <[I64]>::ref_from_prefix_with_elems(bytes, bytes.len() >> 3).unwrap_or((&[], &[]));
        let mut values = entries.iter().map(|entry| entry.get(order));
        match (self.state, self.head.meta2) {
            (State::Globalrank, meta2) => {
                self.task.globalrank = values.next().unwrap_or_default();
                self.state = if meta2.is_some() { State::Blockcount } else { State::Chunksizes };
            }
            (State::Blockcount, Some(meta2)) => {
                let offset = entry(meta2.blockcounts(), self.task.local).map_or(0, Span::offset);
                let value = values.next().unwrap_or_default();
                self.task.blockcount = check_blockcount(value, offset, meta2.maxchunks())?;
                self.state = State::Chunksizes;
            }
            (State::Blockcount, None) | (State::Chunksizes, _) => {
                let before = self
                    .task
                    .local
                    .checked_sub(self.sum.tasks)
                    .and_then(|n| usize::try_from(n).ok());
                let Some((before, rest)) = before.and_then(|n| entries.split_at_checked(n)) else {
                    return self.sum.add_all(entries, order);
                };
                self.sum.add_all(before, order)?;
                if let Some((own, after)) = rest.split_first() {
                    let first = self.head.meta1.layout().first_chunk();
                    self.task.chunks.start = first.saturating_add(self.sum.sum);
                    self.task.chunks.chunksize = self.sum.add(own.get(order))?;
                    self.sum.add_all(after, order)?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sion::{Attributes, Meta1};

    #[test]
    fn chunksizes_added_at_once_are_those_added_one_by_one() {
        let attributes = Attributes { fsblksize: 512, ..Attributes::default() };
        let meta1 = Meta1::new(&attributes, 3).unwrap();
        let most = ChunkSum::new(*meta1.layout()).longest.cast_signed();
        let lists = [
            [1, 2, 3],
            [0, most, 0],
            [0, most, 1],
            [most - 2, 1, 2],
            [i64::MAX, i64::MAX, i64::MAX],
            [5, -1, 7],
            [1, 2, i64::MIN],
        ];
        for order in [ByteOrder::Little, ByteOrder::Big] {
            for list in lists {
                let entries = list.map(|value| I64::new(value, order));
                let mut at_once = ChunkSum::new(*meta1.layout());
                let mut one_by_one = at_once;
                let result = at_once.add_all(&entries, order);
                assert_eq!(
                    result,
                    list.iter().try_for_each(|&value| one_by_one.add(value).map(drop))
                );
                assert_eq!(at_once.sum, one_by_one.sum, "{list:?}");
                assert_eq!(at_once.tasks, one_by_one.tasks, "{list:?}");
            }
        }
    }
}
