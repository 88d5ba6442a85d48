//! The stream of a task, written by one thread.

use super::Durability;
use super::part::{Part, lock};
use super::set::Parts;
use super::stream::Stream;
use crate::copy::{Copier, Place};
use crate::error::{Error, ErrorKind};
use crate::posix::PosixFile;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};
use striae_core::endian::{ByteOrder, U64};
use striae_core::sion::Error as SionError;
use striae_core::sion::raw::RecordHeader;
use striae_core::span::Span;
use striae_core::store::usize_to_u64;
use zerocopy::IntoBytes;

/// Writes the stream of one task. It owns all that it needs, including a buffer, so it can be moved
/// to another thread.
///
/// Data that [`Write::write`] or another method has accepted is part of the next commit or of the
/// close, by whichever thread, even if it is still in the buffer or if this writer was dropped
/// before.
///
/// If each record is committed at once and a commit fails, the record was not accepted, unless it
/// cannot be known whether the record is in the file: then it is part of the next commit. A record
/// with copies in buddy sets stays accepted, since some of the sets may have it.
#[derive(Debug)]
pub struct TaskWriter {
    own: Strand,
    /// Its copies in buddy sets.
    copies: Vec<Strand>,
    task: u64,
    /// Whether the streams are plain, a copy of what the file states; short writes need it quickly.
    is_plain: bool,
    commits_each: bool,
}

/// A stream in one file of one set.
#[derive(Debug)]
pub(super) struct Strand {
    set: Arc<Parts>,
    part: Arc<Part>,
    stream: Arc<Mutex<Stream>>,
}

impl Strand {
    /// The stream of the task with the rank `local` in `part`, for the writer of task `task`.
    pub(super) fn new(
        (set, part): (&Arc<Parts>, &Arc<Part>),
        local: u32,
        task: u64,
    ) -> Result<Self, Error> {
        let stream = part.stream(local)?;
        let mut state = lock(&stream);
        if state.closed {
            return Err(Error::new(part.path(), ErrorKind::Closed));
        }
        if std::mem::replace(&mut state.taken, true) {
            return Err(Error::new(part.path(), crate::sion::ErrorKind::Taken { task }));
        }
        drop(state);
        Ok(Self { set: Arc::clone(set), part: Arc::clone(part), stream })
    }

    fn commit(&self) -> Result<(), Error> {
        self.set.publish_others(&self.part)?;
        self.part.commit()
    }
}

impl Drop for Strand {
    fn drop(&mut self) {
        if self.part.is_forked() {
            return; // the file is that of the other process
        }
        let mut stream = lock(&self.stream);
        stream.taken = false;
        // What fails stays in the buffer, and the next commit, or the close, fails if it does
        // again.
        if !stream.closed && stream.flush(&self.part).is_ok() {
            stream.shrink();
        }
    }
}

impl TaskWriter {
    pub(super) fn new(own: Strand, copies: Vec<Strand>, task: u64) -> Self {
        let is_plain = !own.part.is_keyval();
        let commits_each = own.part.durability() == Durability::EveryRecord;
        Self { own, copies, task, is_plain, commits_each }
    }

    /// Makes all data that this task has written so far part of the file, with the durability that
    /// was chosen. This also commits the data of all other tasks of its physical file. Threads that
    /// commit at the same time share commits.
    ///
    /// Other physical files of the set are committed only if they never were, because without them
    /// the set cannot be opened; [`FileWriter::commit`](super::FileWriter::commit) commits all of
    /// them. After the close of the set this does nothing.
    ///
    /// # Errors
    /// [`Closed`](ErrorKind::Closed) if the set was dropped without a close; an error of the
    /// operating system; an error if a file was removed while it was written. The last commit still
    /// holds, and this commit can be tried again, unless a sync failed
    /// ([`SyncFailed`](ErrorKind::SyncFailed)).
    pub fn commit(&self) -> Result<(), Error> {
        self.strands().try_for_each(Strand::commit)
    }

    /// The copies of the stream, and then the stream, in the order of commits.
    fn strands(&self) -> impl Iterator<Item = &Strand> {
        self.copies.iter().chain([&self.own])
    }

    /// Number of the task in its set.
    #[must_use]
    pub const fn task(&self) -> u64 {
        self.task
    }

    /// Byte order of the metadata and of the headers of key-value records.
    #[must_use]
    pub fn order(&self) -> ByteOrder {
        self.own.part.meta1().order()
    }

    /// Index of the current chunk and the number of its used bytes: the (block, position) pointer
    /// that SIONlib's `sion_get_current_location` returns.
    #[must_use]
    pub fn location(&self) -> (u32, u64) {
        let stream = lock(&self.own.stream);
        (stream.cursor().chunk(), stream.cursor().used())
    }

    /// Bytes left in the current chunk.
    #[must_use]
    pub fn room(&self) -> u64 {
        lock(&self.own.stream).cursor().room()
    }

    /// The rest of the current chunk as a span of the physical file at [`path`](Self::path): where
    /// the next bytes will be. See [`count_written`](Self::count_written).
    ///
    /// # Errors
    /// An error if the file cannot be so long.
    pub fn place(&self) -> Result<Span, Error> {
        let stream = lock(&self.own.stream);
        let place = stream.cursor().place(stream.cursor().room());
        place.map_err(|error| self.own.part.error(error))
    }

    /// The path of the physical file that has the stream.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.own.part.path()
    }

    /// Adds the next `len` bytes of the current chunk, which the caller has written into the file
    /// at [`place`](Self::place) with a descriptor of its own, to the stream. In a sealed set they
    /// are read once, for their checksum.
    ///
    /// # Errors
    /// [`RecordTooLong`](striae_core::sion::Error::RecordTooLong) if the chunk has less room; an
    /// error if the stream has copies in buddy sets, which lack the bytes; an error of the
    /// operating system.
    pub fn count_written(&mut self, len: u64) -> Result<(), Error> {
        if !self.copies.is_empty() {
            let why = "bytes that were written by others are not in the buddy sets";
            return Err(Error::new(self.path(), io::Error::new(io::ErrorKind::Unsupported, why)));
        }
        self.accept_alone(|stream, part| stream.count_written(part, len))
    }

    /// Replaces bytes of the stream, from byte `offset` of chunk `chunk` on. The last chunk of the
    /// stream must have all of them; of an earlier chunk, bytes after its used ones stay in no
    /// stream. Committed bytes change at once, before the next commit.
    ///
    /// # Errors
    /// [`NoChunk`](striae_core::sion::Error::NoChunk) if the stream has no such chunk;
    /// an error if the chunk is shorter, or for a sealed set, whose checksums would be wrong; an
    /// error of the operating system, after which some of the bytes may have been replaced.
    pub fn overwrite(&mut self, chunk: u32, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        self.strands().try_for_each(|strand| {
            lock(&strand.stream).overwrite(&strand.part, (chunk, offset), bytes)
        })
    }

    /// Writes all of `record` into one chunk, as SIONlib's `sion_fwrite` does. If it does not fit
    /// into the rest of the chunk, that rest is skipped.
    ///
    /// # Errors
    /// [`RecordTooLong`](striae_core::sion::Error::RecordTooLong) if it is longer than a chunk;
    /// [`OnlyKeyval`](striae_core::sion::Error::OnlyKeyval) if the streams are key-value records;
    /// an error of the operating system. After an error, nothing of the record is in the stream.
    pub fn write_record(&mut self, record: &[u8]) -> Result<(), Error> {
        self.check_mode(false)?;
        self.accept(record.len(), |stream, part| stream.write_record(part, record))
    }

    /// Skips the rest of the chunk unless `len` bytes fit into it, as `sion_ensure_free_space`
    /// does.
    ///
    /// # Errors
    /// The errors of [`TaskWriter::write_record`].
    pub fn ensure_free_space(&mut self, len: u64) -> Result<(), Error> {
        self.check_mode(false)?;
        match self.copies.is_empty() {
            true => lock(&self.own.stream).ensure_free_space(&self.own.part, len),
            false => self.everywhere(usize::MAX, |to, part| to.ensure_free_space(part, len)),
        }
    }

    /// Writes a key-value record, which may span several chunks.
    ///
    /// # Errors
    /// [`NoKeyval`](striae_core::sion::Error::NoKeyval) if the streams are plain; an error of the
    /// operating system. After an error, nothing of the record is in the stream.
    pub fn write_key(&mut self, key: u64, value: &[u8]) -> Result<(), Error> {
        self.check_mode(true)?;
        let header = self.header(key, usize_to_u64(value.len()));
        let len = header.as_bytes().len().saturating_add(value.len());
        self.accept(len, |stream, part| stream.write_key(part, header.as_bytes(), value))
    }

    /// Copies the bytes of `span` in the file `from`, whose path is `path`, into the stream: in the
    /// kernel where possible, and without filling holes. `progress` gets the length of each piece.
    ///
    /// In a file with key-value records, the bytes must be such records.
    ///
    /// # Errors
    /// An error of the operating system, with the path of the file that it is about; an error if
    /// `from` ends before the end of `span`. Bytes that were copied before the error stay in the
    /// stream, chunk by chunk; if the stream has copies in buddy sets, none do.
    pub fn copy_from(
        &mut self,
        copier: &mut Copier,
        (path, from): (&Path, &PosixFile),
        span: Span,
        progress: &dyn Fn(u64),
    ) -> Result<(), Error> {
        self.accept(usize::MAX, |stream, part| {
            let is_own = std::ptr::eq(part, &*self.own.part);
            let progress = if is_own { progress } else { &|_| {} }; // each byte counts once
            stream.copy(part, span.len(), |place, done, mut crc| {
                let to =
                    Place { file: part.file(), offset: place.offset(), zeros: part.is_blank() };
                let source = span.part(done, place.len()).unwrap_or(Span::ZERO); // as long as asked
                let copied = match part.is_sealed() {
                    true => {
                        let mut seen = |bytes: &[u8]| crc = crc32c::crc32c_append(crc, bytes);
                        copier.copy_seen(from, source, &to, progress, &mut seen)
                    }
                    false => copier.copy(from, source, &to, progress),
                };
                copied.map_err(|error| error.of_files(path, part.path())).map(|()| crc)
            })
        })
    }

    /// Writes the header of a key-value record; the value must follow.
    pub(crate) fn begin_key(&mut self, key: u64, len: u64) -> Result<(), Error> {
        self.check_mode(true)?;
        let header = self.header(key, len);
        let header = header.as_bytes();
        match self.copies.is_empty() {
            true => lock(&self.own.stream).write_key(&self.own.part, header, &[]),
            false => self.everywhere(header.len(), |to, part| to.write_key(part, header, &[])),
        }
    }

    fn header(&self, key: u64, len: u64) -> RecordHeader {
        let order = self.order();
        RecordHeader { key: U64::new(key, order), len: U64::new(len, order) }
    }

    fn check_mode(&self, keyval: bool) -> Result<(), Error> {
        let error = match (keyval, self.is_plain) {
            (true, true) => SionError::NoKeyval,
            (false, false) => SionError::OnlyKeyval,
            _ => return Ok(()),
        };
        Err(self.own.part.error(error))
    }

    /// Lets the stream and all of its copies accept `len` bytes, or none of them.
    #[inline]
    fn accept(
        &self,
        len: usize,
        work: impl FnMut(&mut Stream, &Part) -> Result<(), Error>,
    ) -> Result<(), Error> {
        match self.copies.is_empty() {
            true => self.accept_alone(work),
            false => self.accept_everywhere(len, work),
        }
    }

    /// Runs `work` on the stream, and commits the result if each record is to be committed.
    #[inline]
    fn accept_alone<T>(
        &self,
        work: impl FnOnce(&mut Stream, &Part) -> Result<T, Error>,
    ) -> Result<T, Error> {
        match self.commits_each {
            true => self.accept_and_commit(work),
            false => work(&mut lock(&self.own.stream), &self.own.part),
        }
    }

    /// Accepts bytes and commits them. If the commit fails, nothing was accepted.
    #[cold]
    fn accept_and_commit<T>(
        &self,
        work: impl FnOnce(&mut Stream, &Part) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let Strand { part, stream, .. } = &self.own;
        let mut locked = lock(stream);
        let (mark, settled) = (locked.mark(part)?, part.settled());
        let done = work(&mut locked, part)?;
        drop(locked);
        part.commit_record(stream, &mark, settled)?;
        Ok(done)
    }

    #[cold]
    fn accept_everywhere(
        &self,
        len: usize,
        work: impl FnMut(&mut Stream, &Part) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.everywhere(len, work)?;
        if self.commits_each { self.commit() } else { Ok(()) }
    }

    /// Does `work`, which accepts at most `len` bytes, to the stream and all of its copies, or to
    /// none of them.
    fn everywhere(
        &self,
        len: usize,
        mut work: impl FnMut(&mut Stream, &Part) -> Result<(), Error>,
    ) -> Result<(), Error> {
        // All are locked at once: what nobody could commit meanwhile may be taken back.
        let mut streams: Vec<_> =
            self.strands().map(|strand| (lock(&strand.stream), &*strand.part)).collect();
        streams.iter().try_for_each(|(stream, part)| stream.check_open(part))?;
        let mut marks = Vec::new();
        if streams.iter().any(|(stream, part)| !stream.has_room(part, len)) {
            for (stream, part) in &mut streams {
                marks.push(stream.mark(part)?);
            }
        } // else buffers take all of it, or a sync fails meanwhile, after which no commit succeeds
        let worked = streams.iter_mut().try_for_each(|(stream, part)| work(stream, part));
        if worked.is_err() {
            for ((stream, part), mark) in streams.iter_mut().zip(&marks) {
                part.leave_rubbish();
                stream.take_back(mark);
            }
        }
        worked
    }
}

impl TaskWriter {
    /// Writes until all of the bytes are accepted.
    #[inline(never)]
    fn write_each(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.write(bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => bytes = bytes.get(n..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Write for TaskWriter {
    /// Accepts bytes of a plain stream: all of them, or, if the disk is full, those that it took;
    /// none if the stream has copies.
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        if !self.is_plain {
            self.check_mode(false)?;
        }
        if self.copies.is_empty() {
            return Ok(self.accept_alone(|stream, part| stream.write(part, bytes))?);
        }
        self.accept_everywhere(bytes.len(), |stream, part| stream.write_whole(part, bytes))?;
        Ok(bytes.len())
    }

    /// Accepts all of the bytes of a plain stream; after an error, as many as were taken.
    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Self { own, copies, is_plain: true, commits_each: false, .. } = self else {
            return self.write_each(bytes);
        };
        match copies.is_empty() && lock(&own.stream).take(&own.part, bytes) {
            true => Ok(()),
            false => self.write_each(bytes),
        }
    }

    /// Passes the buffer to the operating system. Only a commit makes the bytes part of the file.
    fn flush(&mut self) -> io::Result<()> {
        let flushed =
            self.strands().try_for_each(|strand| lock(&strand.stream).flush(&strand.part));
        Ok(flushed?)
    }
}
