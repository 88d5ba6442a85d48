//! The lengths of a task's chunks, read from META2.

use super::ReadError;
use super::error::Error;
use super::layout::ENTRY_LEN;
use super::locate::{Task, check_blocksize};
use super::meta2::entry;
use super::position::{Lengths, Stretch};
use super::reader::Physical;
use crate::endian::I64;
use crate::step::{DriveError, read_exact};
use crate::store::ReadAt;
use zerocopy::FromBytes;

/// Chunk lengths read from META2 one by one; remembers where it is.
#[derive(Debug, Clone)]
pub struct Walk<'a, S> {
    file: &'a Physical<S>,
    task: Task,
    at: Option<Stretch>,
    total: Option<u64>,
}

impl<'a, S: ReadAt> Walk<'a, S> {
    pub(super) const fn new(file: &'a Physical<S>, task: Task) -> Self {
        Self { file, task, at: None, total: None }
    }

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

    /// Goes back, chunk by chunk, until `is_found` or the first one.
    fn backward(&mut self, is_found: impl Fn(&Stretch) -> bool) -> Result<(), ReadError<S>> {
        while let Some(at) = self.at.filter(|at| !is_found(at)) {
            let Some(chunk) = at.chunk.checked_sub(1) else { break };
            let len = self.file.chunk_len(&self.task, chunk)?;
            self.at = Some(Stretch { chunk, begin: at.begin.saturating_sub(len), len });
        }
        Ok(())
    }
}

impl<S: ReadAt> Lengths<ReadError<S>> for Walk<'_, S> {
    fn stretch_at(&mut self, position: u64) -> Result<Option<Stretch>, ReadError<S>> {
        if self.at.is_some_and(|at| position < at.begin >> 1) {
            self.at = None; // the start is nearer, as far as one can tell
        }
        self.backward(|stretch| stretch.begin <= position)?;
        self.forward(|stretch| stretch.contains(position))
    }

    fn stretch(&mut self, chunk: u64) -> Result<Option<Stretch>, ReadError<S>> {
        if self.at.is_some_and(|at| chunk < at.chunk >> 1) {
            self.at = None; // the start is nearer
        }
        self.backward(|stretch| stretch.chunk <= chunk)?;
        self.forward(|stretch| stretch.chunk == chunk)
    }

    fn count(&self) -> u64 {
        self.task.blockcount
    }

    fn total(&mut self) -> Result<u64, ReadError<S>> {
        if self.total.is_none() {
            self.forward(|_| false)?;
        }
        Ok(self.total.unwrap_or(0))
    }
}

/// Bytes of a row that takes longer to read than to ask for one entry of it: with rows read whole,
/// reading the lengths of every task would read META2 once for each.
const LONG_ROW: u64 = 4096;

/// The lengths of a task's chunks, read in windows.
///
/// They stand one row of META2 apart. If rows are short and the window holds several, one read gets
/// several; for long rows the entries are read one by one.
#[derive(Debug)]
pub struct ChunkLens<'a, S, W> {
    file: &'a Physical<S>,
    task: Task,
    next: u64,
    window: W,
    first: u64,
    rows: u64,
}

impl<'a, S: ReadAt, W: AsMut<[u8]>> ChunkLens<'a, S, W> {
    pub(super) const fn new(file: &'a Physical<S>, task: Task, window: W) -> Self {
        Self { file, task, next: 0, window, first: 0, rows: 0 }
    }

    fn next_len(&mut self) -> Result<u64, ReadError<S>> {
        let (file, chunk) = (self.file, self.next);
        let row_len = file.meta2().blockcounts().len();
        let place = file.meta2().blocksizes(chunk).and_then(|row| entry(row, self.task.local));
        let no_chunk = Error::NoChunk { chunk, blockcount: self.task.blockcount };
        let place = place.ok_or(DriveError::Format(no_chunk))?;

        if chunk >= self.first.saturating_add(self.rows) {
            let room = crate::store::usize_to_u64(self.window.as_mut().len());
            let room = if row_len > LONG_ROW { 0 } else { room.saturating_sub(ENTRY_LEN) };
            let more = room.checked_div(row_len).unwrap_or(0);
            let left = self.task.blockcount.saturating_sub(chunk).saturating_sub(1);
            let more = more.min(left);
            let len = more.saturating_mul(row_len).saturating_add(ENTRY_LEN);
            let len = usize::try_from(len).unwrap_or(usize::MAX);
            let window = self
                .window
                .as_mut()
                .get_mut(..len)
                .ok_or(DriveError::BufferTooSmall { need: 8 })?;
            read_exact(file.store(), place.offset(), window)?;
            (self.first, self.rows) = (chunk, more.saturating_add(1));
        }
        let skip = chunk.saturating_sub(self.first).saturating_mul(row_len);
        let bytes = usize::try_from(skip).ok().and_then(|skip| self.window.as_mut().get(skip..));
        let value = bytes.and_then(|bytes| I64::read_from_prefix(bytes).ok());
        let value = value.map_or(0, |(value, _)| value.get(file.head().meta1.order()));
        let span = self.task.chunks.chunk(chunk);
        check_blocksize(value, place.offset(), span, file.head().file_len)
            .map_err(DriveError::Format)
    }
}

impl<S: ReadAt, W: AsMut<[u8]>> Iterator for ChunkLens<'_, S, W> {
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
