//! What a rank reads of a set, without the other ranks.

use super::source::{OfFile, OlderFile, Source, TaskEntry};
use super::stream::TaskStream;
use std::io;
use std::path::Path;
use striae::posix::PosixFile;
use striae_core::sion::{Head, KeyvalMode, Stream};
use striae_core::store::ReadAt;

/// The tasks that a rank reads. It needs no other rank for that, and its threads may use this.
#[derive(Debug)]
pub struct Streams<F = PosixFile> {
    pub(super) ntasks: u64,
    pub(super) older: Vec<OlderFile>,
    /// The first file of the set.
    pub(super) first: Option<OfFile>,
    pub(super) files: Vec<Source<F>>,
    pub(super) tasks: Vec<TaskEntry>,
}

impl<F> Streams<F> {
    /// Number of tasks of the whole set.
    #[must_use]
    pub const fn ntasks(&self) -> u64 {
        self.ntasks
    }

    /// Whether streams are key-value records.
    #[must_use]
    pub fn keyval(&self) -> KeyvalMode {
        self.head().map_or(KeyvalMode::None, |head| head.meta1.keyval())
    }

    /// The head of the first file of the set.
    #[must_use]
    pub fn head(&self) -> Option<&Head> {
        self.first.as_ref().map(|first| &first.head)
    }

    /// The files that are of an older commit of the set than another file: see
    /// [`striae::sion::File::older`].
    #[must_use]
    pub fn older(&self) -> &[OlderFile] {
        &self.older
    }

    /// The tasks of this rank, in the order of their numbers.
    #[must_use]
    pub fn tasks(&self) -> &[TaskEntry] {
        &self.tasks
    }

    /// Number, path and head of each file with tasks of this rank.
    pub fn files(&self) -> impl Iterator<Item = (u32, &Path, &Head)> {
        self.files.iter().map(|file| (file.of.number, file.of.path.as_path(), &file.of.head))
    }

    /// The number of the file of a task of this rank.
    #[must_use]
    pub fn file_of(&self, task: u64) -> Option<u32> {
        Some(self.files.get(self.entry(task)?.file)?.of.number)
    }

    /// The task `task`, if it is one of this rank.
    #[must_use]
    pub fn entry(&self, task: u64) -> Option<&TaskEntry> {
        let index = self.tasks.binary_search_by_key(&task, |entry| entry.task).ok();
        index.and_then(|index| self.tasks.get(index))
    }
}

impl<F> Streams<F>
where
    for<'f> &'f F: ReadAt<Error = io::Error>,
{
    /// Opens the stream of task `task`, which must be one of this rank. This reads nothing.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] if it is not of this rank.
    pub fn stream(&self, task: u64) -> io::Result<TaskStream<'_, F>> {
        let found = self.entry(task).and_then(|entry| {
            let source = self.files.get(entry.file)?;
            let stream = Stream::new(&source.file, entry.place.chunks, entry.ends.borrowed());
            let meta1 = &source.of.head.meta1;
            Some(TaskStream::new(stream, entry.bytes, meta1.keyval(), meta1.order()))
        });
        let text = || format!("task {task} is not one of this rank");
        found.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, text()))
    }
}
