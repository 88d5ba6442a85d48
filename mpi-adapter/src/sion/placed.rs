//! Creation of a set in which the ranks say where each task is.

use super::builder::Builder;
use super::mapped::missing;
use super::owners::{Made, Owners, RankFile, comms_of};
use super::part::{Claim, Groups, Request};
use crate::collective::{Collective, Fold, gather_numbers};
use crate::error::{Code, Error, Failure};
use crate::file::SharedFile;
use std::io;
use std::path::Path;
use std::rc::Rc;
use striae_core::store::usize_to_u64;

/// A task, and its place in a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Placed {
    /// The number of its physical file.
    pub file: u32,
    /// Its rank in that file.
    pub local: u32,
    /// Its rank in the set.
    pub globalrank: u32,
    /// The size of its chunks in bytes, as requested.
    pub chunksize: u64,
}

/// Length in bytes of the messages of a gather: of whole tasks.
const WINDOW: usize = 12 << 12;

impl Builder {
    pub(super) fn create_placed<C: Collective, F: SharedFile + Send + Sync + 'static>(
        &self,
        comm: C,
        path: &Path,
        (tasks, options): (&[Placed], Result<(), Failure>),
        open: &Rc<impl Fn(&Path, bool) -> io::Result<F> + 'static>,
    ) -> Result<Made<C, F>, Error> {
        let mut tasks = tasks.to_vec();
        tasks.sort_unstable();
        let nfiles = self.set.nfiles;
        let (all, root) = self.agree_on_places(&comm, path, (&tasks, options))?;
        let places = places(&comm, root, (nfiles, all), &tasks)?;
        let tasks = tasks.into_iter().map(|Placed { file, local, globalrank, chunksize }| {
            (file, Request::new(local, globalrank, chunksize))
        });
        let (groups, files) = (Groups::Listed(places), Ok(RankFile::all(tasks)));
        let owners = Owners { nfiles, all, groups, files };
        let comms = comms_of(comm, &owners.numbers(), nfiles)?;
        self.create_files(comms, path, owners, Claim::Placed, open)
    }

    /// All ranks learn how many tasks there are, and which rank has the first of the first file:
    /// it writes the mapping.
    fn agree_on_places<C: Collective>(
        &self,
        comm: &C,
        path: &Path,
        (tasks, options): (&[Placed], Result<(), Failure>),
    ) -> Result<(u64, u32), Error> {
        let first = tasks.first().is_some_and(|task| (task.file, task.local) == (0, 0));
        let root = if first { u64::from(comm.rank()).saturating_add(1) } else { 0 };
        let end = tasks.last().map_or(0, |task| u64::from(task.file).saturating_add(1));
        let checked = options.and_then(|()| self.check_buddies(path, comm.rank(), self.set.nfiles));
        let mine = checked.map(|()| [usize_to_u64(tasks.len()), end, root]);
        let [all, end, root] = comm.combine(mine, [Fold::Sum, Fold::Max, Fold::Max])?;
        // All ranks have the same numbers, and so find the same.
        let root = root.checked_sub(1).and_then(|root| u32::try_from(root).ok());
        match root.filter(|_| end == u64::from(self.set.nfiles)) {
            Some(root) => Ok((all, root)),
            None => Err(Error::agreed(missing())),
        }
    }
}

/// The file and the local rank of each global rank, at `root`, which checks that each is there
/// once, and that each file has a task.
fn places<C: Collective>(
    comm: &C,
    root: u32,
    (nfiles, all): (u32, u64),
    tasks: &[Placed],
) -> Result<Vec<(u32, u32)>, Error> {
    let is_root = comm.rank() == root;
    let len = |count: u64| if is_root { usize::try_from(count).unwrap_or(0) } else { 0 };
    let mut places = vec![None; len(all)];
    let mut has_task = vec![false; len(nfiles.into())];
    let mine = tasks.iter().flat_map(|task| [task.globalrank, task.file, task.local]);
    gather_numbers(comm, root, Ok(mine), WINDOW, |_, piece| {
        for place in piece.chunks_exact(3) {
            let &[globalrank, file, local] = place else { continue }; // never: of three
            let index = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
            match places.get_mut(index(globalrank)) {
                Some(place @ None) => *place = Some((file, local)),
                _ => {
                    let text = format_args!("global rank {globalrank} of {all} is there twice");
                    return Err(Failure::new(Code::Refused, text));
                }
            }
            if let Some(has_task) = has_task.get_mut(index(file)) {
                *has_task = true;
            }
        }
        Ok(())
    })?;
    let found = has_task.iter().all(|has_task| *has_task);
    comm.agree(if found { Ok(()) } else { Err(missing()) })?;
    Ok(places.into_iter().flatten().collect())
}
