//! Every task's stream into a file of its own.

use super::file::{File, TaskEntry, Tasks};
use crate::copy::Appender;
use crate::error::{Error, ErrorKind};
use rustix::fs::{CWD, RenameFlags};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use striae_core::sion::{KeyvalMode, Record};
use striae_core::span::Span;
use tempfile::TempDir;

/// How to extract a set into a folder: one file a task, `task_00000` and so on; of a set with
/// key-value records one file a task and key, `task_00000.key_1`.
///
/// All files are made in a hidden folder inside the target and renamed when all of them are whole:
/// if anything fails, the target is as it was.
#[derive(Debug, Clone, Copy)]
pub struct Extract {
    force: bool,
    threads: NonZeroUsize,
}

/// What was extracted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extracted {
    /// Files that were made.
    pub files: u64,
    /// Bytes in them.
    pub bytes: u64,
}

impl Default for Extract {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Self { force: false, threads }
    }
}

impl Extract {
    /// Overwrites nothing; as many threads as the machine has processors.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces files that exist already.
    #[must_use]
    pub const fn force(mut self, force: bool) -> Self {
        self.force = force;
        self
    }

    /// Copies with so many threads.
    #[must_use]
    pub const fn threads(mut self, threads: NonZeroUsize) -> Self {
        self.threads = threads;
        self
    }

    /// Extracts all tasks of `set` into the folder `dir`, which is made if it is not there.
    /// `progress` is told the length of each piece that was copied.
    ///
    /// # Errors
    /// [`ErrorKind::Exists`] for a file that is there already; a damaged set; the operating system's.
    pub fn run(
        &self,
        set: &File,
        dir: &Path,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Extracted, Error> {
        let made_dir = make_dir(dir)?;
        let done =
            self.check_names(set, dir).and_then(|()| self.copy_and_publish(set, dir, progress));
        if done.is_err() && made_dir {
            // Only an empty one goes; if it cannot, there is nothing better to do.
            let _ = fs::remove_dir(dir);
        }
        done
    }

    /// Refuses early, before anything is copied, where names are known from the number of tasks.
    fn check_names(&self, set: &File, dir: &Path) -> Result<(), Error> {
        if self.force || set.keyval() == KeyvalMode::Inline {
            return Ok(());
        }
        let at = |error| Error::new(dir, error);
        for entry in fs::read_dir(dir).map_err(at)? {
            let name = entry.map_err(at)?.file_name();
            let task = name.to_str().and_then(|name| name.strip_prefix("task_"));
            let task = task.and_then(|digits| digits.parse::<u64>().ok());
            let task = task.filter(|&task| task < set.ntasks());
            if task.is_some_and(|task| *name == *task_name(task)) {
                return Err(Error::new(&dir.join(name), ErrorKind::Exists));
            }
        }
        Ok(())
    }

    fn copy_and_publish(
        &self,
        set: &File,
        dir: &Path,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Extracted, Error> {
        let hidden = tempfile::Builder::new().prefix(".striae-extract-").tempdir_in(dir);
        let hidden = hidden.map_err(|error| Error::new(dir, error))?;
        let bytes = AtomicU64::new(0);
        let count = |n| {
            bytes.fetch_add(n, Ordering::Relaxed);
            progress(n);
        };
        self.copy_all(set, hidden.path(), &count)?;
        let files = self.publish(&hidden, dir)?;
        Ok(Extracted { files, bytes: bytes.into_inner() })
    }

    /// Lets the threads take one task after another; the first error ends all of them.
    fn copy_all(
        &self,
        set: &File,
        hidden: &Path,
        count: &(dyn Fn(u64) + Sync),
    ) -> Result<(), Error> {
        let tasks: Mutex<Option<Tasks<'_>>> = Mutex::new(Some(set.tasks()?));
        let failed: Mutex<Option<Error>> = Mutex::new(None);
        let next = || {
            let mut tasks = tasks.lock().unwrap_or_else(PoisonError::into_inner);
            tasks.as_mut().and_then(Iterator::next)
        };
        let work = || {
            while let Some(task) = next() {
                let copied = task.and_then(|task| copy_task(set, &task, hidden, count));
                if let Err(error) = copied {
                    tasks.lock().unwrap_or_else(PoisonError::into_inner).take();
                    failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..self.threads.get() {
                scope.spawn(work);
            }
            work();
        });
        failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }

    /// Renames all files into `dir`; takes back what it did if one of them must not be replaced.
    fn publish(&self, hidden: &TempDir, dir: &Path) -> Result<u64, Error> {
        let at = |error| Error::new(hidden.path(), error);
        let mut published: Vec<PathBuf> = Vec::new();
        for entry in fs::read_dir(hidden.path()).map_err(at)? {
            let from = entry.map_err(at)?.path();
            let to = dir.join(from.file_name().unwrap_or_default());
            if let Err(error) = self.rename(&from, &to) {
                if !self.force {
                    for path in published {
                        let _ = fs::remove_file(path); // made by this call; no other may be lost
                    }
                }
                return Err(error);
            }
            published.push(to);
        }
        Ok(u64::try_from(published.len()).unwrap_or(u64::MAX))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), Error> {
        let flags = if self.force { RenameFlags::empty() } else { RenameFlags::NOREPLACE };
        match rustix::fs::renameat_with(CWD, from, CWD, to, flags) {
            Ok(()) => Ok(()),
            Err(Errno::EXIST) => Err(Error::new(to, ErrorKind::Exists)),
            // A file system without the flag: link(2) does not replace either.
            Err(Errno::INVAL | Errno::NOSYS) => {
                fs::hard_link(from, to).map_err(|error| match error.kind() {
                    io::ErrorKind::AlreadyExists => Error::new(to, ErrorKind::Exists),
                    _ => Error::new(to, error),
                })
            }
            Err(error) => Err(Error::new(to, io::Error::from(error))),
        }
    }
}

/// Makes the folder if it is not there, and says whether it did.
fn make_dir(dir: &Path) -> Result<bool, Error> {
    match fs::create_dir(dir) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && dir.is_dir() => Ok(false),
        Err(error) => Err(Error::new(dir, error)),
    }
}

fn task_name(task: u64) -> String {
    format!("task_{task:05}")
}

fn copy_task(
    set: &File,
    task: &TaskEntry,
    hidden: &Path,
    count: &dyn Fn(u64),
) -> Result<(), Error> {
    let name = task_name(task.task);
    let mut stream = set.stream_of(task)?;
    if set.keyval() != KeyvalMode::Inline {
        return copy_spans(set, task, &hidden.join(name), count, || stream.next_span(u64::MAX));
    }
    let mut keys: BTreeMap<u64, Vec<Record>> = BTreeMap::new();
    for record in stream.records()? {
        keys.entry(record.key).or_default().push(record);
    }
    for (key, records) in keys {
        let mut value = super::stream::KeyReader::new(stream.clone(), records);
        let path = hidden.join(format!("{name}.key_{key}"));
        copy_spans(set, task, &path, count, || value.next_span(u64::MAX))?;
    }
    Ok(())
}

/// Writes the spans of a task's physical file, one after another, into a new file at `path`.
fn copy_spans(
    set: &File,
    task: &TaskEntry,
    path: &Path,
    count: &dyn Fn(u64),
    mut next: impl FnMut() -> Result<Option<Span>, Error>,
) -> Result<(), Error> {
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    let file = file.map_err(|error| Error::new(path, error))?;
    let mut to = Appender::new(&file);
    while let Some(span) = next()? {
        let (source, _, _) = set.address(task.task)?;
        let from = source.store().file();
        let from = from.map_err(|error| Error::new(source.store().path(), error))?;
        to.append(&from, span, count).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                let offset = span.offset();
                Error::new(source.store().path(), ErrorKind::Ended { offset })
            }
            _ => Error::new(path, error),
        })?;
    }
    Ok(())
}
