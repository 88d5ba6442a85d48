//! Options for a new set, and its creation.

use super::Durability;
use super::buddies::{BuddyPlan, buddy_set, refuse_others};
use super::identity::new_identity;
use super::options::SetOptions;
use super::part::Settings;
use super::plan::{NewFiles, Plan, Ranks, Sizes, Table};
use super::set::FileWriter;
use crate::error::{Error, ErrorKind};
use crate::lock::lock;
use crate::posix::{PosixFile, sync_parent};
use crate::sion::siblings::{buddy_path, sibling_path};
use std::io;
use std::num::NonZeroU32;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use striae_core::sion::create::blocks;
use striae_core::sion::filegroups::{BuddyTask, EvenFiles, FileGroups, mapping};
use striae_core::sion::{Attributes, Book, ChunkRule, Error as SionError, Meta1, raw};
use striae_core::store::{ReadAt, usize_to_u64};
use striae_inspect::sion::mapping::{are_all_ranks, mapping_of};

/// Options for a new set: its tasks, the layout of their streams, and durability.
///
/// ```
/// use std::io::Write;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("run.sion");
/// let mut file = striae::sion::Builder::new(4).chunksize(1 << 20).create(&path)?;
/// std::thread::scope(|scope| {
///     for task in 0..4 {
///         let mut stream = file.task(task)?;
///         scope.spawn(move || writeln!(stream, "task {task} was here"));
///     }
///     Ok::<(), striae::Error>(())
/// })?;
/// file.commit()?; // whatever happens now, this much is in the file
/// file.close()?;
/// assert_eq!(striae::sion::File::open(&path)?.task(3)?.bytes, 16);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Builder {
    ntasks: u64,
    chunksizes: Sizes,
    globalranks: Option<Vec<i64>>,
    set: SetOptions,
    settings: Settings,
}

impl Builder {
    /// Makes a set of `ntasks` tasks in one file. Defaults: chunks of 1 MiB, global ranks from 0,
    /// the file system's block size, plain streams in the machine's byte order, commits that
    /// survive a power cut.
    #[must_use]
    pub const fn new(ntasks: u64) -> Self {
        Self {
            ntasks,
            chunksizes: Sizes::Same(1 << 20),
            globalranks: None,
            set: SetOptions::NEW,
            settings: Settings::NEW,
        }
    }

    /// Sets the size of each chunk of each task in bytes. It is rounded up to the block size of the
    /// file system.
    #[must_use]
    pub fn chunksize(mut self, bytes: u64) -> Self {
        self.chunksizes = Sizes::Same(bytes);
        self
    }

    /// Sets the size of each chunk in bytes, task by task. Each is rounded up to the block size of
    /// the file system. A task with size 0 has no room.
    #[must_use]
    pub fn chunksizes(mut self, bytes: Vec<u64>) -> Self {
        self.chunksizes = Sizes::Each(bytes);
        self
    }

    /// Sets the global rank of each task; any numbers are allowed. Without this, tasks are counted
    /// from 0.
    ///
    /// SIONlib's mapped parallel reader (`sion_paropen_mapped_mpi`) uses global ranks as indices.
    /// It ends with a segmentation fault unless they are all numbers from 0 to the number of tasks
    /// minus 1, each once. SIONlib's other readers, its tools and striae read any global ranks.
    /// Creating a set of several files with other global ranks logs a warning (crate `log`).
    #[must_use]
    pub fn globalranks(mut self, globalranks: Vec<i64>) -> Self {
        self.globalranks = Some(globalranks);
        self
    }

    crate::sion_set_options!(nfiles fsblksize order data_order keyval prefix);
    crate::sion_set_options!(force sealed set_identity rule buddies);
    super::options::sion_write_options!(durability buffer);

    /// Makes the set; its first file is `path`. When this returns, its files exist; they have no
    /// data and are unclosed.
    ///
    /// If this fails, new files are removed. Files that were to be overwritten are unchanged if a
    /// file of the set cannot be opened or cannot hold what is asked for; otherwise they are empty
    /// or unclosed. If a set with more files had this name, its extra files stay.
    ///
    /// The set must be closed: a writer that is dropped without a close logs a warning (crate
    /// `log`).
    ///
    /// # Errors
    /// [`Locked`](crate::error::ErrorKind::Locked) for a file that another writer has;
    /// [`Exists`](crate::error::ErrorKind::Exists) for a file that exists already;
    /// [`OldBuddy`](crate::sion::ErrorKind::OldBuddy) for a file of a buddy set that the new set
    /// does not have: a reader would take it for a copy;
    /// [`Buddies`](crate::sion::ErrorKind::Buddies) for a number of buddy sets that SIONlib does
    /// not write; [`OutOfRange`](SionError::OutOfRange) and
    /// [`PrefixTooLong`](SionError::PrefixTooLong) for values that no file can hold; an error of
    /// the operating system.
    pub fn create(self, path: impl AsRef<Path>) -> Result<FileWriter, Error> {
        let path = path.as_ref();
        let paths = (0..self.set.nfiles).map(|number| sibling_path(path, number));
        self.create_at(path, paths)
    }

    /// Creates a set at the paths that are given; they need not follow from the name `path`.
    pub(crate) fn create_at(
        mut self,
        path: &Path,
        paths: impl IntoIterator<Item = PathBuf>,
    ) -> Result<FileWriter, Error> {
        let at = |error: SionError| Error::new(path, error);
        self.settings.sealed = self.set.sealed;
        self.check_counts().map_err(at)?;
        let prefix = self.set.prefix.take();
        let prefix = prefix.unwrap_or_else(|| path.as_os_str().as_bytes().to_owned());
        let files = EvenFiles::new(self.ntasks, self.set.nfiles.into()).map_err(at)?;
        let chosen = self.set.set_identity.unwrap_or_else(new_identity);
        self.set.set_identity = Some(if self.set.nfiles > 1 { chosen } else { 0 });
        let mut buddies = (0..self.set.buddies)
            .map(|level| self.buddy(path, files, level))
            .collect::<Result<Vec<_>, Error>>()?;
        let mapping = self.mapping(&files);

        let mut made = NewFiles { paths: Vec::new() };
        refuse_others(path, self.set.nfiles, self.set.buddies)?;
        let entries = self.ntasks; // each task has one in the mapping, and no keeper has
        let mut planned = vec![self.plan_set(&files, paths, (&prefix, entries), &mut made)?];
        for BuddyPlan { path, builder, set, .. } in &mut buddies {
            builder.set.fsblksize = self.set.fsblksize; // that of file 0 for all
            let paths = (0..self.set.nfiles).map(|number| sibling_path(path, number));
            planned.push(builder.plan_set(set, paths, (&prefix, entries), &mut made)?);
        }
        for plan in planned.iter().flatten() {
            plan.empty()?; // none is the new set's as long as one is the old
        }
        let mappings = buddies.into_iter().map(|buddy| buddy.mapping);
        let mut sets = planned.into_iter().zip(std::iter::once(mapping).chain(mappings)).map(
            |(plans, mut mapping)| {
                let write = |plan: Plan| {
                    let mapping = std::mem::take(&mut mapping); // the first one has it
                    plan.write(&prefix, mapping, self.settings)
                };
                plans.into_iter().map(write).collect::<Result<Vec<_>, Error>>()
            },
        );
        let parts = sets.next().transpose()?.unwrap_or_default();
        let buddies = sets.collect::<Result<_, _>>()?;
        if self.settings.durability.asks() {
            sync_parent(path).map_err(|error| Error::new(path, error))?;
        }
        let writer = FileWriter::new(path, parts, buddies);
        if self.settings.durability == Durability::EveryRecord {
            writer.commit()?; // a set is there for its readers as soon as all of its files are
        }
        made.paths.clear();
        Ok(writer)
    }

    /// How buddy set number `level` is made, what its files have, and its mapping.
    fn buddy(&self, path: &Path, files: EvenFiles, level: u32) -> Result<BuddyPlan, Error> {
        let set = buddy_set(path, files, level)?;
        let negative = self.globalranks.iter().flatten().find(|&&rank| rank < 0);
        if let Some(&value) = negative {
            // Those are the keepers'.
            let field = raw::GlobalrankEntry::globalrank;
            let error = SionError::OutOfRange { field, value, min: 0, max: i64::MAX };
            return Err(Error::new(path, error));
        }
        let (mut sizes, mut ranks) = (Vec::new(), Vec::new());
        for task in (0..self.set.nfiles).flat_map(|file| set.tasks(file)) {
            sizes.push(task.request(|task| self.chunksizes.of(task)));
            ranks.push(match task {
                BuddyTask::Keeper(task) => !self.rank_of(task), // -r - 1
                BuddyTask::Copy(task) => self.rank_of(task),
            });
        }
        let mapping = self.mapping(&set);
        let ntasks = usize_to_u64(ranks.len());
        let builder = Self {
            ntasks,
            chunksizes: Sizes::Each(sizes),
            globalranks: Some(ranks),
            ..self.clone()
        };
        Ok(BuddyPlan { path: buddy_path(path, level), builder, set, mapping })
    }

    fn rank_of(&self, task: u32) -> i64 {
        let index = usize::try_from(task).unwrap_or(usize::MAX);
        let given = self.globalranks.as_ref().and_then(|ranks| ranks.get(index));
        given.copied().unwrap_or(task.into())
    }

    /// The physical files of a set, which are found or made, and what each is to be.
    fn plan_set(
        &mut self,
        groups: &impl FileGroups,
        paths: impl IntoIterator<Item = PathBuf>,
        of_set: (&[u8], u64),
        made: &mut NewFiles,
    ) -> Result<Vec<Plan>, Error> {
        let files = ranges(groups).zip(0..).zip(paths);
        files.map(|((tasks, number), path)| self.plan(path, number, &tasks, of_set, made)).collect()
    }

    fn check_counts(&self) -> Result<(), SionError> {
        let given = match &self.chunksizes {
            Sizes::Same(_) => None,
            Sizes::Each(sizes) => Some(sizes.len()),
        };
        let ranks = self.globalranks.as_ref().map(Vec::len);
        let expected = i64::try_from(self.ntasks).unwrap_or(i64::MAX);
        for count in [given, ranks].into_iter().flatten() {
            let value = i64::try_from(count).unwrap_or(i64::MAX);
            if value != expected {
                let field = raw::Meta1::ntasks;
                return Err(SionError::OutOfRange { field, value, min: expected, max: expected });
            }
        }
        Ok(())
    }

    /// File and local rank of each global rank; nothing for a set of one file.
    fn mapping(&self, groups: &impl FileGroups) -> Vec<(u32, u32)> {
        if groups.nfiles() < 2 {
            return Vec::new();
        }
        let addresses = mapping(groups);
        let Some(ranks) = &self.globalranks else { return addresses.collect() };
        if !are_all_ranks(ranks.iter().copied()) {
            log::warn!(
                "global ranks are not 0 to {}: SIONlib cannot read the set mapped",
                ranks.len().saturating_sub(1),
            );
        }
        let tasks: Vec<_> = ranks.iter().copied().zip(addresses).collect();
        mapping_of(&tasks)
    }

    /// Opens or makes the file, and checks that it can hold what is asked for. An existing file is
    /// not changed.
    fn plan(
        &mut self,
        path: PathBuf,
        number: u32,
        tasks: &Range<u64>,
        (prefix, entries): (&[u8], u64),
        made: &mut NewFiles,
    ) -> Result<Plan, Error> {
        let (file, is_new) = self.open(&path)?;
        let file = lock(file.durable(self.settings.durability.asks()), &path, true)?;
        if is_new {
            // Another writer may have found the file before it was locked.
            let is_own = ReadAt::size(&*file).and_then(|len| Ok(len == 0 && file.has_name(&path)?));
            if !is_own.map_err(|error| Error::new(&path, error))? {
                return Err(Error::new(&path, ErrorKind::Exists));
            }
            made.paths.push(path.clone());
        }
        let fsblksize = match self.set.fsblksize {
            Some(bytes) => bytes,
            None => default_fsblksize(&file).map_err(|error| Error::new(&path, error))?,
        };
        self.set.fsblksize = Some(fsblksize); // that of file 0 for all
        let attributes = Attributes {
            order: self.set.order,
            data_order: self.set.data_order,
            fsblksize,
            nfiles: self.set.nfiles,
            filenumber: if self.set.nfiles == 1 { 1 } else { number },
            keyval: self.set.keyval,
        };
        let at = |error: SionError| Error::new(&path, error);
        let ntasks = tasks.end.saturating_sub(tasks.start);
        let meta1 = Meta1::new(&attributes, ntasks).map_err(at)?;
        meta1.to_raw(prefix).map_err(at)?;
        let table = self.table(tasks, meta1.layout().fsblksize).map_err(at)?;
        let blocks = blocks(&meta1, &table).map_err(at)?;
        let book = Book::create(&meta1, &blocks, entries, self.settings.sealed).map_err(at)?;
        let book = book.with_set_identity(self.set.set_identity.unwrap_or(0));
        Ok(Plan { path, file, book, table })
    }

    /// Opens or makes a file; says whether it is new.
    fn open(&self, path: &Path) -> Result<(PosixFile, bool), Error> {
        let exists = || Error::new(path, ErrorKind::Exists);
        match PosixFile::create(path, false) {
            Ok(file) => Ok((file, true)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let file = if self.set.force { PosixFile::open_rw(path) } else { Err(error) };
                file.map(|file| (file, false)).map_err(|error| match error.kind() {
                    // The latter is a symbolic link to nothing.
                    io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound => exists(),
                    _ => Error::new(path, error),
                })
            }
            Err(error) => Err(Error::new(path, error)),
        }
    }
}

impl Builder {
    /// The tasks of a physical file. If the file has all tasks, their memory is moved, not copied.
    fn table(&mut self, tasks: &Range<u64>, fsblksize: NonZeroU32) -> Result<Table, SionError> {
        let ntasks = tasks.end.saturating_sub(tasks.start);
        let is_all = ntasks == self.ntasks;
        let rule = self.set.rule;
        let one = |size| aligned(size, fsblksize);
        let sizes = match (&mut self.chunksizes, rule) {
            (Sizes::Same(size), ChunkRule::Aligned) => Sizes::Same(one(*size)?),
            (Sizes::Same(size), _) => {
                let count = usize::try_from(ntasks).unwrap_or(usize::MAX);
                let requests = std::iter::repeat_n(*size, count);
                Sizes::Each(rule.stored(fsblksize, requests)?.collect())
            }
            (Sizes::Each(sizes), ChunkRule::Aligned) => {
                let mut sizes = take_range(sizes, tasks, is_all);
                sizes.iter_mut().try_for_each(|size| one(*size).map(|stored| *size = stored))?;
                Sizes::Each(sizes)
            }
            (Sizes::Each(sizes), _) => {
                let requests = take_range(sizes, tasks, is_all);
                let requests = requests.iter().copied();
                Sizes::Each(rule.stored(fsblksize, requests)?.collect())
            }
        };
        let ranks = match &mut self.globalranks {
            None => Ranks::From(tasks.start),
            Some(ranks) => Ranks::Each(take_range(ranks, tasks, is_all)),
        };
        Ok(Table { ntasks, sizes, ranks })
    }
}

/// A chunk in whole blocks.
#[inline]
fn aligned(size: u64, fsblksize: NonZeroU32) -> Result<u64, SionError> {
    #[cold]
    fn by_rule(size: u64, fsblksize: NonZeroU32) -> Result<u64, SionError> {
        let mut stored = ChunkRule::Aligned.stored(fsblksize, std::iter::once(size))?;
        Ok(stored.next().unwrap_or(size))
    }
    match striae_core::span::round_up(size, fsblksize.into()) {
        Some(stored) if stored < 1 << 62 => Ok(stored), // no rule refuses such a chunk
        _ => by_rule(size, fsblksize),
    }
}

fn take_range<T: Copy>(all: &mut Vec<T>, range: &Range<u64>, is_all: bool) -> Vec<T> {
    if is_all {
        return std::mem::take(all);
    }
    let [start, end] = [range.start, range.end].map(|n| usize::try_from(n).unwrap_or(usize::MAX));
    all.get(start..end).unwrap_or_default().to_vec()
}

/// The tasks of each physical file.
fn ranges(groups: &impl FileGroups) -> impl Iterator<Item = Range<u64>> {
    (0..groups.nfiles()).scan(0u64, |start, file| {
        let end = start.saturating_add(groups.ntasks(file).into()); // exact: at most `ntasks`
        Some(std::mem::replace(start, end)..end)
    })
}

/// The default block size, as in SIONlib: the file system's block size, or 2 MiB if that is above
/// 32 MiB.
fn default_fsblksize(file: &PosixFile) -> io::Result<u32> {
    let stated = u32::try_from(file.block_size()?).unwrap_or(u32::MAX);
    Ok(if stated > 32 << 20 { 2 << 20 } else { stated })
}
