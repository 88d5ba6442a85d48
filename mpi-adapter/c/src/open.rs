//! How processes read a set together.

use crate::streams::Shared;
use crate::{told, untold};
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;
use striae::sion::{File, TaskEntry};
use striae_c::sion::parts::{Failure, Mode, Opened, Set, Track, about};
use striae_mpi::sion::{OpenOptions, Streams};
use striae_mpi::{Code, Collective};

/// What is read.
#[derive(Debug, Clone)]
pub(crate) struct Old {
    pub(crate) path: PathBuf,
    pub(crate) mode: Mode,
    pub(crate) wanted: Wanted,
}

/// The tasks that a process reads.
#[derive(Debug, Clone)]
pub(crate) enum Wanted {
    /// Its own, of a set that as many processes have written.
    Own,
    /// Those with these global ranks.
    Ranks(Vec<i64>),
    /// An equal number, in order; the last process also has the rest.
    Dealt,
}

/// Opens a set to read it. All processes call this, also those that cannot.
pub(crate) fn open<C>(comm: C, old: Result<Old, Failure>) -> Result<Set, Failure>
where
    C: Collective + Debug + 'static,
{
    let found = old.as_ref().map_err(untold).and_then(|old| match comm.rank() {
        0 => counts(old).map_err(|failure| untold(&failure)),
        _ => Ok([0; 3]),
    });
    let [nfiles, ntasks, is_numbered] = comm.total(found).map_err(told)?;
    let old = old?;
    let (rank, size) = (u64::from(comm.rank()), u64::from(comm.size()));
    if matches!(old.wanted, Wanted::Own) && ntasks != size {
        let text = format!("{}: has {ntasks} tasks, and {size} processes", old.path.display());
        comm.agree(Err(striae_mpi::Failure::new(Code::Refused, text))).map_err(told)?;
    }
    let is_one = nfiles == 1;
    let options = match &old.wanted {
        Wanted::Ranks(ranks) => OpenOptions::new().globalranks(ranks.clone()),
        Wanted::Own if is_one => OpenOptions::new().tasks(vec![rank]),
        Wanted::Own => OpenOptions::new().globalranks(vec![i64::from(comm.rank())]),
        Wanted::Dealt => {
            let share = ntasks.checked_div(size).unwrap_or(0);
            let start = rank.saturating_mul(share);
            let is_last = rank.saturating_add(1) == size;
            let end = if is_last { ntasks } else { start.saturating_add(share) };
            match is_one && is_numbered == 0 {
                true => OpenOptions::new().tasks((start..end).collect()),
                false => {
                    let ranks = (start..end).filter_map(|rank| i64::try_from(rank).ok());
                    OpenOptions::new().globalranks(ranks.collect())
                }
            }
        }
    };
    let (comm, streams) = options.open(comm, &old.path).map_err(told)?.into_streams();
    Ok(set(old, comm, streams))
}

/// The number of files and of tasks of a set, and 1 if its global ranks are all numbers from 0 on.
fn counts(old: &Old) -> Result<[u64; 3], Failure> {
    let file = File::open(&old.path)?;
    let head = file.files().next().map(|(_, head)| *head).ok_or("a set has at least one file")?;
    let ntasks = file.ntasks();
    // Only who is dealt tasks wants to know, and it takes a list of them.
    let is_numbered = matches!(old.wanted, Wanted::Dealt) && is_numbered(&file)?;
    Ok([head.meta1.nfiles().into(), ntasks, is_numbered.into()])
}

fn is_numbered(file: &File) -> Result<bool, Failure> {
    let ranks = file.tasks()?.map(|entry| Ok(entry?.place.globalrank));
    let ranks = ranks.collect::<Result<BTreeSet<_>, striae::Error>>()?;
    Ok(ranks.into_iter().map(u64::try_from).eq((0..file.ntasks()).map(Ok)))
}

/// The set of this process.
fn set<C>(old: Old, comm: C, streams: Streams) -> Set
where
    C: Collective + Debug + 'static,
{
    let (number, head) = match streams.files().next() {
        Some((number, _, head)) => (number, Some(*head)),
        None => (0, streams.head().copied()),
    };
    let tracks: Vec<_> = streams
        .tasks()
        .iter()
        .map(|own| {
            let file = streams.file_of(own.task).unwrap_or(0);
            let entry = TaskEntry::new(own.task, file, own.place, own.bytes);
            let mut lens: Vec<_> = own.chunk_lens().collect();
            if lens.is_empty() {
                lens.push(0);
            }
            Track::new(entry, Some(lens))
        })
        .collect();
    let mut known = head.map(|head| about(&head.meta1, Vec::new(), &[])).unwrap_or_default();
    known.filenumber = i32::try_from(number).unwrap_or(i32::MAX);
    known.paths = streams.files().map(|(number, path, _)| (number, path.to_owned())).collect();
    if let Some(meta2) = head.and_then(|head| head.meta2) {
        known.start_of_varheader = i64::try_from(meta2.start()).unwrap_or(i64::MAX);
        known.maxchunks = usize::try_from(meta2.maxchunks().min(1 << 16)).unwrap_or(0);
    }
    let skip = tracks.first().and_then(|track| track.entry().place.chunks.globalskip);
    known.globalskip = skip.and_then(|skip| i64::try_from(skip).ok()).unwrap_or(0);
    let opened = match old.wanted {
        Wanted::Own => Opened::InParallel,
        Wanted::Ranks(_) | Wanted::Dealt => Opened::Mapped,
    };
    let source = Arc::new(Shared::new(streams, comm));
    Set::reading(&old.path, (known, tracks), source).posix(old.mode.posix).opened(opened)
}
