//! Buddy sets: copies of the streams, in files that ranks of another file keep
//! (`spec/sion.md#buddy-sets`).
//!
//! The first keeper alone opens a file of a buddy set: it may be on a disk that other ranks do not
//! have. What the others write to their copies waits in memory, and goes to the keeper when ranks
//! meet.

use super::builder::{Builder, Planned, sibling_path};
use super::owners::RankFile;
use super::part::{Claim, Groups, Part, Request, refused};
use crate::collect::{Collect, Handle};
use crate::collective::Collective;
use crate::error::{Code, Error, Failure};
use crate::file::SharedFile;
use std::io;
use std::path::Path;
use std::rc::Rc;
use striae::sion::{buddy_path, check_buddies};
use striae_core::sion::ChunkRule;
use striae_core::sion::filegroups::{BuddySet, EvenFiles, FileGroups};
use striae_core::sion::filename::Buddy;

/// A file of a buddy set, and the rank of this rank's task in it.
#[derive(Debug, Clone, Copy)]
struct Place {
    file: u32,
    local: u32,
    is_own: bool,
}

impl Builder {
    /// What rank 0 checks before a file is made.
    pub(super) fn check_buddies(&self, path: &Path, rank: u32, nfiles: u32) -> Result<(), Failure> {
        match rank {
            0 => Ok(check_buddies(path, nfiles, self.set.buddies)?),
            _ => Ok(()),
        }
    }

    /// Refuses what has no buddy sets.
    pub(super) fn check_kind(&self) -> Result<(), Failure> {
        let merges = matches!(self.set.rule, ChunkRule::Merged(_));
        if self.set.buddies == 0 || self.is_plain() && !merges {
            return Ok(());
        }
        let text = "a set with buddy sets has one task for each rank, files by number, and no \
                    merged chunks";
        Err(Failure::new(Code::Refused, text))
    }

    /// Makes the files of the buddy sets, in which this rank takes part: for each level the one
    /// with the copy of its stream, and the one that it keeps.
    pub(super) fn create_copies<C: Collective, F: SharedFile>(
        &self,
        whole: &C,
        path: &Path,
        (groups, chunksize): (EvenFiles, u64),
        open: &Rc<impl Fn(&Path, bool) -> io::Result<F> + 'static>,
    ) -> Result<Vec<Part<C, F>>, Error> {
        let (nfiles, mut copies, mut done) = (groups.nfiles(), Vec::new(), Ok(()));
        for level in 0..self.set.buddies {
            // All ranks find the same, and rank 0 has found it right.
            let set = BuddySet::new(groups, Buddy(level)).map_err(|e| Error::agreed(refused(e)))?;
            let places = places(&set, &groups, whole.rank());
            for turn in 0..turns(nfiles) {
                let place = places.iter().find(|place| turn_of(&set, place.file) == Some(turn));
                let color = place.map_or((nfiles, 0), |place| (place.file, place.local));
                let comm = whole.split_ordered(done.map(|()| color))?;
                done = match place {
                    None => comm.free(Ok(())).map_err(Failure::from),
                    Some(place) => {
                        let set = (set, level, chunksize);
                        match self.create_copy(comm, (path, whole.rank()), set, *place, open) {
                            Ok(mut part) => {
                                part.is_own = place.is_own;
                                copies.push(part);
                                Ok(())
                            }
                            Err(error) => Err(error.into()),
                        }
                    }
                };
            }
        }
        whole.agree(done)?;
        Ok(copies)
    }

    fn create_copy<C: Collective, F: SharedFile>(
        &self,
        comm: C,
        (path, globalrank): (&Path, u32),
        (set, level, chunksize): (BuddySet<EvenFiles>, u32, u64),
        place: Place,
        open: &Rc<impl Fn(&Path, bool) -> io::Result<F> + 'static>,
    ) -> Result<Part<C, F>, Error> {
        let Place { file, local, is_own } = place;
        let all = (0..set.nfiles()).map(|file| set.ntasks(file).saturating_sub(set.nkeepers(file)));
        let planned = Planned {
            nfiles: set.nfiles(),
            all: all.map(u64::from).sum(),
            ntasks: set.ntasks(file).into(),
            groups: Groups::Buddy(set),
        };
        let chunksize = if is_own { chunksize } else { 0 };
        let request = Request { is_keeper: !is_own, ..Request::new(local, globalrank, chunksize) };
        let plan = self.plan(path, planned, RankFile { number: file, tasks: vec![request] });
        let group = comm.split(plan.as_ref().map(|_| 0).map_err(Clone::clone))?;
        let (name, open) = (sibling_path(&buddy_path(path, level), file), Rc::clone(open));
        let limit = self.collect.map_or(1 << 20, Collect::limit);
        let handle = Handle::alone(move |anew| open(&name, anew), group, limit);
        Part::create(comm, Claim::OneEach, plan, handle)
    }
}

/// The two files of a buddy set in which a rank takes part.
fn places(set: &BuddySet<EvenFiles>, groups: &EvenFiles, rank: u32) -> Vec<Place> {
    let own = set.address(rank).map(|(file, local)| Place { file, local, is_own: true });
    let kept = groups
        .address(rank)
        .and_then(|(file, local)| Some(Place { file: set.keeps(file)?, local, is_own: false }));
    own.into_iter().chain(kept).collect()
}

/// The number of turns in which the files of a buddy set are dealt with. Each file shares its ranks
/// with the next one in a ring of all files, and no two of a turn share any.
const fn turns(nfiles: u32) -> u32 {
    if nfiles & 1 == 0 { 2 } else { 3 }
}

/// The turn of a file, from its place in the ring.
fn turn_of(set: &BuddySet<EvenFiles>, file: u32) -> Option<u32> {
    let ring = std::iter::successors(Some(0), |file| set.keeps(*file));
    let place = (0..set.nfiles()).zip(ring).find(|(_, there)| *there == file)?.0;
    let is_last_of_odd = set.nfiles() & 1 == 1 && place.saturating_add(1) == set.nfiles();
    Some(if is_last_of_odd { 2 } else { place & 1 })
}
