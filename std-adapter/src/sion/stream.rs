//! The bytes of a task as a `std::io` stream.

use super::ErrorKind;
use super::ahead::Ahead;
use crate::error::Error;
use crate::files::FileStore;
use embedded_io::Seek as _;
use std::io::{self, Read, Seek, SeekFrom};
use striae_core::endian::ByteOrder;
use striae_core::sion::position::Ends;
use striae_core::sion::{self as core_sion, KeyvalMode, Physical, Record, Records, Stream, Task};
use striae_core::span::Span;
use striae_core::step::DriveError;
use striae_core::store::usize_to_u64;

/// The most chunks of a task whose lengths are kept in memory. A sparse file may claim 2^31 of
/// them.
const MAX_CHUNKS: u64 = 1 << 24;

/// The stream of one task. It owns all that it needs, so it can be moved to another thread.
///
/// Short reads in order need no [`BufReader`](io::BufReader): the stream reads up to 16 KiB ahead,
/// or 64 KiB with [direct](super::OpenOptions::direct) reading, and keeps as much memory from the
/// first such read on. A read of 8 KiB or more is a read of the file, and so is a short one
/// elsewhere than where the last one ended. Bytes that another process changes after they were read
/// ahead are those before the change, as with `BufReader`; a clone reads its own.
#[derive(Debug, Clone)]
pub struct TaskStream {
    ahead: Ahead,
    store: FileStore,
    stream: Stream<FileStore, Ends<Vec<u64>>>,
    keyval: KeyvalMode,
    order: ByteOrder,
    len: u64,
}

impl TaskStream {
    /// Reads the lengths of the chunks of the task: 8 bytes of memory for each used chunk.
    pub(super) fn new(file: &Physical<FileStore>, task: Task) -> Result<Self, Error> {
        let store = file.store().clone();
        let at = |error| Error::new(store.path(), error);
        if task.blockcount > MAX_CHUNKS {
            let (blockcount, limit) = (task.blockcount, MAX_CHUNKS);
            return Err(Error::new(store.path(), ErrorKind::TooManyChunks { blockcount, limit }));
        }
        let mut ends = Vec::new();
        let mut end = 0u64;
        let position = || Error::new(store.path(), core_sion::Error::Position);
        for len in file.chunk_lens(task, lens_window(file, &task)) {
            end = end.checked_add(len.map_err(at)?).ok_or_else(position)?;
            ends.push(end);
        }
        let ends = Ends::new(ends).ok_or_else(position)?; // sums of lengths are in order
        Ok(Self {
            ahead: Ahead::default(),
            stream: Stream::new(store.clone(), task.chunks, ends),
            store,
            keyval: file.meta1().keyval(),
            order: file.meta1().order(),
            len: end,
        })
    }

    /// Length of the stream in bytes.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Whether the stream is empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Byte order of the headers of key-value records.
    #[must_use]
    pub const fn order(&self) -> ByteOrder {
        self.order
    }

    /// The physical file that holds the stream.
    #[must_use]
    pub const fn store(&self) -> &FileStore {
        &self.store
    }

    /// Stream position and length of chunk `chunk`.
    ///
    /// # Errors
    /// [`core_sion::Error::NoChunk`] if the task did not use this chunk.
    pub fn chunk(&mut self, chunk: u64) -> Result<(u64, u64), Error> {
        let stretch = self.stream.chunk(chunk);
        let stretch = stretch.map_err(|error| Error::new(self.store.path(), error))?;
        Ok((stretch.begin, stretch.len))
    }

    /// The stream position for a (chunk, offset) pointer, as users of SIONlib store them.
    ///
    /// # Errors
    /// [`core_sion::Error::NoChunk`] if the task did not use this chunk;
    /// [`core_sion::Error::Position`] if it used fewer bytes of it.
    pub fn position_of(&mut self, chunk: u64, offset: u64) -> Result<u64, Error> {
        let position = self.stream.position_of(chunk, offset);
        position.map_err(|error| Error::new(self.store.path(), error))
    }

    /// Moves to this position.
    pub(super) const fn seek_to(&mut self, position: u64) {
        self.stream.seek_to(position);
    }

    /// The place in the physical file of the next bytes: at most `len` bytes, and at most to the
    /// end of the chunk. `None` at the end of the stream. The position moves past these bytes.
    ///
    /// # Errors
    /// None at present; the chunk lengths are in memory.
    pub fn next_span(&mut self, len: u64) -> Result<Option<Span>, Error> {
        let span = self.stream.next_span(len);
        span.map_err(|error| Error::new(self.store.path(), error))
    }

    /// Passes the next `len` bytes (fewer at the end of the stream) to `each`, piece by piece,
    /// until `each` returns `false`. Pieces have any length. With
    /// [direct](super::OpenOptions::direct) reading, the next bytes are read ahead. The position
    /// moves past the bytes; after an error, or if `each` returned `false`, it is undefined.
    ///
    /// # Errors
    /// An error of the operating system.
    pub fn read_pieces(
        &mut self,
        len: u64,
        each: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<(), Error> {
        let (mut left, mut wrong) = (len, None);
        let stream = &mut self.stream;
        let spans = std::iter::from_fn(|| {
            let span = if left > 0 { stream.next_span(left) } else { Ok(None) };
            let span = span.unwrap_or_else(|error| {
                wrong = Some(error);
                None
            })?;
            left = left.saturating_sub(span.len());
            Some(span)
        });
        let at = |error: DriveError<_, core_sion::Error>| Error::new(self.store.path(), error);
        let bulk = self.store.bulk().map_err(|error| at(DriveError::Store(error)))?;
        bulk.read_pieces(spans, &mut Vec::new(), each).map_err(at)?;
        wrong.map_or(Ok(()), |error| Err(at(error)))
    }

    /// Reads from the file: ahead, if this read is one to read ahead for.
    #[cold]
    fn read_file(&mut self, buf: &mut [u8]) -> Result<usize, Error> {
        if buf.is_empty() {
            return Ok(0);
        }
        let position = self.stream.position();
        let most = if self.store.is_direct() { Ahead::DIRECT } else { Ahead::CACHED };
        let mut ahead = std::mem::take(&mut self.ahead);
        if let Some(room) = ahead.room(position, buf.len(), most)
            && let Ok(n @ 1..) = self.read_here(room)
        {
            ahead.filled(n, self.stream.position());
            self.ahead = ahead;
            self.stream.seek_to(position);
            return Ok(self.take_ahead(buf));
        }
        // What follows may be what cannot be read.
        self.stream.seek_to(position);
        self.ahead = ahead;
        let n = self.read_here(buf)?;
        self.ahead.passed(n, self.stream.position());
        Ok(n)
    }

    /// Copies bytes that were read ahead, if there are some for this position.
    #[inline]
    fn take_ahead(&mut self, buf: &mut [u8]) -> usize {
        let position = self.stream.position();
        let Some(bytes) = self.ahead.at(position) else { return 0 };
        let n = bytes.len().min(buf.len());
        if let (Some(to), Some(from)) = (buf.get_mut(..n), bytes.get(..n)) {
            to.copy_from_slice(from);
        }
        self.stream.seek_to(position.saturating_add(usize_to_u64(n)));
        n
    }

    /// Reads bytes of the current chunk from the file.
    fn read_here(&mut self, buf: &mut [u8]) -> Result<usize, Error> {
        if self.store.is_direct() {
            return self.read_direct(buf);
        }
        let read = embedded_io::Read::read(&mut self.stream, buf);
        read.map_err(|error| Error::new(self.store.path(), error))
    }

    fn read_direct(&mut self, buf: &mut [u8]) -> Result<usize, Error> {
        let before = self.stream.position();
        let most = usize_to_u64(buf.len());
        let Some(span) = self.next_span(most)? else { return Ok(0) };
        let len = usize::try_from(span.len()).unwrap_or(usize::MAX);
        let buf = buf.get_mut(..len).unwrap_or_default();
        let bulk = self.store.bulk().map_err(DriveError::Store);
        let read = bulk.and_then(|bulk| bulk.read_into(span.offset(), buf));
        read.map(|()| len).map_err(|error: DriveError<_, core_sion::Error>| {
            self.stream.seek_to(before);
            Error::new(self.store.path(), error)
        })
    }

    /// All key-value records in stream order; each is read when it is asked for. The position of
    /// this stream is undefined afterwards.
    ///
    /// # Errors
    /// [`core_sion::Error::NoKeyval`] if the file has no key-value records. An item is an error if
    /// its record is damaged or cannot be read; it is the last item.
    pub fn records(&mut self) -> Result<TaskRecords<'_>, Error> {
        let path = self.store.path();
        if self.keyval != KeyvalMode::Inline {
            return Err(Error::new(path, core_sion::Error::NoKeyval));
        }
        let records = Records::new(&mut self.stream, self.order);
        let records = records.map_err(|error| Error::new(path, error))?;
        Ok(TaskRecords { store: &self.store, records })
    }
}

/// A buffer for the chunk lengths of a task: long enough for all of them, but at most 64 KiB.
pub(super) fn lens_window(file: &Physical<FileStore>, task: &Task) -> Vec<u8> {
    let all = task.blockcount.saturating_mul(file.meta2().blockcounts().len());
    vec![0; usize::try_from(all).unwrap_or(usize::MAX).clamp(8, 1 << 16)]
}

/// An iterator over the key-value records of a task.
#[derive(Debug)]
pub struct TaskRecords<'a> {
    store: &'a FileStore,
    records: Records<'a, FileStore, Ends<Vec<u64>>>,
}

impl TaskRecords<'_> {
    /// The spans of the value of a record in the physical file: one for each chunk that holds a
    /// part of it.
    ///
    /// # Errors
    /// None at present; the chunk lengths are in memory.
    pub fn spans(&mut self, record: &Record) -> impl Iterator<Item = Result<Span, Error>> {
        let path = self.store.path();
        let spans = self.records.stream().spans(record.position, record.len);
        spans.map(move |span| span.map_err(|error| Error::new(path, error)))
    }
}

impl Iterator for TaskRecords<'_> {
    type Item = Result<Record, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let record = self.records.next()?;
        Some(record.map_err(|error| Error::new(self.store.path(), error)))
    }
}

impl Read for TaskStream {
    #[inline] // a record of a few bytes is a copy
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self.take_ahead(buf) {
            0 => Ok(self.read_file(buf)?),
            n => Ok(n),
        }
    }

    fn read_to_end(&mut self, buf: &mut Vec<u8>) -> io::Result<usize> {
        let left = self.len.saturating_sub(self.stream.position());
        let left = usize::try_from(left).map_err(|_| io::ErrorKind::OutOfMemory)?;
        buf.try_reserve(left)?; // all at once, or an error instead of an abort
        self.take(u64::MAX).read_to_end(buf)
    }
}

impl Seek for TaskStream {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = self.stream.seek(to.into());
        position.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error.to_string()))
    }
}

/// The value of a key: the values of its records, one after another.
///
/// Short reads need no [`BufReader`](io::BufReader), as with [`TaskStream`]; each record is read
/// from its start.
#[derive(Debug)]
pub struct KeyReader {
    stream: TaskStream,
    key: u64,
    len: u64,
    /// Stream position of the header of the next record.
    next: u64,
    /// Bytes of the current record that were not read yet.
    left: u64,
}

impl KeyReader {
    /// Adds up the lengths of the records of `key`; `None` if the task has no such record.
    pub(super) fn new(mut stream: TaskStream, key: u64) -> Result<Option<Self>, Error> {
        let mut total = None;
        for record in stream.records()? {
            let record = record?;
            if record.key == key {
                total = Some(total.unwrap_or(0u64).saturating_add(record.len));
            }
        }
        Ok(total.map(|len| Self { stream, key, len, next: 0, left: 0 }))
    }

    /// Length of the value in bytes.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Whether the value is empty: the task has the key, but only with empty records.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Moves to the next unread byte; `false` if there is none.
    fn enter_record(&mut self) -> Result<bool, Error> {
        while self.left == 0 {
            let key = self.key;
            let order = self.stream.order;
            let records = Records::behind(&mut self.stream.stream, order, self.next);
            let mut records =
                records.map_err(|error| Error::new(self.stream.store.path(), error))?;
            let found = records.find(|record| !matches!(record, Ok(record) if record.key != key));
            let Some(record) = found else { return Ok(false) };
            let record = record.map_err(|error| Error::new(self.stream.store.path(), error))?;
            self.next = record.position.saturating_add(record.len); // exact: in the stream
            self.left = record.len;
            self.stream.stream.seek_to(record.position);
        }
        Ok(true)
    }
}

impl Read for KeyReader {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() || !self.enter_record()? {
            return Ok(0);
        }
        let n = (&mut self.stream).take(self.left).read(buf)?;
        self.left = self.left.saturating_sub(usize_to_u64(n));
        Ok(n)
    }
}
