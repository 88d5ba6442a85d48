//! Creation of a set of which each rank owns any tasks.

use super::builder::{Builder, Tasks};
use super::owners::{Made, Owners, comms_of};
use super::part::{Claim, refused};
use crate::collective::{Collective, Fold};
use crate::error::{Code, Error, Failure};
use crate::file::SharedFile;
use std::io;
use std::path::Path;
use std::rc::Rc;
use striae_core::sion::filegroups::EvenFiles;
use striae_core::store::usize_to_u64;

impl Builder {
    pub(super) fn create_mapped<C: Collective, F: SharedFile + Send + Sync + 'static>(
        &self,
        comm: C,
        path: &Path,
        options: Result<(), Failure>,
        open: &Rc<impl Fn(&Path, bool) -> io::Result<F> + 'static>,
    ) -> Result<Made<C, F>, Error> {
        let mut tasks = self.numbered(&comm, options);
        if let Ok(tasks) = &mut tasks {
            tasks.sort_unstable();
        }
        let (tasks, groups) = self.agree_on_tasks(&comm, path, tasks)?;
        let owners = Owners::even(groups, &tasks);
        let comms = comms_of(comm, &owners.numbers(), owners.nfiles)?;
        self.create_files(comms, path, owners, Claim::Numbered, open)
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
        tasks: Result<Vec<(u64, u64)>, Failure>,
    ) -> Result<(Vec<(u64, u64)>, EvenFiles), Error> {
        let nfiles = self.set.nfiles;
        let tasks = tasks.and_then(|tasks| {
            self.check_buddies(path, comm.rank(), nfiles)?;
            Ok(tasks)
        });
        let mine = tasks.as_ref().map_err(Clone::clone).map(|tasks| {
            let number = |task: Option<&(u64, u64)>| task.map(|(number, _)| *number);
            let least = number(tasks.first()).unwrap_or(u64::MAX);
            let end = number(tasks.last()).map_or(0, |last| last.saturating_add(1));
            [usize_to_u64(tasks.len()), least, end]
        });
        let [count, least, end] = comm.combine(mine, [Fold::Sum, Fold::Min, Fold::Max])?;
        // All ranks have the same numbers, and so find the same.
        if least != 0 || end != count {
            return Err(Error::agreed(missing()));
        }
        let groups = EvenFiles::new(count, nfiles.into()).map_err(refused);
        tasks.and_then(|tasks| Ok((tasks, groups?))).map_err(Error::agreed)
    }
}

pub(super) fn missing() -> Failure {
    let text = "the tasks of all ranks must be numbered from 0 without a gap, each of one rank";
    Failure::new(Code::Refused, text)
}
