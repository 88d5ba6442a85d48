//! Appending to a set that was closed or committed.

use super::files::Files;
use super::locks::Locks;
use super::owners::{comms_of, each};
use super::part::{Old, Part, Resumed, refused};
use super::read::{OfFile, OpenOptions, Source, TaskEntry};
use super::{FileWriter, Numbers};
use crate::collect::{Collect, Handle};
use crate::collective::{Collective, Fold};
use crate::error::{Error, Failure};
use crate::file::SharedFile;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use striae::sion::{self as serial, new_identity};
use striae_core::integrity::crc32c;
use striae_core::sion::cursor::Cursor;
use striae_core::sion::pen::Finished;
use striae_core::sion::seal::checksum_of;
use striae_core::sion::{Error as SionError, SealState};
use striae_core::store::{WriteAt, usize_to_u64};

/// Options for appending to a set that was closed or committed, by any number of ranks.
///
/// Data that was written after the last commit is lost. No data is moved. Tasks that no rank owns
/// stay as they are, and so do files of which no rank owns a task.
///
/// ```
/// use striae_mpi::Threads;
/// use striae_mpi::sion::{Builder, Reopen};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("run.sion");
/// let write = |rank| {
///     let mut file = Builder::new().create(rank, &path)?;
///     assert!(file.write(b"first").is_ok());
///     file.close().map(drop)
/// };
/// let append = |rank| {
///     let mut file = Reopen::new().open(rank, &path)?;
///     file.advance(6)?; // META2 is after the blocks in use
///     let tasks: Vec<_> = file.tasks().collect();
///     for task in tasks {
///         let mut writer = file.writer(task).expect("a task of this rank");
///         assert!(std::io::Write::write_all(&mut writer, b"second").is_ok());
///     }
///     file.close().map(drop)
/// };
/// for done in Threads::new(3).run(write).into_iter().chain(Threads::new(2).run(append)) {
///     done.expect("no rank panicked")?;
/// }
/// assert_eq!(striae::sion::File::open(&path)?.task(2)?.bytes, 11);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Reopen {
    tasks: Option<Vec<u64>>,
    sealed: Option<bool>,
    collect: Option<Collect>,
}

impl Default for Reopen {
    fn default() -> Self {
        Self::new()
    }
}

impl Reopen {
    /// Deals the tasks evenly, as [`OpenOptions::new`] does, and keeps the seals as they are.
    #[must_use]
    pub const fn new() -> Self {
        Self { tasks: None, sealed: None, collect: None }
    }

    /// Sets the tasks that this rank owns, in any order, by their numbers over (file, local rank).
    /// A task may have one rank, or none. Either all ranks choose, or none.
    #[must_use]
    pub fn tasks(mut self, tasks: Vec<u64>) -> Self {
        self.tasks = Some(tasks);
        self
    }

    /// Adds or removes the seals; equal at all ranks. To seal files that have no seal, each rank
    /// reads the data of its tasks, and each task must be owned by a rank.
    #[must_use]
    pub const fn sealed(mut self, sealed: bool) -> Self {
        self.sealed = Some(sealed);
        self
    }

    /// Lets few ranks write for all, as [`Builder::collect`](super::Builder::collect) does.
    #[must_use]
    pub const fn collect(mut self, collect: Collect) -> Self {
        self.collect = Some(collect);
        self
    }

    /// Opens the set whose first file is at `path`, in the state of its last commit or close. All
    /// ranks call this; the path of rank 0 counts. Rank 0 checks the set first as a serial writer
    /// does, and refuses one that another writer has locked. Then rank 0 of each file locks it.
    ///
    /// This takes seven calls of the message layer for a file, two more for each further window of
    /// about 12 000 tasks, and two more and one for each file for several files; besides splitting
    /// the communicator.
    ///
    /// # Errors
    /// The failure of a rank, at all ranks: those of [`OpenOptions::open`];
    /// [`Code::Refused`](crate::Code::Refused) for a task of two ranks, and for a set that has
    /// buddy sets, which would no longer be copies;
    /// [`Code::Damaged`](crate::Code::Damaged) for a damaged seal.
    pub fn open<C: Collective>(
        &self,
        comm: C,
        path: impl AsRef<Path>,
    ) -> Result<FileWriter<C>, Error> {
        let locks = Rc::<Locks>::default();
        let held = Rc::clone(&locks);
        let open = move |path: &Path, is_first| locks.open(path, is_first);
        let file = self.open_with(comm, path.as_ref(), open)?;
        Ok(FileWriter { locks: Some(held), ..file })
    }

    /// As [`open`](Self::open), in files of any kind. `open` gets the path of a physical file, to
    /// read and write it. Rank 0 checks that no other writer has locked the set, and locks nothing.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_in<C: Collective, F>(
        &self,
        comm: C,
        path: impl AsRef<Path>,
        open: impl Fn(&Path) -> io::Result<F> + 'static,
    ) -> Result<FileWriter<C, F>, Error>
    where
        F: Send + Sync + 'static,
        for<'f> &'f F: WriteAt<Error = io::Error>,
    {
        self.open_with(comm, path.as_ref(), move |path, _| open(path))
    }

    /// `open` also gets whether this rank is the first of those of the file, and is to lock it.
    fn open_with<C: Collective, F>(
        &self,
        comm: C,
        path: &Path,
        open: impl Fn(&Path, bool) -> io::Result<F> + 'static,
    ) -> Result<FileWriter<C, F>, Error>
    where
        F: Send + Sync + 'static,
        for<'f> &'f F: WriteAt<Error = io::Error>,
    {
        let check = match self.sealed {
            Some(false) => serial::Reopen::new().sealed(false),
            _ => serial::Reopen::new(),
        };
        let equal = format!("{:?} {:?}", self.sealed, self.collect);
        let options = OpenOptions::new().reopen(check, crc32c(0, equal.as_bytes()));
        let options = match &self.tasks {
            Some(tasks) => options.tasks(tasks.clone()),
            None => options,
        };
        let set = options.open_in(comm, path, |path| open(path, false))?;
        let (comm, first, sources, tasks) = set.into_parts();
        let nfiles = first.as_ref().map_or(1, |first| first.head.meta1.files_in_set());
        let path = first.as_ref().map_or(path, |first| &first.path).to_owned();
        let mut files: Vec<_> = (0..)
            .zip(sources)
            .map(|(index, source)| {
                let tasks = tasks.iter().filter(move |task| task.file == index);
                let old = resumed(&source, tasks, self.sealed);
                (source.of, old)
            })
            .collect();
        if let (true, Some(first)) = (files.is_empty(), first) {
            // A rank without a task helps with the first file.
            let old = Old { head: first.head, sealed: self.sealed, tasks: Vec::new() };
            files.push((first, Ok(old)));
        }
        self.open_parts((comm, nfiles), &path, files, Rc::new(open))
    }

    fn open_parts<C: Collective, F: SharedFile + Send + Sync + 'static>(
        &self,
        (comm, nfiles): (C, u32),
        path: &Path,
        files: Vec<(OfFile, Result<Old, Failure>)>,
        open: Rc<impl Fn(&Path, bool) -> io::Result<F> + 'static>,
    ) -> Result<FileWriter<C, F>, Error> {
        let numbers: Vec<_> = files.iter().map(|(file, _)| file.number).collect();
        let (whole, comms) = comms_of(comm, &numbers, nfiles)?;
        let (parts, done) = each(comms, files, |comm, (file, old)| {
            self.collected(comm, old, file.path, Rc::clone(&open))
        });
        let (parts, last): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        let last = done.map(|()| last.into_iter().max().unwrap_or(0));
        let (numbers, identity) = Numbers::of(whole.as_ref(), parts.iter(), nfiles, last)?;
        let file = FileWriter { numbers, ..FileWriter::new(path, whole, Files::new(parts)?) };
        Ok(if nfiles > 1 { file.in_set(identity) } else { file })
    }

    fn collected<C: Collective, F: SharedFile + Send + Sync + 'static>(
        &self,
        comm: C,
        old: Result<Old, Failure>,
        path: PathBuf,
        open: Rc<impl Fn(&Path, bool) -> io::Result<F> + 'static>,
    ) -> Result<(Part<C, F>, u32), Error> {
        let open = move |is_first| open(&path, is_first);
        let Some(collect) = self.collect else {
            return Part::reopen(comm, old, Handle::new(open, None, 0));
        };
        let mine = old.as_ref().map(drop).map_err(Clone::clone);
        let (group, mine) = collect.group(&comm, mine)?;
        Part::reopen(comm, mine.and(old), collect.handle(open, group))
    }
}

impl Numbers {
    /// Those of a set of `nfiles` files whose files these ranks opened; `last` is the largest
    /// number in the files of this rank. Also returns the identity of the set: that of the seals
    /// that it has, or a new one if it has no seal. This takes one call of the message layer for
    /// several files.
    pub(super) fn of<'p, C: Collective + 'p, F: SharedFile + 'p>(
        whole: Option<&C>,
        parts: impl Iterator<Item = &'p Part<C, F>> + Clone,
        nfiles: u32,
        last: Result<u32, Error>,
    ) -> Result<(Self, u32), Error> {
        let Some(whole) = whole else { return last.map(|_| (Self::NEW, 0)) };
        let sealed = parts.clone().filter_map(Part::sealed_identity).max();
        let sealed = sealed.map_or(0, |identity| u64::from(identity).saturating_add(1));
        let chosen = if whole.rank() == 0 { new_identity() } else { 0 };
        let firsts = parts.filter(|part| part.is_sealed() && part.comm().rank() == 0);
        let mine = last.map(|last| {
            let firsts = usize_to_u64(firsts.count());
            [last.into(), firsts, sealed, chosen.into()]
        });
        let folds = [Fold::Max, Fold::Sum, Fold::Max, Fold::Max];
        let [last, files, sealed, chosen] = whole.combine(mine.map_err(Failure::from), folds)?;
        let last = u32::try_from(last).unwrap_or(u32::MAX);
        let identity = u32::try_from(sealed.checked_sub(1).unwrap_or(chosen)).unwrap_or(0);
        Ok((Self { last, has_all_files: files == u64::from(nfiles) }, identity))
    }
}

/// Length in bytes of the window in which data is read.
const WINDOW: usize = 1 << 16;

/// The tasks of this rank in a file, at the ends of their streams.
fn resumed<'t, F>(
    source: &Source<F>,
    tasks: impl Iterator<Item = &'t TaskEntry>,
    sealed: Option<bool>,
) -> Result<Old, Failure>
where
    for<'f> &'f F: WriteAt<Error = io::Error>,
{
    let (file, at) = (source.physical()?, |error| source.failure(error));
    let seal = match file.seal() {
        _ if sealed == Some(false) => None,
        Ok(SealState::Sealed(seal)) => Some(seal),
        Ok(_) => None,
        Err(error) => return Err(at(error)),
    };
    let is_renewed = sealed == Some(true) && seal.is_none();
    let mut window = vec![0; WINDOW];
    let mut resume = |entry: &TaskEntry| {
        let (chunks, local) = (entry.place.chunks, entry.place.local);
        let mut finished = Vec::new();
        for (chunk, used) in (0..).zip(entry.chunk_lens()) {
            let place = chunks.chunk(u64::from(chunk)).and_then(|span| span.part(0, used));
            let crc = match place.filter(|_| is_renewed) {
                Some(place) => {
                    checksum_of(file.store(), place, 0, crc32c, &mut window).map_err(at)?
                }
                None => 0,
            };
            finished.push(Finished { local, chunk, used, crc });
        }
        let last = finished.pop().unwrap_or(Finished { local, chunk: 0, used: 0, crc: 0 });
        let cursor = Cursor::resume(chunks, last.chunk.into(), last.used).map_err(refused)?;
        let crc = match (&seal, is_renewed) {
            (Some(seal), _) => Some(file.sealed_crc(seal, local, last.chunk.into()).map_err(at)?),
            (None, true) => Some(last.crc),
            (None, false) => None,
        };
        let renewed = is_renewed.then_some(finished);
        let number = u32::try_from(entry.task);
        let number = number.map_err(|_| refused(SionError::FileFull { chunk: 0 }))?;
        Ok(Resumed { number, local, cursor, crc, renewed })
    };
    let tasks = tasks.map(&mut resume).collect::<Result<_, Failure>>()?;
    Ok(Old { head: source.of.head, sealed, tasks })
}
