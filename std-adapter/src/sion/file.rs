//! Sets of physical files, opened by the name of the first file.

mod commits;
mod demand;
mod keepers;

use self::commits::check_identities;
use super::ErrorKind;
use super::siblings::{PartOfSet, Places, files_of, of_sibling, sibling_path};
use super::stream::{KeyReader, TaskStream, lens_window};
use super::tasks::{Source, Tasks, window};
use crate::direct;
use crate::error::Error;
use crate::files::{FileStore, Files, max_open_files};
use crate::posix::PosixFile;
pub use commits::Older;
pub(super) use keepers::Keepers;
use std::path::{Path, PathBuf};
use striae_core::sion::{self as core_sion, Head, KeyvalMode, Meta1, Physical, Reader, Task};

/// Length in bytes of the window in which tables are read.
pub(crate) const WINDOW: usize = 1 << 18;

/// A physical file of a set.
pub(crate) type Part = core_sion::Opened<FileStore>;

/// The result of opening a set.
#[derive(Debug)]
pub enum Opened {
    /// A set that was closed.
    Closed(File),
    /// A set that was not closed.
    Unclosed(UnclosedSet),
}

/// A closed set, open for reading. Many threads may call all of its methods at once.
///
/// Tasks are numbered from 0 over (file, local rank).
#[derive(Debug)]
pub struct File {
    path: PathBuf,
    reader: Reader<Vec<Physical<FileStore>>, FileStore>,
    keepers: Keepers,
}

/// A set of which at least one physical file was never closed.
///
/// The tasks and the places of their chunks are known, but not the used bytes of each chunk.
#[derive(Debug)]
pub struct UnclosedSet {
    path: PathBuf,
    parts: Vec<Part>,
    keepers: Keepers,
}

/// A task of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskEntry {
    /// Number of the task in the set.
    pub task: u64,
    /// Number of the physical file of the task in the set.
    pub file: u32,
    /// Rank and chunks of the task in that file.
    pub place: Task,
    /// Length of its stream in bytes; 0 in a file that was never closed.
    pub bytes: u64,
}

impl TaskEntry {
    /// What another reader or writer than [`File`] knows of a task.
    #[must_use]
    pub const fn new(task: u64, file: u32, place: Task, bytes: u64) -> Self {
        Self { task, file, place, bytes }
    }
}

/// How to open a set.
#[derive(Debug, Clone, Copy)]
pub struct OpenOptions {
    max_open_files: usize,
    alone: bool,
    buddies: bool,
    direct: Option<direct::OpenOptions>,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self { max_open_files: max_open_files(), alone: false, buddies: true, direct: None }
    }
}

impl OpenOptions {
    /// Opens the whole set, with at most [`max_open_files`] files open at once.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps at most this number of files of the set open at once (at least one).
    #[must_use]
    pub const fn max_open_files(mut self, files: usize) -> Self {
        self.max_open_files = files;
        self
    }

    /// Opens only the named physical file, even if it is the first of several.
    #[must_use]
    pub const fn alone(mut self, alone: bool) -> Self {
        self.alone = alone;
        self
    }

    /// Whether the streams of a file that is not there are read from a buddy set, if it has them;
    /// they are unless told otherwise. [`Opened::copies`] says which.
    #[must_use]
    pub const fn buddies(mut self, buddies: bool) -> Self {
        self.buddies = buddies;
        self
    }

    /// Reads the bytes of streams past the page cache, as far as that can be, if there are options
    /// for that; tables and the headers of key-value records through it, as they are short, and
    /// read again and again.
    ///
    /// The first file of a set is opened for direct reading at once; each other file when its data
    /// is first read.
    #[must_use]
    pub const fn direct(mut self, options: Option<direct::OpenOptions>) -> Self {
        self.direct = options;
        self
    }

    /// Opens the set whose first file is at `path`. A later file of a set is opened alone.
    ///
    /// # Errors
    /// An error for the file that is missing, unreadable, damaged, or of another set
    /// ([`OtherSet`](crate::sion::ErrorKind::OtherSet), if its seal says so).
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Opened, Error> {
        let path = path.as_ref();
        let places = Places::new(path);
        let find = |number| match self.buddies && !self.alone {
            true => places.find(number),
            false => sibling_path(path, number),
        };
        let nfiles = self.nfiles(&find(0))?;
        let paths = (0..nfiles).map(find);
        let files = Files::direct(paths, self.max_open_files, self.direct);
        let files = files.map_err(|error| of_sibling(error, path, nfiles))?;
        if let Some(first) = files.stores().next().filter(FileStore::is_direct) {
            let bulk = first.bulk().map_err(|error| Error::new(path, error))?;
            bulk.direct()?; // what cannot be is said at once
        }
        let parts = files.stores().map(open_part).collect::<Result<Vec<_>, _>>()?;
        if nfiles > 1 {
            core_sion::check_set(parts.iter().map(Part::head))
                .map_err(|error| Error::new(path, error))?;
            check_identities(&parts)?;
        }
        Opened::new(path, parts)
    }

    /// Number of files of the set whose first file, or a copy of it, is at `path`; 1 if the file is
    /// to be opened alone.
    pub(super) fn nfiles(&self, path: &Path) -> Result<u32, Error> {
        let file = PosixFile::open(path).map_err(|error| Error::new(path, error))?;
        let opened = Physical::open(&file, &mut [0; Meta1::MAX_LEN]);
        let meta1 = opened.map_err(|error| Error::new(path, error))?.head().meta1;
        if self.alone {
            return Ok(1);
        }
        files_of(&meta1, path).map_err(|error| Error::new(path, error))
    }
}

impl File {
    /// Opens the set whose first file is at `path`. A later file of a set is opened alone.
    ///
    /// # Errors
    /// An error for the file that is missing, unreadable, damaged, or of another set;
    /// [`core_sion::Error::NotClosed`] if it was never closed: see [`OpenOptions::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        match OpenOptions::new().open(path)? {
            Opened::Closed(file) => Ok(file),
            Opened::Unclosed(set) => Err(set.not_closed()),
        }
    }

    /// The path that the set was opened by.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The set, as the core crate reads it.
    #[must_use]
    pub const fn reader(&self) -> &Reader<Vec<Physical<FileStore>>, FileStore> {
        &self.reader
    }

    /// Number of tasks of the whole set.
    #[must_use]
    pub fn ntasks(&self) -> u64 {
        self.reader.ntasks().saturating_sub(self.keepers.sum()) // exact: the reader counts them
    }

    /// The physical files that are lost, and the files of buddy sets that are read in their place.
    /// Tasks have the numbers that they would have without the loss.
    pub fn copies(&self) -> impl Iterator<Item = (PathBuf, &Path)> {
        copies(&self.path, self.files().map(|(path, _)| path))
    }

    /// Path and head (the parsed metadata) of each physical file.
    #[must_use]
    pub fn files(&self) -> impl ExactSizeIterator<Item = (&Path, &Head)> {
        self.reader.files().iter().map(|file| (file.store().path(), file.head()))
    }

    /// The number of this file in its set, if it was opened without the other files.
    #[must_use]
    pub fn part_of_set(&self) -> Option<PartOfSet> {
        match self.reader.files() {
            [file] => PartOfSet::of(&file.head().meta1),
            _ => None,
        }
    }

    /// All tasks in order.
    ///
    /// # Errors
    /// An error for a damaged table; an error of the operating system.
    pub fn tasks(&self) -> Result<Tasks<'_>, Error> {
        Tasks::new(Source::Closed(self.reader.files().iter()), &self.keepers)
    }

    /// The entry of task `task`.
    ///
    /// # Errors
    /// [`core_sion::Error::NoTask`] if there is no such task; an error for a damaged entry; an
    /// error of the operating system.
    pub fn task(&self, task: u64) -> Result<TaskEntry, Error> {
        let (physical, file, local) = self.address(task)?;
        let at = |error| Error::new(physical.store().path(), error);
        let place = physical.task(local, &mut window(physical.head())).map_err(at)?;
        let lens = physical.chunk_lens(place, lens_window(physical, &place));
        let bytes = lens.into_iter().try_fold(0u64, |sum, len| Ok(sum.saturating_add(len?)));
        let bytes = bytes.map_err(at)?;
        Ok(TaskEntry { task, file, place, bytes })
    }

    /// The number of the task with this global rank: the one that the mapping names, or else the
    /// only one with this rank.
    ///
    /// # Errors
    /// [`ErrorKind::NoGlobalrank`] if no task has this rank, [`ErrorKind::Ambiguous`] if several
    /// have it; an error of the operating system.
    pub fn find_globalrank(&self, globalrank: i64) -> Result<u64, Error> {
        let at = |error| Error::new(&self.path, error);
        // The mapping of a set does not hold for files of its buddy sets.
        if self.keepers.is_empty()
            && let Some(task) = self.reader.mapped(globalrank).map_err(at)?
        {
            return Ok(task);
        }
        let mut window = vec![0; 1 << 16];
        let (mut found, mut from) = (None, 0);
        loop {
            let hit = self.reader.search_globalrank(globalrank, from, &mut window).map_err(at)?;
            let Some(hit) = hit else { break };
            match (self.without_keepers(hit), found) {
                (Err(next), _) => from = next,
                (Ok(task), None) => (found, from) = (Some(task), hit.saturating_add(1)),
                (Ok(second), Some(first)) => {
                    let tasks = [first, second];
                    let kind = ErrorKind::Ambiguous { globalrank, tasks };
                    return Err(Error::new(&self.path, kind));
                }
            }
        }
        found.ok_or_else(|| Error::new(&self.path, ErrorKind::NoGlobalrank { globalrank }))
    }

    /// Opens the stream of task `task`.
    ///
    /// # Errors
    /// The errors of [`File::task`].
    pub fn stream(&self, task: u64) -> Result<TaskStream, Error> {
        let (file, _, local) = self.address(task)?;
        let place = file.task(local, &mut window(file.head()));
        let place = place.map_err(|error| Error::new(file.store().path(), error))?;
        TaskStream::new(file, place)
    }

    /// Opens the stream of a task whose entry is known from a list of this set.
    ///
    /// # Errors
    /// The errors of [`File::task`].
    pub fn stream_of(&self, entry: &TaskEntry) -> Result<TaskStream, Error> {
        let (file, _, _) = self.address(entry.task)?;
        TaskStream::new(file, entry.place)
    }

    /// Used bytes of each chunk of a task, in order. The task's entry comes from a list of this
    /// set.
    ///
    /// # Errors
    /// [`core_sion::Error::NoTask`] if there is no such task. An item is an error if its table
    /// entry is damaged or cannot be read; it is the last item.
    pub fn chunk_lens(
        &self,
        entry: &TaskEntry,
    ) -> Result<impl Iterator<Item = Result<u64, Error>>, Error> {
        let (file, _, _) = self.address(entry.task)?;
        let lens = file.chunk_lens(entry.place, lens_window(file, &entry.place));
        Ok(lens.map(|len| len.map_err(|error| Error::new(file.store().path(), error))))
    }

    /// The value of `key` in task `task`: all records with this key, one after another.
    ///
    /// # Errors
    /// [`core_sion::Error::NoKeyval`] if the set has no key-value records; [`ErrorKind::NoKey`] if
    /// the task has no record with this key; an error for a damaged record; the errors of
    /// [`File::task`].
    pub fn value(&self, task: u64, key: u64) -> Result<KeyReader, Error> {
        let value = KeyReader::new(self.stream(task)?, key).map_err(|error| error.of_task(task))?;
        value.ok_or_else(|| Error::new(&self.path, ErrorKind::NoKey { task, key }))
    }

    /// Whether streams are key-value records.
    #[must_use]
    pub fn keyval(&self) -> KeyvalMode {
        self.reader.keyval()
    }

    /// The physical file of task `task`, the number of that file, and the rank of the task in it.
    pub(super) fn address(&self, task: u64) -> Result<(&Physical<FileStore>, u32, u32), Error> {
        self.reader.address(self.with_keepers(task)).map_err(|error| Error::new(&self.path, error))
    }
}

impl UnclosedSet {
    /// The path that the set was opened by.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Number of tasks of the whole set.
    #[must_use]
    pub fn ntasks(&self) -> u64 {
        let ntasks = self.parts.iter().map(|part| u64::from(part.head().meta1.ntasks()));
        ntasks.fold(0, u64::saturating_add).saturating_sub(self.keepers.sum())
    }

    /// The physical files, as the core crate reads them.
    #[must_use]
    pub fn parts(&self) -> &[core_sion::Opened<FileStore>] {
        &self.parts
    }

    /// Path and head (the parsed metadata) of each physical file.
    #[must_use]
    pub fn files(&self) -> impl ExactSizeIterator<Item = (&Path, &Head)> {
        self.parts.iter().map(|part| (part.store().path(), part.head()))
    }

    /// All tasks in order. Tasks of a file that was never closed have no chunks and no bytes.
    ///
    /// # Errors
    /// An error for a damaged table; an error of the operating system.
    pub fn tasks(&self) -> Result<Tasks<'_>, Error> {
        Tasks::new(Source::Mixed(self.parts.iter()), &self.keepers)
    }

    /// The error [`NotClosed`](core_sion::Error::NotClosed) for the first unclosed file.
    #[must_use]
    pub fn not_closed(&self) -> Error {
        let part = self.parts.iter().find(|part| part.head().meta2.is_none());
        let path = part.map_or(&*self.path, |part| part.store().path());
        let at = part.map_or(0, |part| part.head().meta1.layout().commit_fields().offset());
        let field = core_sion::raw::CommitFields::start_of_varheader;
        let offset = at.saturating_add(field.offset().into());
        Error::new(path, core_sion::Error::NotClosed { offset })
    }
}

fn open_part(store: FileStore) -> Result<Part, Error> {
    let path = store.path().to_owned();
    let opened = Physical::open(store, &mut [0; Meta1::MAX_LEN]);
    opened.map_err(|error| Error::new(&path, error))
}

impl Opened {
    /// Path and head (the parsed metadata) of each physical file.
    #[must_use]
    pub fn files(&self) -> Vec<(&Path, &Head)> {
        match self {
            Self::Closed(file) => file.files().collect(),
            Self::Unclosed(set) => set.files().collect(),
        }
    }

    /// The physical files that are lost, and the files of buddy sets that are read in their place.
    /// Tasks have the numbers that they would have without the loss.
    pub fn copies(&self) -> impl Iterator<Item = (PathBuf, &Path)> {
        let path = match self {
            Self::Closed(file) => file.path(),
            Self::Unclosed(set) => set.path(),
        };
        copies(path, self.files().into_iter().map(|(path, _)| path))
    }

    /// Number of tasks of the whole set.
    #[must_use]
    pub fn ntasks(&self) -> u64 {
        match self {
            Self::Closed(file) => file.ntasks(),
            Self::Unclosed(set) => set.ntasks(),
        }
    }

    /// All tasks in order. Tasks of a file that was never closed have no chunks and no bytes.
    ///
    /// # Errors
    /// An error for a damaged table; an error of the operating system.
    pub fn tasks(&self) -> Result<Tasks<'_>, Error> {
        match self {
            Self::Closed(file) => file.tasks(),
            Self::Unclosed(set) => set.tasks(),
        }
    }

    /// The number of this file in its set, if it was opened without the other files.
    #[must_use]
    pub fn part_of_set(&self) -> Option<PartOfSet> {
        match self.files().as_slice() {
            [(_, head)] => PartOfSet::of(&head.meta1),
            _ => None,
        }
    }

    /// The name under which the set was created; it is stored in the first file.
    ///
    /// # Errors
    /// An error of the operating system.
    pub fn prefix(&self) -> Result<Vec<u8>, Error> {
        let (path, prefix) = match self {
            Self::Closed(file) => match file.reader.files().first() {
                Some(first) => (first.store().path(), first.prefix()),
                None => return Ok(Vec::new()),
            },
            Self::Unclosed(set) => match set.parts.first() {
                Some(first) => (first.store().path(), first.prefix()),
                None => return Ok(Vec::new()),
            },
        };
        prefix.map(|prefix| prefix.to_vec()).map_err(|error| Error::new(path, error))
    }

    fn new(path: &Path, parts: Vec<Part>) -> Result<Self, Error> {
        let keepers = Keepers::of_set(path, &parts)?;
        let path = path.to_owned();
        let is_closed = |part: &Part| matches!(part, Part::Closed(_));
        if !parts.iter().all(is_closed) {
            return Ok(Self::Unclosed(UnclosedSet { path, parts, keepers }));
        }
        let files = parts.into_iter().filter_map(|part| match part {
            Part::Closed(file) => Some(file),
            Part::Unclosed(_) => None,
        });
        // One file of a set may be here alone, so this is no check.
        let reader = Reader::of_parts(files.collect());
        Ok(Self::Closed(File { path, reader, keepers }))
    }
}

/// Which of the files of the set at `path` are lost, and what is read in their place.
pub(super) fn copies<'a>(
    path: &Path,
    files: impl IntoIterator<Item = &'a Path>,
) -> impl Iterator<Item = (PathBuf, &'a Path)> {
    let own = (0..).map(|number| sibling_path(path, number));
    own.zip(files).filter(|(own, read)| own != read)
}
