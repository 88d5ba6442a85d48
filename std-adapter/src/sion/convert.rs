//! Rewrites a set: one chunk for each task, another number of files, another byte order, with or
//! without a seal.

use super::ErrorKind;
use super::file::{File, OpenOptions, TaskEntry};
use super::new_set::{Laid, NewSet, Room, Written};
use super::siblings::all_of_set;
use super::write::{Builder, Durability, FileWriter, TaskWriter};
use crate::copy::Copier;
use crate::each::for_each;
use crate::error::{Error, ErrorKind as AnyError};
use crate::files::FileStore;
use crate::lock::changed_meanwhile;
use crate::publish::{Numbering, identity, spare};
use crate::verb::Options;
use crc32c::crc32c_append;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use striae_core::sion::raw::ChunkCrcEntry;
use striae_core::sion::{Error as SionError, Head, KeyvalMode, Physical, Seal, SealState};
use striae_core::span::Span;

/// Number of bytes that are read at once for a check.
const WINDOW: usize = 1 << 18;

/// Options for rewriting a set with each stream in one chunk.
///
/// Streams, global ranks, key-value records and the stated byte order of the data do not change.
/// (Block, position) pointers into chunks that are merged become invalid. By default the new set is
/// one file, it has a seal if the old set has one, and everything else is as in the first file of
/// the old set.
///
/// A seal of the old set is checked, metadata and data, so that the new seal does not cover earlier
/// damage. This check is skipped if the new set has no seal.
///
/// The new set is written under hidden names and renamed when it is complete: see
/// [`Publish`](crate::publish::Publish). A replaced set is removed only after the new one is on the
/// disk.
pub type Convert = Options<Laid<Converted>>;

/// There are no options besides those of all new sets.
#[derive(Debug, Clone, Copy, Default)]
#[expect(unnameable_types, reason = "it has nothing")]
pub struct Converted;

impl Convert {
    /// A set may replace itself, file by file, but not one of its files another; a file of it that
    /// is read without the others replaces none.
    fn spare(&self, set: &File, out: &Path) -> Result<(), Error> {
        let most = u32::try_from(set.ntasks()).unwrap_or(u32::MAX); // more files are refused later
        let targets = Numbering::Set.paths(out, self.how.files().get().min(most));
        if let (Some((path, head)), 1) = (set.files().next(), set.files().count())
            && head.meta1.files_in_set() > 1
        {
            let all = all_of_set(path, &head.meta1);
            return spare(targets, all.iter().map(PathBuf::as_path));
        }
        let sources = set.files().map(|(path, _)| identity(path)).zip(0_usize..);
        let sources: BTreeMap<_, _> =
            sources.filter_map(|(file, number)| Some((file?, number))).collect();
        let is_another = |(number, target): &(usize, PathBuf)| {
            let source = identity(target).and_then(|file| sources.get(&file));
            source.is_some_and(|source| source != number)
        };
        match (0..).zip(targets).find(is_another) {
            Some((_, target)) => Err(Error::new(&target, AnyError::Source)),
            None => Ok(()),
        }
    }

    /// Writes all streams of `set` into a new set whose first file is `out`. `progress` gets the
    /// length of each copied piece.
    ///
    /// # Errors
    /// [`Exists`](crate::error::ErrorKind::Exists) for a file that exists already;
    /// [`Source`](crate::error::ErrorKind::Source) for a file of `set` in the place of another one,
    /// and for any file of its set if `set` is a file that is read without the others;
    /// [`TooLarge`](crate::error::ErrorKind::TooLarge) if the new set would be larger than the old
    /// one justifies; [`Apart`](ErrorKind::Apart) if its files are of different commits of the set;
    /// [`Locked`](crate::error::ErrorKind::Locked) if another writer has a file that would be
    /// replaced, and [`ResourceBusy`](std::io::ErrorKind::ResourceBusy) if that is one of `set`,
    /// and has changed since it was opened;
    /// an error for a damaged set, also for a key-value record that is not whole, or
    /// for data that differs from its seal; [`OutOfRange`](SionError::OutOfRange)
    /// if there are more files than tasks; an error of the operating system.
    pub fn run(
        &self,
        set: &File,
        out: &Path,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Written, Error> {
        let no_task = || Error::new(set.path(), SionError::NoTask { task: 0, ntasks: 0 });
        let (first, head) = set.files().next().ok_or_else(no_task)?;
        if let Some(older) = set.older()?.first() {
            return Err(older.into_error()); // the new set would not show it
        }
        self.spare(set, out)?;
        let (mut lens, mut ranks) = (Vec::new(), Vec::new());
        for task in set.tasks()? {
            let task = task?;
            lens.push(task.bytes);
            ranks.push(task.place.globalrank);
        }
        let bytes = lens.iter().copied().fold(0, u64::saturating_add);
        let seals = if self.how.sealed == Some(false) { Vec::new() } else { seals(set)? };
        let sealed = self.how.sealed.unwrap_or_else(|| seals.iter().all(Option::is_some));
        let builder = self.builder(set, head).chunksizes(lens).globalranks(ranks).sealed(sealed);
        let like = Some(first); // `set.path()` may be lost
        let existing = set.files().fold(0, |sum: u64, (_, head)| sum.saturating_add(head.file_len));
        let claimed = self.how.fsblksize.is_none().then_some(head.meta1.fsblksize());
        let room = Room { source: first, existing, stored: set.existing()?, bytes, claimed };
        let new = NewSet { out, nfiles: self.how.files(), output: self.output, like, room };
        new.write(builder, set.ntasks(), |writer| {
            if identity(out).is_some() && identity(out) == identity(first) {
                check_unchanged(set, bytes)?; // another writer may have had it before the lock
            }
            let job = &Job { set, seals: &seals, writer, progress };
            for_each(set.tasks()?, self.output.nthreads(), || {
                let (mut copier, mut window) = (self.output.copier(None), Vec::new());
                move |task| {
                    job.check_task(&task, &mut window)?;
                    job.copy_task(&task, &mut copier)
                }
            })
        })?;
        Ok(Written { files: self.how.files().get(), tasks: set.ntasks(), bytes })
    }

    fn builder(&self, set: &File, head: &Head) -> Builder {
        let meta1 = &head.meta1;
        Builder::new(set.ntasks())
            .nfiles(self.how.files().get())
            .fsblksize(self.how.fsblksize.unwrap_or(meta1.fsblksize()))
            .order(self.how.order.unwrap_or(meta1.order()))
            .data_order(meta1.data_order())
            .keyval(set.keyval() == KeyvalMode::Inline)
            .durability(Durability::None)
    }
}

/// Checks that no file of a set has another commit than when it was opened, and that there are no
/// more than so many bytes in its streams, which only grow.
fn check_unchanged(set: &File, bytes: u64) -> Result<(), Error> {
    for (path, head) in set.files() {
        let now = OpenOptions::new().alone(true).open(path)?;
        if now.files().iter().any(|(_, now)| *now != head) {
            return Err(Error::new(path, changed_meanwhile()));
        }
    }
    let now = set.tasks()?.try_fold(0, |sum: u64, task| Ok(sum.saturating_add(task?.bytes)))?;
    if now == bytes { Ok(()) } else { Err(Error::new(set.path(), changed_meanwhile())) }
}

/// The seal of each physical file that has one. Fails if the tables of a file differ from its seal.
fn seals(set: &File) -> Result<Vec<Option<Seal>>, Error> {
    let seal = |file: &Physical<FileStore>| {
        let at = |error| Error::new(file.store().path(), error);
        let SealState::Sealed(seal) = file.seal().map_err(at)? else { return Ok(None) };
        let mut window = vec![0; WINDOW];
        seal.check_metadata(file.store(), crc32c_append, &mut window).map_err(at)?;
        Ok(Some(seal))
    };
    set.reader().files().iter().map(seal).collect()
}

/// The data that all threads share.
struct Job<'a> {
    set: &'a File,
    /// The seal of each physical file of the set; empty if the data is not checked.
    seals: &'a [Option<Seal>],
    writer: &'a FileWriter,
    progress: &'a (dyn Fn(u64) + Sync),
}

impl Job<'_> {
    /// Compares the chunks of a task with the old seal, so that the new seal does not cover damaged
    /// data.
    fn check_task(&self, task: &TaskEntry, window: &mut Vec<u8>) -> Result<(), Error> {
        let number = usize::try_from(task.file).unwrap_or(usize::MAX);
        let Some(Some(seal)) = self.seals.get(number) else { return Ok(()) };
        let (file, _, local) = self.set.address(task.task)?;
        let (path, at) = (file.store().path(), |error| Error::new(file.store().path(), error));
        let bulk = file.store().bulk().map_err(|error| Error::new(path, error))?;
        for (chunk, len) in (0..).zip(self.set.chunk_lens(task)?) {
            let (place, len) = (task.place.chunks.chunk(chunk), len?);
            let used = place.and_then(|place| place.part(0, len)).unwrap_or(Span::ZERO);
            let stored = file.sealed_crc(seal, local, chunk).map_err(at)?;
            let mut computed = 0;
            bulk.read_pieces([used], window, &mut |bytes| {
                computed = crc32c_append(computed, bytes);
                true
            })
            .map_err(at)?;
            if stored != computed {
                let offset = seal.entry(local, chunk).map_or(0, Span::offset);
                let field = ChunkCrcEntry::crc;
                let error = SionError::Checksum { field, offset, stored, computed };
                return Err(Error::new(path, ErrorKind::Task { task: task.task, error }));
            }
        }
        Ok(())
    }

    fn copy_task(&self, task: &TaskEntry, copier: &mut Copier) -> Result<(), Error> {
        let mut to = self.writer.task(task.task)?;
        let (file, _, _) = self.set.address(task.task)?;
        let mut copy = Copy { store: file.store().clone(), copier, progress: self.progress };
        let is_keyval = self.set.keyval() == KeyvalMode::Inline;
        let keeps = file.meta1().order() == to.order() || !is_keyval;
        if is_keyval && keeps {
            // Or the new set would have the damage of the old one.
            for record in self.set.stream_of(task)?.records()? {
                record.map_err(|error| error.of_task(task.task))?;
            }
        }
        let chunk = task.place.chunks.chunk(0).filter(|_| keeps && task.place.blockcount < 2);
        if let Some(used) = chunk.and_then(|chunk| chunk.part(0, task.bytes)) {
            return copy.span(&mut to, used); // as most tasks are; the list had its length
        }
        let mut stream = self.set.stream_of(task)?;
        if keeps {
            while let Some(span) = stream.next_span(u64::MAX)? {
                copy.span(&mut to, span)?;
            }
            return Ok(());
        }
        // The headers of records are in the order of META1.
        let mut records = stream.records()?;
        while let Some(record) = records.next() {
            let record = record.map_err(|error| error.of_task(task.task))?;
            to.begin_key(record.key, record.len)?;
            for span in records.spans(&record) {
                copy.span(&mut to, span?)?;
            }
        }
        Ok(())
    }
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
