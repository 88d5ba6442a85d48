//! The stream of a task that is being written: a buffer, a cursor, and the chunks since the last
//! commit.

use super::part::Part;
use super::snapshot::Snapshot;
use crate::error::{Error, ErrorKind};
use crate::posix::PosixFile;
use std::io;
use striae_core::sion::cursor::Cursor;
use striae_core::sion::pen::{Finished, Pen};
use striae_core::sion::{Error as SionError, ReadError};
use striae_core::span::Span;
use striae_core::store::usize_to_u64;
use striae_inspect::subject::read_pieces;

/// The stream of a task that is being written.
#[derive(Debug)]
pub(super) struct Stream {
    pen: Pen,
    /// Bytes that were accepted but not written yet; they end at the cursor, in its chunk.
    buf: Vec<u8>,
    /// Chunks that were finished since the last commit.
    finished: Vec<Finished>,
    /// Whether a writer exists.
    pub(super) taken: bool,
    /// Whether the file was closed.
    pub(super) closed: bool,
}

impl Stream {
    /// A stream of a task that continues at `pen`.
    pub(super) fn new(pen: Pen) -> Self {
        Self { pen, buf: Vec::new(), finished: Vec::new(), taken: false, closed: false }
    }

    /// Treats all chunks as new; `finished` are all but the cursor's chunk.
    pub(super) fn renew(&mut self, finished: Vec<Finished>) {
        self.pen.renew();
        self.finished = finished;
    }

    pub(super) const fn cursor(&self) -> &Cursor {
        self.pen.cursor()
    }

    /// Whether everything is committed and no writer exists.
    pub(super) const fn is_idle(&self) -> bool {
        !self.taken && self.is_committed()
    }

    /// Whether everything is committed.
    pub(super) const fn is_committed(&self) -> bool {
        self.pen.is_committed()
    }

    /// Accepts at least one of `bytes`, and returns how many. The path from here to the buffer is
    /// short, because most writes are short and fit.
    #[inline]
    pub(super) fn write(&mut self, part: &Part, bytes: &[u8]) -> Result<usize, Error> {
        if self.take(part, bytes) {
            return Ok(bytes.len());
        }
        self.write_slowly(part, bytes)
    }

    /// Accepts all of `bytes`, if no more than copying them is needed for it.
    #[inline]
    pub(super) fn take(&mut self, part: &Part, bytes: &[u8]) -> bool {
        !self.closed && self.buffer(part, bytes)
    }

    /// Puts `bytes` into the buffer, if both the buffer and the chunk have room for all of them.
    #[inline]
    fn buffer(&mut self, part: &Part, bytes: &[u8]) -> bool {
        let fits = self.has_room(part, bytes.len());
        if fits {
            self.accept(bytes);
        }
        fits
    }

    #[inline]
    pub(super) fn has_room(&self, part: &Part, len: usize) -> bool {
        let free = self.buf.capacity().saturating_sub(self.buf.len()).min(part.buffer());
        len <= free && u64::try_from(len).is_ok_and(|len| len <= self.cursor().room())
    }

    /// Puts `bytes` into the buffer, which must have room.
    #[inline]
    fn accept(&mut self, bytes: &[u8]) {
        self.buf.extend_from_slice(bytes);
        self.pen.accepted(usize_to_u64(bytes.len()));
    }

    fn write_slowly(&mut self, part: &Part, bytes: &[u8]) -> Result<usize, Error> {
        self.check_open(part)?;
        let mut accepted = 0usize;
        while let Some(rest) = bytes.get(accepted..).filter(|rest| !rest.is_empty()) {
            match self.write_some(part, rest) {
                Ok(n) => accepted = accepted.saturating_add(n),
                Err(error) if accepted == 0 => return Err(error),
                Err(_) => break, // what failed is tried again, and then told
            }
        }
        Ok(accepted)
    }

    /// Accepts as many bytes as fit into the chunk, or as the file takes in one write.
    fn write_some(&mut self, part: &Part, bytes: &[u8]) -> Result<usize, Error> {
        if self.cursor().room() == 0 {
            self.leave_chunk(part)?;
        }
        let room = usize::try_from(self.cursor().room()).unwrap_or(usize::MAX);
        let bytes = bytes.get(..room).unwrap_or(bytes);
        if self.buffer(part, bytes) {
            return Ok(bytes.len());
        }
        self.flush(part)?;
        let len = usize_to_u64(bytes.len());
        if bytes.len() < part.buffer() {
            self.buf.reserve_exact(part.buffer_for(self.cursor()));
            if self.buffer(part, bytes) {
                return Ok(bytes.len());
            }
        }
        let place = self.cursor().place(len).map_err(|error| part.error(error))?;
        let n =
            part.file().write_some_at(place.offset(), bytes).map_err(|error| part.failed(error))?;
        let crc = self.crc_after(bytes.get(..n).unwrap_or(bytes));
        self.pen.wrote(usize_to_u64(n), crc);
        Ok(n)
    }

    fn crc_after(&self, bytes: &[u8]) -> u32 {
        self.pen.crc_after(bytes, crc32c::crc32c_append)
    }

    /// Accepts all of `record` into one chunk, or nothing.
    pub(super) fn write_record(&mut self, part: &Part, record: &[u8]) -> Result<(), Error> {
        self.check_open(part)?;
        let len = usize_to_u64(record.len());
        let fits = self.cursor().fits(len).map_err(|error| part.error(error))?;
        if fits && self.buffer(part, record) {
            return Ok(());
        }
        self.all_or_nothing(part, |stream| {
            if !fits {
                stream.leave_chunk(part)?;
            }
            stream.write_all(part, record)
        })
    }

    /// Accepts a whole key-value record, or nothing.
    pub(super) fn write_key(
        &mut self,
        part: &Part,
        header: &[u8],
        value: &[u8],
    ) -> Result<(), Error> {
        self.check_open(part)?;
        if self.has_room(part, header.len().saturating_add(value.len())) {
            self.accept(header);
            self.accept(value);
            return Ok(());
        }
        self.all_or_nothing(part, |stream| {
            stream.write_all(part, header)?;
            stream.write_all(part, value)
        })
    }

    /// Accepts all of `bytes`; after an error, some of them.
    pub(super) fn write_whole(&mut self, part: &Part, bytes: &[u8]) -> Result<(), Error> {
        self.check_open(part)?;
        self.write_all(part, bytes)
    }

    fn write_all(&mut self, part: &Part, bytes: &[u8]) -> Result<(), Error> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let n = self.write_some(part, rest)?;
            rest = rest.get(n..).unwrap_or_default();
        }
        Ok(())
    }

    /// Undoes what `work` accepted, if it fails. Bytes that it wrote into the file then belong to
    /// no stream.
    fn all_or_nothing(
        &mut self,
        part: &Part,
        work: impl FnOnce(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mark = self.mark(part)?;
        work(self).inspect_err(|_| {
            part.leave_rubbish();
            self.take_back(&mark);
        })
    }

    /// The current state of the stream, with an empty buffer.
    pub(super) fn mark(&mut self, part: &Part) -> Result<Pen, Error> {
        self.flush(part)?;
        Ok(self.pen)
    }

    /// Restores the state of `mark`. Nothing that was accepted since may have been committed.
    pub(super) fn take_back(&mut self, mark: &Pen) {
        self.buf.clear(); // it was empty at the mark
        self.pen.take_back(mark);
        self.finished.retain(|done| done.is_told_by(mark));
    }

    /// Moves to the next chunk unless `len` bytes fit into this one.
    pub(super) fn ensure_free_space(&mut self, part: &Part, len: u64) -> Result<(), Error> {
        self.check_open(part)?;
        match self.cursor().fits(len).map_err(|error| part.error(error))? {
            true => Ok(()),
            false => self.leave_chunk(part),
        }
    }

    /// Accepts the next `len` bytes of the chunk, which are in the file already.
    pub(super) fn count_written(&mut self, part: &Part, len: u64) -> Result<(), Error> {
        self.check_open(part)?;
        let room = self.cursor().room();
        self.cursor().fits(len).map_err(|error| part.error(error))?;
        if len > room {
            let error = SionError::RecordTooLong { len, chunksize: room };
            return Err(part.error(error));
        }
        self.flush(part)?;
        let place = self.cursor().place(len).map_err(|error| part.error(error))?;
        let mut crc = self.pen.crc();
        if part.is_sealed() {
            let mut seen = |bytes: &[u8]| {
                crc = crc32c::crc32c_append(crc, bytes);
                true
            };
            let read = read_pieces(part.file(), place, &mut Vec::new(), &mut seen);
            read.map_err(|error: ReadError<PosixFile>| Error::new(part.path(), error))?;
        }
        self.pen.wrote(len, crc);
        Ok(())
    }

    /// Replaces bytes of a chunk, from an offset in it on.
    pub(super) fn overwrite(
        &mut self,
        part: &Part,
        (chunk, offset): (u32, u64),
        bytes: &[u8],
    ) -> Result<(), Error> {
        self.check_open(part)?;
        if part.is_sealed() {
            let why = "a sealed set cannot be changed: its checksums would be wrong";
            return Err(Error::new(part.path(), io::Error::new(io::ErrorKind::Unsupported, why)));
        }
        let last = self.cursor().chunk();
        if chunk > last {
            let (chunk, blockcount) = (chunk.into(), u64::from(last).saturating_add(1));
            return Err(part.error(SionError::NoChunk { chunk, blockcount }));
        }
        let len = usize_to_u64(bytes.len());
        let chunks = part.chunks(self.pen.local())?;
        let used = if chunk == last { self.cursor().used() } else { chunks.chunksize };
        let end = offset.saturating_add(len);
        let place = chunks.chunk(chunk.into()).and_then(|all| all.part(offset, len));
        let place = place.filter(|_| end <= used).ok_or_else(|| {
            let why = format!("chunk {chunk} has no bytes {offset}..{end}, but {used}");
            Error::new(part.path(), io::Error::new(io::ErrorKind::InvalidInput, why))
        })?;
        self.flush(part)?;
        let written = part.file().write_all_at(place.offset(), bytes);
        written.map_err(|error| part.failed(error))
    }

    /// Accepts at most `len` bytes that `copy` copies, chunk by chunk. `copy` gets the target span,
    /// the number of bytes copied before, and the checksum so far; it returns the checksum that
    /// includes the new bytes.
    pub(super) fn copy(
        &mut self,
        part: &Part,
        len: u64,
        mut copy: impl FnMut(Span, u64, u32) -> Result<u32, Error>,
    ) -> Result<(), Error> {
        self.check_open(part)?;
        self.flush(part)?;
        let (mut done, mut left) = (0, len);
        while left > 0 {
            if self.cursor().room() == 0 {
                self.leave_chunk(part)?;
            }
            let place = self.cursor().place(left);
            let place = place.map_err(|error| part.error(error))?;
            let crc = copy(place, done, self.pen.crc()).inspect_err(|_| part.leave_rubbish())?;
            self.pen.wrote(place.len(), crc);
            // Exact: a place is not longer than was asked for.
            (done, left) = (done.saturating_add(place.len()), left.saturating_sub(place.len()));
        }
        Ok(())
    }

    /// Writes the buffer into the file. Bytes that cannot be written stay in the buffer.
    pub(super) fn flush(&mut self, part: &Part) -> Result<(), Error> {
        if self.buf.is_empty() {
            return Ok(());
        }
        self.check_open(part)?;
        let len = usize_to_u64(self.buf.len());
        let place = self.cursor().rewound(len).place(len).map_err(|error| part.error(error))?;
        part.file().write_all_at(place.offset(), &self.buf).map_err(|error| part.failed(error))?;
        self.pen.flushed(self.crc_after(&self.buf));
        self.buf.clear();
        Ok(())
    }

    /// Frees the memory of the buffer, if the buffer is empty.
    pub(super) fn shrink(&mut self) {
        if self.buf.is_empty() {
            self.buf = Vec::new();
        }
    }

    /// Moves to the start of the next chunk.
    pub(super) fn leave_chunk(&mut self, part: &Part) -> Result<(), Error> {
        let next = self.cursor().next_chunk().map_err(|error| part.error(error))?;
        self.flush(part)?;
        part.enter(next.chunk())?;
        let left = self.pen.leave(|done| {
            self.finished.push(done);
            Ok(())
        });
        left.map_err(|error| part.error(error))
    }

    pub(super) fn check_open(&self, part: &Part) -> Result<(), Error> {
        if self.closed {
            return Err(Error::new(part.path(), ErrorKind::Closed));
        }
        part.check_disk()
    }

    /// Adds the uncommitted data of this task to `snapshot`, if there is any; the buffer must be
    /// empty.
    pub(super) fn tell(&self, snapshot: &mut Snapshot<'_>) {
        if !self.is_committed() {
            snapshot.add(&self.pen, &self.finished);
        }
    }

    /// Marks the state `seen` as committed; more may have been written since then.
    pub(super) fn committed(&mut self, seen: &Pen) {
        self.pen.committed(seen);
        self.finished.retain(|done| !done.is_told_by(seen));
    }
}
