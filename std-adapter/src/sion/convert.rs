//! A set written anew: one chunk a task, in other files, in another order, with or without a seal.

use super::each::{all_processors, for_each};
use super::file::{File, TaskEntry};
use super::write::{Builder, Durability, FileWriter, TaskWriter};
use crate::copy::Copier;
use crate::error::Error;
use crate::files::FileStore;
use crate::publish::Publish;
use std::num::{NonZeroU32, NonZeroUsize};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use striae_core::endian::ByteOrder;
use striae_core::sion::{Error as SionError, Head, KeyvalMode, SealState};
use striae_core::span::Span;

/// How to write a set anew, with each stream in one chunk.
///
/// Streams, global ranks, key-value records and the order that is stated for the data stay as they
/// are; (block, position) pointers into chunks that are merged do not. All that is not asked for is
/// as in the first file of the set; but the new set is one file, and has a seal if the old one had.
///
/// The new set is made under hidden names and renamed when it is whole: see [`Publish`].
#[derive(Debug, Clone, Copy)]
pub struct Convert {
    fsblksize: Option<u32>,
    nfiles: NonZeroU32,
    order: Option<ByteOrder>,
    sealed: Option<bool>,
    force: bool,
    threads: NonZeroUsize,
}

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// Physical files of the new set.
    pub files: u32,
    /// Its tasks.
    pub tasks: u64,
    /// Bytes of its streams.
    pub bytes: u64,
}

impl Default for Convert {
    fn default() -> Self {
        Self {
            fsblksize: None,
            nfiles: NonZeroU32::MIN,
            order: None,
            sealed: None,
            force: false,
            threads: all_processors(),
        }
    }
}

impl Convert {
    /// One file, otherwise as the old set; overwrites nothing; with a thread for each processor.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Bytes that chunks are rounded to.
    #[must_use]
    pub const fn fsblksize(mut self, bytes: u32) -> Self {
        self.fsblksize = Some(bytes);
        self
    }

    /// Physical files of the new set.
    #[must_use]
    pub const fn nfiles(mut self, nfiles: NonZeroU32) -> Self {
        self.nfiles = nfiles;
        self
    }

    /// Byte order of the metadata, and of the headers of key-value records.
    #[must_use]
    pub const fn order(mut self, order: ByteOrder) -> Self {
        self.order = Some(order);
        self
    }

    /// Adds a seal, or leaves it out.
    #[must_use]
    pub const fn sealed(mut self, sealed: bool) -> Self {
        self.sealed = Some(sealed);
        self
    }

    /// Replaces files that exist already.
    #[must_use]
    pub const fn force(mut self, force: bool) -> Self {
        self.force = force;
        self
    }

    /// Copies with so many threads.
    #[must_use]
    pub const fn threads(mut self, threads: NonZeroUsize) -> Self {
        self.threads = threads;
        self
    }

    /// Writes all streams of `set` into a new set whose first file gets the name `out`. `progress` is
    /// told the length of each piece that was copied.
    ///
    /// # Errors
    /// [`Exists`](crate::error::ErrorKind::Exists) for a file that is there already; a damaged set;
    /// [`OutOfRange`](SionError::OutOfRange) for more files than tasks; the operating system's.
    pub fn run(
        &self,
        set: &File,
        out: &Path,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Written, Error> {
        let no_task = || Error::new(set.path(), SionError::NoTask { task: 0, ntasks: 0 });
        let (first, head) = set.files().next().ok_or_else(no_task)?;
        let (mut lens, mut ranks) = (Vec::new(), Vec::new());
        for task in set.tasks()? {
            let task = task?;
            lens.push(task.bytes);
            ranks.push(task.place.globalrank);
        }
        let bytes = lens.iter().copied().fold(0, u64::saturating_add);
        let sealed = match self.sealed {
            Some(sealed) => sealed,
            None => is_sealed(set).map_err(|error| Error::new(first, error))?,
        };
        let builder = self.builder(set, head).chunksizes(lens).globalranks(ranks).sealed(sealed);

        let publish = Publish::new(out, self.nfiles, self.force)?;
        let mut writer = create_hidden(builder, out, &publish, self.nfiles)?;
        for_each(set.tasks()?, self.threads, || {
            let mut copier = Copier::new();
            let writer = &writer;
            move |task| copy_task(set, &task, writer, &mut copier, progress)
        })?;
        writer.close()?;
        publish.finish(false)?;
        Ok(Written { files: self.nfiles.get(), tasks: set.ntasks(), bytes })
    }

    fn builder(&self, set: &File, head: &Head) -> Builder {
        let meta1 = &head.meta1;
        Builder::new(set.ntasks())
            .nfiles(self.nfiles.get())
            .fsblksize(self.fsblksize.unwrap_or(meta1.fsblksize()))
            .order(self.order.unwrap_or(meta1.order()))
            .data_order(meta1.data_order())
            .keyval(set.keyval() == KeyvalMode::Inline)
            .durability(Durability::None)
    }
}

/// Makes the files of a set that will be called `out` under hidden names.
pub(super) fn create_hidden(
    builder: Builder,
    out: &Path,
    publish: &Publish,
    nfiles: NonZeroU32,
) -> Result<FileWriter, Error> {
    let paths = (0..nfiles.get()).map(|number| publish.hidden(number));
    let prefix = out.as_os_str().as_bytes().to_owned();
    builder.prefix(prefix).create_at(out, paths)
}

/// Whether all files of a set are sealed.
fn is_sealed(set: &File) -> Result<bool, striae_core::sion::ReadError<FileStore>> {
    for file in set.reader().files() {
        match file.seal() {
            Ok(SealState::Sealed(_)) => {}
            Ok(_) | Err(striae_core::step::DriveError::Format(_)) => return Ok(false),
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

fn copy_task(
    set: &File,
    task: &TaskEntry,
    writer: &FileWriter,
    copier: &mut Copier,
    progress: &dyn Fn(u64),
) -> Result<(), Error> {
    let mut to = writer.task(task.task)?;
    let mut stream = set.stream_of(task)?;
    let mut copy = Copy { store: stream.store().clone(), copier, progress };
    if stream.order() == to.order() || set.keyval() != KeyvalMode::Inline {
        while let Some(span) = stream.next_span(u64::MAX)? {
            copy.span(&mut to, span)?;
        }
        return Ok(());
    }
    // The headers of records are in the order of META1.
    let mut records = stream.records()?;
    while let Some(record) = records.next().transpose().map_err(|error| error.of_task(task.task))? {
        to.begin_key(record.key, record.len)?;
        for span in records.spans(&record) {
            copy.span(&mut to, span?)?;
        }
    }
    Ok(())
}

struct Copy<'a> {
    store: FileStore,
    copier: &'a mut Copier,
    progress: &'a dyn Fn(u64),
}

impl Copy<'_> {
    fn span(&mut self, to: &mut TaskWriter, span: Span) -> Result<(), Error> {
        let path = self.store.path();
        let from = self.store.file().map_err(|error| Error::new(path, error))?;
        to.copy_from(self.copier, (path, &from), span, self.progress)
    }
}
