//! One physical file that is written: which blocks are open, where META2 is.
//!
//! Locks are taken in this order: `commits`, a task's stream, `place`. A commit therefore looks at the
//! streams one after another, and publishes what it saw when it holds none of them; a task that
//! enters a new block may have to move META2 out of its way, and waits for nobody but a publication.

use super::Durability;
use super::snapshot::Snapshot;
use super::stream::{Chunk, Stream};
use super::target::Target;
use crate::error::{Error, ErrorKind};
use crate::posix::PosixFile;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use striae_core::endian::{I64, U32};
use striae_core::sion::close::Close;
use striae_core::sion::commit::{Commit, Publication, Unchanged, Written};
use striae_core::sion::cursor::Cursor;
use striae_core::sion::locate::{check_blockcount, check_blocksize};
use striae_core::sion::{Blocks, Chunks, Error as SionError, KeyvalMode, Meta1, Varheader};
use striae_core::span::Span;
use striae_core::step::{DriveError, Machine, drive};
use striae_core::store::ReadAt;

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
    /// As the atomic that can be read without the lock.
    allowed: u64,
}

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
    streams: Mutex<BTreeMap<u32, Arc<Mutex<Stream>>>>,
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
            place: Mutex::new(Place { published, allowed }),
            allowed: AtomicU64::new(allowed),
            sync_failed: AtomicBool::new(false),
            rubbish: AtomicBool::new(published.is_some()),
            closed: AtomicBool::new(false),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
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

    /// The stream of task `local`, where the last commit or the last writer left it.
    pub(super) fn stream(&self, local: u32) -> Result<Arc<Mutex<Stream>>, Error> {
        let mut streams = lock(&self.streams);
        if let Some(stream) = streams.get(&local) {
            return Ok(Arc::clone(stream));
        }
        let (cursor, crc) = self.end_of(local)?;
        self.allow(cursor.chunk())?;
        let stream = Arc::new(Mutex::new(Stream::new(local, cursor, crc)));
        streams.insert(local, Arc::clone(&stream));
        Ok(stream)
    }

    /// Takes all chunks of task `local`, as the last commit has them, for new ones, so that the next
    /// commit seals them. Reads them once.
    pub(super) fn renew(&self, local: u32) -> Result<(), Error> {
        let chunks = self.chunks(local)?;
        let (cursor, _) = self.end_of(local)?;
        let mut finished = Vec::new();
        for chunk in 0..=cursor.chunk() {
            let used = self.used_of(local, chunk, &chunks)?;
            let place = chunks.chunk(chunk.into()).and_then(|place| place.part(0, used));
            let place = place.unwrap_or(Span::ZERO); // `used_of` checked it
            let mut window = vec![0; WINDOW];
            let crc = striae_core::sion::seal::checksum_of(
                &self.file,
                place,
                0,
                crc32c::crc32c_append,
                &mut window,
            );
            finished.push(Chunk { used, crc: crc.map_err(|error| Error::new(&self.path, error))? });
        }
        let last = finished.pop().unwrap_or_default();
        self.allow(cursor.chunk())?;
        let mut stream = Stream::new(local, cursor, last.crc);
        stream.renew(finished);
        lock(&self.streams).insert(local, Arc::new(Mutex::new(stream)));
        Ok(())
    }

    /// Where the last commit says that task `local` stopped, and the checksum of that chunk.
    fn end_of(&self, local: u32) -> Result<(Cursor, u32), Error> {
        let chunks = self.chunks(local)?;
        let place = lock(&self.place);
        let Some(old) = place.published else { return Ok((Cursor::new(chunks), 0)) };
        let (count, at) = self.entry(old.blockcounts(), local.into())?;
        let count = check_blockcount(count, at, old.maxchunks);
        let last = count.map_err(|error| self.error(error))?.saturating_sub(1);
        drop(place);
        let last = u32::try_from(last).unwrap_or(u32::MAX); // below maxchunks
        let used = self.used_of(local, last, &chunks)?;
        let cursor = Cursor::resume(chunks, last.into(), used);
        let crc = self.crc_of(local, last)?;
        Ok((cursor.map_err(|error| self.error(error))?, crc))
    }

    /// Bytes that the last commit says are used of a chunk.
    fn used_of(&self, local: u32, chunk: u32, chunks: &Chunks) -> Result<u64, Error> {
        let place = lock(&self.place);
        let Some(old) = place.published else { return Ok(0) };
        let (used, at) = self.entry(old.blocksizes(), self.index(local, chunk))?;
        let size = self.file.size().map_err(|error| Error::new(&self.path, error))?;
        let used = check_blocksize(used, at, chunks.chunk(chunk.into()), size);
        used.map_err(|error| self.error(error))
    }

    fn crc_of(&self, local: u32, chunk: u32) -> Result<u32, Error> {
        let place = lock(&self.place);
        let old = place.published.filter(|old| old.sealed);
        let index = self.index(local, chunk).saturating_mul(4);
        let at = old.and_then(|old| old.crcs().part(index, 4)).map(Span::offset);
        let Some(at) = at else { return Ok(0) };
        let mut bytes = [0; 4];
        self.read(at, &mut bytes)?;
        Ok(U32::from(bytes).get(self.meta1.order()))
    }

    /// The index of a chunk in a table of rows.
    fn index(&self, local: u32, chunk: u32) -> u64 {
        let row = u64::from(chunk).saturating_mul(self.meta1.ntasks().into());
        row.saturating_add(local.into())
    }

    /// An entry of a table of META2, and its offset.
    fn entry(&self, table: Span, index: u64) -> Result<(i64, u64), Error> {
        let place = index.checked_mul(8).and_then(|skip| table.part(skip, 8));
        let at = place.map_or(0, Span::offset); // `index` is of the file's own counts
        let mut bytes = [0; 8];
        self.read(at, &mut bytes)?;
        Ok((I64::from(bytes).get(self.meta1.order()), at))
    }

    fn read(&self, offset: u64, buf: &mut [u8]) -> Result<(), Error> {
        self.file.read_exact_at(offset, buf).map_err(|error| match error {
            embedded_io::ReadExactError::UnexpectedEof => {
                Error::new(&self.path, ErrorKind::Ended { offset })
            }
            embedded_io::ReadExactError::Other(error) => Error::new(&self.path, error),
        })
    }

    /// Opens block `chunk` to writing: if META2 is there, it is moved behind it first.
    pub(super) fn allow(&self, chunk: u32) -> Result<(), Error> {
        let wanted = u64::from(chunk).saturating_add(1);
        if wanted <= self.allowed.load(Ordering::Acquire) {
            return Ok(());
        }
        let mut place = lock(&self.place);
        if let Some(old) = place.published
            && wanted > self.blocks.before(old.start)
        {
            let full = || self.error(SionError::FileFull { chunk: wanted });
            let reach = ahead(wanted);
            let new = old.aside(&self.blocks, reach, Some(&old));
            let new = new.or_else(|| old.aside(&self.blocks, wanted, Some(&old)));
            self.publish(&mut place, new.ok_or_else(full)?, Unchanged)?;
        }
        place.allowed = place.allowed.max(wanted);
        self.allowed.store(place.allowed, Ordering::Release);
        Ok(())
    }

    /// Makes all that was accepted so far part of the file.
    pub(super) fn commit(&self) -> Result<(), Error> {
        // A commit that begins after this, whoever asked for it, is as good.
        let wish = self.wishes.fetch_add(1, Ordering::AcqRel).saturating_add(1);
        let mut granted = lock(&self.commits);
        if *granted >= wish {
            return Ok(());
        }
        let all = self.wishes.load(Ordering::Acquire);
        let snapshot = self.snapshot(false)?;
        let mut place = lock(&self.place);
        let shape = self.shape(&snapshot, &place);
        let blocks = place.allowed.max(shape.maxchunks.into());
        let old = place.published;
        let new = shape.aside(&self.blocks, ahead(blocks), old.as_ref());
        let new = new.or_else(|| shape.aside(&self.blocks, blocks, old.as_ref()));
        let new = new.ok_or_else(|| self.error(SionError::FileFull { chunk: blocks }))?;
        self.publish(&mut place, new, &snapshot)?;
        drop(place);
        self.committed(&snapshot);
        *granted = all;
        Ok(())
    }

    /// Commits for the last time: see [`Close`].
    pub(super) fn close(&self) -> Result<(), Error> {
        let _commits = lock(&self.commits);
        if self.closed.load(Ordering::Acquire) {
            return Ok(());
        }
        let closed = self.snapshot(true).and_then(|snapshot| {
            let mut place = lock(&self.place);
            let new = self.shape(&snapshot, &place);
            let publication = self.publication(&place, new)?;
            let mut window = vec![0; WINDOW];
            let close = Close::new(publication, &self.blocks, &snapshot, &mut window);
            place.published = Some(self.run(close.map_err(|error| self.error(error))?)?);
            Ok(())
        });
        match closed {
            Ok(()) => self.closed.store(true, Ordering::Release),
            Err(_) => lock(&self.streams).values().for_each(|stream| lock(stream).closed = false),
        }
        closed
    }

    /// Ends all writing, without a commit. Says whether there was anything to commit.
    pub(super) fn abandon(&self) -> bool {
        if self.closed.swap(true, Ordering::AcqRel) {
            return false;
        }
        let streams = lock(&self.streams);
        let is_lost = |stream: &Arc<Mutex<Stream>>| {
            let mut stream = lock(stream);
            stream.closed = true;
            stream.wrote().is_some()
        };
        streams.values().filter(|stream| is_lost(stream)).count() > 0
            || lock(&self.place).published.is_none()
    }

    /// Writes all buffers, and looks at what is new.
    fn snapshot(&self, closes: bool) -> Result<Snapshot, Error> {
        let streams: Vec<_> = lock(&self.streams).values().cloned().collect();
        let mut tasks = Vec::new();
        for stream in streams {
            let mut stream = lock(&stream);
            stream.flush(self)?;
            stream.closed |= closes;
            tasks.extend(stream.wrote());
        }
        Ok(Snapshot { tasks, mapping: self.mapping.clone() })
    }

    /// What `snapshot` says has been committed.
    fn committed(&self, snapshot: &Snapshot) {
        let mut streams = lock(&self.streams);
        for wrote in &snapshot.tasks {
            if let Some(stream) = streams.get(&wrote.local) {
                lock(stream).committed(wrote);
            }
        }
        // Nobody writes to them any more; whoever wants to finds their end in META2.
        streams.retain(|_, stream| Arc::strong_count(stream) > 1 || !lock(stream).is_idle());
    }

    /// META2 of a commit, without its place.
    fn shape(&self, snapshot: &Snapshot, place: &Place) -> Varheader {
        let published = place.published.map_or(1, |old| old.maxchunks);
        Varheader {
            start: 0,
            ntasks: self.meta1.ntasks(),
            maxchunks: snapshot.maxchunks().max(published),
            mapping_len: self.mapping_len,
            sealed: self.settings.sealed,
        }
    }

    fn publication(&self, place: &Place, new: Varheader) -> Result<Publication, Error> {
        if self.sync_failed.load(Ordering::Acquire) {
            return Err(Error::new(&self.path, ErrorKind::SyncFailed));
        }
        let checksum = crc32c::crc32c_append;
        Ok(Publication { meta1: self.meta1, old: place.published, new, checksum })
    }

    fn publish(
        &self,
        place: &mut Place,
        new: Varheader,
        written: impl Written,
    ) -> Result<(), Error> {
        let publication = self.publication(place, new)?;
        let mut window = vec![0; WINDOW];
        let commit = Commit::new(publication, written, &mut window);
        place.published = Some(self.run(commit.map_err(|error| self.error(error))?)?);
        self.leave_rubbish(); // this META2 will be behind data one day
        Ok(())
    }

    fn run<M>(&self, mut machine: M) -> Result<M::Output, Error>
    where
        M: Machine<Error = std::convert::Infallible>,
    {
        let mut buf = vec![0; WINDOW];
        let mut target = Target::new(&self.file, self.durability(), &self.sync_failed);
        drive(&mut machine, &mut target, &mut buf).map_err(|error| {
            let error: DriveError<io::Error, SionError> = error.infallible();
            Error::new(&self.path, error)
        })
    }
}

/// Blocks that are left free in front of META2: as many again as there are, so that META2 moves ever
/// more rarely while a file grows. The file has a hole there.
const fn ahead(blocks: u64) -> u64 {
    blocks.saturating_mul(2)
}

/// Whatever a thread that panicked was about: the values behind these locks are always whole.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
