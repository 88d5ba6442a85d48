//! Sets that are written.

use super::failure::{Failure, failure};
use super::mode::Mode;
use super::reading::about;
use super::set::{About, Set, Side};
use super::track::Track;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt::Debug;
use std::io::Write;
use std::path::Path;
use striae::sion::{Builder, Durability, FileWriter, OpenOptions, TaskWriter};

/// What writes the streams of a set, by the numbers of their tasks. The errors are those of the
/// operating system and of what a file cannot hold; after one, the stream is unchanged.
#[allow(clippy::missing_errors_doc, reason = "those of all methods are above")]
pub trait Writer: Debug + Send {
    /// The chunk at the end of a stream, and its used bytes.
    fn location(&mut self, task: u64) -> Result<(u32, u64), Failure>;

    /// Writes all of `bytes` into one chunk, or nothing.
    fn write_record(&mut self, task: u64, bytes: &[u8]) -> Result<(), Failure>;

    /// Writes a key-value record.
    fn write_key(&mut self, task: u64, key: u64, value: &[u8]) -> Result<(), Failure>;

    /// Leaves the chunk unless it has room for so many bytes.
    fn ensure_free_space(&mut self, task: u64, len: u64) -> Result<(), Failure>;

    /// Adds bytes to a stream that the program has written into the file.
    fn count_written(&mut self, task: u64, len: u64) -> Result<(), Failure>;

    /// Replaces bytes of a chunk, from byte `at` of it on.
    fn overwrite(&mut self, task: u64, chunk: u32, at: u64, bytes: &[u8]) -> Result<(), Failure>;

    /// Writes what waits in memory into the file.
    fn flush(&mut self, task: u64) -> Result<(), Failure>;

    /// Makes all that was written part of the files.
    fn commit(&mut self) -> Result<(), Failure>;

    /// Commits for the last time, unless this process has failed before. If other processes write
    /// as well, they get that failure.
    fn close(&mut self, mine: Result<(), Failure>) -> Result<(), Failure>;

    /// Whether all processes could do something; alone, whether this one could.
    fn agree(&self, mine: Result<(), Failure>) -> Result<(), Failure> {
        mine
    }

    /// Whether records are written together with those of other processes.
    fn is_collective(&self) -> bool {
        false
    }

    /// As [`write_record`](Self::write_record), with those of other processes, if the set is
    /// [collective](Self::is_collective). A process that has no record takes part all the same.
    fn coll_write(&mut self, _task: u64, record: Result<&[u8], Failure>) -> Result<(), Failure> {
        record?;
        Err("one process alone writes no records together with others".into())
    }

    /// Makes the set anew with chunks of another size, if nothing was written yet and this process
    /// has not failed before.
    fn reinit(&mut self, chunksize: Result<i64, Failure>) -> Result<(About, Vec<Track>), Failure> {
        chunksize?;
        Err("only a set that was opened in parallel, to write, can get other chunks".into())
    }
}

/// The writer of one process.
#[derive(Debug)]
struct Serial {
    tasks: HashMap<u64, TaskWriter>,
    /// Dropped after the tasks.
    writer: FileWriter,
}

impl Serial {
    fn task(&mut self, task: u64) -> Result<&mut TaskWriter, Failure> {
        match self.tasks.entry(task) {
            Entry::Occupied(open) => Ok(open.into_mut()),
            Entry::Vacant(place) => Ok(place.insert(self.writer.task(task)?)),
        }
    }
}

impl Writer for Serial {
    fn location(&mut self, task: u64) -> Result<(u32, u64), Failure> {
        Ok(self.task(task)?.location())
    }

    fn write_record(&mut self, task: u64, bytes: &[u8]) -> Result<(), Failure> {
        Ok(self.task(task)?.write_record(bytes)?)
    }

    fn write_key(&mut self, task: u64, key: u64, value: &[u8]) -> Result<(), Failure> {
        Ok(self.task(task)?.write_key(key, value)?)
    }

    fn ensure_free_space(&mut self, task: u64, len: u64) -> Result<(), Failure> {
        Ok(self.task(task)?.ensure_free_space(len)?)
    }

    fn count_written(&mut self, task: u64, len: u64) -> Result<(), Failure> {
        Ok(self.task(task)?.count_written(len)?)
    }

    fn overwrite(&mut self, task: u64, chunk: u32, at: u64, bytes: &[u8]) -> Result<(), Failure> {
        Ok(self.task(task)?.overwrite(chunk, at, bytes)?)
    }

    fn flush(&mut self, task: u64) -> Result<(), Failure> {
        Ok(self.tasks.get_mut(&task).map_or(Ok(()), Write::flush)?)
    }

    fn commit(&mut self) -> Result<(), Failure> {
        Ok(self.writer.commit()?)
    }

    fn close(&mut self, mine: Result<(), Failure>) -> Result<(), Failure> {
        mine?;
        self.tasks.clear();
        Ok(self.writer.close()?)
    }
}

/// What a new set has.
#[derive(Debug)]
pub(super) struct NewSet<'a> {
    pub(super) nfiles: i32,
    pub(super) chunksizes: &'a [i64],
    pub(super) globalranks: &'a [i32],
    /// The file system's own unit if it is not positive.
    pub(super) fsblksize: i32,
}

/// Makes a set and opens it to write.
pub(super) fn create(path: &Path, mode: Mode, new: &NewSet<'_>) -> Result<Set, Failure> {
    let ntasks = u64::try_from(new.chunksizes.len())?;
    let sizes = new.chunksizes.iter().map(|&size| {
        u64::try_from(size).map_err(|_| failure(path, format_args!("chunksize {size} is negative")))
    });
    let mut builder = Builder::new(ntasks)
        .chunksizes(sizes.collect::<Result<_, _>>()?)
        .globalranks(new.globalranks.iter().map(|&rank| rank.into()).collect())
        .nfiles(u32::try_from(new.nfiles.max(1))?)
        .force(true)
        .keyval(mode.keyval == Some(true))
        .data_order(mode.order)
        .durability(durability());
    if let Some(fsblksize) = u32::try_from(new.fsblksize).ok().filter(|&size| size > 0) {
        builder = builder.fsblksize(fsblksize);
    }
    let writer = builder.create(path)?;
    let opened = OpenOptions::new().buddies(false).open(path)?;
    let tasks = opened.tasks()?.collect::<Result<Vec<_>, _>>()?;
    let files = opened.files();
    let meta1 = files.first().map(|(_, head)| head.meta1).ok_or("a set has at least one file")?;
    let paths = files.iter().map(|(path, _)| path.to_path_buf()).collect();
    let about = about(&meta1, paths, &tasks);
    let tracks = tasks.into_iter().map(|entry| Track::new(entry, Some(vec![0]))).collect();
    let writer = Serial { tasks: HashMap::new(), writer };
    Ok(Set::writing(path, (about, tracks), Box::new(writer)).posix(mode.posix))
}

/// What `sion_flush` and `sion_close` survive. SIONlib does not sync either.
fn durability() -> Durability {
    match std::env::var_os("STRIAE_SION_DURABLE") {
        Some(value) if value != "0" => Durability::OnCommit,
        _ => Durability::None,
    }
}

impl Set {
    /// A set that is written.
    #[must_use]
    pub fn writing(path: &Path, known: (About, Vec<Track>), writer: Box<dyn Writer>) -> Self {
        Self::new(path, known, Side::Write(writer))
    }

    /// The writer, and the number of the current task.
    pub(super) fn writer(&mut self) -> Result<(&mut dyn Writer, u64), Failure> {
        let task = self.track()?.entry.task;
        match &mut self.side {
            Side::Write(writer) => Ok((writer.as_mut(), task)),
            Side::Read { .. } => {
                Err(failure(&self.path, "was opened to read: it cannot be written"))
            }
        }
    }

    /// Takes over where the writer of the current task stands, at the end of its stream.
    pub(super) fn moved(&mut self) -> Result<(), Failure> {
        let (writer, task) = self.writer()?;
        let (chunk, used) = writer.location(task)?;
        let is_keyval = self.about.is_keyval;
        let track = self.track()?;
        let (chunk, chunksize) = (usize::try_from(chunk)?, track.entry.place.chunks.chunksize);
        let lens = track.lens.get_or_insert_default();
        while lens.len() <= chunk {
            if let Some(left) = lens.last_mut().filter(|_| is_keyval) {
                *left = chunksize; // records fill chunks
            }
            lens.push(0);
        }
        if let Some(len) = lens.get_mut(chunk) {
            *len = used;
        }
        (track.chunk, track.at) = (chunk, used);
        // The bytes are accepted; what cannot be flushed is told by the next flush, or the close.
        let _ = self.place();
        Ok(())
    }

    /// Writes all of `bytes` into one chunk, or nothing.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.writer()?;
        self.sync()?;
        if self.track()?.is_at_end() {
            let (writer, task) = self.writer()?;
            writer.write_record(task, bytes)?;
            return self.moved();
        }
        self.overwrite(bytes)
    }

    /// Writes a record of each process, all of it into one chunk or nothing. In a set that is not
    /// [collective](Writer::is_collective) it is one of this process alone, at any position.
    ///
    /// # Errors
    /// Those of [`Writer`]; the position in a collective set is not the end of the stream.
    pub fn coll_write(&mut self, record: Result<&[u8], Failure>) -> Result<(), Failure> {
        if !self.writer()?.0.is_collective() {
            return self.write(record?);
        }
        let placed = self.sync().and_then(|()| match self.track()?.is_at_end() {
            true => Ok(()),
            false => Err(self.fail("records of all are only written at the ends of streams")),
        });
        let (writer, task) = self.writer()?;
        writer.coll_write(task, placed.and(record))?;
        self.moved()
    }

    /// Makes the set anew with chunks of another size; all processes call this.
    ///
    /// # Errors
    /// Something was written already; those of making a set.
    pub fn reinit(&mut self, chunksize: i64) -> Result<(), Failure> {
        let mine = self.sync(); // what the program has written itself counts as well
        let Side::Write(writer) = &mut self.side else {
            return Err(self.fail("was opened to read: its chunks keep their sizes"));
        };
        (self.about, self.tracks) = writer.reinit(mine.map(|()| chunksize))?;
        self.place()
    }

    /// Replaces bytes before the end of the stream; the last chunk may grow.
    fn overwrite(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let len = u64::try_from(bytes.len())?;
        self.skip_chunk_without(len)?;
        let track = self.track()?;
        let (chunk, at, used) = (track.chunk, track.at, track.len());
        let is_last = chunk == track.last();
        let left = used.saturating_sub(at);
        if len > left && !is_last {
            return Err(self.fail(format_args!(
                "chunk {chunk} has {left} bytes to be replaced, not {len}, and cannot grow: it is \
                 not the last one"
            )));
        }
        let (old, new) = bytes.split_at_checked(usize::try_from(left)?).unwrap_or((bytes, &[]));
        let (writer, task) = self.writer()?;
        // First what may find no room: a write that fails then has replaced nothing.
        if !new.is_empty() {
            writer.write_record(task, new)?;
        }
        writer.overwrite(task, u32::try_from(chunk)?, at, old)?;
        if !new.is_empty() {
            return self.moved();
        }
        self.track()?.at = at.saturating_add(len);
        self.place()
    }

    /// Goes to the next chunk if the current one has no place for so many bytes.
    fn skip_chunk_without(&mut self, len: u64) -> Result<(), Failure> {
        let track = self.track()?;
        let chunksize = track.entry.place.chunks.chunksize;
        if len > chunksize {
            let why = format!("{len} bytes are more than a chunk of {chunksize}");
            return Err(self.fail(why));
        }
        if track.at.saturating_add(len) > chunksize {
            if track.chunk == track.last() {
                let (writer, task) = self.writer()?;
                writer.ensure_free_space(task, len)?;
                return self.moved();
            }
            (track.chunk, track.at) = (track.chunk.saturating_add(1), 0);
        }
        Ok(())
    }

    /// Skips the rest of the chunk unless it has room for so many bytes.
    pub(super) fn ensure_free_space(&mut self, bytes: i64) -> Result<(), Failure> {
        self.writer()?;
        let bytes =
            u64::try_from(bytes).map_err(|_| self.fail("cannot have less than no bytes"))?;
        self.sync()?;
        if self.track()?.is_at_end() {
            let (writer, task) = self.writer()?;
            writer.ensure_free_space(task, bytes)?;
            return self.moved();
        }
        self.skip_chunk_without(bytes)?;
        self.place()
    }

    /// Writes a key-value record.
    pub(super) fn write_key(&mut self, key: u64, value: &[u8]) -> Result<(), Failure> {
        self.writer()?;
        self.sync()?;
        if !self.track()?.is_at_end() {
            return Err(self.fail("records are only written at the end of a stream"));
        }
        let (writer, task) = self.writer()?;
        writer.write_key(task, key, value)?;
        self.moved()
    }

    /// Makes all that was written part of the files.
    pub(super) fn commit(&mut self) -> Result<(), Failure> {
        self.sync()?;
        match &mut self.side {
            Side::Write(writer) => writer.commit(),
            Side::Read { .. } => Err(self.fail("was opened to read: there is nothing to flush")),
        }
    }
}
