//! The stream of a task that is written.

use super::part::Task;
use std::fmt;
use std::io::{self, Write};
use striae_core::endian::{ByteOrder, U64};
use striae_core::sion::Error as SionError;
use striae_core::sion::raw::RecordHeader;
use striae_core::store::{WriteAt, usize_to_u64};
use zerocopy::IntoBytes;

/// Writes the stream of one task of this rank, to a store `W`.
///
/// Those of [`FileWriter::writers`](super::FileWriter::writers) can be moved to threads. What is
/// written is part of the next commit. An error of the operating system reaches the other ranks at
/// the next collective call of the set.
pub struct TaskWriter<'a, W> {
    task: &'a mut Task,
    /// The number of blocks that can be written.
    reach: u64,
    /// The byte order of key-value records; none if streams are plain.
    keyval: Option<ByteOrder>,
    to: W,
}

impl<W> fmt::Debug for TaskWriter<'_, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskWriter").field("task", &self.task).finish_non_exhaustive()
    }
}

impl<'a, W> TaskWriter<'a, W> {
    pub(super) const fn new(
        task: &'a mut Task,
        reach: u64,
        keyval: Option<ByteOrder>,
        to: W,
    ) -> Self {
        Self { task, reach, keyval, to }
    }

    /// The number of the task in its set: its global rank.
    #[must_use]
    pub const fn task(&self) -> u32 {
        self.task.globalrank()
    }

    /// Index of the current chunk and the number of its used bytes: the (block, position) pointer
    /// that SIONlib's `sion_get_current_location` returns.
    #[must_use]
    pub const fn location(&self) -> (u32, u64) {
        let cursor = self.task.pen().cursor();
        (cursor.chunk(), cursor.used())
    }

    /// Bytes left in the current chunk.
    #[must_use]
    pub const fn room(&self) -> u64 {
        self.task.pen().cursor().room()
    }

    /// Goes to the next chunk if fewer than `len` bytes fit into this one, as
    /// `sion_ensure_free_space` does.
    ///
    /// # Errors
    /// [`io::ErrorKind::Other`] if `len` is more than a chunk has; the stream is unchanged.
    /// [`io::ErrorKind::WouldBlock`] if all ranks must [`advance`](super::FileWriter::advance)
    /// first.
    pub fn ensure_free_space(&mut self, len: u64) -> io::Result<()> {
        check_mode(self.keyval, false)?;
        if self.reach == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.task.ensure_free_space(len)
    }
}

impl<W: WriteAt<Error = io::Error>> TaskWriter<'_, W> {
    /// Writes a key-value record, which may span several chunks: all of it or nothing.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] if streams are plain; the errors of
    /// [`FileWriter::write`](super::FileWriter::write).
    pub fn write_key(&mut self, key: u64, value: &[u8]) -> io::Result<()> {
        check_mode(self.keyval, true)?;
        let order = self.keyval.unwrap_or(ByteOrder::HOST);
        let header = header(order, key, value);
        self.task.write_all(&[header.as_bytes(), value], self.reach, &mut self.to)
    }
}

impl<W: WriteAt<Error = io::Error>> Write for TaskWriter<'_, W> {
    /// Writes bytes up to the end of a chunk. [`io::ErrorKind::WouldBlock`] if all ranks must
    /// [`advance`](super::FileWriter::advance) first.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        check_mode(self.keyval, false)?;
        if bytes.is_empty() {
            return Ok(0);
        }
        self.task.write_some(bytes, self.reach, &mut self.to)
    }

    /// Does nothing: what was written is part of the next commit.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The header of a key-value record.
pub(super) fn header(order: ByteOrder, key: u64, value: &[u8]) -> RecordHeader {
    RecordHeader { key: U64::new(key, order), len: U64::new(usize_to_u64(value.len()), order) }
}

/// Whether bytes, or a record with a key, can be written to streams that have these.
pub(super) fn check_mode(keyval: Option<ByteOrder>, key: bool) -> io::Result<()> {
    let error = match (key, keyval) {
        (true, None) => SionError::NoKeyval,
        (false, Some(_)) => SionError::OnlyKeyval,
        _ => return Ok(()),
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, error.to_string()))
}
