//! Reading of a set by any number of ranks.
//!
//! Rank 0 opens the set as a serial reader does, and reads the tables of all files once, in windows
//! that go to all ranks. Each rank keeps the entries of its own tasks, opens the files of these
//! tasks, and reads the lengths of their chunks.

mod entries;
mod stream;

pub use stream::{KeyReader, TaskStream};

use crate::collective::Collective;
use crate::error::{Code, Error, Failure};
use entries::{Entry, LIMIT, Place, Windows, entries};
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use striae::posix::PosixFile;
use striae::sion as serial;
use striae_core::integrity::crc32c;
use striae_core::sion::position::Ends;
use striae_core::sion::seal::checksum_of;
use striae_core::sion::{Head, KeyvalMode, Opened, Physical, SealState, Stream, Task};
use striae_core::step::DriveError;
use striae_core::store::ReadAt;

/// The most chunks of a task whose lengths are kept in memory. A sparse file may claim 2^31 of
/// them.
const MAX_CHUNKS: u64 = 1 << 24;

/// Length in bytes of the window in which chunk lengths, or data to check, are read.
const WINDOW: usize = 1 << 16;

/// How to open a set that is read by all ranks.
///
/// ```
/// use std::io::Read;
/// use striae_mpi::sion::{FileReader, OpenOptions};
/// use striae_mpi::threads::Rank;
/// use striae_mpi::{Failure, Threads};
///
/// /// The work of a rank alone.
/// fn count(file: &FileReader<Rank>) -> std::io::Result<usize> {
///     let mut bytes = Vec::new();
///     for task in file.tasks() {
///         file.stream(task.task)?.read_to_end(&mut bytes)?;
///     }
///     Ok(bytes.len())
/// }
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("run.sion");
/// let mut set = striae::sion::Builder::new(5).create(&path)?; // by 5 tasks
/// # for task in 0..5 {
/// #     std::io::Write::write_all(&mut set.task(task)?, b"task")?;
/// # }
/// set.close()?;
/// let lens = Threads::new(2).run(|rank| { // read by 2 ranks
///     let file = OpenOptions::new().open(rank, &path)?;
///     let count = count(&file).map_err(|error| Failure::io("reading", &error));
///     let done = count.as_ref().map(drop).map_err(Clone::clone);
///     file.close(done).map(|_| count.unwrap_or(0)) // an error of one rank is that of all
/// });
/// let lens: Vec<_> = lens.into_iter().map(|len| len.expect("no rank panicked")).collect();
/// assert_eq!(lens, [Ok(8), Ok(12)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct OpenOptions {
    serial: serial::OpenOptions,
    wanted: Wanted,
}

/// The tasks that a rank reads.
#[derive(Debug, Clone)]
enum Wanted {
    Dealt,
    Tasks(Vec<u64>),
    Globalranks(Vec<i64>),
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl OpenOptions {
    /// Deals the tasks to the ranks evenly, in order: rank `r` of `p` reads the tasks from
    /// `r * n / p` up to `(r + 1) * n / p`, of `n`. So no rank has more than one task more than
    /// another (SIONlib's mapped reader gives the whole rest to the last rank), and as many ranks
    /// as tasks read one each.
    #[must_use]
    pub fn new() -> Self {
        Self { serial: serial::OpenOptions::new(), wanted: Wanted::Dealt }
    }

    /// Sets the tasks that this rank reads, in any order, by their numbers over (file, local rank).
    /// Tasks may be read by several ranks, or by none. Either all ranks choose, or none.
    #[must_use]
    pub fn tasks(mut self, tasks: Vec<u64>) -> Self {
        self.wanted = Wanted::Tasks(tasks);
        self
    }

    /// As [`tasks`](Self::tasks), by global ranks.
    #[must_use]
    pub fn globalranks(mut self, globalranks: Vec<i64>) -> Self {
        self.wanted = Wanted::Globalranks(globalranks);
        self
    }

    /// Whether the streams of a file that is not there are read from a buddy set, if it has them;
    /// they are unless told otherwise. The options of rank 0 count.
    #[must_use]
    pub fn buddies(mut self, buddies: bool) -> Self {
        self.serial = self.serial.buddies(buddies);
        self
    }

    /// Opens the set whose first file is at `path`. All ranks call this; the path of rank 0 counts.
    /// This takes three calls of the message layer, and two more for each further window of about
    /// 12 000 tasks, whatever the number of ranks, files and chunks.
    ///
    /// # Errors
    /// The failure of a rank, at all ranks: an error of the operating system; [`Code::Damaged`];
    /// [`Code::Unclosed`]; [`Code::Refused`] for a task that the set does not have.
    pub fn open<C: Collective>(
        &self,
        comm: C,
        path: impl AsRef<Path>,
    ) -> Result<FileReader<C>, Error> {
        self.open_in(comm, path, PosixFile::open)
    }

    /// As [`open`](Self::open), with data in files of any kind. `open` gets the path of a physical
    /// file. The tables, which rank 0 reads, are in files of the operating system.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_in<C: Collective, F>(
        &self,
        comm: C,
        path: impl AsRef<Path>,
        open: impl Fn(&Path) -> io::Result<F>,
    ) -> Result<FileReader<C, F>, Error>
    where
        for<'f> &'f F: ReadAt<Error = io::Error>,
    {
        let set = (comm.rank() == 0).then(|| self.open_set(path.as_ref())).transpose();
        let mut windows = set.as_ref().map_err(Clone::clone).and_then(|set| {
            set.as_ref().map(Windows::new).transpose() // of rank 0 alone
        });
        let mut picked = Picked::new(&self.wanted, comm.rank(), comm.size());
        let mut done = Ok(());
        loop {
            let window = done.and_then(|()| match &mut windows {
                Ok(Some(windows)) => windows.next(),
                Ok(None) => Ok(Vec::new()),
                Err(failure) => Err(failure.clone()),
            });
            let window = window.as_deref().map_err(Clone::clone);
            let window = comm.bcast(0, window, LIMIT)?;
            let (more, mut entries) = entries(&window);
            done = entries.try_for_each(|entry| picked.take(entry?));
            if !more {
                break;
            }
        }
        let opened = done.and_then(|()| picked.open(open));
        comm.agree(opened.as_ref().map(drop).map_err(Clone::clone))?;
        let (ntasks, head, files, tasks) = opened.map_err(Error::agreed)?; // all are right
        Ok(FileReader { comm, ntasks, head, files, tasks })
    }

    fn open_set(&self, path: &Path) -> Result<serial::File, Failure> {
        match self.serial.open(path)? {
            serial::Opened::Closed(set) => Ok(set),
            serial::Opened::Unclosed(set) => Err(set.not_closed().into()),
        }
    }
}

/// What a rank has kept of the entries of a set.
struct Picked<'a> {
    wanted: &'a Wanted,
    /// This rank and the number of ranks.
    rank: (u32, u32),
    /// The numbers of the tasks, if they are dealt or chosen by number, in order.
    numbers: Vec<u64>,
    dealt: Range<u64>,
    /// The global ranks that are chosen, and whether they were seen.
    globalranks: BTreeMap<i64, bool>,
    ntasks: u64,
    /// The metadata of the first file.
    first: Option<Head>,
    /// The number of the next task.
    next: u64,
    /// The current file, and whether it is in `files`.
    file: Option<(PathBuf, Head, u64)>,
    is_known: bool,
    files: Vec<(PathBuf, Head)>,
    tasks: Vec<(u64, usize, Task)>,
}

/// The number of tasks of a set, the metadata of its first file, and what a rank reads of it.
type OpenedSet<F> = (u64, Option<Head>, Vec<Source<F>>, Vec<TaskEntry>);

impl<'a> Picked<'a> {
    fn new(wanted: &'a Wanted, rank: u32, size: u32) -> Self {
        let (mut numbers, mut globalranks) = (Vec::new(), BTreeMap::new());
        match wanted {
            Wanted::Dealt => {}
            Wanted::Tasks(tasks) => numbers.clone_from(tasks),
            Wanted::Globalranks(ranks) => globalranks.extend(ranks.iter().map(|r| (*r, false))),
        }
        numbers.sort_unstable();
        numbers.dedup();
        Self {
            wanted,
            rank: (rank, size),
            numbers,
            dealt: 0..0,
            globalranks,
            ntasks: 0,
            first: None,
            next: 0,
            file: None,
            is_known: false,
            files: Vec::new(),
            tasks: Vec::new(),
        }
    }

    fn take(&mut self, entry: Entry) -> Result<(), Failure> {
        match entry {
            Entry::Set { ntasks } => {
                self.ntasks = ntasks;
                self.dealt = dealt(ntasks, self.rank);
                let wrong = self.numbers.last().filter(|task| **task >= ntasks);
                wrong.map_or(Ok(()), |task| {
                    let text = format_args!("there is no task {task}, the set has {ntasks} tasks");
                    Err(Failure::new(Code::Refused, text))
                })
            }
            Entry::File { path, head, globalskip } => {
                self.first.get_or_insert(*head);
                (self.file, self.is_known) = (Some((path, *head, globalskip)), false);
                Ok(())
            }
            Entry::Task(place) => self.take_task(place),
        }
    }

    fn take_task(&mut self, place: Place) -> Result<(), Failure> {
        let task = self.next;
        self.next = task.saturating_add(1);
        let is_mine = match self.wanted {
            Wanted::Dealt => self.dealt.contains(&task),
            Wanted::Tasks(_) => self.numbers.binary_search(&task).is_ok(),
            Wanted::Globalranks(_) => match self.globalranks.get_mut(&place.globalrank) {
                None => false,
                Some(seen) if *seen => {
                    let rank = place.globalrank;
                    let text = format_args!("several tasks have the global rank {rank}");
                    return Err(Failure::new(Code::Refused, text));
                }
                Some(seen) => {
                    *seen = true;
                    true
                }
            },
        };
        let Some((path, head, globalskip)) = self.file.as_ref().filter(|_| is_mine) else {
            return Ok(());
        };
        if !std::mem::replace(&mut self.is_known, true) {
            self.files.push((path.clone(), *head));
        }
        let file = self.files.len().saturating_sub(1);
        self.tasks.push((task, file, place.task(*globalskip)));
        Ok(())
    }

    /// Opens the files of the tasks of this rank, and reads the lengths of the chunks.
    fn open<F>(self, open: impl Fn(&Path) -> io::Result<F>) -> Result<OpenedSet<F>, Failure>
    where
        for<'f> &'f F: ReadAt<Error = io::Error>,
    {
        if let Some((rank, _)) = self.globalranks.iter().find(|(_, seen)| !**seen) {
            let text = format_args!("no task has the global rank {rank}");
            return Err(Failure::new(Code::Refused, text));
        }
        let open = |(path, head): (PathBuf, Head)| {
            let file = open(&path).map_err(|error| Failure::io(path.display(), &error))?;
            Ok(Source { path, head, file })
        };
        let files = self.files.into_iter().map(open).collect::<Result<Vec<_>, Failure>>()?;
        let entry = |(task, file, place): (u64, usize, Task)| {
            let source = files.get(file);
            let ends = source.map(|source| source.ends(task, place)).transpose()?;
            let ends = ends.unwrap_or_default();
            let bytes = ends.last().copied().unwrap_or(0);
            Ok(TaskEntry { task, place, bytes, file, ends })
        };
        let tasks = self.tasks.into_iter().map(entry).collect::<Result<_, Failure>>()?;
        Ok((self.ntasks, self.first, files, tasks))
    }
}

/// The tasks of a rank, if `ntasks` tasks are dealt evenly.
fn dealt(ntasks: u64, (rank, size): (u32, u32)) -> Range<u64> {
    let from = |rank: u64| {
        let share = u128::from(ntasks).saturating_mul(rank.into());
        let from = share.checked_div(u128::from(size)).unwrap_or(0);
        u64::try_from(from).unwrap_or(ntasks)
    };
    from(rank.into())..from(u64::from(rank).saturating_add(1))
}

/// A task of this rank.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskEntry {
    /// Number of the task in the set.
    pub task: u64,
    /// Rank and chunks of the task in its physical file.
    pub place: Task,
    /// Length of its stream in bytes.
    pub bytes: u64,
    /// The index of its file in those of this rank.
    file: usize,
    /// For each chunk the stream position after its last byte.
    ends: Vec<u64>,
}

/// A physical file with tasks of this rank.
#[derive(Debug)]
struct Source<F> {
    path: PathBuf,
    head: Head,
    file: F,
}

impl<F> Source<F>
where
    for<'f> &'f F: ReadAt<Error = io::Error>,
{
    fn physical(&self) -> Result<Physical<&F>, Failure> {
        match Opened::new(&self.file, self.head) {
            Opened::Closed(file) => Ok(file),
            Opened::Unclosed(_) => Err(Failure::new(Code::Unclosed, self.path.display())),
        }
    }

    fn failure(&self, error: DriveError<io::Error, serial::Error>) -> Failure {
        striae::Error::new(&self.path, error).into()
    }

    /// For each chunk of a task the stream position after its last byte.
    fn ends(&self, task: u64, place: Task) -> Result<Vec<u64>, Failure> {
        let count = place.blockcount;
        if count > MAX_CHUNKS {
            let text =
                format_args!("task {task} has {count} chunks, at most {MAX_CHUNKS} are read");
            return Err(Failure::new(Code::Refused, text));
        }
        let (file, mut ends, mut end) = (self.physical()?, Vec::new(), 0u64);
        let row = file.meta2().blockcounts().len();
        let window = usize::try_from(count.saturating_mul(row)).unwrap_or(usize::MAX);
        for len in file.chunk_lens(place, vec![0; window.clamp(8, WINDOW)]) {
            let len = len.map_err(|error| self.failure(error))?;
            end = end.checked_add(len).ok_or_else(overflow)?;
            ends.push(end);
        }
        Ok(ends)
    }

    /// Compares the data of tasks with the seal of the file, if it has one.
    fn check<'t>(&self, tasks: impl Iterator<Item = &'t TaskEntry>) -> Result<bool, Failure> {
        let (file, at) = (self.physical()?, |error| self.failure(error));
        let SealState::Sealed(seal) = file.seal().map_err(at)? else { return Ok(false) };
        let mut window = vec![0; WINDOW];
        for entry in tasks {
            let mut begin = 0;
            for (chunk, end) in (0..).zip(&entry.ends) {
                let len = end.saturating_sub(begin);
                begin = *end;
                let place = entry.place.chunks.chunk(chunk).and_then(|span| span.part(0, len));
                let stored = file.sealed_crc(&seal, entry.place.local, chunk).map_err(at)?;
                let Some(place) = place else { continue }; // all were checked at the open
                let crc = checksum_of(&file.store(), place, 0, crc32c, &mut window);
                if crc.map_err(at)? != stored {
                    let (path, task) = (self.path.display(), entry.task);
                    let text = format_args!(
                        "{path}: the data of chunk {chunk} of task {task} is not as sealed"
                    );
                    return Err(Failure::new(Code::Damaged, text));
                }
            }
        }
        Ok(true)
    }
}

fn overflow() -> Failure {
    Failure::new(Code::Damaged, "a stream has 2^64 bytes or more")
}

/// A set that all ranks read: what this rank sees of it.
///
/// [`stream`](Self::stream) and reading are calls of this rank alone.
#[derive(Debug)]
pub struct FileReader<C, F = PosixFile> {
    comm: C,
    ntasks: u64,
    head: Option<Head>,
    files: Vec<Source<F>>,
    tasks: Vec<TaskEntry>,
}

impl<C: Collective, F> FileReader<C, F>
where
    for<'f> &'f F: ReadAt<Error = io::Error>,
{
    /// The communicator of the set.
    pub const fn comm(&self) -> &C {
        &self.comm
    }

    /// Number of tasks of the whole set.
    #[must_use]
    pub const fn ntasks(&self) -> u64 {
        self.ntasks
    }

    /// Whether streams are key-value records.
    #[must_use]
    pub fn keyval(&self) -> KeyvalMode {
        self.head.map_or(KeyvalMode::None, |head| head.meta1.keyval())
    }

    /// The tasks of this rank, in the order of their numbers.
    #[must_use]
    pub fn tasks(&self) -> &[TaskEntry] {
        &self.tasks
    }

    /// Opens the stream of task `task`, which must be one of this rank. This reads nothing.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] if it is not of this rank.
    pub fn stream(&self, task: u64) -> io::Result<TaskStream<'_, F>> {
        let index = self.tasks.binary_search_by_key(&task, |entry| entry.task).ok();
        let entry = index.and_then(|index| self.tasks.get(index));
        let found = entry.and_then(|entry| {
            let source = self.files.get(entry.file)?;
            let lengths = Ends::new(entry.ends.as_slice())?; // sums are in order
            let stream = Stream::new(&source.file, entry.place.chunks, lengths);
            let meta1 = &source.head.meta1;
            Some(TaskStream::new(stream, entry.bytes, meta1.keyval(), meta1.order()))
        });
        let text = || format!("task {task} is not one of this rank");
        found.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, text()))
    }

    /// Compares the streams of all ranks with the seals of the files: each rank reads all data of
    /// its tasks. Returns whether all of them are sealed. All ranks call this; it takes one call of
    /// the message layer.
    ///
    /// The tables are not compared: a rank sees only its own entries of them.
    ///
    /// # Errors
    /// [`Code::Damaged`] for data that is not as sealed, or for a damaged seal; an error of the
    /// operating system.
    pub fn check(&self) -> Result<bool, Error> {
        let tasks = |file| self.tasks.iter().filter(move |entry| entry.file == file);
        let mut files = (0..).zip(&self.files);
        let unsealed = files.try_fold(0u64, |unsealed, (number, file)| {
            let is_sealed = file.check(tasks(number))?;
            Ok(unsealed.saturating_add(u64::from(!is_sealed)))
        });
        let [unsealed] = self.comm.total(unsealed.map(|unsealed| [unsealed]))?;
        Ok(unsealed == 0)
    }

    /// Closes the set, and tells all ranks whether one of them failed to read. Returns the
    /// communicator. This takes one call of the message layer.
    ///
    /// # Errors
    /// The failure of the lowest rank that has one, at all ranks.
    pub fn close(self, mine: Result<(), Failure>) -> Result<C, Error> {
        self.comm.agree(mine)?;
        Ok(self.comm)
    }
}
