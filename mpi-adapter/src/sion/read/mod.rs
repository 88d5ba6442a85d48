//! Reading of a set by any number of ranks.
//!
//! Rank 0 opens the set as a serial reader does, and reads the tables of all files once, in windows
//! that go to all ranks. Each rank keeps the entries of its own tasks, opens the files of these
//! tasks, and reads the lengths of their chunks.

mod entries;
mod picked;
mod source;
mod stream;
mod streams;

pub(super) use source::{OfFile, Source};
pub use source::{OlderFile, TaskEntry};
pub use stream::{KeyReader, TaskStream};
pub use streams::Streams;

use crate::collective::Collective;
use crate::error::{Code, Error, Failure};
use crate::operation::Operation;
use entries::{LIMIT, Windows, entries};
use picked::Picked;
use std::io;
use std::path::Path;
use striae::posix::PosixFile;
use striae::sion as serial;
use striae_core::integrity::crc32c;
use striae_core::sion::KeyvalMode;
use striae_core::store::ReadAt;

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
    /// How rank 0 opens the set before, if it is to be appended to, and a number of what all ranks
    /// append by.
    reopen: Option<serial::Reopen>,
    appends: u32,
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
        Self { serial: serial::OpenOptions::new(), wanted: Wanted::Dealt, reopen: None, appends: 0 }
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
    /// The failure of a rank, at all ranks: an error of the operating system;
    /// [`Code::Damaged`](crate::Code::Damaged); [`Code::Unclosed`](crate::Code::Unclosed);
    /// [`Code::Refused`](crate::Code::Refused) for a task that the set does not have.
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
        let operation =
            if self.reopen.is_some() { Operation::SionReopen } else { Operation::SionOpen };
        comm.begin(operation, self.fingerprint());
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
        let own = comm.agree(opened)?;
        Ok(FileReader { comm, own })
    }

    /// Rank 0 first opens the set as a serial writer that appends to it, which locks and checks it.
    pub(super) fn reopen(mut self, reopen: serial::Reopen, options: u32) -> Self {
        (self.reopen, self.appends) = (Some(reopen), options);
        self.buddies(false)
    }

    /// A number of what must be equal at all ranks.
    fn fingerprint(&self) -> u32 {
        let kind = std::mem::discriminant(&self.wanted);
        crc32c(0, format!("{kind:?} {:?}", self.appends).as_bytes())
    }

    fn open_set(&self, path: &Path) -> Result<serial::File, Failure> {
        if let Some(reopen) = &self.reopen {
            drop(reopen.open(path)?);
        }
        let set = match self.serial.open(path)? {
            serial::Opened::Closed(set) => set,
            serial::Opened::Unclosed(set) => return Err(set.not_closed().into()),
        };
        let levels = if self.reopen.is_some() { 0..set.files().len() } else { 0..0 };
        let mut copies = (0..).zip(levels).map(|(level, _)| serial::buddy_path(path, level));
        match copies.find(|copy| copy.symlink_metadata().is_ok()) {
            None => Ok(set),
            Some(copy) => {
                let text = format_args!("{} would no longer be a copy", copy.display());
                Err(Failure::new(Code::Refused, text))
            }
        }
    }
}

/// A set that all ranks read: what this rank sees of it.
///
/// [`stream`](Self::stream) and reading are calls of this rank alone.
#[derive(Debug)]
pub struct FileReader<C, F = PosixFile> {
    comm: C,
    own: Streams<F>,
}

/// A reader's communicator, the first file of the set, and what this rank has of it.
pub(super) type Parts<C, F> = (C, Option<OfFile>, Vec<Source<F>>, Vec<TaskEntry>);

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
        self.own.ntasks()
    }

    /// Whether streams are key-value records.
    #[must_use]
    pub fn keyval(&self) -> KeyvalMode {
        self.own.keyval()
    }

    /// The files that are of an older commit of the set than another file, at all ranks: see
    /// [`striae::sion::File::older`].
    #[must_use]
    pub fn older(&self) -> &[OlderFile] {
        self.own.older()
    }

    /// The tasks of this rank, in the order of their numbers.
    #[must_use]
    pub fn tasks(&self) -> &[TaskEntry] {
        self.own.tasks()
    }

    /// Opens the stream of task `task`, which must be one of this rank. This reads nothing.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] if it is not of this rank.
    pub fn stream(&self, task: u64) -> io::Result<TaskStream<'_, F>> {
        self.own.stream(task)
    }

    /// The communicator of the set, and what this rank reads of it. The ranks close the set with
    /// the communicator, if they have to agree that all could read.
    pub fn into_streams(self) -> (C, Streams<F>) {
        (self.comm, self.own)
    }

    /// Compares the streams of all ranks with the seals of the files: each rank reads all data of
    /// its tasks. Returns whether all of them are sealed. All ranks call this; it takes one call of
    /// the message layer.
    ///
    /// The tables are not compared: a rank sees only its own entries of them.
    ///
    /// # Errors
    /// [`Code::Damaged`](crate::Code::Damaged) for data that is not as sealed, or for a damaged
    /// seal; an error of the operating system.
    pub fn check(&self) -> Result<bool, Error> {
        self.comm.begin(Operation::SionCheck, 0);
        let tasks = |file| self.own.tasks.iter().filter(move |entry| entry.file == file);
        let mut files = (0..).zip(&self.own.files);
        let unsealed = files.try_fold(0u64, |unsealed, (number, file)| {
            let is_sealed = file.check(tasks(number))?;
            Ok(unsealed.saturating_add(u64::from(!is_sealed)))
        });
        let [unsealed] = self.comm.total(unsealed.map(|unsealed| [unsealed]))?;
        Ok(unsealed == 0)
    }

    pub(super) fn into_parts(self) -> Parts<C, F> {
        let Streams { first, files, tasks, .. } = self.own;
        (self.comm, first, files, tasks)
    }

    /// Closes the set, and tells all ranks whether one of them failed to read. Returns the
    /// communicator. This takes one call of the message layer.
    ///
    /// # Errors
    /// The failure of the lowest rank that has one, at all ranks.
    pub fn close(self, mine: Result<(), Failure>) -> Result<C, Error> {
        self.comm.begin(Operation::SionEndRead, 0);
        self.comm.agree(mine)?;
        Ok(self.comm)
    }
}
