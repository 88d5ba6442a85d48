//! Packs task files into a set; the reverse of [`Extract`](super::Extract).

use super::ErrorKind;
use super::new_set::{Laid, NewSet, Room, Written};
use super::write::{Builder, Durability, TaskWriter};
use crate::copy::Copier;
use crate::each::for_each;
use crate::error::Error;
use crate::posix::PosixFile;
use crate::publish::{Numbering, spare};
use crate::store::existing;
use crate::verb::Options;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use striae_core::endian::ByteOrder;
use striae_core::sion::raw::RecordHeader;
use striae_core::span::Span;
use striae_core::store::usize_to_u64;

/// The files that become the streams of a set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sources {
    tasks: Vec<Task>,
    keyval: bool,
    /// Bytes of all files that are not in holes.
    stored: u64,
}

/// The files of one task: a single file, or one file for each key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Task {
    plain: Option<PathBuf>,
    keys: Vec<(u64, PathBuf)>,
    /// Bytes of its stream.
    len: u64,
}

impl Sources {
    /// Makes one task for each of `files`, in this order.
    ///
    /// # Errors
    /// An error of the operating system for a file that cannot be read or is not a regular file.
    pub fn of_files(files: Vec<PathBuf>) -> Result<Self, Error> {
        let task = |path| Task { plain: Some(path), keys: Vec::new(), len: 0 };
        Self { tasks: files.into_iter().map(task).collect(), keyval: false, stored: 0 }.measured()
    }

    /// Takes the files that [`Extract`](super::Extract) made in `folder`: `task_00000` and so on,
    /// or `task_00000.key_1` and so on for key-value records, in the order of these numbers. Other
    /// files are ignored.
    ///
    /// # Errors
    /// [`NoTaskFile`](ErrorKind::NoTaskFile) if there is no task file, or if a number is missing;
    /// [`TwoTaskFiles`](ErrorKind::TwoTaskFiles) if a number occurs twice, with more zeros or
    /// fewer; [`MixedTaskFiles`](ErrorKind::MixedTaskFiles) if a task with key-value records also
    /// has bytes without a key; an error of the operating system for a file that cannot be read or
    /// is not a regular file.
    pub fn of_folder(folder: &Path) -> Result<Self, Error> {
        let at = |error| Error::new(folder, error);
        let mut tasks: BTreeMap<u64, Task> = BTreeMap::new();
        for entry in fs::read_dir(folder).map_err(at)? {
            let path = entry.map_err(at)?.path();
            let name = path.file_name().and_then(|name| name.to_str());
            let Some((number, key)) = name.and_then(parse_name) else { continue };
            let task = tasks.entry(number).or_default();
            match key {
                Some(key) => task.keys.push((key, path)),
                None if task.plain.is_none() => task.plain = Some(path),
                None => return Err(Error::new(&path, ErrorKind::TwoTaskFiles { task: number })),
            }
        }
        let missing = (0..).zip(tasks.keys()).find(|(expected, task)| expected != *task);
        if let Some(task) = missing.map(|(task, _)| task).or(tasks.is_empty().then_some(0)) {
            return Err(Error::new(folder, ErrorKind::NoTaskFile { task }));
        }
        for (&task, files) in &mut tasks {
            files.keys.sort_unstable(); // a folder's order is no order
            for ((key, _), (next, path)) in files.keys.iter().zip(files.keys.iter().skip(1)) {
                if key == next {
                    return Err(Error::new(path, ErrorKind::TwoTaskFiles { task }));
                }
            }
        }
        let keyval = tasks.values().any(|task| !task.keys.is_empty());
        Self { tasks: tasks.into_values().collect(), keyval, stored: 0 }.measured()
    }

    /// Finds the length of the stream of each task.
    fn measured(mut self) -> Result<Self, Error> {
        for task in &mut self.tasks {
            if let Some(path) = &task.plain {
                let (len, stored) = len_of(path)?;
                task.len = len;
                self.stored = self.stored.saturating_add(stored);
                if self.keyval && task.len > 0 {
                    return Err(Error::new(path, ErrorKind::MixedTaskFiles));
                }
            }
            for (_, path) in &task.keys {
                let (len, stored) = len_of(path)?;
                let record = len.saturating_add(RecordHeader::TABLE.len.into());
                task.len = task.len.saturating_add(record);
                self.stored = self.stored.saturating_add(stored);
            }
        }
        Ok(self)
    }

    /// Number of tasks.
    #[must_use]
    pub fn ntasks(&self) -> u64 {
        usize_to_u64(self.tasks.len())
    }

    /// The files of all tasks.
    fn paths(&self) -> impl Iterator<Item = &Path> {
        self.tasks.iter().flat_map(|task| {
            let keys = task.keys.iter().map(|(_, path)| path.as_path());
            task.plain.as_deref().into_iter().chain(keys)
        })
    }

    /// Bytes of all streams.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.tasks.iter().map(|task| task.len).fold(0, u64::saturating_add)
    }
}

/// Length of a file, and how many of its bytes are not in holes; fails if the file cannot be read.
fn len_of(path: &Path) -> Result<(u64, u64), Error> {
    let lens = PosixFile::open(path).and_then(|file| Ok((file.honest_size()?, existing(&file)?)));
    lens.map_err(|error| Error::new(path, error))
}

/// Parses the task and the key of a name like `task_00012.key_7`.
pub(super) fn parse_name(name: &str) -> Option<(u64, Option<u64>)> {
    let number = |digits: &str| {
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| digits.parse().ok()).flatten()
    };
    let name = name.strip_prefix("task_")?;
    match name.split_once(".key_") {
        None => Some((number(name)?, None)),
        Some((task, key)) => Some((number(task)?, Some(number(key)?))),
    }
}

/// Options for packing task files into a set.
///
/// The set is written under hidden names and renamed when it is complete: see
/// [`Publish`](crate::publish::Publish). A replaced set is removed only after the new one is on the
/// disk.
///
/// By default the set has one file with one chunk for each task, in the machine's byte order, and
/// no seal; one thread for each processor writes it.
pub type Pack = Options<Laid<Packed>>;

/// The options that only packing has.
#[derive(Debug, Clone, Copy, Default)]
#[expect(unnameable_types, reason = "the methods of its builder set it")]
pub struct Packed {
    chunksize: Option<u64>,
    identity: Option<u32>,
}

impl Pack {
    /// Sets the size of every chunk in bytes, in place of the length of the task's files.
    #[must_use]
    pub fn chunksize(mut self, bytes: u64) -> Self {
        self.how.how.chunksize = Some(bytes);
        self
    }

    /// Sets the identity of a set of several sealed files, by which they belong together; see
    /// [`Builder::set_identity`]. With equal identities, equal sources give equal bytes. Default:
    /// a random one.
    #[must_use]
    pub fn identity(mut self, identity: u32) -> Self {
        self.how.how.identity = Some(identity);
        self
    }

    /// Makes a set of `sources` whose first file is `out`. `progress` gets the length of each
    /// copied piece.
    ///
    /// # Errors
    /// [`Exists`](crate::error::ErrorKind::Exists) for a file that exists already;
    /// [`Source`](crate::error::ErrorKind::Source) if it is one of `sources`;
    /// [`OutOfRange`](striae_core::sion::Error::OutOfRange) if there are more files than tasks, or
    /// no task; an error of the operating system.
    pub fn run(
        &self,
        sources: &Sources,
        out: &Path,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Written, Error> {
        let most = u32::try_from(sources.ntasks()).unwrap_or(u32::MAX); // more files are refused
        let targets = Numbering::Set.paths(out, self.how.files().get().min(most));
        spare(targets, sources.paths())?;
        let builder = self.builder(sources);
        let (bytes, nfiles) = (sources.bytes(), self.how.files());
        let stored = sources.stored;
        let room = Room { source: out, existing: bytes, stored, bytes, claimed: None };
        let new = NewSet { out, nfiles, output: self.output, like: None, room };
        new.write(builder, sources.ntasks(), |writer| {
            let tasks = (0..).zip(&sources.tasks).map(Ok);
            for_each(tasks, self.output.nthreads(), || {
                let mut copier = self.output.copier(None);
                move |(number, task)| {
                    pack_task(task, &mut writer.task(number)?, &mut copier, progress)
                }
            })
        })?;
        Ok(Written { files: nfiles.get(), tasks: sources.ntasks(), bytes: sources.bytes() })
    }

    fn builder(&self, sources: &Sources) -> Builder {
        let order = self.how.order.unwrap_or(ByteOrder::HOST);
        let mut builder = Builder::new(sources.ntasks())
            .nfiles(self.how.files().get())
            .order(order)
            .data_order(order)
            .keyval(sources.keyval)
            .sealed(self.how.sealed.unwrap_or(false))
            .durability(Durability::None);
        if let Some(bytes) = self.how.fsblksize {
            builder = builder.fsblksize(bytes);
        }
        if let Some(identity) = self.how.how.identity {
            builder = builder.set_identity(identity);
        }
        match self.how.how.chunksize {
            Some(bytes) => builder.chunksize(bytes),
            None => builder.chunksizes(sources.tasks.iter().map(|task| task.len).collect()),
        }
    }
}

fn pack_task(
    task: &Task,
    to: &mut TaskWriter,
    copier: &mut Copier,
    progress: &dyn Fn(u64),
) -> Result<(), Error> {
    if task.keys.is_empty() {
        let path = task.plain.as_deref();
        return path.map_or(Ok(()), |path| pack_file(path, to, None, copier, progress));
    }
    task.keys.iter().try_for_each(|(key, path)| pack_file(path, to, Some(*key), copier, progress))
}

/// Appends a file to a stream, as a key-value record if it has a key.
fn pack_file(
    path: &Path,
    to: &mut TaskWriter,
    key: Option<u64>,
    copier: &mut Copier,
    progress: &dyn Fn(u64),
) -> Result<(), Error> {
    let at = |error| Error::new(path, error);
    let file = PosixFile::open(path).map_err(at)?;
    let len = file.honest_size().map_err(at)?;
    if let Some(key) = key {
        to.begin_key(key, len)?;
        progress(RecordHeader::TABLE.len.into());
    }
    let all = Span::new(0, len).unwrap_or(Span::ZERO); // from 0, so it ends where it can
    to.copy_from(copier, (path, &file), all, progress)
}
