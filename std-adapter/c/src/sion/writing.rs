//! Sets that are written.

use super::mode::Mode;
use super::reading::about;
use super::set::{Failure, Set, Shown, Side, Track, failure};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;
use striae::sion::{Builder, Durability, OpenOptions, TaskWriter};

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
        .overwrite(true)
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
    Ok(Set {
        path: path.to_owned(),
        about: about(&meta1, paths, &tasks),
        tracks: tasks.into_iter().map(|entry| Track::new(entry, Some(vec![0]))).collect(),
        rank: 0,
        is_alone: false,
        is_dup: false,
        is_posix: mode.posix,
        side: Side::Write { writer, tasks: HashMap::new() },
        mirrors: HashMap::new(),
        shown: Shown::default(),
    })
}

/// What `sion_flush` and `sion_close` survive. SIONlib does not sync either.
fn durability() -> Durability {
    match std::env::var_os("STRIAE_SION_DURABLE") {
        Some(value) if value != "0" => Durability::OnCommit,
        _ => Durability::None,
    }
}

impl Set {
    /// The writer of the current task.
    pub(super) fn task_writer(&mut self) -> Result<&mut TaskWriter, Failure> {
        let (rank, task) = (self.rank, self.track()?.entry.task);
        let Side::Write { writer, tasks } = &mut self.side else {
            return Err(failure(&self.path, "was opened to read: it cannot be written"));
        };
        match tasks.entry(rank) {
            Entry::Occupied(open) => Ok(open.into_mut()),
            Entry::Vacant(place) => Ok(place.insert(writer.task(task)?)),
        }
    }

    /// Takes over where the writer of the current task stands, at the end of its stream.
    pub(super) fn moved(&mut self) -> Result<(), Failure> {
        let (chunk, used) = self.task_writer()?.location();
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
        self.place()
    }

    /// Writes all of `bytes` into one chunk, or nothing.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.task_writer()?;
        self.sync()?;
        if self.track()?.is_at_end() {
            self.task_writer()?.write_record(bytes)?;
            return self.moved();
        }
        self.overwrite(bytes)
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
        let writer = self.task_writer()?;
        writer.overwrite(u32::try_from(chunk)?, at, old)?;
        if !new.is_empty() {
            writer.write_record(new)?;
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
                self.task_writer()?.ensure_free_space(len)?;
                return self.moved();
            }
            (track.chunk, track.at) = (track.chunk.saturating_add(1), 0);
        }
        Ok(())
    }

    /// Skips the rest of the chunk unless it has room for so many bytes.
    pub(super) fn ensure_free_space(&mut self, bytes: i64) -> Result<(), Failure> {
        self.task_writer()?;
        let bytes =
            u64::try_from(bytes).map_err(|_| self.fail("cannot have less than no bytes"))?;
        self.sync()?;
        if self.track()?.is_at_end() {
            self.task_writer()?.ensure_free_space(bytes)?;
            return self.moved();
        }
        self.skip_chunk_without(bytes)?;
        self.place()
    }

    /// Writes a key-value record.
    pub(super) fn write_key(&mut self, key: u64, value: &[u8]) -> Result<(), Failure> {
        self.task_writer()?;
        self.sync()?;
        if !self.track()?.is_at_end() {
            return Err(self.fail("records are only written at the end of a stream"));
        }
        self.task_writer()?.write_key(key, value)?;
        self.moved()
    }

    /// Makes all that was written part of the files.
    pub(super) fn commit(&mut self) -> Result<(), Failure> {
        self.sync()?;
        match &self.side {
            Side::Write { writer, .. } => Ok(writer.commit()?),
            Side::Read { .. } => Err(self.fail("was opened to read: there is nothing to flush")),
        }
    }
}
