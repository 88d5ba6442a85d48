//! Sets that are read.

use super::failure::{Failure, failure};
use super::keys::Keys;
use super::mode::Mode;
use super::set::{About, Set, Side};
use super::track::Track;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt::Debug;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use striae::sion::{ByteOrder, File, KeyvalMode, Meta1, Record, TaskEntry, TaskStream};

/// The streams of a set that is read.
pub trait Streams: Debug + Send + Sync {
    /// The used bytes of each chunk of a task.
    ///
    /// # Errors
    /// A damaged file, or an error of the operating system.
    fn chunk_lens(&self, entry: &TaskEntry) -> Result<Vec<u64>, Failure>;

    /// The stream of a task.
    ///
    /// # Errors
    /// The task is not one of this process.
    fn stream(&self, entry: &TaskEntry) -> Result<Box<dyn Stream>, Failure>;

    /// Whether all processes could do something; alone, whether this one could.
    ///
    /// # Errors
    /// That of any process.
    fn agree(&self, mine: Result<(), Failure>) -> Result<(), Failure> {
        mine
    }

    /// Ends the reading. Where other processes read as well, they get what this one has.
    ///
    /// # Errors
    /// That of any process.
    fn close(&self, mine: Result<(), Failure>) -> Result<(), Failure> {
        mine
    }
}

/// The stream of a task that is read.
pub trait Stream: Read + Seek + Debug + Send {
    /// The position in the stream of a byte of a chunk.
    ///
    /// # Errors
    /// The task did not use so much of this chunk.
    fn position_of(&mut self, chunk: u64, at: u64) -> Result<u64, Failure>;

    /// All key-value records.
    ///
    /// # Errors
    /// The stream has none, or is damaged.
    fn records(&mut self) -> Result<Vec<Record>, Failure>;
}

impl Streams for File {
    fn chunk_lens(&self, entry: &TaskEntry) -> Result<Vec<u64>, Failure> {
        // A damaged file may state any number of chunks; a stream has a limit.
        self.stream_of(entry)?;
        Ok(Self::chunk_lens(self, entry)?.collect::<Result<_, _>>()?)
    }

    fn stream(&self, entry: &TaskEntry) -> Result<Box<dyn Stream>, Failure> {
        Ok(Box::new(self.stream_of(entry)?))
    }
}

impl Stream for TaskStream {
    fn position_of(&mut self, chunk: u64, at: u64) -> Result<u64, Failure> {
        Ok(Self::position_of(self, chunk, at)?)
    }

    fn records(&mut self) -> Result<Vec<Record>, Failure> {
        Ok(Self::records(self)?.collect::<Result<_, _>>()?)
    }
}

/// What META1 and the list of tasks of a set say of it.
#[must_use]
pub fn about(meta1: &Meta1, files: Vec<PathBuf>, tasks: &[TaskEntry]) -> About {
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
        paths: (0..).zip(files).collect(),
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
    let tracks = tasks.into_iter().map(|entry| Track::new(entry, None)).collect();
    let mut set = Set::reading(path, (about, tracks), Arc::new(file)).posix(mode.posix);
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
    /// A set that is read.
    #[must_use]
    pub fn reading(path: &Path, known: (About, Vec<Track>), source: Arc<dyn Streams>) -> Self {
        let side = Side::Read { source, streams: HashMap::new(), keys: HashMap::new() };
        Self::new(path, known, side)
    }

    /// The stream of the current task.
    pub(super) fn stream(&mut self) -> Result<&mut dyn Stream, Failure> {
        let (rank, entry) = (self.rank, self.track()?.entry);
        let Side::Read { source, streams, .. } = &mut self.side else {
            return Err(failure(&self.path, "was opened to write: it cannot be read"));
        };
        match streams.entry(rank) {
            Entry::Occupied(open) => Ok(open.into_mut().as_mut()),
            Entry::Vacant(place) => Ok(place.insert(source.stream(&entry)?).as_mut()),
        }
    }

    /// Reads all of `bytes`, which must be in one chunk, or nothing: at the end of the stream
    /// returns whether nothing was to be read.
    ///
    /// # Errors
    /// The chunk has fewer; an error of the operating system.
    pub fn read(&mut self, bytes: &mut [u8]) -> Result<bool, Failure> {
        self.check_reading("it cannot be read")?;
        self.sync()?;
        let track = self.loaded()?;
        let was_at_end = !track.advance();
        let (left, len) = (track.len().saturating_sub(track.at), u64::try_from(bytes.len())?);
        if left < len {
            let (chunk, task) = (track.chunk, track.entry.task);
            self.place()?;
            if was_at_end && left == 0 {
                return Ok(false); // as programs find the end of a stream
            }
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
        self.place().map(|()| true)
    }

    /// Does `work` with the records of the current task.
    pub(super) fn with_keys<T>(
        &mut self,
        work: impl FnOnce(&mut Keys, &mut dyn Stream) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.check_reading("its keys cannot be read")?;
        let rank = self.rank;
        self.stream()?;
        let Side::Read { keys, streams, .. } = &mut self.side else {
            return Err("the set is written".into());
        };
        let own = streams.get_mut(&rank).ok_or("there is no such stream")?.as_mut();
        let keys = match keys.entry(rank) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(Keys::new(own)?),
        };
        work(keys, own)
    }

    /// Another open set of the same files, with the positions of this one.
    pub(super) fn duplicate(&mut self) -> Result<Self, Failure> {
        self.check_reading("it cannot be duplicated")?;
        self.sync()?;
        let Side::Read { source, keys, .. } = &self.side else {
            return Err("the set is written".into());
        };
        let (source, keys) = (Arc::clone(source), keys.clone());
        let side = Side::Read { source, streams: HashMap::new(), keys };
        Ok(Self {
            rank: self.rank,
            is_alone: self.is_alone,
            is_dup: true,
            is_posix: self.is_posix,
            opened: self.opened,
            folder: self.folder.clone(),
            ..Self::new(&self.path, (self.about.clone(), self.tracks.clone()), side)
        })
    }
}
