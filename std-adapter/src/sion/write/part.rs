//! One physical file that is being written: its open blocks and the place of META2.
//!
//! Locks are taken in this order: `commits`, the map of streams, one stream, `book`. So a commit
//! reads the streams one after another, and publishes the result while it holds none of them. A
//! task that enters a new block may have to move META2 first; it waits only for a publication.

mod last;
mod publish;
mod set_commit;
#[cfg(test)]
mod tests;

pub(super) use set_commit::{Begun, Ended, Holed, Prepared};

use super::Durability;
use super::snapshot::Snapshot;
use super::stream::Stream;
use crate::error::{Error, ErrorKind};
use crate::lock::Locked;
use crate::posix::PosixFile;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use striae_core::sion::book::{Ahead, Enter};
use striae_core::sion::cursor::Cursor;
use striae_core::sion::pen::Since;
use striae_core::sion::tables::{Tables, Unchanged};
use striae_core::sion::{
    Blocks, Book, Chunks, Error as SionError, KeyvalMode, Meta1, Pen, Varheader,
};
use striae_core::span::Span;

/// Length in bytes of the windows in which tables are read and written.
pub(super) const WINDOW: usize = 1 << 18;

/// Settings for writing physical files.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    pub(super) durability: Durability,
    pub(super) sealed: bool,
    /// Length of a task's buffer in bytes.
    pub(super) buffer: usize,
}

impl Settings {
    /// Commits survive a power cut, without seals.
    pub(super) const NEW: Self =
        Self { durability: Durability::OnCommit, sealed: false, buffer: 1 << 16 };
}

/// The starts of the chunks of the tasks.
#[derive(Debug)]
pub(super) enum Starts {
    /// All chunks have this length.
    Same(u64),
    /// The start of each task's first chunk.
    Each(Vec<u64>),
}

/// The streams of tasks that have a writer or uncommitted data.
type Streams = BTreeMap<u32, Arc<Mutex<Stream>>>;

/// A physical file that is being written.
#[derive(Debug)]
pub(super) struct Part {
    path: PathBuf,
    file: Locked,
    meta1: Meta1,
    blocks: Blocks,
    starts: Starts,
    mapping: Vec<(u32, u32)>,
    settings: Settings,
    streams: Mutex<Streams>,
    /// The number of the last commit request that was served; locked during a commit.
    commits: Mutex<u64>,
    wishes: AtomicU64,
    book: Mutex<Book>,
    /// [`Book::entered`], for threads that do not hold the lock.
    entered: AtomicU64,
    /// Whether chunks that no task wrote to may hold bytes.
    rubbish: AtomicBool,
    closed: AtomicBool,
}

/// The description of a physical file, new or reopened.
#[derive(Debug)]
pub(super) struct Origin {
    pub(super) path: PathBuf,
    pub(super) file: Locked,
    pub(super) book: Book,
    pub(super) starts: Starts,
    /// File and local rank of each global rank, for a new file that is the first of several.
    pub(super) mapping: Vec<(u32, u32)>,
}

impl Part {
    pub(super) fn new(origin: Origin, settings: Settings) -> Self {
        let Origin { path, file, book, starts, mapping } = origin;
        Self {
            path,
            file,
            meta1: *book.meta1(),
            blocks: *book.blocks(),
            starts,
            mapping,
            settings,
            streams: Mutex::default(),
            commits: Mutex::new(0),
            wishes: AtomicU64::new(0),
            book: Mutex::new(book),
            entered: AtomicU64::new(book.entered()),
            rubbish: AtomicBool::new(book.published().is_some()),
            closed: AtomicBool::new(false),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Whether this process is a fork of the one that opened the file.
    pub(super) fn is_forked(&self) -> bool {
        self.file.is_forked()
    }

    pub(super) fn file(&self) -> &PosixFile {
        &self.file
    }

    pub(super) const fn meta1(&self) -> &Meta1 {
        &self.meta1
    }

    pub(super) fn is_keyval(&self) -> bool {
        self.meta1.keyval() == KeyvalMode::Inline
    }

    /// The number of the last commit in the set; 0 if the file was committed by itself.
    pub(super) fn set_number(&self) -> u32 {
        lock(&self.book).published().map_or(0, Varheader::set_number)
    }

    /// The identity of the set that the seal of the last commit names, if it has a seal; 0 if that
    /// names none.
    pub(super) fn sealed_identity(&self) -> Option<u32> {
        let published = lock(&self.book).published().copied();
        published.filter(Varheader::is_sealed).map(|published| published.set_identity())
    }

    /// Makes this a file of the set with that identity.
    pub(super) fn join(&self, identity: u32) {
        let mut book = lock(&self.book);
        *book = book.with_set_identity(identity);
    }

    pub(super) const fn is_sealed(&self) -> bool {
        self.settings.sealed
    }

    pub(super) const fn durability(&self) -> Durability {
        self.settings.durability
    }

    /// Length of a task's buffer in bytes.
    pub(super) const fn buffer(&self) -> usize {
        self.settings.buffer
    }

    /// Length in bytes of the buffer of a task with these chunks.
    pub(super) fn buffer_for(&self, cursor: &Cursor) -> usize {
        let chunksize = usize::try_from(cursor.chunksize()).unwrap_or(usize::MAX);
        self.settings.buffer.min(chunksize)
    }

    pub(super) fn error(&self, error: SionError) -> Error {
        Error::new(&self.path, error)
    }

    /// The error of a write that may have left bytes in a chunk.
    pub(super) fn failed(&self, error: io::Error) -> Error {
        self.leave_rubbish();
        Error::new(&self.path, error)
    }

    /// Remembers that a chunk holds bytes that belong to no stream.
    pub(super) fn leave_rubbish(&self) {
        self.rubbish.store(true, Ordering::Relaxed);
    }

    /// Whether the unwritten parts of chunks read as zeros.
    pub(super) fn is_blank(&self) -> bool {
        !self.rubbish.load(Ordering::Relaxed)
    }

    /// The place of the chunks of task `local`.
    pub(super) fn chunks(&self, local: u32) -> Result<Chunks, Error> {
        let (task, ntasks) = (local.into(), self.meta1.ntasks().into());
        let no_task = || self.error(SionError::NoTask { task, ntasks });
        if local >= self.meta1.ntasks() {
            return Err(no_task());
        }
        let (start, chunksize) = match &self.starts {
            Starts::Same(size) => {
                let before = Span::of_table(self.blocks.first, local.into(), *size);
                (before.ok_or_else(no_task)?.end(), *size)
            }
            Starts::Each(starts) => {
                let index = usize::try_from(local).map_err(|_| no_task())?;
                let start = *starts.get(index).ok_or_else(no_task)?;
                let next = starts.get(index.saturating_add(1)).copied();
                let next = next.or_else(|| self.blocks.end(1)).ok_or_else(no_task)?;
                (start, next.checked_sub(start).ok_or_else(no_task)?)
            }
        };
        Ok(Chunks { start, chunksize, globalskip: Some(self.blocks.globalskip) })
    }

    /// Opens block `chunk` for writing. If META2 is in that block, it is first moved after the
    /// block.
    pub(super) fn enter(&self, chunk: u32) -> Result<(), Error> {
        if u64::from(chunk) < self.entered.load(Ordering::Acquire) {
            return Ok(());
        }
        self.check_disk()?;
        let mut book = lock(&self.book);
        match book.enter(chunk, Ahead::Double).map_err(|error| self.error(error))? {
            Enter::GoOn => {
                self.entered.store(book.entered(), Ordering::Release);
                Ok(())
            }
            Enter::Settle(_) | Enter::Move(_) => self.publish(&mut book, |desk| {
                desk.enter(chunk, &mut Tables::all(Unchanged)) //
            }),
        }
    }

    /// Makes all data that was accepted so far part of the file.
    pub(super) fn commit(&self) -> Result<(), Error> {
        // A commit that begins after this, whoever asked for it, is as good.
        let wish = self.wishes.fetch_add(1, Ordering::AcqRel).saturating_add(1);
        let mut granted = lock(&self.commits);
        if *granted >= wish {
            return Ok(());
        }
        if self.is_closed() {
            return Err(Error::new(&self.path, ErrorKind::Closed));
        }
        let all = self.wishes.load(Ordering::Acquire);
        let snapshot = self.snapshot(false)?;
        self.check_name()?;
        self.check_disk()?;
        let mut book = lock(&self.book);
        let is_same = book.unsettled().is_none()
            && book.published().is_some_and(|old| old.is_sealed() == book.is_sealed());
        if snapshot.pens.is_empty() && is_same {
            let synced = self.file.sync(); // an earlier writer may not have asked for it
            synced.map_err(|error| Error::new(&self.path, error))?;
        } else {
            self.publish(&mut book, |desk| {
                desk.commit(snapshot.maxchunks(), &mut Tables::all(Since(&snapshot)))
            })?;
        }
        drop(book);
        self.committed(&snapshot);
        *granted = all;
        Ok(())
    }

    /// Whether the file was ever committed or closed.
    pub(super) fn is_published(&self) -> bool {
        lock(&self.book).published().is_some()
    }

    /// Number of commits whose outcome was unknown and that turned out to be visible.
    pub(super) fn settled(&self) -> u64 {
        lock(&self.book).settled()
    }

    /// Commits the data that `stream` accepted since `mark`. Takes the data back if that fails.
    ///
    /// `settled` is the value of [`Part::settled`] before the write.
    pub(super) fn commit_record(
        &self,
        stream: &Mutex<Stream>,
        mark: &Pen,
        settled: u64,
    ) -> Result<(), Error> {
        self.commit().or_else(|error| {
            let _commits = lock(&self.commits); // nobody is about to publish what he saw of it
            let mut stream = lock(stream);
            if stream.is_committed() {
                return Ok(()); // by another one's commit, or the close
            }
            // If nobody knows whether it is in the file, or another one's commit that failed has
            // put it there after all, it stays in the stream.
            let book = *lock(&self.book);
            if book.unsettled().is_none() && book.settled() == settled {
                stream.take_back(mark);
            }
            Err(error)
        })
    }

    /// Commits for the last time: see [`Desk::close`](striae_core::sion::publish::Desk::close).
    pub(super) fn close(&self) -> Result<(), Error> {
        let mut granted = lock(&self.commits);
        if self.is_closed() {
            return Ok(());
        }
        let closed = self.snapshot(true).and_then(|snapshot| {
            self.check_name()?;
            let mut book = lock(&self.book);
            let before = [book.published().copied(), book.unsettled().copied()];
            let done = self.publish(&mut book, |desk| {
                desk.close(snapshot.maxchunks(), &mut Tables::all(Since(&snapshot)))
            });
            // Also a close that failed may have published it, aside of where it was to be.
            let is_there = !before.contains(&book.published().copied());
            drop(book);
            if done.is_ok() || is_there {
                self.committed(&snapshot);
            }
            done
        });
        match closed {
            Ok(()) => {
                self.closed.store(true, Ordering::Release);
                *granted = u64::MAX; // nothing will be accepted any more
            }
            Err(_) => lock(&self.streams).values().for_each(|stream| lock(stream).closed = false),
        }
        closed
    }

    /// Waits until an error of what was written would have been told.
    pub(super) fn arrive(&self) -> Result<(), Error> {
        self.file.arrive().map_err(|error| Error::new(&self.path, error))
    }

    /// Lets other writers have the file, after the last write.
    pub(super) fn unlock(&self) {
        self.file.unlock();
    }

    /// Ends all writing without a commit. Returns whether there was anything to commit.
    pub(super) fn abandon(&self) -> bool {
        let _commits = lock(&self.commits);
        if self.closed.swap(true, Ordering::AcqRel) {
            return false;
        }
        let streams = lock(&self.streams);
        let is_lost = |stream: &Arc<Mutex<Stream>>| {
            let mut stream = lock(stream);
            stream.closed = true;
            !stream.is_committed()
        };
        streams.values().filter(|stream| is_lost(stream)).count() > 0
            || lock(&self.book).published().is_none()
    }

    /// Writes all buffers and records what is new in each stream.
    fn snapshot(&self, closes: bool) -> Result<Snapshot<'_>, Error> {
        let streams: Vec<_> = lock(&self.streams).values().cloned().collect();
        let mut snapshot = Snapshot::new(&self.mapping);
        for stream in streams {
            let mut stream = lock(&stream);
            stream.flush(self)?;
            stream.closed |= closes;
            stream.tell(&mut snapshot);
        }
        snapshot.sort();
        Ok(snapshot)
    }

    /// Marks the contents of `snapshot` as committed.
    fn committed(&self, snapshot: &Snapshot<'_>) {
        let mut streams = lock(&self.streams);
        for seen in &snapshot.pens {
            if let Some(stream) = streams.get(&seen.local()) {
                lock(stream).committed(seen);
            }
        }
        // Nobody writes to them any more; whoever wants to finds their end in META2.
        streams.retain(|_, stream| Arc::strong_count(stream) > 1 || !lock(stream).is_idle());
    }
}

/// Locks the mutex even if a thread panicked: the values behind these locks are always consistent.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
