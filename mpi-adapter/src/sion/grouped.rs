//! Creation of a set with a file for each group of ranks.

use super::builder::{Builder, Tasks};
use super::owners::{Made, Owners, RankFile};
use super::part::{Claim, Groups, Request};
use crate::collective::{Collective, gather_numbers};
use crate::error::{Code, Error, Failure};
use crate::file::SharedFile;
use std::io;
use std::path::Path;
use std::rc::Rc;

/// Length in bytes of the messages of a gather.
const WINDOW: usize = 1 << 16;

impl Builder {
    pub(super) fn create_grouped<C: Collective, F: SharedFile + Send + Sync + 'static>(
        &self,
        comm: C,
        path: &Path,
        (color, options): (u32, Result<(), Failure>),
        open: &Rc<impl Fn(&Path, bool) -> io::Result<F> + 'static>,
    ) -> Result<Made<C, F>, Error> {
        let globalrank = comm.rank();
        let chunksize = match &self.tasks {
            Tasks::One(chunksize) => Ok(*chunksize),
            _ => Err(Failure::new(Code::Refused, "with colors, each rank has one task")),
        };
        let chunksize = options.and(chunksize);
        let part = comm.split(chunksize.as_ref().map(|_| color).map_err(Clone::clone))?;
        let (nfiles, file) = number(&comm, &part)?;
        let checked = self.check_buddies(path, globalrank, nfiles);
        let place = checked.and_then(|()| Ok((file.clone()?, part.rank())));
        let places = places(&comm, place)?;

        let owners = file.and_then(|number| {
            let tasks = vec![Request::new(part.rank(), globalrank, chunksize?)];
            let (groups, all) = (Groups::Listed(places), comm.size().into());
            Ok(Owners { nfiles, all, groups, files: Ok(vec![RankFile { number, tasks }]) })
        });
        let owners = owners.unwrap_or_else(|failure| Owners::unknown(nfiles, failure));
        self.create_files((Some(comm), vec![part]), path, owners, Claim::OneEach, open)
    }
}

/// The number of files, and the number of that of `part`: files are counted in the order of their
/// lowest ranks.
fn number<C: Collective>(comm: &C, part: &C) -> Result<(u32, Result<u32, Failure>), Error> {
    let is_root = part.rank() == 0;
    let before = comm.exscan(Ok([u64::from(is_root)]));
    let [nfiles] =
        comm.total(before.as_ref().map(|_| [u64::from(is_root)]).map_err(Clone::clone))?;
    let mine = before.map(|[before]| [if is_root { before } else { 0 }]);
    let file = part.max(mine).map_err(Failure::from);
    let file = file.map(|[file]| u32::try_from(file).unwrap_or(u32::MAX)); // below the ranks
    Ok((u32::try_from(nfiles).unwrap_or(u32::MAX), file))
}

/// The file and the local rank of each rank, at rank 0.
fn places<C: Collective>(
    comm: &C,
    mine: Result<(u32, u32), Failure>,
) -> Result<Vec<(u32, u32)>, Error> {
    let mut places = Vec::new();
    let mine = mine.map(|(file, local)| [file, local]);
    gather_numbers(comm, 0, mine, WINDOW, |_, place| {
        places.extend(place.first().copied().zip(place.last().copied())); // one piece a rank
        Ok(())
    })?;
    Ok(places)
}
