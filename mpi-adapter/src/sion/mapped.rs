//! Creation of a set of which each rank owns any tasks.

use super::FileWriter;
use super::builder::{Builder, Files, Tasks, sibling_path};
use super::part::{Part, Request, refused};
use crate::collective::{Collective, Fold};
use crate::error::{Code, Error, Failure};
use std::io;
use std::path::Path;
use std::rc::Rc;
use striae_core::sion::filegroups::{EvenFiles, FileGroups};
use striae_core::store::{WriteAt, usize_to_u64};

/// A rank's tasks in a file.
type InFile = (u32, Vec<Request>);

impl Builder {
    pub(super) fn create_mapped<C: Collective, F>(
        &self,
        comm: C,
        path: &Path,
        options: Result<(), Failure>,
        open: Rc<impl Fn(&Path, bool) -> io::Result<F> + 'static>,
    ) -> Result<FileWriter<C, F>, Error>
    where
        F: Send + Sync + 'static,
        for<'f> &'f F: WriteAt<Error = io::Error>,
    {
        if let Tasks::Placed(tasks) = &self.tasks {
            return self.create_placed(comm, path, (tasks, options), &open);
        }
        let mut tasks = self.numbered(&comm, options);
        if let Ok(tasks) = &mut tasks {
            tasks.sort_unstable();
        }
        let groups = self.agree_on_tasks(&comm, path, &tasks)?;
        let tasks = tasks.map_err(Error::agreed)?; // all are right
        let mut in_files = files_of(&tasks, groups);
        let mut parts = Vec::new();
        let (whole, identity) = if self.options.nfiles == 1 {
            let (_, tasks) = in_files.pop().unwrap_or_default();
            parts.push(self.create_file(comm, path, &open, groups, (0, tasks))?);
            (None, 0)
        } else {
            let files: Vec<_> = in_files.iter().map(|(file, _)| *file).collect();
            let comms = split(&comm, &files, groups.nfiles())?;
            let mut done = Ok(());
            for (comm, in_file) in comms.into_iter().zip(in_files) {
                // Other ranks wait for this one in each of its files, also after a failure.
                match self.create_file(comm, path, &open, groups, in_file) {
                    Ok(part) => parts.push(part),
                    Err(error) => done = done.and(Err(error)),
                }
            }
            let chosen = self.choose(comm.rank(), self.options.nfiles);
            let ((), identity) = super::agree_on_identity(Some(&comm), chosen, done)?;
            (Some(comm), identity)
        };
        let mut parts = parts.into_iter();
        let part = parts.next().ok_or_else(|| Error::agreed(missing()))?; // has one
        Ok(FileWriter::new(path, (whole, part, parts.collect())).in_set(identity))
    }

    /// The tasks of this rank with their numbers in the set.
    fn numbered<C: Collective>(
        &self,
        comm: &C,
        options: Result<(), Failure>,
    ) -> Result<Vec<(u64, u64)>, Failure> {
        match &self.tasks {
            Tasks::Mapped(tasks) => options.map(|()| tasks.clone()),
            Tasks::Placed(_) => options.map(|()| Vec::new()), // have places
            Tasks::One(size) => options.map(|()| vec![(comm.rank().into(), *size)]),
            Tasks::Consecutive(sizes) => {
                let [first] = comm.exscan(options.map(|()| [usize_to_u64(sizes.len())]))?;
                Ok((first..).zip(sizes.iter().copied()).collect())
            }
        }
    }

    /// All ranks learn how many tasks there are. That each of them is there is known only after
    /// the ranks have written their entries.
    fn agree_on_tasks<C: Collective>(
        &self,
        comm: &C,
        path: &Path,
        tasks: &Result<Vec<(u64, u64)>, Failure>,
    ) -> Result<EvenFiles, Error> {
        let mine = tasks.as_ref().map_err(Clone::clone).and_then(|tasks| {
            self.check_buddies(path, comm.rank(), self.options.nfiles)?;
            let number = |task: Option<&(u64, u64)>| task.map(|(number, _)| *number);
            let least = number(tasks.first()).unwrap_or(u64::MAX);
            let end = number(tasks.last()).map_or(0, |last| last.saturating_add(1));
            Ok([usize_to_u64(tasks.len()), least, end])
        });
        let folds = [Fold::Sum, Fold::Min, Fold::Max];
        let [count, least, end] = comm.combine(mine, folds)?;
        // All ranks have the same numbers, and so find the same.
        if least != 0 || end != count {
            return Err(Error::agreed(missing()));
        }
        EvenFiles::new(count, self.options.nfiles.into()).map_err(|e| Error::agreed(refused(e)))
    }

    fn create_file<C: Collective, F>(
        &self,
        comm: C,
        path: &Path,
        open: &Rc<impl Fn(&Path, bool) -> io::Result<F> + 'static>,
        groups: EvenFiles,
        (file, tasks): InFile,
    ) -> Result<Part<C, F>, Error>
    where
        F: Send + Sync + 'static,
        for<'f> &'f F: WriteAt<Error = io::Error>,
    {
        let (name, open) = (sibling_path(path, file), Rc::clone(open));
        let plan = self.plan(path, Files::even(groups, file), file, tasks);
        self.collected(comm, plan, move |anew| open(&name, anew), Part::create_mapped)
    }
}

pub(super) fn missing() -> Failure {
    let text = "the tasks of all ranks must be numbered from 0 without a gap, each of one rank";
    Failure::new(Code::Refused, text)
}

/// The files in which a rank has tasks, in order; a rank without a task helps with the first.
fn files_of(tasks: &[(u64, u64)], groups: EvenFiles) -> Vec<InFile> {
    let mut files: Vec<InFile> = Vec::new();
    for (number, chunksize) in tasks {
        let globalrank = u32::try_from(*number).unwrap_or(u32::MAX); // below the number of tasks
        let Some((file, local)) = groups.address(globalrank) else { continue };
        let request = Request::new(local, globalrank, *chunksize);
        match files.last_mut().filter(|(last, _)| *last == file) {
            Some((_, tasks)) => tasks.push(request),
            None => files.push((file, vec![request])),
        }
    }
    if files.is_empty() {
        files.push((0, Vec::new()));
    }
    files
}

/// The communicators of the files of a rank. If no rank has tasks in several files, one split
/// makes them all.
pub(super) fn split<C: Collective>(comm: &C, files: &[u32], nfiles: u32) -> Result<Vec<C>, Error> {
    let [most] = comm.max(Ok([usize_to_u64(files.len())]))?;
    if let ([file], 1) = (files, most) {
        return Ok(vec![comm.split(Ok(*file))?]);
    }
    let (mut comms, mut done) = (Vec::new(), Ok(()));
    for file in 0..nfiles {
        let is_mine = files.contains(&file);
        let part = comm.split(done.map(|()| u32::from(is_mine)))?;
        done = Ok(());
        match is_mine {
            true => comms.push(part),
            false => done = part.free(Ok(())).map_err(Failure::from),
        }
    }
    comm.agree(done)?;
    Ok(comms)
}
