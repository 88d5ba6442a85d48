//! Creation of a set in which the ranks say where each task is.

use super::FileWriter;
use super::builder::{Builder, Files, sibling_path};
use super::mapped::{missing, split};
use super::part::{Groups, Part, Request};
use crate::collective::{Collective, Fold};
use crate::error::{Code, Error, Failure};
use std::io;
use std::path::Path;
use std::rc::Rc;
use striae_core::store::{WriteAt, usize_to_u64};

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
    pub(super) fn create_placed<C: Collective, F>(
        &self,
        comm: C,
        path: &Path,
        (tasks, options): (&[Placed], Result<(), Failure>),
        open: &Rc<impl Fn(&Path, bool) -> io::Result<F> + 'static>,
    ) -> Result<FileWriter<C, F>, Error>
    where
        F: Send + Sync + 'static,
        for<'f> &'f F: WriteAt<Error = io::Error>,
    {
        let mut tasks = tasks.to_vec();
        tasks.sort_unstable();
        let nfiles = self.options.nfiles;
        let (all, root) = self.agree_on_places(&comm, path, (&tasks, options))?;
        let places = places(&comm, root, (nfiles, all), &tasks)?;
        let mut files: Vec<(u32, Vec<Request>)> = Vec::new();
        for Placed { file, local, globalrank, chunksize } in tasks {
            let request = Request::new(local, globalrank, chunksize);
            match files.last_mut().filter(|(last, _)| *last == file) {
                Some((_, requests)) => requests.push(request),
                None => files.push((file, vec![request])),
            }
        }
        if files.is_empty() {
            files.push((0, Vec::new())); // helps with the first
        }
        let numbers: Vec<_> = files.iter().map(|(file, _)| *file).collect();
        let (whole, comms) = match nfiles {
            1 => (None, vec![comm]),
            _ => {
                let comms = split(&comm, &numbers, nfiles)?;
                (Some(comm), comms)
            }
        };
        let (mut parts, mut done) = (Vec::new(), Ok(()));
        for (comm, (file, requests)) in comms.into_iter().zip(files) {
            // Other ranks wait for this one in each of its files, also after a failure.
            let count = comm.total(Ok([usize_to_u64(requests.len())]));
            let groups = Groups::Listed(if file == 0 { places.clone() } else { Vec::new() });
            let plan = count.map_err(Failure::from).and_then(|[ntasks]| {
                let files = Files { nfiles, all, ntasks, first: 0, groups };
                self.plan(path, files, file, requests)
            });
            let (name, open) = (sibling_path(path, file), Rc::clone(open));
            match self.collected(comm, plan, move |anew| open(&name, anew), Part::create_placed) {
                Ok(part) => parts.push(part),
                Err(error) => done = done.and(Err(error)),
            }
        }
        let chosen = whole.as_ref().map_or(0, |whole| self.choose(whole.rank(), nfiles));
        let ((), identity) = super::agree_on_identity(whole.as_ref(), chosen, done)?;
        let mut parts = parts.into_iter();
        let part = parts.next().ok_or_else(|| Error::agreed(missing()))?; // has one
        Ok(FileWriter::new(path, (whole, part, parts.collect())).in_set(identity))
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
        let checked =
            options.and_then(|()| self.check_buddies(path, comm.rank(), self.options.nfiles));
        let mine = checked.map(|()| [usize_to_u64(tasks.len()), end, root]);
        let [all, end, root] = comm.combine(mine, [Fold::Sum, Fold::Max, Fold::Max])?;
        // All ranks have the same numbers, and so find the same.
        let root = root.checked_sub(1).and_then(|root| u32::try_from(root).ok());
        match root.filter(|_| end == u64::from(self.options.nfiles)) {
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
    let words = tasks.iter().flat_map(|task| [task.globalrank, task.file, task.local]);
    let mine: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
    let is_root = comm.rank() == root;
    let len = |count: u64| if is_root { usize::try_from(count).unwrap_or(0) } else { 0 };
    let mut places = vec![None; len(all)];
    let mut has_task = vec![false; len(nfiles.into())];
    comm.gather(root, Ok(&mine), WINDOW, |_, piece| {
        let mut words = piece.chunks_exact(4).filter_map(|word| word.first_chunk());
        let mut next = || words.next().map(|word| u32::from_le_bytes(*word));
        while let (Some(globalrank), Some(file), Some(local)) = (next(), next(), next()) {
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
