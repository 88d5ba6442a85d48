//! One physical file that is written: which blocks are open, where META2 is.
//!
//! Locks are taken in this order: `commits`, the map of streams, a stream, `place`. A commit
//! therefore looks at the streams one after another, and publishes what it saw when it holds none of
//! them; a task that enters a new block may have to move META2 out of its way, and waits for nobody
//! but a publication.

mod last;
mod publish;
#[cfg(test)]
mod tests;

use super::Durability;
use super::snapshot::Snapshot;
use super::stream::{Mark, Stream};
use crate::error::{Error, ErrorKind};
use crate::posix::PosixFile;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use striae_core::sion::close::Close;
use striae_core::sion::commit::Unchanged;
use striae_core::sion::cursor::Cursor;
use striae_core::sion::{Blocks, Chunks, Error as SionError, KeyvalMode, Meta1, Varheader};
use striae_core::store::WriteAt;

/// Bytes of the windows that tables are read and written in.
pub(super) const WINDOW: usize = 1 << 18;

/// How physical files are written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    pub(super) durability: Durability,
    pub(super) sealed: bool,
    /// Bytes of a task's buffer.
    pub(super) buffer: usize,
}

/// Where the chunks of the tasks start.
#[derive(Debug)]
pub(super) enum Starts {
    /// All chunks are as long as this.
    Same(u64),
    /// The start of each task's first chunk.
    Each(Vec<u64>),
}

/// Where META2 is, and how many blocks tasks may write to before it has to be somewhere else.
#[derive(Debug, Clone, Copy)]
struct Place {
    published: Option<Varheader>,
    /// What a commit wrote that failed so late that it may be what readers see.
    unsettled: Option<Varheader>,
    /// How often such a commit was made the visible one.
    settled: u64,
    /// As the atomic that can be read without the lock.
    allowed: u64,
}

/// The streams of tasks that have a writer, or something to be committed.
type Streams = BTreeMap<u32, Arc<Mutex<Stream>>>;

/// A physical file that is written.
#[derive(Debug)]
pub(super) struct Part {
    path: PathBuf,
    file: PosixFile,
    meta1: Meta1,
    blocks: Blocks,
    starts: Starts,
    mapping: Vec<(u32, u32)>,
    mapping_len: u64,
    settings: Settings,
    streams: Mutex<Streams>,
    /// The number of the last wish for a commit that was granted; held while committing.
    commits: Mutex<u64>,
    wishes: AtomicU64,
    place: Mutex<Place>,
    /// Blocks that tasks have entered, or that were in use: no META2 will ever be put there.
    allowed: AtomicU64,
    /// Set when the disk failed to make something durable: it will not say so twice.
    sync_failed: AtomicBool,
    /// Whether chunks that nobody wrote to may hold bytes.
    rubbish: AtomicBool,
    closed: AtomicBool,
}

/// What a physical file is made of, or was found to be.
#[derive(Debug)]
pub(super) struct Origin {
    pub(super) path: PathBuf,
    pub(super) file: PosixFile,
    pub(super) meta1: Meta1,
    pub(super) blocks: Blocks,
    pub(super) starts: Starts,
    /// File and local rank of each global rank, if it is new and the first of several.
    pub(super) mapping: Vec<(u32, u32)>,
    pub(super) mapping_len: u64,
    /// What the last commit wrote.
    pub(super) published: Option<Varheader>,
}

impl Part {
    pub(super) fn new(origin: Origin, settings: Settings) -> Self {
        let Origin { path, file, meta1, blocks, starts, mapping, mapping_len, published } = origin;
        // Of a file that was written before, blocks in front of META2 that are in use stay open.
        let used = published.map_or(0, |old| u64::from(old.maxchunks));
        let allowed = published.map_or(0, |old| used.min(blocks.before(old.start)));
        Self {
            path,
            file,
            meta1,
            blocks,
            starts,
            mapping,
            mapping_len,
            settings,
            streams: Mutex::default(),
            commits: Mutex::new(0),
            wishes: AtomicU64::new(0),
            place: Mutex::new(Place { published, unsettled: None, settled: 0, allowed }),
            allowed: AtomicU64::new(allowed),
            sync_failed: AtomicBool::new(false),
            rubbish: AtomicBool::new(published.is_some()),
            closed: AtomicBool::new(false),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    pub(super) const fn file(&self) -> &PosixFile {
        &self.file
    }

    pub(super) const fn meta1(&self) -> &Meta1 {
        &self.meta1
    }

    pub(super) fn is_keyval(&self) -> bool {
        self.meta1.keyval() == KeyvalMode::Inline
    }

    pub(super) const fn is_sealed(&self) -> bool {
        self.settings.sealed
    }

    pub(super) const fn durability(&self) -> Durability {
        self.settings.durability
    }

    /// Bytes of a task's buffer.
    pub(super) const fn buffer(&self) -> usize {
        self.settings.buffer
    }

    /// Bytes of the buffer of a task with these chunks.
    pub(super) fn buffer_for(&self, cursor: &Cursor) -> usize {
        let chunksize = usize::try_from(cursor.chunksize()).unwrap_or(usize::MAX);
        self.settings.buffer.min(chunksize)
    }

    /// The checksum behind `bytes`, if anyone wants to know.
    pub(super) fn checksum(&self, previous: u32, bytes: &[u8]) -> u32 {
        if self.settings.sealed { crc32c::crc32c_append(previous, bytes) } else { 0 }
    }

    pub(super) fn error(&self, error: SionError) -> Error {
        Error::new(&self.path, error)
    }

    /// The error of a write that may have left bytes in a chunk.
    pub(super) fn failed(&self, error: io::Error) -> Error {
        self.leave_rubbish();
        Error::new(&self.path, error)
    }

    /// Remembers that a chunk holds bytes that are in nobody's stream.
    pub(super) fn leave_rubbish(&self) {
        self.rubbish.store(true, Ordering::Relaxed);
    }

    /// Whether chunks read as zeros where nobody has written.
    pub(super) fn is_blank(&self) -> bool {
        !self.rubbish.load(Ordering::Relaxed)
    }

    /// The place of task `local`'s chunks.
    pub(super) fn chunks(&self, local: u32) -> Result<Chunks, Error> {
        let (task, ntasks) = (local.into(), self.meta1.ntasks().into());
        let no_task = || self.error(SionError::NoTask { task, ntasks });
        if local >= self.meta1.ntasks() {
            return Err(no_task());
        }
        let (start, chunksize) = match &self.starts {
            Starts::Same(size) => {
                let before = size.saturating_mul(local.into());
                (self.blocks.first.saturating_add(before), *size)
            }
            Starts::Each(starts) => {
                let index = usize::try_from(local).map_err(|_| no_task())?;
                let start = *starts.get(index).ok_or_else(no_task)?;
                let end = self.blocks.first.saturating_add(self.blocks.globalskip);
                let next = starts.get(index.saturating_add(1)).copied().unwrap_or(end);
                (start, next.saturating_sub(start))
            }
        };
        Ok(Chunks { start, chunksize, globalskip: Some(self.blocks.globalskip) })
    }

    /// Opens block `chunk` to writing: if META2 is there, it is moved behind it first.
    pub(super) fn allow(&self, chunk: u32) -> Result<(), Error> {
        let wanted = u64::from(chunk).saturating_add(1);
        if wanted <= self.allowed.load(Ordering::Acquire) {
            return Ok(());
        }
        let full = || self.error(SionError::FileFull { chunk: chunk.into() });
        let maxchunks = chunk.checked_add(1).ok_or_else(full)?;
        if !(Varheader { maxchunks, ..self.empty() }).has_places(&self.blocks) {
            return Err(full());
        }
        let mut place = self.place()?;
        if let Some(old) = place.published
            && wanted > self.blocks.before(old.start)
        {
            // Behind all blocks in use: those of a file that was reopened can be behind its META2.
            let blocks = wanted.max(old.maxchunks.into());
            self.publish(&mut place, &old, blocks, Unchanged)?;
        }
        self.set_allowed(&mut place, |allowed| allowed.max(wanted));
        Ok(())
    }

    fn set_allowed(&self, place: &mut Place, allowed: impl FnOnce(u64) -> u64) {
        place.allowed = allowed(place.allowed);
        self.allowed.store(place.allowed, Ordering::Release);
    }

    /// Makes all that was accepted so far part of the file.
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
        let mut place = self.place()?;
        let sealed = self.settings.sealed;
        if snapshot.tasks.is_empty() && place.published.is_some_and(|old| old.sealed == sealed) {
            let synced = self.target().sync(); // an earlier writer may not have asked for it
            synced.map_err(|error| Error::new(&self.path, error))?;
        } else {
            let shape = self.shape(&snapshot, &place);
            let blocks = place.allowed.max(shape.maxchunks.into());
            self.publish(&mut place, &shape, blocks, &snapshot)?;
        }
        drop(place);
        self.committed(&snapshot);
        *granted = all;
        Ok(())
    }

    /// Commits of unknown outcome that turned out to be visible.
    pub(super) fn settled(&self) -> u64 {
        lock(&self.place).settled
    }

    /// Commits what was accepted for `stream` since `mark`. If that fails, takes it back.
    ///
    /// `settled` is what [`Part::settled`] said before.
    pub(super) fn commit_record(
        &self,
        stream: &Mutex<Stream>,
        mark: &Mark,
        settled: u64,
    ) -> Result<(), Error> {
        self.commit().or_else(|error| {
            let _commits = lock(&self.commits); // nobody is about to publish what he saw of it
            let mut stream = lock(stream);
            if stream.is_committed() {
                return Ok(()); // by another one's commit, or the close
            }
            // If nobody knows whether it is in the file, or another one's commit that failed has put
            // it there after all, it stays in the stream.
            let place = *lock(&self.place);
            if place.unsettled.is_none() && place.settled == settled {
                stream.take_back(mark);
            }
            Err(error)
        })
    }

    /// Commits for the last time: see [`Close`].
    pub(super) fn close(&self) -> Result<(), Error> {
        let mut granted = lock(&self.commits);
        if self.is_closed() {
            return Ok(());
        }
        let closed = self.snapshot(true).and_then(|snapshot| {
            self.check_name()?;
            self.publish_last(&snapshot)?;
            self.committed(&snapshot);
            Ok(())
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

    fn publish_last(&self, snapshot: &Snapshot<'_>) -> Result<(), Error> {
        let mut place = self.place()?;
        let publication = self.publication(&place, self.shape(snapshot, &place))?;
        let mut window = vec![0; WINDOW];
        let close = Close::new(publication, &self.blocks, snapshot, &mut window);
        let mut close = close.map_err(|error| self.error(error))?;
        let done = self.run(&mut close);
        let done = self.conclude(&mut place, done, close.outcome());
        if done.is_err() {
            // Writers may go on, but not where META2 may be now: right behind what they used.
            let now = [place.published, place.unsettled].into_iter().flatten();
            let before = now.map(|now| self.blocks.before(now.start)).min().unwrap_or(u64::MAX);
            self.set_allowed(&mut place, |allowed| allowed.min(before));
        }
        done
    }

    /// Ends all writing, without a commit. Says whether there was anything to commit.
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
            || lock(&self.place).published.is_none()
    }

    /// Writes all buffers, and looks at what is new.
    fn snapshot(&self, closes: bool) -> Result<Snapshot<'_>, Error> {
        let streams: Vec<_> = lock(&self.streams).values().cloned().collect();
        let mut tasks = Vec::new();
        for stream in streams {
            let mut stream = lock(&stream);
            stream.flush(self)?;
            stream.closed |= closes;
            tasks.extend(stream.wrote());
        }
        Ok(Snapshot { tasks, mapping: &self.mapping })
    }

    /// What `snapshot` says has been committed.
    fn committed(&self, snapshot: &Snapshot<'_>) {
        let mut streams = lock(&self.streams);
        for wrote in &snapshot.tasks {
            if let Some(stream) = streams.get(&wrote.local) {
                lock(stream).committed(wrote);
            }
        }
        // Nobody writes to them any more; whoever wants to finds their end in META2.
        streams.retain(|_, stream| Arc::strong_count(stream) > 1 || !lock(stream).is_idle());
    }
}

/// Whatever a thread that panicked was about: the values behind these locks are always whole.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
