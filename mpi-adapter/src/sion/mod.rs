//! SIONlib sets that the ranks of a parallel program write and read.
//!
//! | type | is |
//! |---|---|
//! | [`Builder`] | the options of a new set |
//! | [`Reopen`] | the options of a set that is appended to |
//! | [`FileWriter`] | a set that all ranks write |
//! | [`TaskWriter`] | the stream of one task of it, `Write` |
//! | [`OpenOptions`] | the options of a set that is read |
//! | [`FileReader`] | a set that all ranks read, by any number of ranks |
//! | [`Streams`] | what a rank reads of it, without the others |
//! | [`TaskStream`] | the stream of one task of it, `Read` and `Seek` |

mod buddies;
mod builder;
mod files;
mod grouped;
mod locks;
mod mapped;
mod outside;
mod owners;
mod part;
mod placed;
mod read;
mod reopen;
mod survive;
mod together;
mod writer;

pub use builder::Builder;
pub use outside::OwnTask;
pub use placed::Placed;
pub use read::{FileReader, KeyReader, OlderFile, OpenOptions, Streams, TaskEntry, TaskStream};
pub use reopen::Reopen;
pub use writer::TaskWriter;

use crate::collective::Collective;
use crate::error::{Error, Failure};
use crate::file::SharedFile;
use crate::operation::Operation;
use files::{Files, copies_first};
use locks::Locks;
use part::Part;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use striae::posix::PosixFile;
use striae_core::endian::ByteOrder;
use striae_core::store::{WriteAt, usize_to_u64};
use writer::{check_mode, header};
use zerocopy::IntoBytes;

/// A set that all ranks write. Each rank has its own handle, `F`, of each physical file in which it
/// has tasks.
///
/// [`write`](Self::write), [`write_key`](Self::write_key),
/// [`ensure_free_space`](Self::ensure_free_space), and writing by a [`TaskWriter`] are calls of
/// this rank alone. Their errors reach the other ranks at the next [`advance`](Self::advance),
/// [`commit`](Self::commit) or [`close`](Self::close).
#[derive(Debug)]
pub struct FileWriter<C, F = PosixFile> {
    /// The path of the first file.
    path: PathBuf,
    /// The locks that this rank holds, if files are to be locked. They are gone before the other
    /// ranks notice that this rank is.
    locks: Option<Rc<Locks>>,
    files: Files<C, F>,
    numbers: Numbers,
    /// The ranks of all files, if there are several.
    whole: Option<C>,
}

/// The numbers of the commits of the whole set, which are equal at all ranks.
#[derive(Debug, Clone, Copy)]
struct Numbers {
    /// The largest number that a file of the set has.
    last: u32,
    /// Whether a commit of these ranks is in all files of the set, and all are sealed: only then it
    /// can have a number.
    has_all_files: bool,
}

impl Numbers {
    /// Those of a new set.
    const NEW: Self = Self { last: 0, has_all_files: true };

    /// The number of the next commit; 0 if it has none, as only a seal has a place for one.
    const fn next(&self, sealed: bool) -> u32 {
        if self.has_all_files && sealed { self.last.saturating_add(1) } else { 0 }
    }
}

impl<C, F> FileWriter<C, F> {
    fn new(path: &Path, whole: Option<C>, files: Files<C, F>) -> Self {
        Self { path: path.to_owned(), locks: None, files, numbers: Numbers::NEW, whole }
    }
}

impl<C: Collective, F: SharedFile> FileWriter<C, F> {
    /// This writer of the set with that identity, which is equal at all ranks.
    fn in_set(mut self, identity: u32) -> Self {
        self.files.all_mut().for_each(|part| part.join(identity));
        self
    }
}

impl<C: Collective, F: SharedFile> FileWriter<C, F> {
    /// The communicator of this rank's physical file; of the first, if it has tasks in several.
    pub fn comm(&self) -> &C {
        self.files.first.comm()
    }

    /// The communicator of the set, if it has several files.
    pub fn whole(&self) -> Option<&C> {
        self.whole.as_ref()
    }

    /// Writes `bytes` to the stream of this rank, without the other ranks. The bytes are part of
    /// the next commit. They go to the file at once, so that short records are slow; with
    /// [`Builder::collect`] they wait in a buffer, and this rank writes a full one by the file of
    /// its writer; it opens the file if it does not have that.
    ///
    /// # Errors
    /// An error of the operating system; the next collective reports it to all ranks, and the
    /// stream of this rank is unchanged. [`io::ErrorKind::WouldBlock`] if all ranks must
    /// [`advance`](Self::advance) first, which happens only after a commit, or while a record of
    /// [`coll_write`](Self::coll_write) waits, which comes before; then the write can be tried
    /// again.
    #[inline]
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.files.copies.is_empty() && self.files.first.append(bytes) {
            return Ok(());
        }
        self.write_slowly(bytes)
    }

    fn write_slowly(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.check()?;
        check_mode(self.files.first.keyval(), false)?;
        match self.files.copies.is_empty() {
            true => self.files.first.write(bytes),
            false => self.write_pieces(&[bytes]),
        }
    }

    /// Writes a key-value record to the stream of this rank, which may span several chunks: all of
    /// it or nothing.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] if streams are plain; those of [`write`](Self::write).
    pub fn write_key(&mut self, key: u64, value: &[u8]) -> io::Result<()> {
        self.check()?;
        let keyval = self.files.first.keyval();
        check_mode(keyval, true)?;
        let header = header(keyval.unwrap_or(ByteOrder::HOST), key, value);
        self.write_pieces(&[header.as_bytes(), value])
    }

    /// Writes to the stream of this rank and its copies, if all of them have room.
    fn write_pieces(&mut self, pieces: &[&[u8]]) -> io::Result<()> {
        let len = pieces.iter().map(|piece| usize_to_u64(piece.len())).fold(0, u64::saturating_add);
        let has_copies = !self.files.copies.is_empty();
        if has_copies && !self.files.streams_mut().all(|part| part.has_room(len)) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.files.streams_mut().try_for_each(|part| part.write_pieces(pieces))
    }

    /// The numbers in the set of the tasks of this rank: their global ranks, which in a set with
    /// [colors](Builder::color) are the ranks of the communicator. In a set that was reopened they
    /// are counted over (file, local rank).
    pub fn tasks(&self) -> impl Iterator<Item = u32> {
        self.files.own().flat_map(Part::globalranks)
    }

    /// The writer of a task of this rank; `None` if it is not one of this rank, or if a collective
    /// call has failed, or the set has [buddy sets](Builder::buddies).
    pub fn writer(&mut self, task: u32) -> Option<TaskWriter<'_, impl WriteAt<Error = io::Error>>> {
        self.check().ok()?;
        if !self.files.copies.is_empty() {
            return None;
        }
        let part = self.files.with_task(task).ok()?;
        let keyval = part.keyval();
        let (task, reach, to) = part.task(task)?;
        Some(TaskWriter::new(task, reach, keyval, to))
    }

    /// The writers of all tasks of this rank, in the order of their numbers, for its threads. This
    /// rank opens its files if it does not have them. What they write does not wait in a buffer.
    ///
    /// ```
    /// use std::io::Write;
    /// use striae_mpi::sion::Builder;
    /// use striae_mpi::{Collective, Failure, Threads};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("run.sion");
    /// let done = Threads::new(3).run(|rank| {
    ///     let builder = Builder::new().chunksizes(vec![1 << 20; 4]); // for 4 threads
    ///     let mut file = builder.create(rank, &path)?;
    ///     let writers = file.writers().map_err(|error| Failure::io("opening", &error));
    ///     let mine = writers.map(|writers| {
    ///         std::thread::scope(|scope| {
    ///             for mut writer in writers {
    ///                 scope.spawn(move || write!(writer, "task {}", writer.task()));
    ///             }
    ///         });
    ///     });
    ///     file.comm().agree(mine)?;
    ///     file.close().map(drop) // an error of a thread is that of all ranks
    /// });
    /// done.into_iter().try_for_each(|done| done.expect("no rank panicked"))?;
    /// assert_eq!(striae::sion::File::open(&path)?.task(11)?.bytes, 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// An error of the operating system, which the next collective call does not report; that of a
    /// collective call that has failed; [`io::ErrorKind::Unsupported`] if the set has
    /// [buddy sets](Builder::buddies).
    pub fn writers(&mut self) -> io::Result<Vec<TaskWriter<'_, &F>>> {
        self.check()?;
        if !self.files.copies.is_empty() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let mut writers = Vec::new();
        for part in self.files.own_mut() {
            let keyval = part.keyval();
            let (tasks, reach, file) = part.tasks()?;
            let writer = |task| TaskWriter::new(task, reach, keyval, file);
            writers.extend(tasks.iter_mut().map(writer));
        }
        Ok(writers)
    }

    /// Writes a record of each rank; all ranks of a physical file call this, each with a record of
    /// any length, also 0; with [buddy sets](Builder::buddies), all ranks of the set. A record that
    /// fits into a chunk is in one chunk, as with `sion_coll_fwrite`; a longer one goes on in the
    /// next.
    ///
    /// Most calls take no message. The ranks meet in the first call, and in the first one after a
    /// commit. Then they meet only if they may have to [`advance`](Self::advance), as after a
    /// commit, or if a buffer may be full whose rank does not have the file of its writer: it goes
    /// to the writer. This takes one call of the message layer, two if ranks have a writer in
    /// common, and three more to advance. All ranks know from the lengths of the records up to then
    /// when they will meet again.
    ///
    /// A record that is longer than those up to then may have no room. It waits in memory until the
    /// ranks meet, and so do those that follow: of at most 8192 calls, and without another bound,
    /// also if [`Builder::collect`] sets one. [`advance`](Self::advance) before longer records
    /// makes room for them.
    ///
    /// # Errors
    /// [`Error`] when the ranks meet, at all ranks of this physical file; those of the others learn
    /// of it at the next commit. With [buddy sets](Builder::buddies) all ranks do.
    #[inline]
    pub fn coll_write(&mut self, record: &[u8]) -> Result<(), Error> {
        if self.files.copies.is_empty() && self.files.first.coll_append(record) {
            return Ok(());
        }
        self.coll_write_slowly(record)
    }

    fn coll_write_slowly(&mut self, record: &[u8]) -> Result<(), Error> {
        if let Err(error) = check_mode(self.files.first.keyval(), false) {
            return Err(Error::agreed(Failure::io("writing a record", &error))); // at all ranks
        }
        self.whole.as_ref().and_then(C::error).map_or(Ok(()), Err)?;
        if self.files.copies.is_empty() {
            self.files.first.comm().error().map_or(Ok(()), Err)?;
            return self.files.first.coll_write(record);
        }
        let done = self.files.in_turn(|part| {
            let record = if part.is_own { record } else { &[] };
            part.coll_write(record)
        });
        // Ranks of other files know nothing of an error. It has poisoned the file, which the next
        // commit finds, at all ranks.
        done.or(Ok(()))
    }

    /// Goes to the next chunk if fewer than `len` bytes fit into this one, as
    /// `sion_ensure_free_space` does. So a record of at most a chunk is not split.
    ///
    /// # Errors
    /// [`io::ErrorKind::Other`] if `len` is more than a chunk has; the stream is unchanged.
    /// [`io::ErrorKind::WouldBlock`] while a record waits, as with [`write`](Self::write).
    pub fn ensure_free_space(&mut self, len: u64) -> io::Result<()> {
        check_mode(self.files.first.keyval(), false)?;
        self.files.streams_mut().try_for_each(|part| part.ensure_free_space(len))
    }

    /// Makes room for `len` more bytes of each task of this rank, and writes records that wait. All
    /// ranks call this, each with its own `len`. It is needed only after a commit, or if copies in
    /// buddy sets have no room.
    /// This takes two calls of the message layer, and two more for several files.
    ///
    /// # Errors
    /// [`Error`]. The set stays as the last commit left it.
    pub fn advance(&mut self, len: u64) -> Result<(), Error> {
        self.each(Operation::SionAdvance, |part| {
            let len = if part.is_own { len } else { 0 };
            part.advance(len)
        })
    }

    /// Makes all data that all ranks wrote part of the set, or none of those of a file. This takes
    /// three calls of the message layer, and two more for several files: the ranks of all files
    /// agree that they commit, each file commits for itself, and all ranks learn whether all did.
    ///
    /// # Errors
    /// [`Error`]. A file is that of the last commit; or that of this one, if it was visible before
    /// something failed.
    pub fn commit(&mut self) -> Result<(), Error> {
        self.each(Operation::SionCommit, Part::commit)
    }

    /// As [`commit`](Self::commit), for all files of the set together: they become visible only
    /// when the data of all of them is durable. So a failure up to then, such as a full disk,
    /// leaves all files at the commit before. This takes three calls of the message layer, and
    /// three more for several files.
    ///
    /// In sealed files, this commit has a number in the set. If ranks or the machine stop while
    /// files become visible, [`Recover`](striae::sion::recover::Recover) finds by it the newest
    /// commit that all files have, which is this one or the last. Without seals, each file is then
    /// of one of the two, and nothing says which. After a reopening, commits have numbers only if
    /// the ranks have tasks in all files.
    ///
    /// # Errors
    /// [`Error`]. Unless a rank failed, or was lost, while files became visible, all files are
    /// those of the same commit: of the last one, or of this one.
    pub fn commit_set(&mut self) -> Result<(), Error> {
        self.begin(Operation::SionCommitSet)?;
        if self.whole.is_none() {
            return self.files.first.commit();
        }
        self.publish_set(false)
    }

    /// Commits all files of the set together; for the last time, with `is_last`.
    fn publish_set(&mut self, is_last: bool) -> Result<(), Error> {
        let Some(whole) = &self.whole else { return Ok(()) };
        whole.error().map_or(Ok(()), Err)?;
        let number = self.numbers.next(self.files.first.is_sealed());
        let mut places = Vec::new();
        let done = self.files.in_turn(|part| {
            places.push(part.prepare(number, is_last)?);
            Ok(())
        });
        whole.agree(done.map_err(Failure::from))?;
        let mut shown = Ok(());
        for (part, place) in self.files.all_mut().zip(&places) {
            shown = shown.and(part.show(*place));
        }
        whole.agree(shown)?;
        self.files.all_mut().zip(places).for_each(|(part, place)| part.shown(place));
        self.numbers.last = self.numbers.last.max(number);
        Ok(())
    }

    /// Commits for the last time, with META2 where SIONlib puts it. Returns the communicator that
    /// the set was made with, for the next one. This takes three calls of the message layer, or
    /// five if the META2 of the last commit is in the way; and three more for several files.
    ///
    /// If commits have numbers in the set, the close is a [`commit_set`](Self::commit_set), which
    /// takes up to three more.
    ///
    /// # Errors
    /// The errors of [`commit`](Self::commit), or of [`commit_set`](Self::commit_set).
    pub fn close(mut self) -> Result<C, Error> {
        let of_set = self.whole.is_some() && self.numbers.next(self.files.first.is_sealed()) > 0;
        self.begin(Operation::SionClose)?;
        if of_set {
            self.publish_set(true)?;
        }
        // Each file keeps its lock until it is closed; none has one when all ranks know that it is.
        self.locks = None;
        let Some(whole) = self.whole else { return self.files.first.close() };
        whole.error().map_or(Ok(()), Err)?;
        copies_first(Some(&whole), self.files.into_both(), |part: Part<C, F>| {
            let closed = if of_set { part.close_shown() } else { part.close() };
            closed?.free(Ok(()))
        })?;
        Ok(whole)
    }

    /// Begins an operation of all files. Those of several agree that all ranks do, before anything
    /// is written: first the ranks of each file, of which one may be in a collective write, which
    /// the ranks of other files do not take part in.
    fn begin(&mut self, operation: Operation) -> Result<(), Error> {
        self.files.all_mut().for_each(|part| part.begin(operation));
        let Some(whole) = &self.whole else { return Ok(()) };
        whole.begin(operation, 0); // files may have other numbers of collective writes
        // What a file did not learn of an error is unknown to its ranks.
        whole.error().map_or(Ok(()), Err)?;
        let done = self.files.in_turn(|part| part.meet(operation));
        whole.agree(done.map_err(Failure::from))
    }

    /// After the error of a collective call, a commit may be visible where this rank would write.
    fn check(&self) -> io::Result<()> {
        let parts = self.files.own().chain(&self.files.copies).map(Part::comm);
        match parts.chain(&self.whole).find_map(C::error) {
            None => Ok(()),
            Some(error) => Err(error.into()),
        }
    }

    /// Does `work` to each file of this rank, those of buddy sets first.
    fn each(
        &mut self,
        operation: Operation,
        mut work: impl FnMut(&mut Part<C, F>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.begin(operation)?;
        copies_first(self.whole.as_ref(), self.files.both_mut(), |part: &mut Part<C, F>| work(part))
    }
}
