//! One physical file, which the ranks of a communicator write.
//!
//! Every rank holds a copy of the file's [`Book`] and the [`Pen`](striae_core::sion::Pen)s of its
//! own tasks. The copies stay equal, because a Book changes only by what all ranks have agreed on.
//! Ranks share only the file and a [`Collective`]: each writes its own bytes of the tables, and
//! rank 0 makes them visible.

mod at_desk;
mod create;
mod known;
mod merge;
mod outside;
mod reopen;
mod rounds;
mod survive;
mod table;
mod tasks;

use crate::collect::{Handle, Io};
use crate::collective::{Collective, Fold};
use crate::error::{Code, Error, Failure};
use crate::file::SharedFile;
use crate::operation::Operation;
use at_desk::{End, cut, finish, show};
pub(super) use create::{Claim, Plan};
use known::{Known, Recalled};
pub(super) use reopen::{Old, Resumed};
use rounds::Rounds;
use std::cell::RefCell;
use std::io;
use std::ops::Range;
use striae::posix::PosixFile;
use striae_core::endian::ByteOrder;
use striae_core::integrity::{Checksum, Crc32cParts, crc32c};
use striae_core::sion::book::{Ahead, Book, Enter};
use striae_core::sion::error::Error as SionError;
use striae_core::sion::pen::Since;
use striae_core::sion::tables::{Publication, TableSums, Tables, Unchanged, write};
use striae_core::sion::visible::Outcome;
use striae_core::sion::{KeyvalMode, Meta1, Varheader};
use striae_core::step::DriveError;
use striae_core::store::usize_to_u64;
use tasks::Mine;
pub(super) use tasks::{Groups, Request, Task};

/// Length in bytes of the windows in which tables are read and written.
const WINDOW: usize = 1 << 16;

pub(super) fn io_failure(what: &'static str) -> impl Fn(io::Error) -> Failure {
    move |error| Failure::io(what, &error)
}

/// A refusal of the format: a place or a number that it does not have.
pub(super) fn refused(error: SionError) -> Failure {
    let code = if error.blames_caller() { Code::Refused } else { Code::Full };
    Failure::new(code, error)
}

/// A file that all ranks write; each rank has its own file handle, `F`.
#[derive(Debug)]
pub(super) struct Part<C, F = PosixFile> {
    /// Its lock is gone before the other ranks notice that this one is.
    file: Handle<C, F>,
    comm: C,
    book: Book,
    mine: Mine,
    rounds: Rounds,
    known: RefCell<Known>,
    /// Whether it has a stream of this rank, which else is a keeper of a file of a buddy set.
    pub(super) is_own: bool,
    /// The ranks whose records the first of them writes, if records are merged.
    merged: Option<Range<u32>>,
    /// The chunks of the longest stream, if the ranks have counted them for what they do now.
    counted: Option<u32>,
    /// One more than the bytes of the first task that have room after its last ones, both in its
    /// chunk and in the memory where they wait. Not 0 only right after such a write that was in
    /// order. The pen does not know of the bytes of the lane before it [ends](Self::leave_lane).
    lane: usize,
}

impl<C: Collective, F: SharedFile> Part<C, F> {
    fn of(comm: C, file: Handle<C, F>, book: Book, mine: Mine) -> Self {
        file.settle();
        let known = RefCell::new(Known::new());
        let rounds = Rounds::new();
        let (is_own, merged, counted, lane) = (true, None, None, 0);
        Self { file, comm, book, mine, rounds, known, is_own, merged, counted, lane }
    }

    /// Begins an operation of the ranks of the file.
    pub(super) fn begin(&self, operation: Operation) {
        self.comm.begin(operation, self.written());
    }

    /// The ranks of the file meet before they begin an operation of several files.
    pub(super) fn meet(&mut self, operation: Operation) -> Result<(), Error> {
        if operation == Operation::SionAdvance {
            let mine = self.leave_lane().mine.take_untold().map_or(Ok(()), Err);
            return self.comm.agree(mine);
        }
        self.counted = Some(self.maxchunks()?);
        Ok(())
    }

    /// A number of the collective writes so far, which take no message of their own.
    pub(super) fn written(&self) -> u32 {
        u32::try_from(self.rounds.written() & u64::from(u32::MAX)).unwrap_or(0) // of 32 bits
    }

    /// The communicator of the file.
    pub(super) const fn comm(&self) -> &C {
        &self.comm
    }

    /// The byte order of key-value records; none if streams are plain.
    pub(super) fn keyval(&self) -> Option<ByteOrder> {
        let meta1 = self.book.meta1();
        (meta1.keyval() == KeyvalMode::Inline).then(|| meta1.order())
    }

    /// The global ranks of the tasks of this rank.
    pub(super) fn globalranks(&self) -> impl Iterator<Item = u32> {
        self.mine.tasks().iter().map(Task::globalrank)
    }

    /// Writes `pieces` to the stream of this rank's first task, without the other ranks: all of
    /// them or nothing. The bytes are part of the next commit.
    ///
    /// # Errors
    /// An error of the operating system; the next collective reports it to all ranks, and the
    /// stream is unchanged. [`io::ErrorKind::WouldBlock`] if all ranks must
    /// [`advance`](Self::advance) first; then the write can be tried again.
    pub(super) fn write_pieces(&mut self, pieces: &[&[u8]]) -> io::Result<()> {
        let reach = self.leave_lane().reach();
        self.mine.first()?.write_all(pieces, reach, &mut self.file.io())
    }

    /// As [`write_pieces`](Self::write_pieces), of one piece.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_pieces(&[bytes])?;
        let cursor = self.mine.first()?.pen().cursor();
        if let Ok(next) = cursor.place(0) {
            let room = usize::try_from(cursor.room()).unwrap_or(usize::MAX);
            let room = self.file.lane(next.offset()).min(room);
            self.lane = if room == 0 { 0 } else { room.saturating_add(1) };
        }
        Ok(())
    }

    /// Writes bytes that have room after the last ones, as most records of a long run, if nothing
    /// can go wrong; otherwise does nothing and returns false.
    #[inline]
    pub(super) fn append(&mut self, bytes: &[u8]) -> bool {
        match self.lane.checked_sub(bytes.len()) {
            Some(left) if left > 0 && self.file.append(bytes) => {
                self.lane = left;
                true
            }
            _ => false,
        }
    }

    /// What comes next may move the stream, or what waits.
    fn leave_lane(&mut self) -> &mut Self {
        self.lane = 0;
        let appended = self.file.end_lane();
        if let (false, Ok(task)) = (appended.is_empty(), self.mine.first()) {
            task.wrote(appended);
        }
        self
    }

    /// Whether this rank does what it did to another file, with that result, to this one too. A
    /// failure is told to the ranks of this file, but none waits for a rank that is lost.
    pub(super) fn goes_on_after(&mut self, other: &Result<(), Error>) -> bool {
        let Err(error) = other else { return true };
        self.mine.fail_with(error.clone().into());
        error.code() != Code::Lost
    }

    /// The number of blocks that this rank may write to: none while records wait, which come
    /// before all other bytes.
    fn reach(&self) -> u64 {
        if self.rounds.pending() > 0 { 0 } else { self.book.reach() }
    }

    /// Whether `len` more bytes can be written to the first task before the ranks meet.
    pub(super) fn has_room(&mut self, len: u64) -> bool {
        self.leave_lane();
        self.mine.block_after(len) < self.reach() && self.file.has_room(len)
    }

    /// Leaves the current chunk of the first task if fewer than `len` bytes fit into it.
    pub(super) fn ensure_free_space(&mut self, len: u64) -> io::Result<()> {
        match self.leave_lane().reach() {
            0 => Err(io::ErrorKind::WouldBlock.into()),
            _ => self.mine.first()?.ensure_free_space(len),
        }
    }

    /// The task of this rank with a global rank, the blocks that it may write to, and the file.
    pub(super) fn task(&mut self, globalrank: u32) -> Option<(&mut Task, u64, Io<'_, C, F>)> {
        let reach = self.leave_lane().reach();
        Some((self.mine.get_mut(globalrank)?, reach, self.file.io()))
    }

    /// All tasks of this rank, the blocks that they may write to, and the file, which this rank
    /// opens if it has not.
    pub(super) fn tasks(&mut self) -> io::Result<(&mut [Task], u64, &F)> {
        let reach = self.leave_lane().reach();
        Ok((self.mine.tasks_mut(), reach, self.file.opened()?))
    }

    /// Makes room for `len` more bytes of this rank, after the records that wait, which it writes:
    /// moves META2 to an offset after the blocks that they need. All ranks call this, each with its
    /// own `len`. This takes two calls of the message layer.
    ///
    /// # Errors
    /// [`Error`]. The file stays as the last commit left it.
    pub(super) fn advance(&mut self, len: u64) -> Result<(), Error> {
        self.leave_lane().comm.error().map_or(Ok(()), Err)?;
        let block = self.mine.block_after(len).max(self.block_after_pending(len));
        let (mut book, file) = (self.book, &self.file);
        let mut mine = self.mine.take_untold().map_or(Ok([block]), Err);
        if file.is_alone() {
            mine = file.hand_over(mine.as_ref().map(drop).map_err(Clone::clone)).and(mine);
        }
        let [block] = self.comm.decide(mine, [Fold::Max], |[block]| {
            if let Some(new) = entering(&mut book, block)? {
                finish(book, &new, &mut Tables::all(Unchanged), file, End::Visible)?;
            }
            Ok([block])
        })?;
        // All Books are equal, so all find the same place.
        let mut enter = || {
            if let Some(new) = entering(&mut self.book, block)? {
                self.book.conclude(Outcome::Published(new));
                entering(&mut self.book, block)?;
            }
            Ok(())
        };
        enter().map_err(Error::agreed)?;
        self.write_pending();
        Ok(())
    }

    /// Makes all data that all ranks wrote part of the file, or none of it. This takes three calls
    /// of the message layer.
    ///
    /// # Errors
    /// [`Error`]. The file is that of the last commit; or, if rank 0 failed after its data became
    /// visible, that of this one.
    pub(super) fn commit(&mut self) -> Result<(), Error> {
        let maxchunks = self.maxchunks()?;
        let new = self.book.commit(maxchunks, Ahead::Blocks(1)).map_err(agreed)?;
        self.publish(self.publication(new), End::Visible)?;
        self.mine.committed();
        self.rounds.meet();
        Ok(())
    }

    /// Does all of commit `number` of the set but to make it visible, and returns its place; of the
    /// last one, with `is_last`. This takes three calls of the message layer. Nothing else may be
    /// done to the file before [`show`](Self::show).
    pub(super) fn prepare(&mut self, number: u32, is_last: bool) -> Result<Varheader, Error> {
        let maxchunks = self.maxchunks()?;
        let new = self.book.prepared(maxchunks, is_last, Ahead::Blocks(1));
        let new = new.map_err(agreed)?.with_set_number(number);
        let new = new.ok_or_else(|| Error::agreed(no_number()))?;
        self.publish_as(self.publication(new), End::Hidden)?;
        Ok(new)
    }

    /// Rank 0 makes a prepared commit visible, the others do nothing. The ranks then agree on the
    /// result, and call [`shown`](Self::shown).
    pub(super) fn show(&self, new: Varheader) -> Result<(), Failure> {
        if self.comm.rank() > 0 {
            return Ok(());
        }
        show(self.book, &self.file, &new)
    }

    /// The prepared commit is visible.
    pub(super) fn shown(&mut self, new: Varheader) {
        self.book.conclude(Outcome::Published(new));
        self.mine.committed();
        self.rounds.meet();
    }

    /// Commits for the last time, with META2 where SIONlib puts it. This takes three calls of the
    /// message layer, or five if the META2 of the last commit is in the way.
    ///
    /// # Errors
    /// The errors of [`commit`](Self::commit).
    pub(super) fn close(mut self) -> Result<C, Error> {
        let maxchunks = self.maxchunks()?;
        let plan = self.book.close(maxchunks).map_err(agreed)?;
        if let Some(aside) = plan.aside {
            self.publish(self.publication(aside), End::Visible)?;
        }
        self.publish(self.publication(plan.last), End::Cut)?;
        self.leave()
    }

    /// Closes the file after the last commit of the set, which is visible. This takes one call of
    /// the message layer, or two if its META2 is not yet where SIONlib puts it.
    ///
    /// # Errors
    /// The errors of [`commit`](Self::commit).
    pub(super) fn close_shown(mut self) -> Result<C, Error> {
        let Some(shown) = self.book.published().copied() else { return self.leave() };
        if self.book.is_closed() {
            let cut = || cut(self.book, &self.file, &shown);
            self.comm.decide(Ok([]), [], |[]| cut().map(|()| []))?;
        } else {
            let plan = self.book.close(shown.maxchunks()).map_err(agreed)?;
            let last = plan.last.with_set_number(shown.set_number()).unwrap_or(plan.last);
            self.publish(self.publication(last), End::Cut)?;
        }
        self.leave()
    }

    pub(super) const fn meta1(&self) -> &Meta1 {
        self.book.meta1()
    }

    /// Whether one rank writes the records of several.
    pub(super) const fn is_merged(&self) -> bool {
        self.merged.is_some()
    }

    /// The identity of the set that the seal of the last commit names, if it has a seal; 0 if that
    /// names none.
    pub(super) fn sealed_identity(&self) -> Option<u32> {
        let published = self.book.published().filter(|published| published.is_sealed());
        published.map(Varheader::set_identity)
    }

    /// Makes this a file of the set with that identity. The ranks of the file do so equally.
    pub(super) fn join(&mut self, identity: u32) {
        self.book = self.book.with_set_identity(identity);
    }

    /// Whether commits seal the file.
    pub(super) const fn is_sealed(&self) -> bool {
        self.book.is_sealed()
    }

    fn leave(self) -> Result<C, Error> {
        self.file.leave(&self.comm)?;
        Ok(self.comm)
    }

    /// Number of chunks of the longest stream.
    fn maxchunks(&mut self) -> Result<u32, Error> {
        if let Some(counted) = self.counted.take() {
            return Ok(counted);
        }
        let mine = self.leave_lane().reached();
        let [mut chunks, pending] = self.comm.max(mine)?;
        if pending > 0 {
            self.advance(0)?;
            let mine = self.reached();
            [chunks, _] = self.comm.max(mine)?;
        }
        u32::try_from(chunks).map_err(|_| Error::agreed(full()))
    }

    /// Number of chunks of this rank's longest stream, and of bytes that have no place yet.
    fn reached(&mut self) -> Result<[u64; 2], Failure> {
        let reached = [self.mine.chunks(), usize_to_u64(self.rounds.pending())];
        self.mine.take_untold().map_or(Ok(reached), Err)
    }

    /// Writes the table entries of this rank; rank 0 then makes the entries of all ranks visible.
    fn publish(&mut self, publication: Publication, end: End) -> Result<(), Error> {
        self.publish_as(publication, end)?;
        self.book.conclude(Outcome::Published(publication.new));
        Ok(())
    }

    fn publish_as(&self, publication: Publication, end: End) -> Result<(), Error> {
        let (file, known) = (&self.file, self.known.take());
        let write = || {
            let mut all = TableSums::NONE;
            let mut recalled = Recalled::new(file.io(), &known, &publication, !file.is_kept());
            for range in self.mine.runs() {
                let len = range.end.saturating_sub(range.start);
                let has_mapping = range.start == 0 && !publication.new.mapping().is_empty();
                let len = match usize::try_from(len) {
                    Ok(len) if !has_mapping => len.saturating_mul(8),
                    _ => WINDOW,
                };
                let mut window = vec![0; len.min(WINDOW)];
                let mut tables = Tables::part(range, Since(&self.mine));
                let done = write(&publication, &mut tables, &mut recalled, &mut window);
                done.map_err(failed("writing META2"))?;
                all = all.join(*tables.sums());
            }
            self.known.replace(recalled.into_known());
            Ok([all.meta2.word().into(), all.chunks.word().into()])
        };
        let sums = write();
        let delivered = file.deliver(sums.as_ref().map(drop).map_err(Clone::clone));
        self.comm.decide(delivered.and(sums), [Fold::Xor; 2], |words| {
            let [meta2, chunks] = words.map(parts_of);
            let sums = &mut TableSums { meta2, chunks };
            finish(self.book, &publication.new, sums, file, end).map(|()| [])
        })?;
        file.settle();
        Ok(())
    }

    fn publication(&self, new: Varheader) -> Publication {
        self.book.publication(new, 0, CHECKSUM) // rank 0 finds out how long the file is
    }
}

const CHECKSUM: Checksum = crc32c;

pub(super) fn differ() -> Failure {
    let text = "the ranks passed different names or options, must pass equal ones";
    Failure::new(Code::Differ, text)
}

fn no_number() -> Failure {
    Failure::new(Code::Full, "the set has no number for another commit")
}

fn full() -> Failure {
    Failure::new(Code::Full, "the file has no place for more blocks")
}

/// An error that every Book finds equally, without a message.
fn agreed(error: SionError) -> Error {
    Error::agreed(refused(error))
}

/// Opens `block` for writing; returns the place to which META2 must be moved for it.
fn entering(book: &mut Book, block: u64) -> Result<Option<Varheader>, Failure> {
    let block = u32::try_from(block).map_err(|_| full())?;
    match book.enter(block, Ahead::Blocks(1)).map_err(refused)? {
        Enter::Move(new) => Ok(Some(new)),
        Enter::GoOn | Enter::Settle(_) => Ok(None), // after an error nothing is entered
    }
}

/// The failure of writing tables.
fn failed(what: &'static str) -> impl Fn(DriveError<io::Error, SionError>) -> Failure {
    move |error| match error {
        DriveError::Store(error) => Failure::io(what, &error),
        DriveError::Format(error) => refused(error),
        // Another program has cut the file.
        error => Failure::new(Code::Damaged, format_args!("{what}: {error}")),
    }
}

fn parts_of(word: u64) -> Crc32cParts {
    Crc32cParts::from_word(u32::try_from(word).unwrap_or(0)) // a rank gave one of 32 bits
}
