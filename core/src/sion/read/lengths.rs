//! The lengths of a task's chunks, read from META2.

use super::locate::Task;
use super::physical::Physical;
#[twin(ReadError = AsyncError)]
use crate::sion::error::ReadError;
use crate::sion::layout::ENTRY_LEN;
#[twin(Lengths)]
use crate::sion::position::Lengths;
use crate::sion::position::Stretch;
use crate::span::Stride;
use crate::step::DriveError;
#[twin(read_exact)]
use crate::step::read_exact;
#[twin(ReadAt)]
use crate::store::ReadAt;
use crate::store::usize_to_u64;
use core::cmp::Ordering;
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

impl<'a, S> Walk<'a, S> {
    pub(in crate::sion) const fn new(file: &'a Physical<S>, task: Task) -> Self {
        Self { file, task, at: None, total: None }
    }
}

#[twin(ReadAt, ReadError = AsyncError)]
impl<S: ReadAt> Walk<'_, S> {
    /// Walks to the goal from where it is, or from the start of the stream if that is nearer.
    async fn search(&mut self, goal: Goal) -> Result<Option<Stretch>, ReadError<S>> {
        let (file, task) = (self.file, self.task);
        if self.at.is_none() {
            file.store.will_read(&[entries(file, &task)]).await;
        }
        self.at = self.at.filter(|at| !goal.is_near_start(at));
        loop {
            let (chunk, begin) = match self.at.map(|at| (goal.compare(&at), at)) {
                None => (0, 0),
                Some((Ordering::Equal, at)) => return Ok(Some(at)),
                Some((Ordering::Less, at)) if at.chunk > 0 => {
                    let chunk = at.chunk.saturating_sub(1);
                    let len = file.chunk_len(&task, chunk).await?;
                    self.at = Some(Stretch { chunk, begin: at.begin.saturating_sub(len), len });
                    continue;
                }
                Some((_, at)) => (at.chunk.saturating_add(1), at.end()),
            };
            if chunk >= task.blockcount {
                self.total = Some(begin);
                return Ok(None);
            }
            let len = file.chunk_len(&task, chunk).await?;
            self.at = Some(Stretch { chunk, begin, len });
        }
    }
}

#[twin(ReadAt, Lengths, search, ReadError = AsyncError)]
impl<S: ReadAt> Lengths<ReadError<S>> for Walk<'_, S> {
    async fn stretch_at(&mut self, position: u64) -> Result<Option<Stretch>, ReadError<S>> {
        self.search(Goal::Position(position)).await
    }

    async fn stretch(&mut self, chunk: u64) -> Result<Option<Stretch>, ReadError<S>> {
        self.search(Goal::Chunk(chunk)).await
    }

    fn count(&self) -> u64 {
        self.task.blockcount
    }

    async fn total(&mut self) -> Result<u64, ReadError<S>> {
        if self.total.is_none() {
            self.search(Goal::End).await?;
        }
        Ok(self.total.unwrap_or(0))
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
}

#[twin(ReadAt, ReadError = AsyncError)]
impl<S: ReadAt, W: AsMut<[u8]>> ChunkLens<'_, S, W> {
    /// The next length: that of the [`Iterator`].
    #[allow(clippy::should_implement_trait, reason = "it does, and this has two forms")]
    pub async fn next(&mut self) -> Option<Result<u64, ReadError<S>>> {
        if self.next >= self.task.blockcount {
            return None;
        }
        let len = self.read().await;
        self.next = match len {
            Ok(_) => self.next.saturating_add(1),
            Err(_) => self.task.blockcount,
        };
        Some(len)
    }

    /// Reads the next length, with those after it, unless it is in the window.
    async fn read(&mut self) -> Result<u64, ReadError<S>> {
        let (file, (rows, row_len)) = (self.file, self.reach());
        if self.next >= self.first.saturating_add(self.rows) {
            if self.next == 0 {
                file.store.will_read(&[entries(file, &self.task)]).await;
            }
            let place = file.len_place(&self.task, self.next)?;
            let len = rows.saturating_sub(1).saturating_mul(row_len).saturating_add(ENTRY_LEN);
            let len = usize::try_from(len).unwrap_or(usize::MAX);
            self.rows = 0; // the window is empty until it is filled
            let bytes = self.window.as_mut().get_mut(..len);
            let bytes = bytes.ok_or(DriveError::BufferTooSmall { need: 8 })?;
            read_exact(&file.store, place.offset(), bytes).await?;
            (self.first, self.rows) = (self.next, rows);
        }
        let skip = self.next.saturating_sub(self.first).saturating_mul(row_len);
        let bytes = usize::try_from(skip).ok().and_then(|skip| self.window.as_mut().get(skip..));
        Ok(file.len_in(&self.task, self.next, bytes.unwrap_or_default())?)
    }
}

impl<S: ReadAt, W: AsMut<[u8]>> Iterator for ChunkLens<'_, S, W> {
    type Item = Result<u64, ReadError<S>>;

    fn next(&mut self) -> Option<Self::Item> {
        ChunkLens::next(self)
    }
}
