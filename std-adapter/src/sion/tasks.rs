//! The tasks of a set, listed.

use super::file::{Keepers, Part, TaskEntry, WINDOW};
use crate::error::Error;
use crate::files::FileStore;
use std::path::Path;
use striae_core::sion::{Head, Listed, Physical, tasks};

/// The tasks of a set in order.
#[derive(Debug)]
pub struct Tasks<'a> {
    files: Source<'a>,
    current: Option<(&'a Path, tasks::Tasks<'a, FileStore, Vec<u8>>)>,
    file: u32,
    task: u64,
    keepers: &'a Keepers,
}

#[derive(Debug)]
pub(super) enum Source<'a> {
    Closed(std::slice::Iter<'a, Physical<FileStore>>),
    Mixed(std::slice::Iter<'a, Part>),
}

impl<'a> Tasks<'a> {
    pub(super) fn new(files: Source<'a>, keepers: &'a Keepers) -> Result<Self, Error> {
        let mut tasks = Self { files, current: None, file: 0, task: 0, keepers };
        tasks.enter_file()?;
        Ok(tasks)
    }

    /// Goes on with the next physical file, if there is one.
    #[cold]
    fn enter_file(&mut self) -> Result<(), Error> {
        let next = match &mut self.files {
            Source::Closed(files) => {
                files.next().map(|file| (file.store().path(), file.tasks(window(file.head()))))
            }
            Source::Mixed(parts) => {
                parts.next().map(|part| (part.store().path(), part.tasks(window(part.head()))))
            }
        };
        self.current = match next {
            Some((path, tasks)) => {
                let at = |error| Error::new(path, error);
                let mut tasks = tasks.map_err(at)?;
                for _ in 0..self.keepers.of_file(self.file) {
                    tasks.next().transpose().map_err(at)?;
                }
                Some((path, tasks))
            }
            None => None,
        };
        Ok(())
    }
}

impl Iterator for Tasks<'_> {
    type Item = Result<TaskEntry, Error>;

    #[inline] // a list of all tasks is a loop over this
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (path, tasks) = self.current.as_mut()?;
            if let Some(listed) = tasks.next() {
                let task = self.task;
                self.task = task.saturating_add(1);
                return Some(match listed {
                    Ok(Listed { task: place, bytes }) => {
                        Ok(TaskEntry { task, file: self.file, place, bytes })
                    }
                    Err(error) => Err(Error::new(path, error)),
                });
            }
            self.file = self.file.saturating_add(1);
            if let Err(error) = self.enter_file() {
                self.current = None;
                return Some(Err(error));
            }
        }
    }
}

/// Memory to read a physical file's tables in: for all of them, but at most [`WINDOW`] bytes,
/// and so many at least that several rows of short tables are read at once.
pub(super) fn window(head: &Head) -> Vec<u8> {
    let all = usize::try_from(head.meta1.ntasks()).unwrap_or(usize::MAX).saturating_mul(40);
    vec![0; all.clamp(1 << 14, WINDOW)]
}
