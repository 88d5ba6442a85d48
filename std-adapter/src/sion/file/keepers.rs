//! *Keepers*: the empty tasks that a file of a buddy set has before its copies
//! (`spec/sion.md#buddy-sets`).

use super::{File, Part, copies};
use crate::error::Error;
use crate::files::FileStore;
use crate::sion::ErrorKind;
use crate::sion::siblings::sibling_path;
use crate::sion::tasks::window;
use std::path::Path;
use striae_core::sion::{Physical, ReadError, tasks};

/// The number of keepers of each file of a set; no numbers if no file is of a buddy set.
#[derive(Debug, Default)]
pub(in crate::sion) struct Keepers(Vec<u64>);

impl Keepers {
    /// Counts the keepers of the files that are read in place of lost files of the set at `path`.
    ///
    /// # Errors
    /// [`NoCopy`](ErrorKind::NoCopy) for a file that is not of a buddy set of this set; an error of
    /// the operating system.
    pub(super) fn of_set(path: &Path, parts: &[Part]) -> Result<Self, Error> {
        let files = || parts.iter().map(|part| part.store().path());
        let Some((lost, copy)) = copies(path, files()).next() else { return Ok(Self::default()) };
        let is_copy = |number, part: &Part| part.store().path() != sibling_path(path, number);
        let own = (0..).zip(parts).find(|&(number, part)| !is_copy(number, part));
        let known = own.map(|(_, part)| part).or(parts.first());
        let mut keepers = Vec::new();
        for (number, part) in (0..).zip(parts) {
            if !is_copy(number, part) {
                keepers.push(0);
                continue;
            }
            if let Some(field) = known.map(|known| difference(known, part)).transpose()?.flatten() {
                let kind = ErrorKind::NoCopy { lost: sibling_path(path, number), field };
                return Err(Error::new(part.store().path(), kind));
            }
            let head = part.head();
            keepers.push(count(part.store().path(), part.tasks(window(head)))?);
        }
        let keepers = Self(keepers);
        if keepers.is_mapped(parts) {
            return Ok(keepers);
        }
        Err(Error::new(copy, ErrorKind::NoCopy { lost, field: "mapping_size" }))
    }

    /// Counts the keepers of the files of a buddy set.
    pub(super) fn of_buddy(files: &[Physical<FileStore>]) -> Result<Self, Error> {
        let count = |file: &Physical<FileStore>| {
            count(file.store().path(), file.tasks(window(file.head())))
        };
        files.iter().map(count).collect::<Result<_, _>>().map(Self)
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of keepers of file `number`.
    pub(in crate::sion) fn of_file(&self, number: u32) -> u64 {
        let number = usize::try_from(number).unwrap_or(usize::MAX);
        self.0.get(number).copied().unwrap_or(0)
    }

    pub(super) fn sum(&self) -> u64 {
        self.0.iter().copied().fold(0, u64::saturating_add)
    }

    /// Whether the mapping, if there is one that can be read, has an entry for each task but the
    /// keepers.
    fn is_mapped(&self, parts: &[Part]) -> bool {
        let Some(Part::Closed(first)) = parts.first() else { return true };
        let Ok(Some(mapping)) = first.mapping() else { return true };
        let ntasks = parts.iter().map(|part| u64::from(part.head().meta1.ntasks()));
        let ntasks = ntasks.fold(0, u64::saturating_add).saturating_sub(self.sum());
        mapping.is_empty() || mapping.len() == ntasks
    }
}

/// The first field by which `copy` cannot be of a buddy set of the set that has the file `known`.
fn difference(known: &Part, copy: &Part) -> Result<Option<&'static str>, Error> {
    if known.head().meta1.fsblksize() != copy.head().meta1.fsblksize() {
        return Ok(Some("fsblksize"));
    }
    let prefix =
        |part: &Part| part.prefix().map_err(|error| Error::new(part.store().path(), error));
    Ok((prefix(known)? != prefix(copy)?).then_some("filenameprefix"))
}

/// Number of keepers of the file at `path`, which has these tasks.
fn count(
    path: &Path,
    tasks: Result<tasks::Tasks<'_, FileStore, Vec<u8>>, ReadError<FileStore>>,
) -> Result<u64, Error> {
    let at = |error| Error::new(path, error);
    let mut keepers = 0u64;
    for task in tasks.map_err(at)? {
        if task.map_err(at)?.task.globalrank >= 0 {
            break;
        }
        keepers = keepers.saturating_add(1);
    }
    Ok(keepers)
}

impl File {
    /// Passes over the keepers of this buddy set: its tasks are then those of the set whose copies
    /// it has, with their numbers.
    pub(in crate::sion) fn into_copies(self) -> Result<Self, Error> {
        let keepers = Keepers::of_buddy(self.reader.files())?;
        Ok(Self { keepers, ..self })
    }

    /// The number that the reader has for a task: it counts keepers as well.
    pub(super) fn with_keepers(&self, task: u64) -> u64 {
        if self.keepers.is_empty() {
            return task;
        }
        self.firsts()
            .take_while(|&(first, _)| first <= task)
            .fold(task, |number, (_, keepers)| number.saturating_add(keepers))
    }

    /// The number of a task of which the reader has the number `counted`; for a keeper, an error
    /// with the reader's number of the first task after the keepers of its file.
    pub(super) fn without_keepers(&self, counted: u64) -> Result<u64, u64> {
        let mut before = 0u64;
        let file = self.firsts().map_while(|(first, keepers)| {
            let at = first.saturating_add(before); // the reader's number of the first keeper
            before = before.saturating_add(keepers);
            (at <= counted).then_some((at.saturating_add(keepers), before))
        });
        let (next, before) = file.last().unwrap_or((0, 0));
        if counted < next { Err(next) } else { Ok(counted.saturating_sub(before)) }
    }

    /// The number of the first task of each file, and how many keepers it has.
    fn firsts(&self) -> impl Iterator<Item = (u64, u64)> {
        let files = (0..).zip(self.reader.files());
        files.scan(0u64, |first, (number, file)| {
            let keepers = self.keepers.of_file(number);
            let ntasks = u64::from(file.head().meta1.ntasks()).saturating_sub(keepers);
            Some((std::mem::replace(first, first.saturating_add(ntasks)), keepers))
        })
    }
}
