//! [`FileWriter`] writes a set; [`Reopen`] appends to one.

use super::mend::{compare, mend};
use super::part::{Begun, Ended, Origin, Part, Prepared, Settings, Starts, WINDOW, lock};
use super::task::{Strand, TaskWriter};
use super::together::{check_commits, end_set_commit, join};
use crate::error::Error;
use crate::lock::Locked;
use crate::posix::identity_of;
use crate::shown;
use crate::sion::ErrorKind;
use crate::sion::file::{File, OpenOptions, Opened};
use crate::sion::siblings::{buddy_path, copies_of, main_of, of_sibling, sibling_path};
use std::collections::BTreeSet;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use striae_core::sion::raw::SealTrailer;
use striae_core::sion::seal::checksum_of;
use striae_core::sion::{
    self as core_sion, Blocks, Book, Error as SionError, KeyvalMode, Meta1, Physical, SealState,
    Varheader,
};
use striae_core::span::Span;
use striae_core::step::DriveError;

/// Writes a set of physical files. Many threads may call all of its methods at once.
///
/// There is one writer at a time: the files are locked against other writers of striae until the
/// close, or until this is dropped ([`Locked`](crate::error::ErrorKind::Locked)).
///
/// Tasks are numbered from 0 over (file, local rank). Each task has a [`TaskWriter`], for one
/// thread at a time. [`FileWriter::commit`] makes all data that was written so far part of the
/// files; [`TaskWriter::commit`] does so for the data of one task; [`FileWriter::close`] does so
/// for the last time.
///
/// If this is dropped without a close, the files stay as the last commit left them, or unclosed if
/// there was none, and a warning is logged (crate `log`).
#[derive(Debug)]
pub struct FileWriter {
    path: PathBuf,
    parts: Arc<Parts>,
    /// First task of each physical file.
    firsts: Vec<u64>,
    ntasks: u64,
    /// The buddy sets, which have each stream once more.
    buddies: Vec<Arc<Parts>>,
    /// The largest number of a commit of the whole set, also of one that failed.
    last_number: Mutex<u32>,
}

/// The physical files of a set that is being written.
#[derive(Debug)]
pub(super) struct Parts {
    parts: Vec<Arc<Part>>,
    /// Whether every file is known to have been committed, so that the set can be opened.
    are_published: AtomicBool,
}

impl Parts {
    fn new(parts: Vec<Part>) -> Arc<Self> {
        let parts = parts.into_iter().map(Arc::new).collect();
        Arc::new(Self { parts, are_published: AtomicBool::new(false) })
    }

    /// The copy of the task with the rank `local` in file `file` of the main set, `main`, in this
    /// buddy set, for the writer of task `task`: keepers come before copies.
    fn copy(
        self: &Arc<Self>,
        file: usize,
        main: &Part,
        local: u32,
        task: u64,
    ) -> Result<Strand, Error> {
        let ntasks = |part: &Part| part.meta1().ntasks();
        let part = self.parts.get(file);
        let place = part.and_then(|part| {
            Some((part, ntasks(part).checked_sub(ntasks(main))?.checked_add(local)?))
        });
        match place {
            Some((part, local)) => Strand::new((self, part), local, task),
            None => {
                let ntasks = ntasks(main).into();
                Err(main.error(core_sion::Error::NoTask { task, ntasks }))
            }
        }
    }

    /// Commits all but `own` that never were: without one of them nobody can open the set.
    pub(super) fn publish_others(&self, own: &Arc<Part>) -> Result<(), Error> {
        if self.are_published.load(Ordering::Acquire) {
            return Ok(());
        }
        let others = self.parts.iter().filter(|part| !Arc::ptr_eq(part, own));
        let mut unpublished = others.filter(|part| !part.is_published());
        unpublished.try_for_each(|part| part.commit())?;
        self.are_published.store(own.is_published(), Ordering::Release);
        Ok(())
    }
}

impl FileWriter {
    pub(super) fn new(path: &Path, parts: Vec<Part>, buddies: Vec<Vec<Part>>) -> Self {
        let mut firsts = Vec::with_capacity(parts.len());
        let mut ntasks = 0u64;
        for part in &parts {
            firsts.push(ntasks);
            ntasks = ntasks.saturating_add(part.meta1().ntasks().into());
        }
        let buddies = buddies.into_iter().map(Parts::new).collect();
        let last_number = Mutex::new(0);
        let (path, parts) = (path.to_owned(), Parts::new(parts));
        Self { path, parts, firsts, ntasks, buddies, last_number }
    }

    /// The physical files of the buddy sets, and then those of the set, in the order of commits:
    /// what a reader of the set sees is in its buddy sets, too.
    fn all_parts(&self) -> impl Iterator<Item = &Arc<Part>> + Clone {
        self.buddies.iter().chain([&self.parts]).flat_map(|set| &set.parts)
    }

    /// Opens the set whose first file is at `path` to append to it, in the state of its last commit
    /// or close: see [`Reopen`].
    ///
    /// # Errors
    /// The errors of [`Reopen::open`].
    pub fn reopen(path: impl AsRef<Path>) -> Result<Self, Error> {
        Reopen::new().open(path)
    }

    #[cfg(test)]
    pub(super) fn parts(&self) -> &[Arc<Part>] {
        &self.parts.parts
    }

    /// Whether an open file is one of the files of the set and its buddy sets. Whoever copies such
    /// a file into the set copies what the copy has just written, without end.
    ///
    /// # Errors
    /// An error of the operating system.
    pub fn has_file(&self, file: impl AsFd) -> Result<bool, Error> {
        let identity = identity_of(file).map_err(|error| Error::new(&self.path, error))?;
        Ok(self.all_parts().any(|part| part.file().identity() == identity))
    }

    /// The path of the first file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Number of tasks of the whole set.
    #[must_use]
    pub const fn ntasks(&self) -> u64 {
        self.ntasks
    }

    /// Whether the streams are key-value records.
    #[must_use]
    pub fn keyval(&self) -> KeyvalMode {
        self.parts.parts.first().map_or(KeyvalMode::None, |part| part.meta1().keyval())
    }

    /// Makes a writer for the stream of task `task`. It appends where the last writer stopped.
    ///
    /// # Errors
    /// [`NoTask`](core_sion::Error::NoTask) if there is no such task;
    /// [`Taken`](crate::sion::ErrorKind::Taken) if the task has a writer already.
    pub fn task(&self, task: u64) -> Result<TaskWriter, Error> {
        let file = self.firsts.partition_point(|&first| first <= task).saturating_sub(1);
        let first = self.firsts.get(file).copied().unwrap_or(0);
        let local = u32::try_from(task.saturating_sub(first)).ok();
        match (self.parts.parts.get(file), local) {
            (Some(part), Some(local)) if task < self.ntasks => {
                let own = Strand::new((&self.parts, part), local, task)?;
                let copies = self.buddies.iter().map(|set| set.copy(file, part, local, task));
                Ok(TaskWriter::new(own, copies.collect::<Result<_, _>>()?, task))
            }
            _ => {
                let ntasks = self.ntasks;
                Err(Error::new(&self.path, core_sion::Error::NoTask { task, ntasks }))
            }
        }
    }

    /// Makes all data that any task has written so far part of the files, with the
    /// [`Durability`](super::Durability) that was chosen.
    ///
    /// In a sealed set of several files, this is a [commit of the whole
    /// set](crate::sion::recover::OfSet): the tables of all files are durable before the first one
    /// becomes visible. If a power cut ends it in between, some files show this commit and others
    /// the one before; readers and `verify` say which, and recovery, or the next
    /// [`Reopen`], brings all of them to this one. Files without seals have no place for the number
    /// of a commit, and are committed one after another. After a close, this does nothing.
    ///
    /// # Errors
    /// An error of the operating system; an error if a file was removed while it was written. The
    /// last commit still holds, and this commit can be tried again, unless a sync failed
    /// ([`SyncFailed`](crate::error::ErrorKind::SyncFailed)).
    pub fn commit(&self) -> Result<(), Error> {
        match self.has_set_commits() {
            true => self.commit_set(false),
            false => self.all_parts().try_for_each(|part| part.commit()),
        }
    }

    /// Whether commits have numbers in the set: only a seal has a place for one.
    fn has_set_commits(&self) -> bool {
        self.all_parts().count() > 1 && self.all_parts().all(|part| part.is_sealed())
    }

    /// Commits all files together; with `closes`, for the last time.
    fn commit_set(&self, closes: bool) -> Result<(), Error> {
        let mut last = lock(&self.last_number); // one such commit at a time
        // After a close, or one that failed in part, some are closed already.
        let parts = self.all_parts().filter(|part| !part.is_closed());
        let begun = parts.map(|part| part.begin(closes)).collect::<Result<Vec<_>, _>>();
        let begun = begun.inspect_err(|_| self.reopen_streams(closes))?;
        if closes && self.all_parts().any(|part| part.is_closed()) {
            // Of a close that failed: the others get the commit that the closed ones have.
            return begun.into_iter().try_for_each(Begun::close);
        }
        if !begun.iter().any(Begun::is_needed) {
            return begun.into_iter().try_for_each(Begun::skip);
        }
        // No number is used again: what fails now may be durable in some of the files.
        let number = last.saturating_add(1);
        if number > i32::MAX.unsigned_abs() {
            drop(begun);
            self.reopen_streams(closes);
            let number = SionError::OutOfRange {
                field: SealTrailer::set_number,
                value: number.into(),
                min: 0,
                max: i32::MAX.into(),
            };
            return Err(Error::new(&self.path, number));
        }
        *last = number;
        let prepared = begun.into_iter().map(|begun| begun.prepare(number));
        let prepared = prepared.collect::<Result<Vec<_>, _>>();
        let mut prepared = prepared.inspect_err(|_| self.reopen_streams(closes))?;
        let shown = prepared.iter_mut().try_for_each(Prepared::show);
        // Tasks can go on in all files before any of them looks at what tasks have written.
        let ended: Vec<_> = prepared.into_iter().map(Prepared::end).collect();
        // The commit of a closed file is the last of all: tasks write nothing that it has not.
        let opens = closes && !ended.iter().any(Ended::is_visible);
        let finished: Vec<_> = ended.into_iter().map(|ended| ended.finish(opens)).collect();
        finished.into_iter().fold(shown, Result::and)
    }

    /// Lets tasks write again after a close that failed before anything became visible. What they
    /// would add after a close that closed a file could not become part of the set.
    fn reopen_streams(&self, closes: bool) {
        if closes && !self.all_parts().any(|part| part.is_closed()) {
            self.all_parts().for_each(|part| part.open_streams(true));
        }
    }

    /// Commits for the last time. META2 is put where SIONlib puts it, and nothing follows it. Task
    /// writers that still exist cannot write any more.
    ///
    /// After an error it may be called again; after success it does nothing.
    ///
    /// # Errors
    /// The errors of [`FileWriter::commit`].
    pub fn close(&mut self) -> Result<(), Error> {
        match self.has_set_commits() {
            true => self.commit_set(true)?,
            false => self.all_parts().try_for_each(|part| part.close())?,
        }
        self.all_parts().try_for_each(|part| part.arrive())?;
        self.all_parts().for_each(|part| part.unlock());
        Ok(())
    }
}

impl Drop for FileWriter {
    fn drop(&mut self) {
        for part in self.all_parts() {
            if part.abandon() {
                log::warn!(
                    "{}: dropped without a close: what was written since the last commit is lost",
                    shown::path(part.path())
                );
            }
            part.unlock(); // also if task writers still exist
        }
    }
}

/// Options for appending to a set that was closed or committed.
///
/// Data that was written after the last commit is lost. No data is moved. By default, sealed files
/// stay sealed; a file with a damaged seal is refused, unless the seal is to be removed.
#[derive(Debug, Clone, Copy)]
pub struct Reopen {
    settings: Settings,
    /// Whether the files are to have seals; `None`: those that have one.
    sealed: Option<bool>,
}

impl Default for Reopen {
    fn default() -> Self {
        Self { settings: Settings::NEW, sealed: None }
    }
}

impl Reopen {
    /// Syncs on commit, keeps the seals as they are, uses buffers of 64 KiB.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    super::options::sion_write_options!(durability buffer);

    /// Adds or removes the seals. To seal files that have no seal, all their data is read.
    #[must_use]
    pub const fn sealed(mut self, sealed: bool) -> Self {
        self.sealed = Some(sealed);
        self
    }

    /// Opens the set whose first file is at `path`, and all of its buddy sets of which a file
    /// exists: so they stay copies.
    ///
    /// A commit that failed, or that a crash ended, may be in some of the sets. Buddy sets are made
    /// equal to the set, with a warning (crate `log`): a copy that is longer than its stream is cut
    /// back, and one that is shorter gets what it lacks.
    ///
    /// # Errors
    /// [`Locked`](crate::error::ErrorKind::Locked) if another writer has a file of them;
    /// [`NotClosed`](core_sion::Error::NotClosed) if a file was never closed nor committed;
    /// [`IsBuddy`](ErrorKind::IsBuddy) if the set is named as a buddy set;
    /// [`Stale`](ErrorKind::Stale) if a buddy set has other tasks, chunks or bytes than the set;
    /// [`Sibling`](ErrorKind::Sibling) if a file of a set or buddy set is lost;
    /// [`OtherSet`](ErrorKind::OtherSet) if a file belongs to another set;
    /// [`Apart`](ErrorKind::Apart) if files are of different commits of the whole set, because a
    /// crash ended one while files became visible, or one is an older copy; a damaged file; the
    /// operating system's.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<FileWriter, Error> {
        let path = path.as_ref();
        if let Some(main) = main_of(path) {
            return Err(Error::new(path, ErrorKind::IsBuddy { main }));
        }
        let (main, parts) = self.open_set(path)?;
        let nfiles = u32::try_from(parts.len()).unwrap_or(u32::MAX);
        let copies = copies_of(path, nfiles).map_err(|error| Error::new(path, error))?;
        let levels: BTreeSet<_> = copies.iter().map(|copy| copy.buddy).collect();
        let (mut buddies, mut aparts) = (Vec::new(), Vec::new());
        for level in levels {
            let (copy, parts) = self.open_set(&buddy_path(path, level))?;
            aparts.push(compare(&main, &copy.into_copies()?)?);
            buddies.push(parts);
        }
        for (aparts, parts) in aparts.iter().zip(&buddies) {
            mend(&main, aparts, parts)?; // all sets are known to fit
        }
        let mut writer = FileWriter::new(path, parts, buddies);
        if writer.has_set_commits() {
            join(writer.all_parts().map(Arc::as_ref));
            let numbers = writer.all_parts().map(|part| part.last_set_number());
            let last = numbers.collect::<Result<Vec<_>, _>>()?.into_iter().max();
            *writer.last_number.get_mut().unwrap_or_else(PoisonError::into_inner) =
                last.unwrap_or(0);
        }
        Ok(writer)
    }

    fn open_set(&self, path: &Path) -> Result<(File, Vec<Part>), Error> {
        let locked = self.lock_set(path)?;
        end_set_commit(path, &locked)?;
        // As a reader would: all of the set is there, and belongs together.
        let file = match OpenOptions::new().buddies(false).open(path)? {
            Opened::Closed(file) => file,
            Opened::Unclosed(set) => return Err(set.not_closed()),
        };
        let parts = (0..).zip(locked);
        let parts =
            parts.map(|(number, locked)| self.open_part(sibling_path(path, number), locked));
        let parts = parts.collect::<Result<Vec<_>, _>>()?;
        check_commits(&parts)?;
        Ok((file, parts))
    }

    /// Opens the files of a set and locks them: what is read from then on is not changed by others.
    fn lock_set(&self, path: &Path) -> Result<Vec<Locked>, Error> {
        let lock = |path: &Path| Locked::open(path, self.settings.durability.asks(), true);
        let mut files = vec![lock(path)?];
        let nfiles = OpenOptions::new().nfiles(path)?;
        for number in 1..nfiles {
            let file = lock(&sibling_path(path, number));
            files.push(file.map_err(|error| of_sibling(error, path, nfiles))?);
        }
        Ok(files)
    }

    fn open_part(&self, path: PathBuf, file: Locked) -> Result<Part, Error> {
        let at = |error| Error::new(&path, error);
        // What is visible may be the last words of a program that was killed, and not durable.
        file.sync().map_err(|error| Error::new(&path, error))?;
        let opened = Physical::open(&*file, &mut [0; Meta1::MAX_LEN]).map_err(at)?;
        let core_sion::Opened::Closed(physical) = opened else {
            let offset = opened.head().meta1.layout().commit_fields().offset();
            return Err(Error::new(&path, core_sion::Error::NotClosed { offset }));
        };
        let mapping = physical.mapping().map_err(at)?;
        let (meta1, checksum) = (*physical.meta1(), crc32c::crc32c_append);
        let fields = meta1.layout().commit_fields();
        let seal = match physical.seal() {
            Ok(SealState::Sealed(seal)) => Some(seal),
            Ok(_) => None,
            // Whoever takes the seal away need not be told that it is damaged.
            Err(DriveError::Format(_)) if self.sealed == Some(false) => None,
            Err(error) => return Err(at(error)),
        };
        if let Some(seal) = seal.filter(|_| self.sealed != Some(false)) {
            // Or what is damaged would be sealed.
            let mut window = vec![0; WINDOW];
            seal.check_metadata(&*file, checksum, &mut window).map_err(at)?;
        }
        let is_sealed = seal.is_some();
        let sealed = self.sealed.unwrap_or(is_sealed);
        let meta1_crc = match is_sealed || sealed {
            true => {
                let front = Span::new(0, fields.offset()).unwrap_or(Span::ZERO);
                checksum_of(&*file, front, 0, checksum, &mut vec![0; WINDOW]).map_err(at)?
            }
            false => 0,
        };
        let published = match seal {
            Some(seal) => Some(*seal.varheader()),
            None => Varheader::of(physical.head(), mapping.as_ref()),
        };
        let offset = fields.offset();
        let published =
            published.ok_or_else(|| Error::new(&path, core_sion::Error::NotClosed { offset }))?;

        let mut starts = Vec::new();
        let mut globalskip = 0u64;
        for task in physical.tasks(vec![0; WINDOW]).map_err(at)? {
            let chunks = task.map_err(at)?.task.chunks;
            starts.push(chunks.start);
            // Exact: `tasks` added them up.
            globalskip = globalskip.saturating_add(chunks.chunksize);
        }
        let blocks = Blocks { first: meta1.layout().first_chunk(), globalskip };
        let book = Book::reopen(&meta1, &blocks, published, sealed).with_meta1_crc(meta1_crc);
        let (starts, mapping) = (Starts::Each(starts), Vec::new());
        let settings = Settings { sealed, ..self.settings };
        let part = Part::new(Origin { path, file, book, starts, mapping }, settings);
        if sealed && !is_sealed {
            (0..meta1.ntasks()).try_for_each(|local| part.renew(local, None))?;
        }
        Ok(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Verify;
    use crate::sion::{Builder, File};
    use std::io::Write;

    /// The last commit is visible in both files, and one of them was not closed.
    #[test]
    fn a_close_that_failed_in_one_file_gives_it_the_commit_of_the_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sion");
        let builder = Builder::new(2).nfiles(2).fsblksize(64).sealed(true);
        let mut set = builder.create(&path).unwrap();
        for task in 0..2 {
            set.task(task).unwrap().write_all(&[b'a'; 1000]).unwrap();
        }
        let begun: Vec<_> = set.all_parts().map(|part| part.begin(true).unwrap()).collect();
        let mut prepared: Vec<_> = begun.into_iter().map(|one| one.prepare(1).unwrap()).collect();
        prepared.iter_mut().for_each(|one| one.show().unwrap());
        prepared.remove(0).end().finish(false).unwrap();
        drop(prepared);
        *lock(&set.last_number) = 1;

        assert!(set.task(1).is_err(), "nothing is added to a file whose sibling is closed");
        set.close().unwrap();
        assert!(File::open(&path).unwrap().older().unwrap().is_empty());
        let mut damage = Vec::new();
        let summary = Verify::new().sion(&path, &mut |one| damage.push(one.what.to_string()));
        let summary = summary.unwrap();
        assert_eq!((summary.set_commit, damage), (Some(1), Vec::new()));
    }
}
