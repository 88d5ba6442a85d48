//! Extracts the stream of every task into its own file.

use super::file::{File, TaskEntry};
use super::pack::parse_name;
use crate::address::{Part, Selection};
use crate::copy::{Copier, Place};
use crate::each::for_each;
use crate::error::Error;
use crate::files::FileStore;
use crate::posix::PosixFile;
use crate::verb::extract::{Chosen, Extracted, Names, final_path, refuse_strays};
use crate::verb::{Options, Selected};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use striae_core::sion::KeyvalMode;
use striae_core::span::Span;
use striae_core::store::ReadAt;
use striae_inspect::size::Demand;

/// Extracts a set into a folder, with one file for each task: `task_00000` and so on. A set with
/// key-value records gives one file for each task and key (`task_00000.key_1`), and an empty
/// `task_00000` for a task without records. A chosen chunk gives `task_00000.chunk_2`.
///
/// All files are made in a hidden folder inside the target folder and renamed when all of them are
/// complete. If a read or a copy fails, the target folder stays unchanged. A kill leaves the hidden
/// folder.
pub type Extract = Options<Selected<Tasks>>;

/// There are no options besides those of all formats.
#[derive(Debug, Clone, Copy, Default)]
#[expect(unnameable_types, reason = "it has nothing")]
pub struct Tasks;

impl Extract {
    /// Extracts all tasks of `set`, or what was selected, into the folder `dir`, which is made if
    /// it is not there. `progress` is told the length of each piece that was copied.
    ///
    /// # Errors
    /// [`Exists`](crate::error::ErrorKind::Exists) for a file that is there already;
    /// [`Source`](crate::error::ErrorKind::Source) for a file of the set itself;
    /// [`Stray`](crate::error::ErrorKind::Stray) if all tasks are extracted, and the folder has
    /// one of a larger number; [`Address`](crate::error::ErrorKind::Address); a damaged set; the
    /// operating system's.
    pub fn run(
        &self,
        set: &File,
        dir: &Path,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Extracted, Error> {
        let chosen = self.choose(set)?;
        if chosen.parts.is_none() {
            let ntasks = set.ntasks();
            refuse_strays(dir, |name| parse_name(name).is_some_and(|(task, _)| ntasks <= task))?;
        }
        self.fill_folder(chosen, dir, progress, |chosen, hidden, count| {
            self.copy_all(set, chosen.as_ref(), hidden, count)?;
            let checked = chosen.as_ref().map_or(Ok(()), Selection::check);
            checked.map_err(|error| Error::new(set.path(), error))
        })
    }

    /// What the addresses select. Refuses files that are together larger than the set justifies.
    fn choose<'f>(&self, set: &'f File) -> Result<Chosen<'f, Option<Selection>>, Error> {
        let parts = match self.how.addresses.as_slice() {
            [] => None,
            addresses => Some(set.selection(addresses)?),
        };
        let mut bytes = 0u64;
        for task in set.tasks()? {
            let task = task?;
            let is_chosen = match &parts {
                None => true,
                Some(chosen) => !set.selected(&task, chosen)?.is_empty(),
            };
            bytes = bytes.saturating_add(if is_chosen { task.bytes } else { 0 });
        }
        let existing = set.files().fold(0u64, |sum, (_, head)| sum.saturating_add(head.file_len));
        let demand = Demand { size: bytes, existing, own: 0 };
        self.output.admit(set.path(), &demand, "its streams have so many bytes")?;
        let is_ours = |name: &str| {
            let task = name.strip_prefix("task_").and_then(|digits| digits.parse::<u64>().ok());
            task.is_some_and(|task| task < set.ntasks() && name == task_name(task))
        };
        let (names, room) = match (&parts, set.keyval()) {
            (Some(_), _) => (Names::Later, 0),
            (None, KeyvalMode::Inline) => (Names::Later, bytes),
            (None, _) => (Names::All(Box::new(is_ours)), bytes),
        };
        let sources = set.reader().files().iter().filter_map(|file| file.store().identity());
        Ok(Chosen { parts, names, sources: sources.collect(), room })
    }

    /// Copies all tasks with several threads. The first error stops all threads.
    fn copy_all(
        &self,
        set: &File,
        chosen: Option<&Selection>,
        hidden: &Path,
        count: &(dyn Fn(u64) + Sync),
    ) -> Result<(), Error> {
        for_each(set.tasks()?, self.output.nthreads(), || {
            let first = set.reader().files().first();
            let direct = first.and_then(|file| file.store().direct_options());
            let mut copier = self.output.copier(direct);
            move |task: TaskEntry| match chosen {
                None => copy_task(set, &task, None, hidden, &mut copier, count),
                Some(chosen) => {
                    let parts = set.selected(&task, chosen)?;
                    copy_parts(set, &task, &parts, hidden, &mut copier, count)
                }
            }
        })
    }
}

/// The name of the file of a task: `task_00000` and so on.
#[must_use]
pub fn task_name(task: u64) -> String {
    format!("task_{task:05}")
}

/// Copies the parts of a task that were chosen: its keys and its chunks into files of their own.
fn copy_parts(
    set: &File,
    task: &TaskEntry,
    parts: &[Part],
    hidden: &Path,
    copier: &mut Copier,
    count: &dyn Fn(u64),
) -> Result<(), Error> {
    if parts.contains(&Part::All) {
        copy_task(set, task, None, hidden, copier, count)?;
    }
    let key = |part: &Part| if let Part::Key(key) = part { Some(*key) } else { None };
    let keys: BTreeSet<u64> = parts.iter().filter_map(key).collect();
    // A whole task's files are those of its keys.
    if !keys.is_empty() && !parts.contains(&Part::All) {
        copy_task(set, task, Some(&keys), hidden, copier, count)?;
    }
    for part in parts {
        let Part::Chunk(chunk) = part else { continue };
        let mut stream = set.stream_of(task)?;
        let (begin, mut left) = stream.chunk(*chunk)?;
        let name = format!("{}.chunk_{chunk}", task_name(task.task));
        let mut out = NewFile::new(set, task, hidden, &name)?;
        stream.seek_to(begin);
        while let Some(span) = stream.next_span(left)?.filter(|span| !span.is_empty()) {
            out.append(span, copier, count)?;
            left = left.saturating_sub(span.len());
        }
        out.finish()?;
    }
    Ok(())
}

/// Copies a task; in a set with key-value records only these keys, or all.
fn copy_task(
    set: &File,
    task: &TaskEntry,
    keys: Option<&BTreeSet<u64>>,
    hidden: &Path,
    copier: &mut Copier,
    count: &dyn Fn(u64),
) -> Result<(), Error> {
    let name = task_name(task.task);
    let mut stream = set.stream_of(task)?;
    if set.keyval() != KeyvalMode::Inline {
        let mut out = NewFile::new(set, task, hidden, &name)?;
        while let Some(span) = stream.next_span(u64::MAX)? {
            out.append(span, copier, count)?;
        }
        return out.finish();
    }
    // One file a key; that of the last record stays open, as records of a key often follow another.
    let mut last: Option<(u64, NewFile<'_>)> = None;
    if stream.is_empty() && keys.is_none() {
        NewFile::new(set, task, hidden, &name)?; // so that no task's number is missing
    }
    let mut records = stream.records()?;
    while let Some(record) = records.next().transpose().map_err(|error| error.of_task(task.task))? {
        if keys.is_some_and(|keys| !keys.contains(&record.key)) {
            continue;
        }
        let mut out = match last.take() {
            Some((key, out)) if key == record.key => out,
            other => {
                other.map_or(Ok(()), |(_, out)| out.finish())?;
                NewFile::new(set, task, hidden, &format!("{name}.key_{}", record.key))?
            }
        };
        for span in records.spans(&record) {
            out.append(span?, copier, count)?;
        }
        last = Some((record.key, out));
    }
    last.map_or(Ok(()), |(_, out)| out.finish())
}

/// An output file to which spans of a task's physical file are appended.
struct NewFile<'a> {
    store: &'a FileStore,
    to: PosixFile,
    /// Its length so far; the file may end in a hole that it does not have on disk yet.
    len: u64,
    /// Its final path, for errors.
    path: PathBuf,
}

impl<'a> NewFile<'a> {
    /// Opens the file with this name, or makes it; appends at its end.
    fn new(set: &'a File, task: &TaskEntry, dir: &Path, name: &str) -> Result<Self, Error> {
        let hidden = dir.join(name);
        let path = final_path(&hidden);
        let (source, _, _) = set.address(task.task)?;
        let to = match PosixFile::create(&hidden, false) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                PosixFile::open_rw(&hidden)
            }
            created => created,
        };
        let opened = to.and_then(|to| Ok((to.size()?, to)));
        let (len, to) = opened.map_err(|error| Error::new(&path, error))?;
        Ok(Self { store: source.store(), to, len, path })
    }

    fn append(
        &mut self,
        span: Span,
        copier: &mut Copier,
        count: &dyn Fn(u64),
    ) -> Result<(), Error> {
        let from = self.store.file().map_err(|error| Error::new(self.store.path(), error))?;
        let place = Place { file: &self.to, offset: self.len, zeros: true };
        let copied = copier.copy(&from, span, &place, count);
        copied.map_err(|error| error.of_files(self.store.path(), &self.path))?;
        self.len = self.len.saturating_add(span.len());
        Ok(())
    }

    /// Sets the length of the file, which matters if its last bytes are a hole.
    fn finish(self) -> Result<(), Error> {
        let sized = self.to.size().and_then(|size| match size == self.len {
            true => Ok(()),
            false => self.to.set_size(self.len),
        });
        sized.map_err(|error| Error::new(&self.path, error))
    }
}
