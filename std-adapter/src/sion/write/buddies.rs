//! Buddy sets that are to be made, and those that are in the way.

use super::builder::Builder;
use super::part::Part;
use crate::error::Error;
use crate::shown;
use crate::sion::ErrorKind;
use crate::sion::file::{File, TaskEntry};
use crate::sion::siblings::copies_of;
use std::path::{Path, PathBuf};
use striae_core::sion::filegroups::{BuddySet, EvenFiles};

/// A buddy set that is to be made.
pub(super) struct BuddyPlan {
    pub(super) path: PathBuf,
    pub(super) builder: Builder,
    pub(super) set: BuddySet<EvenFiles>,
    pub(super) mapping: Vec<(u32, u32)>,
}

/// Refuses the name `path` for a new set of `nfiles` files if a reader would take files that are
/// there for copies of it. Those of its first `buddies` buddy sets are replaced with it.
pub(in crate::sion) fn refuse_others(path: &Path, nfiles: u32, buddies: u32) -> Result<(), Error> {
    let copies = copies_of(path, nfiles).map_err(|error| Error::new(path, error))?;
    match copies.into_iter().find(|copy| copy.buddy >= buddies) {
        None => Ok(()),
        Some(other) => {
            let kind = ErrorKind::OldBuddy { set: path.to_owned() };
            Err(Error::new(&other.path(path), kind))
        }
    }
}

/// The end of a stream to which its copy, which is longer, is to be cut back.
pub(super) struct Cut {
    /// The task, as the buddy set has it.
    pub(super) copy: TaskEntry,
    /// The last chunk of the stream.
    pub(super) chunk: u32,
    /// The used bytes of that chunk.
    pub(super) used: u64,
}

/// Compares the streams of `copy`, a buddy set without its keepers, with those of the set `main`,
/// file by file: they must be equally long, or longer, as a buddy set is committed before its set.
pub(super) fn compare(main: &File, copy: &File) -> Result<Vec<Cut>, Error> {
    let stale =
        |task| Error::new(copy.path(), ErrorKind::Stale { task, main: main.path().to_owned() });
    let kind = |task: &TaskEntry| (task.file, task.place.globalrank, task.place.chunks.chunksize);
    let end = |task: &TaskEntry| (task.place.blockcount, task.bytes);
    let (mut copies, mut cuts) = (copy.tasks()?, Vec::new());
    for task in main.tasks()? {
        let task = task?;
        let found = copies.next().transpose()?.filter(|found| kind(found) == kind(&task));
        let found = found.ok_or_else(|| stale(task.task))?;
        if end(&found) != end(&task) {
            let cut = cut((main, &task), (copy, found))?;
            cuts.push(cut.ok_or_else(|| stale(task.task))?);
        }
    }
    match copies.next().transpose()? {
        None => Ok(cuts),
        Some(rest) => Err(stale(rest.task)),
    }
}

/// Where to cut back `copied`; `None` if it is no longer form of the stream of `task`.
fn cut(
    (main, task): (&File, &TaskEntry),
    (copy, copied): (&File, TaskEntry),
) -> Result<Option<Cut>, Error> {
    let mut copies = copy.chunk_lens(&copied)?;
    let mut lens = (0..).zip(main.chunk_lens(task)?).peekable();
    while let Some((chunk, used)) = lens.next() {
        let (used, found) = (used?, copies.next().transpose()?);
        match found {
            Some(found) if lens.peek().is_some() && found == used => {}
            Some(found) if lens.peek().is_none() && found >= used => {
                drop(copies);
                return Ok(Some(Cut { copy: copied, chunk, used }));
            }
            _ => return Ok(None),
        }
    }
    Ok(None)
}

/// Cuts back copies in the files `parts` of their buddy set, and commits the result.
pub(super) fn cut_back(cuts: &[Cut], parts: &[Part]) -> Result<(), Error> {
    for (file, part) in (0..).zip(parts) {
        let mut cuts = cuts.iter().filter(|cut| cut.copy.file == file).peekable();
        if cuts.peek().is_none() {
            continue;
        }
        for Cut { copy, chunk, used } in cuts {
            part.renew(copy.place.local, Some((*chunk, *used)))?;
            let (path, task) = (shown::path(part.path()), copy.task);
            log::warn!("{path}: takes back what a failed commit wrote for task {task}");
        }
        part.commit()?;
    }
    Ok(())
}

/// Whether no number but 1 divides both.
pub(super) const fn have_no_common_divisor(mut a: u32, mut b: u32) -> bool {
    while let Some(rest) = a.checked_rem(b) {
        (a, b) = (b, rest);
    }
    a == 1
}
