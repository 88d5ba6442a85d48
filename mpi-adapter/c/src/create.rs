//! How processes make a set together.

use crate::mode::{Environment, Together};
use crate::writer::{Confined, Parallel};
use crate::{told, untold};
use std::fmt::Debug;
use std::path::PathBuf;
use striae::sion::TaskEntry;
use striae_c::sion::parts::{About, Failure, Mode, Opened, Set, Track, about, failure};
use striae_core::sion::filegroups::{EvenFiles, FileGroups};
use striae_mpi::mpi::Unfreed;
use striae_mpi::sion::{Builder, FileWriter, Placed};
use striae_mpi::{Collective, Error};

/// What a new set has.
#[derive(Debug, Clone)]
pub(crate) struct New {
    pub(crate) path: PathBuf,
    pub(crate) mode: Mode,
    pub(crate) together: Together,
    /// The file system's own unit if it is not positive.
    pub(crate) fsblksize: i32,
    pub(crate) tasks: Tasks,
    /// Whether two processes can send messages to one another.
    pub(crate) has_messages: bool,
    /// What frees the communicator after an error.
    pub(crate) unfreed: Option<Confined<Unfreed>>,
}

/// The tasks of a process.
#[derive(Debug, Clone)]
pub(crate) enum Tasks {
    /// One, in one of so many files.
    One { chunksize: u64, nfiles: u32 },
    /// One, in the file of the processes with this color.
    Colored { chunksize: u64, color: u32 },
    /// Any, in one of so many files each.
    Placed { tasks: Vec<Placed>, nfiles: u32 },
}

/// A size of chunks.
pub(crate) fn chunksize(bytes: i64) -> Result<u64, Failure> {
    u64::try_from(bytes).map_err(|_| format!("chunksize {bytes} is negative").into())
}

/// Makes a set and opens it to write. All processes call this, also those that cannot.
pub(crate) fn create<C>(comm: C, new: Result<New, Failure>) -> Result<Set, Failure>
where
    C: Collective + Debug + 'static,
{
    let new = new.and_then(New::checked); // before a file is made, or an old one is emptied
    let own = if comm.rank() == 0 { Environment::own() } else { Environment::default() };
    let words = new.as_ref().map(|_| own.to_words()).map_err(untold);
    let environment = Environment::from_words(comm.total(words).map_err(told)?);
    let mut new = new?.with(environment, comm.size());
    if let (Tasks::Colored { chunksize, color }, 1..) = (&new.tasks, new.together.buddies()) {
        new.tasks = even(&comm, *chunksize, *color)?;
    }
    let named = |error: Error| named(&new, &error);
    let file = new.create(comm).map_err(named)?;
    let (path, mode, opened, known) = (new.path.clone(), new.mode, new.opened(), new.known(&file));
    let writer = Box::new(Parallel::new(file, new));
    Ok(Set::writing(&path, known, writer).posix(mode.posix).opened(opened))
}

/// The files of processes with the same color by number, as buddy sets need them.
fn even<C: Collective>(comm: &C, chunksize: u64, color: u32) -> Result<Tasks, Failure> {
    let (rank, size) = (comm.rank(), comm.size());
    let [nfiles] = comm.total(Ok([u64::from(color == rank)])).map_err(told)?;
    let groups = EvenFiles::new(size.into(), nfiles);
    let place = groups.ok().and_then(|groups| groups.address(rank));
    let is_even = place.is_some_and(|(_, local)| rank.checked_sub(local) == Some(color));
    let mine = match is_even {
        true => Ok(()),
        false => Err(untold(
            &"with buddy sets, each lComm must have as many consecutive processes; the last one \
              also has the rest"
                .into(),
        )),
    };
    comm.agree(mine).map_err(told)?;
    Ok(Tasks::One { chunksize, nfiles: u32::try_from(nfiles)? })
}

/// A failure that names the set.
fn named(new: &New, error: &Error) -> Failure {
    match crate::told_of(error).downcast::<striae_c::sion::parts::Numbered>() {
        Ok(mut numbered) => {
            numbered.text = failure(&new.path, &numbered.text).to_string();
            numbered
        }
        Err(other) => other,
    }
}

impl New {
    /// Refuses what needs messages between two processes if there are none.
    fn checked(self) -> Result<Self, Failure> {
        match (self.has_messages, self.together.buddies()) {
            (false, 1..) => Err("callbacks make no buddy sets: two processes cannot send \
                                 messages to one another"
                .into()),
            _ => Ok(self),
        }
    }

    /// With what the environment says, for so many processes.
    fn with(mut self, environment: Environment, size: u32) -> Self {
        let nfiles = match &self.tasks {
            Tasks::One { nfiles, .. } | Tasks::Placed { nfiles, .. } => *nfiles,
            Tasks::Colored { .. } => 1,
        };
        let ntasks = size.checked_div(nfiles).unwrap_or(size);
        self.together = match self.tasks {
            // SIONlib's mapped writer reads neither the words nor the environment for it.
            Tasks::Placed { .. } => Together::parse(b""),
            _ => self.together.with(environment, ntasks),
        };
        self.mode.keyval = self.mode.keyval.or(environment.keyval);
        self
    }

    /// With what frees the communicator after an error.
    pub(crate) fn freed_by(self, unfreed: Option<Unfreed>) -> Self {
        Self { unfreed: unfreed.map(Confined), ..self }
    }

    /// Frees the communicator of a call that failed at all processes.
    pub(crate) fn free_after<T>(&self, done: &Result<T, Failure>) {
        let unfreed = self.unfreed.as_ref().map(|Confined(unfreed)| unfreed);
        crate::comm::free_after(done, unfreed);
    }

    pub(crate) const fn opened(&self) -> Opened {
        match self.tasks {
            Tasks::Placed { .. } => Opened::Mapped,
            _ => Opened::InParallel,
        }
    }

    /// With chunks of another size.
    pub(crate) fn with_chunksize(&self, bytes: i64) -> Result<Self, Failure> {
        let mut new = self.clone();
        match &mut new.tasks {
            Tasks::One { chunksize: size, .. } | Tasks::Colored { chunksize: size, .. } => {
                *size = chunksize(bytes)?;
            }
            Tasks::Placed { .. } => {
                return Err("the chunks of a mapped set keep their sizes".into());
            }
        }
        Ok(new)
    }

    /// Makes the set.
    pub(crate) fn create<C: Collective>(&self, comm: C) -> Result<FileWriter<C>, Error> {
        let mut builder = Builder::new()
            .force(true)
            .keyval(self.mode.keyval == Some(true))
            .data_order(self.mode.order);
        if let Some(fsblksize) = u32::try_from(self.fsblksize).ok().filter(|&size| size > 0) {
            builder = builder.fsblksize(fsblksize);
        }
        builder = match &self.tasks {
            Tasks::One { chunksize, nfiles } => builder.chunksize(*chunksize).nfiles(*nfiles),
            Tasks::Colored { chunksize, color } => builder.chunksize(*chunksize).color(*color),
            Tasks::Placed { tasks, nfiles } => builder.placed(tasks.clone()).nfiles(*nfiles),
        };
        let builder = self.together.apply(builder, (self.mode.posix, self.has_messages));
        builder.create(comm, &self.path)
    }

    /// What this process knows of the set.
    pub(crate) fn known<C: Collective>(&self, file: &FileWriter<C>) -> (About, Vec<Track>) {
        let mut about = about(file.meta1(), Vec::new(), &[]);
        about.paths = file.paths().collect();
        let tracks: Vec<_> = file
            .own_tasks()
            .map(|own| {
                let entry = TaskEntry::new(own.task.into(), own.file, own.place, 0);
                Track::new(entry, Some(vec![0]))
            })
            .collect();
        let skip = tracks.first().and_then(|track| track.entry().place.chunks.globalskip);
        about.globalskip = skip.and_then(|skip| i64::try_from(skip).ok()).unwrap_or(0);
        (about, tracks)
    }
}
