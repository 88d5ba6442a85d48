//! Physical files and sets of them, for people who just want to read.
//!
//! [`Physical`] is one file, [`Reader`] a set of them. Neither allocates: what grows with the number
//! of tasks passes through a window of the caller's.

use super::ReadError;
use super::error::Error;
use super::layout::{Chunks, ENTRY_LEN};
use super::locate::{ChunkSum, Locate, Task, check_blockcount, check_blocksize};
use super::mapping::Mapping;
use super::meta1::{KeyvalMode, Meta1, Prefix};
use super::meta2::{Meta2, entry};
use super::open::{Head, Open};
use super::position::{Lengths, Stretch};
use super::raw;
use super::stream::Stream;
use crate::endian::{I64, U64};
use crate::span::Span;
use crate::step::{DriveError, drive_read, read_exact};
use crate::store::ReadAt;
use core::marker::PhantomData;
use zerocopy::FromBytes;

/// A physical file, or what is left of one whose writer never closed it.
#[derive(Debug, Clone, Copy)]
pub enum Opened<S> {
    /// It was closed: all can be read.
    Closed(Physical<S>),
    /// It was not: META1 can be read, and where chunks are, but not how much of them is used.
    Unclosed(Unclosed<S>),
}

/// A closed physical file in a store.
#[derive(Debug, Clone, Copy)]
pub struct Physical<S> {
    store: S,
    head: Head,
    meta2: Meta2,
}

/// A physical file that was never closed, in a store.
#[derive(Debug, Clone, Copy)]
pub struct Unclosed<S> {
    store: S,
    head: Head,
}

/// A task and the length of its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Listed {
    /// The task.
    pub task: Task,
    /// Bytes of its stream; 0 in a file that was never closed.
    pub bytes: u64,
}

impl<S: ReadAt> Physical<S> {
    /// Opens the file in `store`. `window` needs [`Meta1::MAX_LEN`] bytes.
    ///
    /// # Errors
    /// [`Error`] if it is no SIONlib file or a damaged one; the store's own.
    pub fn open(store: S, window: &mut [u8]) -> Result<Opened<S>, ReadError<S>> {
        let file_len = store.size().map_err(DriveError::Store)?;
        let head = drive_read(&mut Open::new(file_len), &store, window)?;
        Ok(match head.meta2 {
            Some(meta2) => Opened::Closed(Self { store, head, meta2 }),
            None => Opened::Unclosed(Unclosed { store, head }),
        })
    }

    /// What opening learned.
    #[must_use]
    pub const fn head(&self) -> &Head {
        &self.head
    }

    /// The fixed part of META1.
    #[must_use]
    pub const fn meta1(&self) -> &Meta1 {
        &self.head.meta1
    }

    /// Where META2 is.
    #[must_use]
    pub const fn meta2(&self) -> &Meta2 {
        &self.meta2
    }

    /// The store.
    #[must_use]
    pub const fn store(&self) -> &S {
        &self.store
    }

    /// Finds task `local`, counted from 0 in this file. Its window needs 8 bytes; a larger one makes
    /// fewer and larger reads.
    ///
    /// # Errors
    /// [`Error::NoTask`]; [`Error`] if one of its entries, or a chunk size before it, is wrong; the
    /// store's own.
    pub fn task(&self, local: u32, window: &mut [u8]) -> Result<Task, ReadError<S>> {
        let mut locate = Locate::new(&self.head, local).map_err(DriveError::Format)?;
        drive_read(&mut locate, &self.store, window)
    }

    /// All tasks in order, with the lengths of their streams. `window` needs 40 bytes.
    ///
    /// # Errors
    /// [`Error`] if a chunk size is wrong; the store's own.
    pub fn tasks<'a>(&'a self, window: &'a mut [u8]) -> Result<Tasks<'a, S>, ReadError<S>> {
        Tasks::new(&self.store, &self.head, window)
    }

    /// The stream of `task`. It keeps nothing in memory and reads 8 bytes more for each chunk.
    #[must_use]
    pub fn stream(&self, task: Task) -> Stream<&S, Walk<'_, S>> {
        Stream::new(&self.store, task.chunks, self.walk(task))
    }

    /// The lengths of the chunks of `task`, read one by one as they are needed.
    #[must_use]
    pub const fn walk(&self, task: Task) -> Walk<'_, S> {
        Walk { file: self, task, at: None, total: None }
    }

    /// Bytes that `task` used of chunk `chunk`.
    ///
    /// # Errors
    /// [`Error::NoChunk`]; [`Error`] if the entry is negative, or more than the chunk or the file
    /// holds; the store's own.
    pub fn chunk_len(&self, task: &Task, chunk: u64) -> Result<u64, ReadError<S>> {
        let blockcount = task.blockcount;
        let place = self.meta2.blocksizes(chunk).and_then(|row| entry(row, task.local));
        let place = place.filter(|_| chunk < blockcount);
        let place = place.ok_or(DriveError::Format(Error::NoChunk { chunk, blockcount }))?;
        let mut bytes = [0; 8];
        read_exact(&self.store, place.offset(), &mut bytes)?;
        let value = I64::from(bytes).get(self.head.meta1.order());
        check_blocksize(value, place.offset(), task.chunks.chunk(chunk), self.head.file_len)
            .map_err(DriveError::Format)
    }

    /// The lengths of all chunks of `task`, in order. `window` needs 8 bytes.
    #[must_use]
    pub const fn chunk_lens<'a>(&'a self, task: Task, window: &'a mut [u8]) -> ChunkLens<'a, S> {
        ChunkLens { file: self, task, next: 0, window, first: 0, rows: 0 }
    }

    /// The mapping of global ranks to files; `None` unless this is the first file of several.
    ///
    /// # Errors
    /// [`Error`] if it is damaged or not there; the store's own.
    pub fn mapping(&self) -> Result<Option<Mapping>, ReadError<S>> {
        let Some(at) = Mapping::place(&self.head) else { return Ok(None) };
        let mut bytes = [0; Mapping::HEAD_LEN];
        let left = usize::try_from(self.head.file_len.saturating_sub(at)).unwrap_or(usize::MAX);
        let bytes = bytes.get_mut(..left.min(Mapping::HEAD_LEN)).unwrap_or_default();
        read_exact(&self.store, at, bytes)?;
        Mapping::parse(bytes, at, &self.head).map(Some).map_err(DriveError::Format)
    }

    /// The name that the set was created under.
    ///
    /// # Errors
    /// The store's own.
    pub fn prefix(&self) -> Result<Prefix, ReadError<S>> {
        prefix(&self.store, &self.head)
    }
}

impl<S: ReadAt> Unclosed<S> {
    /// What opening learned.
    #[must_use]
    pub const fn head(&self) -> &Head {
        &self.head
    }

    /// The store.
    #[must_use]
    pub const fn store(&self) -> &S {
        &self.store
    }

    /// Finds task `local`, counted from 0 in this file: its global rank and the places of all chunks
    /// that it may have used. `window` needs 8 bytes.
    ///
    /// # Errors
    /// [`Error::NoTask`]; [`Error`] if a chunk size is wrong; the store's own.
    pub fn task(&self, local: u32, window: &mut [u8]) -> Result<Task, ReadError<S>> {
        let mut locate = Locate::new(&self.head, local).map_err(DriveError::Format)?;
        drive_read(&mut locate, &self.store, window)
    }

    /// All tasks in order. `window` needs 40 bytes.
    ///
    /// # Errors
    /// [`Error`] if a chunk size is wrong; the store's own.
    pub fn tasks<'a>(&'a self, window: &'a mut [u8]) -> Result<Tasks<'a, S>, ReadError<S>> {
        Tasks::new(&self.store, &self.head, window)
    }

    /// The name that the set was created under.
    ///
    /// # Errors
    /// The store's own.
    pub fn prefix(&self) -> Result<Prefix, ReadError<S>> {
        prefix(&self.store, &self.head)
    }
}

fn prefix<S: ReadAt>(store: &S, head: &Head) -> Result<Prefix, ReadError<S>> {
    let mut bytes = [0; Meta1::MAX_LEN];
    let fixed = usize::try_from(head.meta1.layout().fixed().len()).unwrap_or(usize::MAX);
    let bytes = bytes.get_mut(..fixed).unwrap_or_default();
    read_exact(store, 0, bytes)?;
    Ok(Prefix::from_slice(head.meta1.prefix(bytes)).unwrap_or_default())
}

/// Chunk lengths read from META2 one by one; remembers where it is.
#[derive(Debug, Clone)]
pub struct Walk<'a, S> {
    file: &'a Physical<S>,
    task: Task,
    at: Option<Stretch>,
    total: Option<u64>,
}

impl<S: ReadAt> Walk<'_, S> {
    /// The chunk that begins at stream position `begin`, or `None` behind the last one.
    fn enter(&mut self, chunk: u64, begin: u64) -> Result<Option<Stretch>, ReadError<S>> {
        if chunk >= self.task.blockcount {
            self.total = Some(begin);
            return Ok(None);
        }
        let len = self.file.chunk_len(&self.task, chunk)?;
        self.at = Some(Stretch { chunk, begin, len });
        Ok(self.at)
    }

    /// Goes on, from the chunk where it is, until `is_found`.
    fn forward(
        &mut self,
        is_found: impl Fn(&Stretch) -> bool,
    ) -> Result<Option<Stretch>, ReadError<S>> {
        let mut at = match self.at {
            Some(at) => Some(at),
            None => self.enter(0, 0)?,
        };
        while let Some(stretch) = at {
            if is_found(&stretch) {
                return Ok(at);
            }
            at = self.enter(stretch.chunk.saturating_add(1), stretch.end())?;
        }
        Ok(None)
    }
}

impl<S: ReadAt> Lengths<ReadError<S>> for Walk<'_, S> {
    fn stretch_at(&mut self, position: u64) -> Result<Option<Stretch>, ReadError<S>> {
        while let Some(at) = self.at.filter(|at| at.begin > position) {
            let chunk = at.chunk.saturating_sub(1);
            let len = self.file.chunk_len(&self.task, chunk)?;
            self.at = Some(Stretch { chunk, begin: at.begin.saturating_sub(len), len });
        }
        self.forward(|stretch| stretch.contains(position))
    }

    fn stretch(&mut self, chunk: u64) -> Result<Option<Stretch>, ReadError<S>> {
        if self.at.is_some_and(|at| at.chunk > chunk) {
            self.at = None;
        }
        self.forward(|stretch| stretch.chunk == chunk)
    }

    fn total(&mut self) -> Result<u64, ReadError<S>> {
        if self.total.is_none() {
            self.forward(|_| false)?;
        }
        Ok(self.total.unwrap_or(0))
    }
}

/// The lengths of a task's chunks, read in windows.
///
/// They stand one row of META2 apart: if the window holds several rows, one read gets several.
#[derive(Debug)]
pub struct ChunkLens<'a, S> {
    file: &'a Physical<S>,
    task: Task,
    next: u64,
    window: &'a mut [u8],
    first: u64,
    rows: u64,
}

impl<S: ReadAt> ChunkLens<'_, S> {
    fn next_len(&mut self) -> Result<u64, ReadError<S>> {
        let (file, chunk) = (self.file, self.next);
        let row_len = file.meta2.blockcounts().len();
        let place = file.meta2.blocksizes(chunk).and_then(|row| entry(row, self.task.local));
        let no_chunk = Error::NoChunk { chunk, blockcount: self.task.blockcount };
        let place = place.ok_or(DriveError::Format(no_chunk))?;

        if chunk >= self.first.saturating_add(self.rows) {
            let room = crate::store::usize_to_u64(self.window.len());
            let more = room.saturating_sub(ENTRY_LEN).checked_div(row_len).unwrap_or(0);
            let left = self.task.blockcount.saturating_sub(chunk).saturating_sub(1);
            let more = more.min(left);
            let len = more.saturating_mul(row_len).saturating_add(ENTRY_LEN);
            let len = usize::try_from(len).unwrap_or(usize::MAX);
            let window =
                self.window.get_mut(..len).ok_or(DriveError::BufferTooSmall { need: 8 })?;
            read_exact(&file.store, place.offset(), window)?;
            (self.first, self.rows) = (chunk, more.saturating_add(1));
        }
        let skip = chunk.saturating_sub(self.first).saturating_mul(row_len);
        let bytes = usize::try_from(skip).ok().and_then(|skip| self.window.get(skip..));
        let value = bytes.and_then(|bytes| I64::read_from_prefix(bytes).ok());
        let value = value.map_or(0, |(value, _)| value.get(file.head.meta1.order()));
        let span = self.task.chunks.chunk(chunk);
        check_blocksize(value, place.offset(), span, file.head.file_len).map_err(DriveError::Format)
    }
}

impl<S: ReadAt> Iterator for ChunkLens<'_, S> {
    type Item = Result<u64, ReadError<S>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next >= self.task.blockcount {
            return None;
        }
        let len = self.next_len();
        self.next = match len {
            Ok(_) => self.next.saturating_add(1),
            Err(_) => self.task.blockcount,
        };
        Some(len)
    }
}

/// All tasks of a physical file in order, read in windows.
#[derive(Debug)]
pub struct Tasks<'a, S> {
    store: &'a S,
    head: &'a Head,
    window: &'a mut [u8],
    sum: ChunkSum,
    globalskip: u64,
    /// The tasks that are in the window.
    first: u32,
    count: u32,
    /// Set behind an error.
    failed: bool,
}

/// The columns of a window: `count` entries each of the tables, then sums of block sizes, then room
/// for a row of them.
struct Columns<'w> {
    globalranks: &'w mut [u8],
    chunksizes: &'w mut [u8],
    blockcounts: &'w mut [u8],
    sums: &'w mut [u8],
    row: &'w mut [u8],
}

impl<'a, S: ReadAt> Tasks<'a, S> {
    const COLUMNS: usize = 5;
    const NEED: usize = 40;

    fn new(store: &'a S, head: &'a Head, window: &'a mut [u8]) -> Result<Self, ReadError<S>> {
        if window.len() < Self::NEED {
            return Err(DriveError::BufferTooSmall { need: Self::NEED });
        }
        let globalskip = globalskip(store, head, window)?;
        let sum = ChunkSum::new(*head.meta1.layout());
        Ok(Self { store, head, window, sum, globalskip, first: 0, count: 0, failed: false })
    }

    fn columns(window: &mut [u8], count: u32) -> Option<Columns<'_>> {
        let len = usize::try_from(count).ok()?.checked_mul(8)?;
        let (globalranks, rest) = window.split_at_mut_checked(len)?;
        let (chunksizes, rest) = rest.split_at_mut_checked(len)?;
        let (blockcounts, rest) = rest.split_at_mut_checked(len)?;
        let (sums, rest) = rest.split_at_mut_checked(len)?;
        let (row, _) = rest.split_at_mut_checked(len)?;
        Some(Columns { globalranks, chunksizes, blockcounts, sums, row })
    }

    /// Reads the entries of the next tasks into the window.
    fn load(&mut self) -> Result<(), ReadError<S>> {
        let first = self.sum.tasks;
        let left = self.head.meta1.ntasks().saturating_sub(first);
        let fit = (self.window.len() >> 3).checked_div(Self::COLUMNS).unwrap_or(0);
        let count = u32::try_from(fit).unwrap_or(u32::MAX).min(left);
        (self.first, self.count) = (first, count);

        let need = DriveError::BufferTooSmall { need: Self::NEED };
        let columns = Self::columns(self.window, count).ok_or(need)?;
        let layout = self.head.meta1.layout();
        let column_of = |table, bytes: &mut [u8]| {
            let offset = entry(table, first).map_or(0, Span::offset);
            read_exact(self.store, offset, bytes)
        };
        column_of(layout.globalranks(), columns.globalranks)?;
        column_of(layout.chunksizes(), columns.chunksizes)?;
        columns.blockcounts.fill(0);
        columns.sums.fill(0);
        if let Some(meta2) = self.head.meta2 {
            column_of(meta2.blockcounts(), columns.blockcounts)?;
            self.sum_rows(&meta2)?;
        }
        Ok(())
    }

    /// Adds up the block sizes of the tasks in the window, row by row.
    fn sum_rows(&mut self, meta2: &Meta2) -> Result<(), ReadError<S>> {
        let (order, file_len) = (self.head.meta1.order(), self.head.file_len);
        let need = DriveError::BufferTooSmall { need: Self::NEED };
        let columns = Self::columns(self.window, self.count).ok_or(need)?;
        let mut rows = 0;
        for (local, count) in (self.first..).zip(values(columns.blockcounts)) {
            let offset = entry(meta2.blockcounts(), local).map_or(0, Span::offset);
            let count = check_blockcount(count.get(order), offset, meta2.maxchunks());
            rows = rows.max(count.map_err(DriveError::Format)?);
        }
        for chunk in 0..rows {
            let Some(row) = meta2.blocksizes(chunk) else { break };
            let offset = entry(row, self.first).map_or(0, Span::offset);
            read_exact(self.store, offset, columns.row)?;
            let mut sum = self.sum; // the same tasks once more, to know where their chunks are
            let tasks = (self.first..)
                .zip(values(columns.row))
                .zip(values(columns.chunksizes))
                .zip(values(columns.blockcounts));
            let sums = <[U64]>::mut_from_bytes(columns.sums).unwrap_or_default();
            for ((((local, size), chunksize), count), total) in tasks.zip(sums) {
                let start = self.head.meta1.layout().first_chunk().saturating_add(sum.sum);
                let chunksize = sum.add(chunksize.get(order)).map_err(DriveError::Format)?;
                if i64::try_from(chunk).unwrap_or(i64::MAX) >= count.get(order) {
                    continue; // 0 or -1: the task did not use this chunk
                }
                let chunks = Chunks { start, chunksize, globalskip: Some(self.globalskip) };
                let offset = entry(row, local).map_or(0, Span::offset);
                let size = check_blocksize(size.get(order), offset, chunks.chunk(chunk), file_len);
                let bytes = total.get(order).saturating_add(size.map_err(DriveError::Format)?);
                *total = U64::new(bytes, order);
            }
        }
        Ok(())
    }

    fn next_task(&mut self) -> Result<Listed, ReadError<S>> {
        let local = self.sum.tasks;
        if local >= self.first.saturating_add(self.count) {
            self.load()?;
        }
        let order = self.head.meta1.order();
        let need = DriveError::BufferTooSmall { need: Self::NEED };
        let columns = Self::columns(self.window, self.count).ok_or(need)?;
        let index = usize::try_from(local.saturating_sub(self.first)).unwrap_or(usize::MAX);
        let at = |column: &[u8]| values(column).nth(index).map_or(0, |value| value.get(order));

        let start = self.head.meta1.layout().first_chunk().saturating_add(self.sum.sum);
        let chunksize = self.sum.add(at(columns.chunksizes)).map_err(DriveError::Format)?;
        let chunks = Chunks { start, chunksize, globalskip: Some(self.globalskip) };
        let blockcount = u64::try_from(at(columns.blockcounts)).unwrap_or(0);
        let task = Task { local, globalrank: at(columns.globalranks), chunks, blockcount };
        Ok(Listed { task, bytes: u64::try_from(at(columns.sums)).unwrap_or(0) })
    }
}

impl<S: ReadAt> Iterator for Tasks<'_, S> {
    type Item = Result<Listed, ReadError<S>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed || self.sum.tasks >= self.head.meta1.ntasks() {
            return None;
        }
        let task = self.next_task();
        self.failed = task.is_err();
        Some(task)
    }
}

/// The stored integers of a column.
fn values(column: &[u8]) -> core::slice::Iter<'_, I64> {
    <[I64]>::ref_from_bytes(column).unwrap_or_default().iter()
}

/// The sum of all chunk sizes.
fn globalskip<S: ReadAt>(store: &S, head: &Head, window: &mut [u8]) -> Result<u64, ReadError<S>> {
    let layout = head.meta1.layout();
    let mut sum = ChunkSum::new(*layout);
    while let Some(next) = entry(layout.chunksizes(), sum.tasks) {
        let left = layout.chunksizes().end().saturating_sub(next.offset());
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        let len = left.min(window.len() & !7);
        let bytes = window.get_mut(..len).unwrap_or_default();
        read_exact(store, next.offset(), bytes)?;
        for value in values(bytes) {
            sum.add(value.get(head.meta1.order())).map_err(DriveError::Format)?;
        }
    }
    Ok(sum.sum)
}

/// A whole set: `files` are its physical files in order, opened, in anything that is a slice of them.
///
/// Tasks are numbered from 0 over (file, local rank).
#[derive(Debug, Clone, Copy)]
pub struct Reader<F, S> {
    files: F,
    ntasks: u64,
    store: PhantomData<fn() -> S>,
}

impl<S: ReadAt> Reader<[Physical<S>; 1], S> {
    /// A set of one file, or one file of a set read alone.
    #[must_use]
    pub fn alone(file: Physical<S>) -> Self {
        let ntasks = file.meta1().ntasks().into();
        Self { files: [file], ntasks, store: PhantomData }
    }
}

impl<F: AsRef<[Physical<S>]>, S: ReadAt> Reader<F, S> {
    /// The set of these files, in the order of their numbers.
    ///
    /// # Errors
    /// [`Error::SetOf`] if they are not as many as they say, [`Error::Differs`] if one says another
    /// number, or differs from file 0 in fileformat_version, nfiles or key-value mode.
    pub fn of_set(files: F) -> Result<Self, Error> {
        let heads = files.as_ref().iter().map(Physical::head);
        check_set(heads)?;
        let ntasks = files.as_ref().iter().map(|file| u64::from(file.meta1().ntasks()));
        Ok(Self { ntasks: ntasks.fold(0, u64::saturating_add), files, store: PhantomData })
    }

    /// The physical files.
    #[must_use]
    pub fn files(&self) -> &[Physical<S>] {
        self.files.as_ref()
    }

    /// Tasks of the whole set.
    #[must_use]
    pub const fn ntasks(&self) -> u64 {
        self.ntasks
    }

    /// Whether streams are key-value records.
    #[must_use]
    pub fn keyval(&self) -> KeyvalMode {
        self.files().first().map_or(KeyvalMode::None, |file| file.meta1().keyval())
    }

    /// The physical file of task `task`, its number in the set, and the task's rank in it.
    ///
    /// # Errors
    /// [`Error::NoTask`].
    pub fn address(&self, task: u64) -> Result<(&Physical<S>, u32, u32), Error> {
        let mut left = task;
        for (number, file) in (0..).zip(self.files()) {
            match left.checked_sub(file.meta1().ntasks().into()) {
                Some(rest) => left = rest,
                None => return Ok((file, number, u32::try_from(left).unwrap_or(u32::MAX))),
            }
        }
        Err(Error::NoTask { task, ntasks: self.ntasks })
    }

    /// Finds task `task` and its physical file. `window` needs 8 bytes.
    ///
    /// # Errors
    /// As [`Physical::task`].
    pub fn task(&self, task: u64, window: &mut [u8]) -> Result<(&Physical<S>, Task), ReadError<S>> {
        let (file, _, local) = self.address(task).map_err(DriveError::Format)?;
        Ok((file, file.task(local, window)?))
    }

    /// The task with this global rank: where the mapping says, or else the first one. `None` if
    /// there is none. `window` needs 8 bytes.
    ///
    /// # Errors
    /// The store's own.
    pub fn find_globalrank(
        &self,
        globalrank: i64,
        window: &mut [u8],
    ) -> Result<Option<u64>, ReadError<S>> {
        if let Some(task) = self.mapped(globalrank)? {
            return Ok(Some(task));
        }
        let mut task = 0u64;
        for file in self.files() {
            let table = file.meta1().layout().globalranks();
            let mut at = table.offset();
            while at < table.end() {
                let left = usize::try_from(table.end().saturating_sub(at)).unwrap_or(usize::MAX);
                let len = left.min(window.len() & !7);
                let bytes = window.get_mut(..len).filter(|bytes| !bytes.is_empty());
                let bytes = bytes.ok_or(DriveError::BufferTooSmall { need: 8 })?;
                read_exact(file.store(), at, bytes)?;
                for value in values(bytes) {
                    if value.get(file.meta1().order()) == globalrank {
                        return Ok(Some(task));
                    }
                    task = task.saturating_add(1);
                }
                at = at.saturating_add(crate::store::usize_to_u64(len));
            }
        }
        Ok(None)
    }

    /// The task that the mapping names for a global rank, if that task has it.
    fn mapped(&self, globalrank: i64) -> Result<Option<u64>, ReadError<S>> {
        let Some(first) = self.files().first() else { return Ok(None) };
        let mapping = match first.mapping() {
            Ok(Some(mapping)) => mapping,
            Ok(None) | Err(DriveError::Format(_)) => return Ok(None), // no reason not to search
            Err(error) => return Err(error),
        };
        let place = u64::try_from(globalrank).ok().and_then(|rank| mapping.entry(rank));
        let Some(place) = place else { return Ok(None) };
        let mut bytes = [0; Mapping::ENTRY_LEN];
        read_exact(first.store(), place.offset(), &mut bytes)?;

        let Some((number, local)) = mapping.address(&bytes) else { return Ok(None) };
        let number = usize::try_from(number).unwrap_or(usize::MAX);
        let Some(file) = self.files().get(number) else { return Ok(None) };
        let Some(place) = entry(file.meta1().layout().globalranks(), local) else {
            return Ok(None);
        };
        let mut bytes = [0; 8];
        read_exact(file.store(), place.offset(), &mut bytes)?;
        if I64::from(bytes).get(file.meta1().order()) != globalrank {
            return Ok(None);
        }
        let before = self.files().iter().take(number);
        let before = before.map(|file| u64::from(file.meta1().ntasks()));
        Ok(Some(before.fold(local.into(), u64::saturating_add)))
    }
}

/// Whether physical files, in order, are one set.
///
/// # Errors
/// See [`Reader::of_set`].
pub fn check_set<'h>(heads: impl Iterator<Item = &'h Head> + Clone) -> Result<(), Error> {
    let given = u32::try_from(heads.clone().count()).unwrap_or(u32::MAX);
    let Some(first) = heads.clone().next() else {
        return Err(Error::SetOf { given: 0, nfiles: 1 });
    };
    let nfiles = first.meta1.nfiles();
    if given != nfiles {
        return Err(Error::SetOf { given, nfiles });
    }
    for (file, head) in (0..).zip(heads) {
        let is_serial = nfiles == 1; // SIONlib writes 1 then
        let pairs = [
            (
                raw::Ident::fileformat_version,
                head.meta1.fileformat_version().number().into(),
                first.meta1.fileformat_version().number().into(),
            ),
            (raw::Meta1::nfiles, head.meta1.nfiles().into(), nfiles.into()),
            (
                raw::Meta1::filenumber,
                head.meta1.filenumber().filter(|_| !is_serial).unwrap_or(file).into(),
                file.into(),
            ),
            (raw::Meta1::flag1, head.meta1.flags().0, first.meta1.flags().0),
        ];
        for (field, value, expected) in pairs {
            if value != expected {
                return Err(Error::Differs { field, file, value, expected });
            }
        }
    }
    Ok(())
}
