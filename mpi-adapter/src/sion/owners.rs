//! Which tasks of a set a rank owns, in which of its files.

use super::FileWriter;
use super::builder::{Builder, Planned, sibling_path};
use super::files::Files;
use super::part::{Claim, Groups, Request};
use super::together::agree_on_identity;
use crate::collective::Collective;
use crate::error::{Error, Failure};
use crate::file::SharedFile;
use std::io;
use std::path::Path;
use std::rc::Rc;
use striae_core::sion::filegroups::{EvenFiles, FileGroups};
use striae_core::store::usize_to_u64;

/// The tasks of a new set that a rank owns, by files.
#[derive(Debug)]
pub(super) struct Owners {
    /// Number of files of the set, and of all of its tasks.
    pub(super) nfiles: u32,
    pub(super) all: u64,
    /// Where each task of the set is.
    pub(super) groups: Groups,
    /// The files with tasks of this rank, in order: at least one, since a rank without a task helps
    /// with the first file.
    pub(super) files: Result<Vec<RankFile>, Failure>,
}

/// A file, and the tasks that a rank owns in it, in the order of their local ranks.
#[derive(Debug)]
pub(super) struct RankFile {
    pub(super) number: u32,
    pub(super) tasks: Vec<Request>,
}

impl Owners {
    /// Tasks by their numbers, in order, and the sizes of their chunks, in a set with as many tasks
    /// in each file.
    pub(super) fn even(groups: EvenFiles, tasks: &[(u64, u64)]) -> Self {
        let nfiles = groups.nfiles();
        let all = (0..nfiles).map(|file| u64::from(groups.ntasks(file))).sum();
        let tasks = tasks.iter().filter_map(|(number, chunksize)| {
            let globalrank = u32::try_from(*number).ok()?; // below the number of tasks
            let (file, local) = groups.address(globalrank)?;
            Some((file, Request::new(local, globalrank, *chunksize)))
        });
        let files = RankFile::all(tasks);
        Self { nfiles, all, groups: Groups::Even(groups), files: Ok(files) }
    }

    /// What a rank has that failed before it knew its only file.
    pub(super) const fn unknown(nfiles: u32, failure: Failure) -> Self {
        Self { nfiles, all: 0, groups: Groups::Listed(Vec::new()), files: Err(failure) }
    }

    /// The numbers of the files.
    pub(super) fn numbers(&self) -> Vec<u32> {
        self.files.iter().flatten().map(|file| file.number).collect()
    }
}

impl RankFile {
    /// The files of tasks that are in order.
    pub(super) fn all(tasks: impl Iterator<Item = (u32, Request)>) -> Vec<Self> {
        let mut files: Vec<Self> = Vec::new();
        for (number, task) in tasks {
            match files.last_mut().filter(|last| last.number == number) {
                Some(last) => last.tasks.push(task),
                None => files.push(Self { number, tasks: vec![task] }),
            }
        }
        if files.is_empty() {
            files.push(Self { number: 0, tasks: Vec::new() });
        }
        files
    }
}

/// The communicator of all files of a set, if it has several, and those of the files of a rank.
pub(super) type Comms<C> = (Option<C>, Vec<C>);

/// The communicators of a rank with these files.
pub(super) fn comms_of<C: Collective>(
    comm: C,
    files: &[u32],
    nfiles: u32,
) -> Result<Comms<C>, Error> {
    if nfiles == 1 {
        return Ok((None, vec![comm]));
    }
    let comms = split(&comm, files, nfiles)?;
    Ok((Some(comm), comms))
}

/// The communicators of the files of a rank. If no rank has several files, one split makes them
/// all.
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

/// Does `work` to each of the files of a rank, with its communicator. Other ranks wait for this one
/// in each of its files, also after a failure.
pub(super) fn each<C, T, R>(
    comms: Vec<C>,
    files: impl IntoIterator<Item = T>,
    mut work: impl FnMut(C, T) -> Result<R, Error>,
) -> (Vec<R>, Result<(), Error>) {
    let (mut all, mut done) = (Vec::new(), Ok(()));
    for (comm, file) in comms.into_iter().zip(files) {
        match work(comm, file) {
            Ok(one) => all.push(one),
            Err(error) => done = done.and(Err(error)),
        }
    }
    (all, done)
}

/// A new set, and its identity, which its files do not have yet.
pub(super) type Made<C, F> = (FileWriter<C, F>, u32);

impl Builder {
    /// Makes the files of this rank.
    pub(super) fn create_files<C: Collective, F: SharedFile + Send + Sync + 'static>(
        &self,
        (whole, comms): Comms<C>,
        path: &Path,
        owners: Owners,
        claim: Claim,
        open: &Rc<impl Fn(&Path, bool) -> io::Result<F> + 'static>,
    ) -> Result<Made<C, F>, Error> {
        let Owners { nfiles, all, mut groups, files } = owners;
        let files = match files {
            Ok(files) => files.into_iter().map(Ok).collect(),
            Err(failure) => vec![Err(failure)],
        };
        let (parts, done) = each(comms, files, |comm, file| {
            let number = file.as_ref().map_or(0, |file: &RankFile| file.number);
            let ntasks = match (&groups, &file) {
                (Groups::Listed(_), Ok(file)) if claim == Claim::Placed => {
                    let own = usize_to_u64(file.tasks.len());
                    comm.total(Ok([own])).map(|[ntasks]| ntasks).map_err(Failure::from)
                }
                (Groups::Even(groups), _) => Ok(groups.ntasks(number).into()),
                _ => Ok(comm.size().into()),
            };
            // The first file is the first of those of a rank, and its mapping is that of the set.
            let groups = match &mut groups {
                Groups::Listed(places) if number == 0 => Groups::Listed(std::mem::take(places)),
                Groups::Listed(_) => Groups::Listed(Vec::new()),
                groups => groups.clone(),
            };
            let plan = file.and_then(|file| {
                self.plan(path, Planned { nfiles, all, ntasks: ntasks?, groups }, file)
            });
            let (name, open) = (sibling_path(path, number), Rc::clone(open));
            self.collected(comm, claim, plan, move |anew| open(&name, anew))
        });
        let chosen = whole.as_ref().map_or(0, |whole| self.choose(whole.rank(), nfiles));
        let identity = agree_on_identity(whole.as_ref(), chosen, done)?;
        Ok((FileWriter::new(path, whole, Files::new(parts)?), identity))
    }
}
