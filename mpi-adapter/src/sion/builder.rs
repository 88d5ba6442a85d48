//! Options for a new set, and its creation.

use super::FileWriter;
use super::locks::Locks;
use super::owners::{Made, Owners, RankFile};
use super::part::{Claim, Groups, Part, Plan, io_failure, refused};
use super::placed::Placed;
use crate::collect::{Collect, Handle};
use crate::collective::Collective;
use crate::error::{Error, Failure};
use crate::file::SharedFile;
use crate::operation::Operation;
use std::io;
use std::num::NonZeroU32;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use striae::sion::{SetOptions, new_identity};
use striae_core::integrity::crc32c;
use striae_core::sion::filegroups::{EvenFiles, FileGroups};
use striae_core::sion::filename::Sibling;
use striae_core::sion::{Attributes, ChunkRule};

/// Options for a new set, by default with a task for each rank.
///
/// All options but the tasks and the sizes of their chunks must be equal at all ranks; a rank that
/// differs is an error at all of them ([`Code::Differ`](crate::Code::Differ)), before anything is
/// made.
///
/// ```
/// use striae_mpi::sion::Builder;
/// use striae_mpi::{Collective, Threads};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("run.sion");
/// let done = Threads::new(5).run(|rank| {
///     let text = format!("rank {} was here", rank.rank());
///     let mut file = Builder::new().chunksize(1 << 20).nfiles(2).create(rank, &path)?;
///     let written = file.write(text.as_bytes()); // its error is that of all at the close
///     file.close().map(|_| assert!(written.is_ok()))
/// });
/// done.into_iter().try_for_each(|done| done.expect("no rank panicked"))?;
/// assert_eq!(striae::sion::File::open(&path)?.task(4)?.bytes, 15);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Builder {
    pub(super) tasks: Tasks,
    /// The ranks of a file, if they are chosen.
    color: Option<u32>,
    pub(super) set: SetOptions,
    pub(super) collect: Option<Collect>,
}

/// The tasks of this rank.
#[derive(Debug, Clone)]
pub(super) enum Tasks {
    /// One, with chunks of this size.
    One(u64),
    /// One for each of these sizes, after those of all lower ranks.
    Consecutive(Vec<u64>),
    /// These numbers, with chunks of these sizes.
    Mapped(Vec<(u64, u64)>),
    /// These, at these places.
    Placed(Vec<Placed>),
}

/// What a file of a set is to be besides its tasks.
pub(super) struct Planned {
    /// Number of files of the set.
    pub(super) nfiles: u32,
    /// The number of tasks of the set, and of the file.
    pub(super) all: u64,
    pub(super) ntasks: u64,
    pub(super) groups: Groups,
}

impl Default for Builder {
    fn default() -> Self {
        Self::new()
    }
}

impl Builder {
    /// One file, chunks of 1 MiB, the file system's block size, the machine's byte order.
    #[must_use]
    pub const fn new() -> Self {
        Self { tasks: Tasks::One(1 << 20), color: None, set: SetOptions::NEW, collect: None }
    }

    /// Gives this rank one task, with chunks of so many bytes. This is rounded up to the block size
    /// of the file system. A task with size 0 has no room.
    #[must_use]
    pub fn chunksize(mut self, bytes: u64) -> Self {
        self.tasks = Tasks::One(bytes);
        self
    }

    /// Gives this rank any number of tasks: one for each size of a chunk, for its threads for
    /// example. They follow those of all lower ranks, as with `sion_paropen_ompi`.
    ///
    /// Either all ranks call this, or none. See [`FileWriter::writers`].
    #[must_use]
    pub fn chunksizes(mut self, bytes: Vec<u64>) -> Self {
        self.tasks = Tasks::Consecutive(bytes);
        self
    }

    /// Gives this rank any tasks: their numbers in the set, in any order, and the sizes of their
    /// chunks, as with `sion_paropen_mapped_mpi`. The tasks of all ranks must be numbered from 0
    /// without a gap, and each must be that of one rank. A rank may have none.
    ///
    /// Either all ranks call this, or none. See [`FileWriter::writers`].
    #[must_use]
    pub fn tasks(mut self, tasks: Vec<(u64, u64)>) -> Self {
        self.tasks = Tasks::Mapped(tasks);
        self
    }

    /// As [`tasks`](Self::tasks), with the file and the local rank of each task, as the mappings of
    /// `sion_paropen_mapped_mpi` say. The global ranks of all ranks must be numbered from 0 without
    /// a gap, and so must the local ranks of each file; each of the files must have a task.
    ///
    /// The rank with the first task of the first file keeps 8 bytes for each task of the set, for
    /// the mapping.
    #[must_use]
    pub fn placed(mut self, tasks: Vec<Placed>) -> Self {
        self.tasks = Tasks::Placed(tasks);
        self
    }

    striae::sion_set_options!(nfiles fsblksize order data_order keyval prefix);
    striae::sion_set_options!(force sealed set_identity);

    /// Makes a physical file for the ranks of each color, which is below 2^31: as with
    /// `sion_paropen_mpi` for a sub-communicator, and a number of files of 0 or less. Files are
    /// numbered by the order of their lowest ranks. Each rank has one task.
    ///
    /// Either all ranks call this, or none; then [`nfiles`](Self::nfiles) is not used. Rank 0 keeps
    /// 8 bytes for each rank, for the mapping.
    #[must_use]
    pub const fn color(mut self, color: u32) -> Self {
        self.color = Some(color);
        self
    }

    striae::sion_set_options! {
        ///
        /// The rule concerns the sizes of chunks in each physical file; [`collect`](Self::collect)
        /// says who writes. Other rules than the default depend on what all tasks of a file ask
        /// for: rank 0 of the file applies them, in windows, and sends the sizes to its ranks.
        rule
        ///
        /// Each rank has one task, and files are given by [`nfiles`](Self::nfiles). Ranks write by
        /// [`FileWriter::write`], `write_key` and `coll_write`. The ranks of another file of the
        /// set keep a copy; the first of them alone opens it, which may be on a disk of its node.
        /// What other ranks write to it waits in memory, at most what [`collect`](Self::collect)
        /// says, or 1 MiB, and goes to the keeper by messages when the ranks meet. Records of
        /// `coll_write` that become longer may be more.
        ///
        /// A rank takes part in two files of each buddy set. Each of them takes seven calls more to
        /// make, two more for each further 64 Ki tasks of it, and three more to commit. All of them
        /// together take one call more; and those of an odd number of files two more to make.
        buddies
    }

    /// The identity of a new set of `nfiles` files, if this rank is the one that chooses it.
    pub(super) fn choose(&self, rank: u32, nfiles: u32) -> u32 {
        if rank > 0 || nfiles == 1 {
            return 0;
        }
        self.set.set_identity.unwrap_or_else(new_identity)
    }

    /// Lets few ranks write for all, and short records wait in memory. Otherwise every rank opens
    /// its file and writes each record at once.
    #[must_use]
    pub const fn collect(mut self, collect: Collect) -> Self {
        self.collect = Some(collect);
        self
    }

    /// Makes the set; its first file is `path`. All ranks call this. Besides splitting the
    /// communicator it takes three calls of the message layer, and one more for several files; with
    /// another [`rule`](Self::rule) than the default, two more for each 64 Ki tasks of a file.
    /// If ranks have several [tasks](Self::tasks) or none, it takes seven calls for a file and two
    /// for each further 64 Ki tasks of it; one more for [`chunksizes`](Self::chunksizes); and two
    /// more and one for each file for several files. With [`color`](Self::color) it takes eight,
    /// and with [`placed`](Self::placed) four more than with [`tasks`](Self::tasks).
    /// With [`collect`](Self::collect) the ranks of a writer get a communicator before, which takes
    /// up to three calls more. `comm` keeps it for the next set that collects alike, which takes
    /// one call more. Shared memory takes two more for each set.
    ///
    /// Rank 0 of each file locks it against other writers of striae, until the set is closed or
    /// that rank drops it.
    ///
    /// # Errors
    /// The failure of a rank, at all ranks: an option that no file can hold, or an error of the
    /// operating system, among them EBUSY for a file that another writer has locked;
    /// [`Code::Differ`](crate::Code::Differ). Files that were made stay, unclosed. A file of a
    /// buddy set that the new set does not have is refused before: a reader would take it for a
    /// copy. So is a number of buddy sets that SIONlib does not write.
    pub fn create<C: Collective>(
        &self,
        comm: C,
        path: impl AsRef<Path>,
    ) -> Result<FileWriter<C>, Error> {
        let (locks, force) = (Rc::<Locks>::default(), self.set.force);
        let held = Rc::clone(&locks);
        let file = self.create_in(comm, path, move |name, anew| match anew {
            true => locks.make(name, force),
            false => locks.open(name, false),
        })?;
        Ok(FileWriter { locks: Some(held), ..file })
    }

    /// As [`create`](Self::create), in files of any kind, which a thread may write
    /// ([`Collect::write_behind`]). `open` gets the path of a physical file,
    /// and whether to make it: rank 0 of the file does before any other rank opens it. Nothing is
    /// locked.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub fn create_in<C: Collective, F: SharedFile + Send + Sync + 'static>(
        &self,
        comm: C,
        path: impl AsRef<Path>,
        open: impl Fn(&Path, bool) -> io::Result<F> + 'static,
    ) -> Result<FileWriter<C, F>, Error> {
        let path = path.as_ref();
        let block_size = self.block_size(path);
        let options = block_size.as_ref().map_or(0, |bytes| self.fingerprint(path, *bytes));
        comm.begin(Operation::SionCreate, options);
        let mut known = self.clone(); // so that the folder is asked once
        known.set.fsblksize = block_size.as_ref().ok().copied();
        let options = block_size.and_then(|_| self.check_kind());
        let (file, identity) = known.create_kind(comm, path, options, &Rc::new(open))?;
        Ok(file.in_set(identity))
    }

    fn create_kind<C: Collective, F: SharedFile + Send + Sync + 'static>(
        &self,
        comm: C,
        path: &Path,
        options: Result<(), Failure>,
        open: &Rc<impl Fn(&Path, bool) -> io::Result<F> + 'static>,
    ) -> Result<Made<C, F>, Error> {
        match (&self.tasks, self.color) {
            (Tasks::One(chunksize), None) => {
                let groups = EvenFiles::new(comm.size().into(), self.set.nfiles.into());
                let groups = options.and(groups.map_err(refused));
                self.create_plain(comm, path, (groups, *chunksize), open)
            }
            (Tasks::Placed(tasks), None) => self.create_placed(comm, path, (tasks, options), open),
            (_, None) => self.create_mapped(comm, path, options, open),
            (_, Some(color)) => self.create_grouped(comm, path, (color, options), open),
        }
    }

    /// Makes a set with a task for each rank, and its buddy sets.
    fn create_plain<C: Collective, F: SharedFile + Send + Sync + 'static>(
        &self,
        comm: C,
        path: &Path,
        (groups, chunksize): (Result<EvenFiles, Failure>, u64),
        open: &Rc<impl Fn(&Path, bool) -> io::Result<F> + 'static>,
    ) -> Result<Made<C, F>, Error> {
        let (rank, nfiles) = (comm.rank(), self.set.nfiles);
        let groups =
            groups.and_then(|groups| self.check_buddies(path, rank, nfiles).map(|()| groups));
        let file = groups.as_ref().map_err(Clone::clone);
        let file = file.map(|groups| groups.address(rank).map_or(0, |(file, _)| file));
        let comms = match nfiles {
            1 => (None, vec![comm]),
            _ => {
                let part = comm.split(file)?;
                (Some(comm), vec![part])
            }
        };
        let owners = match &groups {
            Ok(groups) => Owners::even(*groups, &[(rank.into(), chunksize)]),
            Err(failure) => Owners::unknown(nfiles, failure.clone()),
        };
        let (mut file, identity) = self.create_files(comms, path, owners, Claim::OneEach, open)?;
        if let (Some(whole), Ok(groups), 1..) = (&file.whole, groups, self.set.buddies) {
            file.files.copies = self.create_copies(whole, path, (groups, chunksize), open)?;
        }
        Ok((file, identity))
    }

    /// Makes a physical file, after the ranks of its writers have met.
    pub(super) fn collected<C: Collective, F: SharedFile + Send + Sync + 'static>(
        &self,
        comm: C,
        claim: Claim,
        plan: Result<Plan<'_>, Failure>,
        open: impl Fn(bool) -> io::Result<F> + 'static,
    ) -> Result<Part<C, F>, Error> {
        let Some(collect) = self.collect else {
            return Part::create(comm, claim, plan, Handle::new(open, None, 0));
        };
        let mine = plan.as_ref().map(drop).map_err(Clone::clone);
        let (group, mine) = collect.group(&comm, mine)?;
        Part::create(comm, claim, mine.and(plan), collect.handle(open, group))
    }

    /// What a file is to be in which this rank has tasks, with sizes of chunks as requested.
    pub(super) fn plan<'a>(
        &'a self,
        path: &'a Path,
        Planned { nfiles, all, ntasks, groups }: Planned,
        RankFile { number: filenumber, mut tasks }: RankFile,
    ) -> Result<Plan<'a>, Failure> {
        let SetOptions { order, data_order, rule, keyval, sealed, .. } = self.set;
        let fsblksize = self.block_size(path)?;
        let attributes = Attributes { order, data_order, fsblksize, nfiles, filenumber, keyval };
        let unit = NonZeroU32::new(fsblksize).unwrap_or(NonZeroU32::MIN); // Meta1 refuses 0
        for task in tasks.iter_mut().filter(|_| rule == ChunkRule::Aligned) {
            let stored = rule.stored(unit, std::iter::once(task.chunksize));
            task.chunksize = stored.map_err(refused)?.next().unwrap_or(0);
        }
        let name = path.as_os_str().as_bytes();
        let is_first_of_several = nfiles > 1 && filenumber == 0;
        Ok(Plan {
            attributes,
            ntasks,
            prefix: self.set.prefix.as_deref().unwrap_or(name),
            sealed,
            rule,
            groups,
            entries: if is_first_of_several { all } else { 0 },
            tasks,
        })
    }

    /// A number of all that must be equal at all ranks.
    fn fingerprint(&self, path: &Path, block_size: u32) -> u32 {
        let (kind, is_grouped) = (std::mem::discriminant(&self.tasks), self.color.is_some());
        let options =
            format!("{block_size} {kind:?} {is_grouped} {:?} {:?}", self.set, self.collect);
        crc32c(crc32c(0, path.as_os_str().as_bytes()), options.as_bytes())
    }

    /// Whether the ranks have one task each, and files by number.
    pub(super) const fn is_plain(&self) -> bool {
        matches!((&self.tasks, self.color), (Tasks::One(_), None))
    }

    /// SIONlib takes 2 MiB for a block size above 32 MiB (`spec/sion.md#meta1`).
    fn block_size(&self, path: &Path) -> Result<u32, Failure> {
        if let Some(fsblksize) = self.set.fsblksize {
            return Ok(fsblksize);
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = std::fs::metadata(folder.unwrap_or(Path::new(".")));
        let bytes = folder.map_err(io_failure("asking for the block size of the folder"))?;
        let bytes = u32::try_from(bytes.blksize()).ok();
        Ok(bytes.filter(|bytes| (1..=32 << 20).contains(bytes)).unwrap_or(2 << 20))
    }
}

pub(super) fn sibling_path(path: &Path, number: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(Sibling(number).to_string());
    name.into()
}
