//! The lengths of a task's chunks, read from META2.

use super::locate::Task;
use super::physical::Physical;
#[twin(ReadError = AsyncError)]
use crate::sion::ReadError;
use crate::sion::error::Error;
use crate::sion::layout::ENTRY_LEN;
use crate::sion::position::{Lengths, Stretch};
use crate::span::Stride;
use crate::step::{DriveError, Fill, Need, ReadMachine, ReadStep};
#[twin(drive_read, fill)]
use crate::step::{drive_read, fill};
#[twin(ReadAt)]
use crate::store::ReadAt;
use crate::store::usize_to_u64;
use core::cmp::Ordering;
use core::convert::Infallible;
use striae_twin::twin;

/// The chunk lengths of a task, read from META2 one at a time. It remembers its place.
#[derive(Debug, Clone)]
pub struct Walk<'a, S> {
    file: &'a Physical<S>,
    task: Task,
    at: Option<Stretch>,
    total: Option<u64>,
}

/// The goal of a search in a stream.
#[derive(Debug, Clone, Copy)]
enum Goal {
    /// The chunk with the byte at this position.
    Position(u64),
    /// This chunk.
    Chunk(u64),
    /// The end of the stream.
    End,
}

impl Goal {
    /// Whether the goal is in `stretch`, before it or after it.
    const fn compare(self, stretch: &Stretch) -> Ordering {
        match self {
            Self::Position(position) if position < stretch.begin => Ordering::Less,
            Self::Position(position) if position < stretch.end() => Ordering::Equal,
            Self::Chunk(chunk) if chunk < stretch.chunk => Ordering::Less,
            Self::Chunk(chunk) if chunk == stretch.chunk => Ordering::Equal,
            _ => Ordering::Greater,
        }
    }

    /// Whether the goal is nearer to the start of the stream than to `stretch`, as an estimate.
    const fn is_near_start(self, stretch: &Stretch) -> bool {
        match self {
            Self::Position(position) => position < stretch.begin >> 1,
            Self::Chunk(chunk) => chunk < stretch.chunk >> 1,
            Self::End => false,
        }
    }
}

/// The machine that walks to a chunk. Its output is the chunk, or `None` after the last one.
#[derive(Debug)]
struct Search<'w, 'a, S> {
    walk: &'w mut Walk<'a, S>,
    target: Goal,
}

/// The next chunk on the way, whose length is not known yet.
enum Way {
    Found(Option<Stretch>),
    Forward { chunk: u64, begin: u64 },
    Backward { chunk: u64, end: u64 },
}

impl<'w, 'a, S> Search<'w, 'a, S> {
    fn new(walk: &'w mut Walk<'a, S>, target: Goal) -> Self {
        if walk.at.is_some_and(|at| target.is_near_start(&at)) {
            walk.at = None;
        }
        Self { walk, target }
    }

    fn way(&self) -> Way {
        let (chunk, begin) = match self.walk.at {
            None => (0, 0),
            Some(at) => match (self.target.compare(&at), at.chunk.checked_sub(1)) {
                (Ordering::Less, Some(chunk)) => return Way::Backward { chunk, end: at.begin },
                (Ordering::Equal, _) => return Way::Found(Some(at)),
                _ => (at.chunk.saturating_add(1), at.end()),
            },
        };
        match chunk < self.walk.task.blockcount {
            true => Way::Forward { chunk, begin },
            false => Way::Found(None),
        }
    }
}

impl<S> ReadMachine for Search<'_, '_, S> {
    type Output = Result<Option<Stretch>, Error>;
    type Error = Error;

    fn poll(&mut self) -> ReadStep<Result<Option<Stretch>, Error>> {
        let chunk = match self.way() {
            Way::Found(stretch) => {
                if stretch.is_none() {
                    self.walk.total = Some(self.walk.at.map_or(0, |last| last.end()));
                }
                return ReadStep::Done(Ok(stretch));
            }
            Way::Forward { chunk, .. } | Way::Backward { chunk, .. } => chunk,
        };
        match self.walk.file.len_place(&self.walk.task, chunk) {
            Ok(place) => ReadStep::Read { offset: place.offset(), need: 8, want: ENTRY_LEN },
            Err(error) => ReadStep::Done(Err(error)),
        }
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let len_of = |chunk| self.walk.file.len_in(&self.walk.task, chunk, bytes);
        self.walk.at = Some(match self.way() {
            Way::Found(_) => return Ok(()),
            Way::Forward { chunk, begin } => Stretch { chunk, begin, len: len_of(chunk)? },
            Way::Backward { chunk, end } => {
                let len = len_of(chunk)?;
                Stretch { chunk, begin: end.saturating_sub(len), len }
            }
        });
        Ok(())
    }
}

impl<'a, S> Walk<'a, S> {
    pub(in crate::sion) const fn new(file: &'a Physical<S>, task: Task) -> Self {
        Self { file, task, at: None, total: None }
    }
}

#[twin(ReadAt, ReadError = AsyncError)]
impl<S: ReadAt> Walk<'_, S> {
    async fn search(&mut self, target: Goal) -> Result<Option<Stretch>, ReadError<S>> {
        let store = self.file.store();
        if self.at.is_none() {
            store.will_read(&[entries(self.file, &self.task)]).await;
        }
        let found = drive_read(&mut Search::new(self, target), store, &mut [0; 8]).await?;
        found.map_err(DriveError::Format)
    }

    pub(in crate::sion) async fn find(
        &mut self,
        position: u64,
    ) -> Result<Option<Stretch>, ReadError<S>> {
        self.search(Goal::Position(position)).await
    }

    pub(in crate::sion) async fn sum(&mut self) -> Result<u64, ReadError<S>> {
        if self.total.is_none() {
            self.search(Goal::End).await?;
        }
        Ok(self.total.unwrap_or(0))
    }
}

impl<S: ReadAt> Lengths<ReadError<S>> for Walk<'_, S> {
    fn stretch_at(&mut self, position: u64) -> Result<Option<Stretch>, ReadError<S>> {
        self.find(position)
    }

    fn stretch(&mut self, chunk: u64) -> Result<Option<Stretch>, ReadError<S>> {
        self.search(Goal::Chunk(chunk))
    }

    fn count(&self) -> u64 {
        self.task.blockcount
    }

    fn total(&mut self) -> Result<u64, ReadError<S>> {
        self.sum()
    }
}

/// The entries of a task in all rows of META2.
#[inline(always)] // nothing is left of it where a store does not listen
fn entries<S>(file: &Physical<S>, task: &Task) -> Stride {
    let row = file.meta2().blockcounts().len();
    let first = file.len_place(task, 0).ok();
    let entries = first.and_then(|first| Stride::new(first, row, task.blockcount));
    entries.unwrap_or(Stride::NONE)
}

/// The row length in bytes from which entries are read one at a time. With whole rows, reading the
/// lengths of every task would read META2 once for each task.
const LONG_ROW: u64 = 4096;

/// An iterator over the lengths of a task's chunks, read in windows.
///
/// The entries are one row of META2 apart. If rows are short and the window holds several, one read
/// gets several entries; with long rows, the entries are read one at a time.
#[derive(Debug)]
pub struct ChunkLens<'a, S, W> {
    file: &'a Physical<S>,
    task: Task,
    next: u64,
    window: W,
    first: u64,
    rows: u64,
}

impl<'a, S, W: AsMut<[u8]>> ChunkLens<'a, S, W> {
    pub(in crate::sion) const fn new(file: &'a Physical<S>, task: Task, window: W) -> Self {
        Self { file, task, next: 0, window, first: 0, rows: 0 }
    }

    /// The number of rows that one read gets, and the bytes from one entry to the next.
    fn reach(&mut self) -> (u64, u64) {
        let row_len = self.file.meta2().blockcounts().len();
        let room = usize_to_u64(self.window.as_mut().len());
        let room = if row_len > LONG_ROW { 0 } else { room.saturating_sub(ENTRY_LEN) };
        let more = room.checked_div(row_len).unwrap_or(0);
        let left = self.task.blockcount.saturating_sub(self.next).saturating_sub(1);
        (more.min(left).saturating_add(1), row_len)
    }

    /// The next length, which is in the window.
    fn take(&mut self) -> Result<u64, Error> {
        let skip = self.next.saturating_sub(self.first).saturating_mul(self.reach().1);
        let bytes = usize::try_from(skip).ok().and_then(|skip| self.window.as_mut().get(skip..));
        self.file.len_in(&self.task, self.next, bytes.unwrap_or_default())
    }

    /// The next item, if filling the window succeeded.
    fn item<E>(
        &mut self,
        filled: Result<(), DriveError<E, Error>>,
    ) -> Result<u64, DriveError<E, Error>> {
        let len = filled.and_then(|()| self.take().map_err(DriveError::Format));
        self.next = match len {
            Ok(_) => self.next.saturating_add(1),
            Err(_) => self.task.blockcount,
        };
        len
    }

    const fn is_over(&self) -> bool {
        self.next >= self.task.blockcount
    }
}

impl<S, W: AsMut<[u8]>> Fill for ChunkLens<'_, S, W> {
    type Error = Error;

    fn need(&mut self) -> Result<Option<Need<'_>>, DriveError<Infallible, Error>> {
        if self.next < self.first.saturating_add(self.rows) {
            return Ok(None);
        }
        let place = self.file.len_place(&self.task, self.next).map_err(DriveError::Format)?;
        let (rows, row_len) = self.reach();
        let len = rows.saturating_sub(1).saturating_mul(row_len).saturating_add(ENTRY_LEN);
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        self.rows = 0;
        let window = self.window.as_mut().get_mut(..len);
        Ok(Some((place.offset(), window.ok_or(DriveError::BufferTooSmall { need: 8 })?)))
    }

    fn ahead(&self) -> Option<[Stride; 2]> {
        let is_first = self.next == 0 && self.rows == 0;
        is_first.then(|| [entries(self.file, &self.task), Stride::NONE])
    }

    fn filled(&mut self) {
        (self.first, self.rows) = (self.next, self.reach().0);
    }
}

impl<S: ReadAt, W: AsMut<[u8]>> Iterator for ChunkLens<'_, S, W> {
    type Item = Result<u64, ReadError<S>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over() {
            return None;
        }
        let filled = fill(self, self.file.store());
        Some(self.item(filled))
    }
}

#[cfg(feature = "async")]
impl<S: AsyncReadAt, W: AsMut<[u8]>> ChunkLens<'_, S, W> {
    /// The next length: [`Iterator::next`] for an asynchronous store.
    pub async fn next_async(&mut self) -> Option<Result<u64, AsyncError<S>>> {
        if self.is_over() {
            return None;
        }
        let filled = fill_async(self, self.file.store()).await;
        Some(self.item(filled))
    }
}
