//! Sets that are read.

use super::keys::Keys;
use super::mode::Mode;
use super::set::{About, Failure, Set, Shown, Side, Track, failure};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use striae::sion::{ByteOrder, File, KeyvalMode, Meta1, TaskEntry, TaskStream};

/// What META1 and the list of tasks of a set say of it.
pub(super) fn about(meta1: &Meta1, files: Vec<std::path::PathBuf>, tasks: &[TaskEntry]) -> About {
    let number = meta1.filenumber().unwrap_or(0);
    let of_first = tasks.iter().filter(|entry| entry.file == 0);
    let globalskip =
        of_first.fold(0, |sum: u64, entry| sum.saturating_add(entry.place.chunks.chunksize));
    About {
        nfiles: i32::try_from(meta1.nfiles()).unwrap_or(i32::MAX),
        filenumber: i32::try_from(number).unwrap_or(i32::MAX),
        fsblksize: i32::try_from(meta1.fsblksize()).unwrap_or(i32::MAX),
        is_big: meta1.data_order() == ByteOrder::Big,
        is_keyval: meta1.keyval() == KeyvalMode::Inline,
        globalskip: i64::try_from(globalskip).unwrap_or(i64::MAX),
        start_of_varheader: 0,
        maxchunks: 0,
        mapping: Vec::new(),
        paths: files,
    }
}

/// Opens a set to read all of its tasks.
pub(super) fn open(path: &Path, mode: Mode) -> Result<Set, Failure> {
    let file = File::open(path)?;
    let tasks = file.tasks()?.collect::<Result<Vec<_>, _>>()?;
    let paths = file.files().map(|(path, _)| path.to_owned()).collect();
    let head = file.files().next().map(|(_, head)| *head).ok_or("a set has at least one file")?;
    let mut about = about(&head.meta1, paths, &tasks);
    let varheader = head.meta2.map_or(0, |meta2| meta2.start());
    about.start_of_varheader = i64::try_from(varheader)?;
    let maxchunks = head.meta2.map_or(0, |meta2| meta2.maxchunks());
    about.maxchunks = usize::try_from(maxchunks.min(1 << 16))?;
    let tasks = in_order_of_ranks(&file, tasks, &mut about)?;
    let side = Side::Read { file: Arc::new(file), streams: HashMap::new(), keys: HashMap::new() };
    let mut set = Set {
        path: path.to_owned(),
        about,
        tracks: tasks.into_iter().map(|entry| Track::new(entry, None)).collect(),
        rank: 0,
        is_alone: false,
        is_dup: false,
        is_posix: mode.posix,
        side,
        mirrors: HashMap::new(),
        shown: Shown::default(),
    };
    set.load(0)?;
    Ok(set)
}

/// Tasks in the order of ranks: that of the mapping in a set of several files.
fn in_order_of_ranks(
    file: &File,
    tasks: Vec<TaskEntry>,
    about: &mut About,
) -> Result<Vec<TaskEntry>, Failure> {
    if about.paths.len() < 2 {
        return Ok(tasks);
    }
    let mut firsts = vec![None; about.paths.len()];
    for entry in &tasks {
        let first = firsts.get_mut(usize::try_from(entry.file)?).ok_or("a task of no file")?;
        first.get_or_insert(entry.task);
    }
    let mut sorted = Vec::with_capacity(tasks.len());
    for rank in 0..i64::try_from(tasks.len())? {
        let mapped =
            file.reader().mapped(rank).map_err(|error| striae::Error::new(file.path(), error))?;
        let task = mapped.map_or_else(|| u64::try_from(rank), Ok)?;
        let entry = *tasks.get(usize::try_from(task)?).ok_or("the mapping names no task")?;
        let first = firsts.get(usize::try_from(entry.file)?).copied().flatten().unwrap_or(0);
        about.mapping.push(i32::try_from(entry.file)?);
        about.mapping.push(i32::try_from(entry.task.saturating_sub(first))?);
        sorted.push(entry);
    }
    Ok(sorted)
}

impl Set {
    /// The file and the stream of the current task.
    pub(super) fn stream(&mut self) -> Result<&mut TaskStream, Failure> {
        let (rank, entry) = (self.rank, self.track()?.entry);
        let Side::Read { file, streams, .. } = &mut self.side else {
            return Err(failure(&self.path, "was opened to write: it cannot be read"));
        };
        match streams.entry(rank) {
            Entry::Occupied(open) => Ok(open.into_mut()),
            Entry::Vacant(place) => Ok(place.insert(file.stream_of(&entry)?)),
        }
    }

    /// Reads all of `bytes`, which must be in one chunk, or nothing.
    pub(super) fn read(&mut self, bytes: &mut [u8]) -> Result<(), Failure> {
        self.check_reading("it cannot be read")?;
        self.sync()?;
        let track = self.loaded()?;
        let was_at_end = !track.advance();
        let (left, len) = (track.len().saturating_sub(track.at), u64::try_from(bytes.len())?);
        if left < len {
            let (chunk, task) = (track.chunk, track.entry.task);
            self.place()?;
            let end = if was_at_end { "the end of the stream" } else { "the end of the chunk" };
            return Err(self.fail(format_args!(
                "task {task} has {left} bytes left in chunk {chunk}, before {end}, not {len}"
            )));
        }
        let (chunk, at) = (u64::try_from(track.chunk)?, track.at);
        let stream = self.stream()?;
        let position = stream.position_of(chunk, at)?;
        stream.seek(SeekFrom::Start(position))?;
        stream.read_exact(bytes)?;
        let track = self.track()?;
        track.at = track.at.saturating_add(len);
        self.place()
    }

    /// Does `work` with the records of the current task.
    pub(super) fn with_keys<T>(
        &mut self,
        work: impl FnOnce(&mut Keys, &mut TaskStream) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.check_reading("its keys cannot be read")?;
        let rank = self.rank;
        let stream = self.stream()?;
        let mut own = stream.clone();
        let Side::Read { keys, .. } = &mut self.side else {
            return Err("the set is written".into());
        };
        let keys = match keys.entry(rank) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(Keys::new(&mut own)?),
        };
        work(keys, &mut own)
    }

    /// Another open set of the same files, with the positions of this one.
    pub(super) fn duplicate(&mut self) -> Result<Self, Failure> {
        self.check_reading("it cannot be duplicated")?;
        self.sync()?;
        let Side::Read { file, keys, .. } = &self.side else {
            return Err("the set is written".into());
        };
        let side =
            Side::Read { file: Arc::clone(file), streams: HashMap::new(), keys: keys.clone() };
        Ok(Self {
            path: self.path.clone(),
            about: self.about.clone(),
            tracks: self.tracks.clone(),
            rank: self.rank,
            is_alone: self.is_alone,
            is_dup: true,
            is_posix: self.is_posix,
            side,
            mirrors: HashMap::new(),
            shown: Shown::default(),
        })
    }
}
