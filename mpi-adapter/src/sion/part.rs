//! One physical file, which the ranks of a communicator write.
//!
//! Every rank holds a copy of the file's [`Book`] and the [`Pen`] of its own task. The copies stay
//! equal, because a Book changes only by what all ranks have agreed on. Ranks share only the file
//! and a [`Collective`]: each writes its own bytes of the tables, and rank 0 makes them visible.

mod rounds;

use crate::collect::Handle;
use crate::collective::{Collective, Fold};
use crate::error::{Code, Error, Failure};
use rounds::Rounds;
use std::io;
use std::ops::Range;
use striae::posix::PosixFile;
use striae_core::integrity::{Checksum, Crc32cParts, crc32c};
use striae_core::sion::book::{Ahead, Book, Enter};
use striae_core::sion::create::{Front, TaskTable, TaskTables};
use striae_core::sion::error::Error as SionError;
use striae_core::sion::filegroups::{EvenFiles, FileGroups};
use striae_core::sion::pen::{Finished, Ledger, Pen, Pens, Since};
use striae_core::sion::tables::{Publication, TableSums, Tables, Unchanged};
use striae_core::sion::visible::{Outcome, Visible};
use striae_core::sion::{Attributes, Blocks, Chunks, Meta1, Varheader};
use striae_core::step::{DriveError, Machine, drive};
use striae_core::store::{ReadAt, WriteAt, usize_to_u64};

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
    comm: C,
    file: Handle<C, F>,
    book: Book,
    mine: Mine,
    /// The reason why this rank failed, until the other ranks get it.
    untold: Option<Failure>,
    rounds: Rounds,
}

/// What a physical file is to be; equal at all of its ranks but for their own task.
pub(super) struct Plan<'a> {
    pub(super) attributes: Attributes,
    /// The name of the set that is stored for SIONlib.
    pub(super) prefix: &'a [u8],
    pub(super) sealed: bool,
    /// The files of all tasks of the set.
    pub(super) groups: EvenFiles,
    /// The entries of the mapping, which only the first of several files has.
    pub(super) entries: u64,
    /// A number that all ranks must have: of what they passed.
    pub(super) fingerprint: u32,
    /// The rank of this task in the set.
    pub(super) globalrank: u32,
    /// The stored size of its chunks.
    pub(super) chunksize: u64,
}

/// The task of this rank.
#[derive(Debug)]
struct Mine {
    pen: Pen,
    finished: Left,
    groups: EvenFiles,
}

/// A ledger that grows.
#[derive(Debug, Default)]
struct Left(Vec<Finished>);

impl Ledger for Left {
    fn push(&mut self, chunk: Finished) -> Result<(), SionError> {
        self.0.push(chunk);
        Ok(())
    }

    fn retain(&mut self, keep: impl FnMut(&Finished) -> bool) {
        self.0.retain(keep);
    }
}

impl Pens for &Mine {
    fn pens(&self, _: Range<u32>) -> impl Iterator<Item = &Pen> {
        std::iter::once(&self.pen)
    }

    fn finished(&self, chunk: u32, _: Range<u32>) -> impl Iterator<Item = &Finished> {
        self.finished.0.iter().filter(move |done| done.chunk == chunk)
    }

    fn address(&self, globalrank: u32) -> Option<(u32, u32)> {
        self.groups.address(globalrank)
    }
}

/// The task table of a rank, which knows only the size of its own task.
struct OneTask {
    ntasks: u64,
    globalrank: u32,
    chunksize: u64,
}

impl TaskTable for OneTask {
    fn ntasks(&self) -> u64 {
        self.ntasks
    }

    fn globalrank(&self, _: u32) -> i64 {
        self.globalrank.into()
    }

    fn chunksize(&self, _: u32) -> u64 {
        self.chunksize
    }
}

/// A rank's part of a file that is being made.
struct Begun<'a> {
    plan: Plan<'a>,
    meta1: Meta1,
    front: Front,
    sums: Crc32cParts,
    /// The chunk sizes of all lower ranks.
    before: u64,
}

impl Begun<'_> {
    fn book(&self, globalskip: u64) -> Result<(Blocks, Book), Failure> {
        let blocks = Blocks { first: self.meta1.layout().first_chunk(), globalskip };
        let Plan { entries, sealed, .. } = self.plan;
        let book = Book::create(&self.meta1, &blocks, entries, sealed);
        Ok((blocks, book.map_err(refused)?))
    }
}

impl<C: Collective, F> Part<C, F>
where
    for<'f> &'f F: WriteAt<Error = io::Error>,
{
    /// Makes a file with a task for each rank. Rank 0 makes it before any other rank opens it. This
    /// takes three calls of the message layer.
    pub(super) fn create(
        comm: C,
        plan: Result<Plan<'_>, Failure>,
        file: Handle<C, F>,
    ) -> Result<Self, Error> {
        let (rank, ntasks) = (comm.rank(), u64::from(comm.size()));
        // Rank 0 makes the file before it takes part in the scan, the others open it after that.
        let begun = plan.and_then(|plan| {
            let meta1 = Meta1::new(&plan.attributes, ntasks).map_err(refused)?;
            let front = Front::new(&meta1, plan.prefix).map_err(refused)?;
            if rank == 0 {
                file.make()?;
            }
            Ok((plan, meta1, front))
        });
        let mine = begun.as_ref().map(|(plan, ..)| [plan.chunksize, plan.fingerprint.into()]);
        // Rank 0 has made the file when a higher rank is past the scan.
        let before = comm.exscan(mine.map_err(Clone::clone));
        let written = before.and_then(|[before, fingerprints]| {
            let (plan, meta1, front) = begun?;
            if fingerprints != u64::from(plan.fingerprint).saturating_mul(rank.into()) {
                return Err(differ());
            }
            file.open_as_writer()?;
            let sums = write_meta1(&file, &plan, &meta1, rank)?;
            Ok(Begun { plan, meta1, front, sums, before })
        });
        let delivered = file.deliver(written.as_ref().map(drop).map_err(Clone::clone));
        let written = delivered.and(written);
        let mine = written.as_ref().map_err(Clone::clone);
        let mine = mine.map(|begun| [begun.sums.word().into(), begun.plan.chunksize]);
        let (written, [crc, globalskip]) = {
            let mut written = written;
            let agreed = comm.decide(mine, [Fold::Xor, Fold::Sum], |[sums, globalskip]| {
                let begun = written.as_mut().map_err(|failure| failure.clone())?;
                begun.book(globalskip)?; // before anything can be seen
                let crc = begun.front.meta1_crc(parts_of(sums), Some(CHECKSUM));
                run("writing META1", &mut begun.front, &file, &mut [])?;
                Ok([crc.into(), globalskip])
            })?;
            (written, agreed)
        };
        let begun = written.and_then(|begun| {
            let (blocks, book) = begun.book(globalskip)?;
            let start = blocks.first.saturating_add(begun.before);
            let Plan { chunksize, sealed, groups, .. } = begun.plan;
            let chunks = Chunks { start, chunksize, globalskip: Some(globalskip) };
            let pen = Pen::new(rank, chunks, sealed);
            let book = book.with_meta1_crc(u32::try_from(crc).unwrap_or(0));
            Ok((book, Mine { pen, finished: Left::default(), groups }))
        });
        let (book, mine) = begun.map_err(Error::agreed)?; // rank 0 found it right
        Ok(Self { comm, file, book, mine, untold: None, rounds: Rounds::new() })
    }

    /// The communicator of the file.
    pub(super) const fn comm(&self) -> &C {
        &self.comm
    }

    /// Writes `bytes` to the stream of this rank, without the other ranks. The bytes are part of
    /// the next commit.
    ///
    /// # Errors
    /// An error of the operating system; the next collective reports it to all ranks, and the
    /// stream of this rank is unchanged. [`io::ErrorKind::WouldBlock`] if all ranks must
    /// [`advance`](Self::advance) first; then the write can be tried again.
    pub(super) fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let mark = self.mine.pen;
        while !bytes.is_empty() {
            match self.write_some(bytes) {
                Ok(n) => bytes = bytes.get(n..).unwrap_or_default(),
                Err(error) => {
                    self.mine.pen.take_back(&mark, &mut self.mine.finished);
                    if error.kind() != io::ErrorKind::WouldBlock {
                        self.untold = Some(Failure::io("writing a stream", &error));
                    }
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Leaves the current chunk if fewer than `len` bytes fit into it.
    pub(super) fn ensure_free_space(&mut self, len: u64) -> io::Result<()> {
        let Mine { pen, finished, .. } = &mut self.mine;
        if !pen.cursor().fits(len).map_err(io::Error::other)? {
            pen.leave(finished).map_err(io::Error::other)?;
        }
        Ok(())
    }

    fn write_some(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Mine { pen, finished, .. } = &mut self.mine;
        if pen.cursor().chunksize() == 0 {
            let text = "a task with chunks of 0 bytes has no room";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        if pen.cursor().room() == 0 {
            pen.leave(finished).map_err(io::Error::other)?;
        }
        if u64::from(pen.chunk()) >= self.book.reach() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let len = usize_to_u64(bytes.len());
        let span = pen.cursor().place(len).map_err(io::Error::other)?;
        let len = usize::try_from(span.len()).unwrap_or(usize::MAX);
        let bytes = bytes.get(..len).unwrap_or(bytes);
        self.file.io().write_all_at(span.offset(), bytes)?;
        pen.wrote(span.len(), pen.crc_after(bytes, CHECKSUM));
        Ok(bytes.len())
    }

    /// Makes room for `len` more bytes of this rank: moves META2 to an offset after the blocks that
    /// they need. All ranks call this, each with its own `len`. This takes two calls of the message
    /// layer.
    ///
    /// # Errors
    /// [`Error`]. The file stays as the last commit left it.
    pub(super) fn advance(&mut self, len: u64) -> Result<(), Error> {
        let cursor = self.mine.pen.cursor();
        let more = len.saturating_sub(cursor.room()).div_ceil(cursor.chunksize().max(1));
        let block = u64::from(cursor.chunk()).saturating_add(more);
        let (book, file) = (self.book, &self.file);
        let mine = self.untold.take().map_or(Ok([block]), Err);
        let [block] = self.comm.decide(mine, [Fold::Max], |[block]| {
            if let Some(publication) = entering(&mut book.clone(), block)? {
                let (mut window, mut buf) = (vec![0; WINDOW], vec![0; WINDOW]);
                let tables = Tables::new(publication, Unchanged, &mut window);
                let mut tables = tables.map_err(refused)?;
                let sums = run("writing META2", &mut tables, file, &mut buf)?;
                make_visible(publication, &sums, file, None)?;
            }
            Ok([block])
        })?;
        // All Books are equal, so all find the same place.
        let mut enter = || {
            if let Some(publication) = entering(&mut self.book, block)? {
                self.book.conclude(Outcome::Published(publication.new));
                entering(&mut self.book, block)?;
            }
            Ok(())
        };
        enter().map_err(Error::agreed)
    }

    /// Makes all data that all ranks wrote part of the file, or none of it. This takes three calls
    /// of the message layer.
    ///
    /// # Errors
    /// [`Error`]. The file is that of the last commit; or, if rank 0 failed after its data became
    /// visible, that of this one.
    pub(super) fn commit(&mut self) -> Result<(), Error> {
        let maxchunks = self.maxchunks()?;
        let seen = self.mine.pen;
        let new = self.book.commit(maxchunks, Ahead::Blocks(1)).map_err(agreed)?;
        self.publish(self.publication(new), false)?;
        self.mine.pen.committed(&seen);
        self.mine.finished.retain(|done| !done.is_told_by(&seen));
        self.rounds.meet();
        Ok(())
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
            self.publish(self.publication(aside), false)?;
        }
        self.publish(self.publication(plan.last), true)?;
        if let Some(group) = self.file.into_group() {
            let freed = group.free(Ok(()));
            self.comm.agree(freed.map_err(Failure::from))?;
        }
        Ok(self.comm)
    }

    /// Number of chunks of the longest stream.
    fn maxchunks(&mut self) -> Result<u32, Error> {
        let mine = self.reached();
        let [mut chunks, pending] = self.comm.max(mine)?;
        if pending > 0 {
            self.write_pending()?;
            let mine = self.reached();
            [chunks, _] = self.comm.max(mine)?;
        }
        u32::try_from(chunks).map_err(|_| Error::agreed(full()))
    }

    /// Number of chunks of this rank's stream, and of bytes that have no place yet.
    fn reached(&mut self) -> Result<[u64; 2], Failure> {
        let chunks = u64::from(self.mine.pen.chunk()).saturating_add(1);
        let pending = usize_to_u64(self.rounds.pending());
        self.untold.take().map_or(Ok([chunks, pending]), Err)
    }

    /// Writes the table entries of this rank; rank 0 then makes the entries of all ranks visible.
    fn publish(&mut self, publication: Publication, cut: bool) -> Result<(), Error> {
        let (rank, file) = (self.comm.rank(), &self.file);
        let (mut window, mut buf) = ([0; 8], [0; 8]);
        let mut write = || {
            let range = rank..rank.saturating_add(1);
            let tables = Tables::part(publication, range, Since(&self.mine), &mut window);
            let sums = run("writing META2", &mut tables.map_err(refused)?, file, &mut buf)?;
            Ok([sums.meta2.word().into(), sums.chunks.word().into()])
        };
        let sums = write();
        let delivered = file.deliver(sums.as_ref().map(drop).map_err(Clone::clone));
        let cut = cut.then(|| publication.new.span().end());
        self.comm.decide(delivered.and(sums), [Fold::Xor; 2], |words| {
            let [meta2, chunks] = words.map(parts_of);
            make_visible(publication, &TableSums { meta2, chunks }, file, cut).map(|()| [])
        })?;
        self.book.conclude(Outcome::Published(publication.new));
        Ok(())
    }

    fn publication(&self, new: Varheader) -> Publication {
        self.book.publication(new, 0, CHECKSUM) // rank 0 finds out how long the file is
    }
}

const CHECKSUM: Checksum = crc32c;

fn differ() -> Failure {
    let text = "the ranks passed different names or options, must pass equal ones";
    Failure::new(Code::Differ, text)
}

fn full() -> Failure {
    Failure::new(Code::Full, "the file has no place for more blocks")
}

/// An error that every Book finds equally, without a message.
fn agreed(error: SionError) -> Error {
    Error::agreed(refused(error))
}

/// Writes the entries of a rank, which must open the file before if it is a writer.
fn write_meta1<C: Collective, F>(
    file: &Handle<C, F>,
    plan: &Plan<'_>,
    meta1: &Meta1,
    rank: u32,
) -> Result<Crc32cParts, Failure>
where
    for<'f> &'f F: WriteAt<Error = io::Error>,
{
    let Plan { globalrank, chunksize, .. } = *plan;
    let task = OneTask { ntasks: meta1.ntasks().into(), globalrank, chunksize };
    let (range, mut window) = (rank..rank.saturating_add(1), [0; 8]);
    let tables = TaskTables::new(meta1, range, task, Some(CHECKSUM), &mut window);
    run("writing META1", &mut tables.map_err(refused)?, file, &mut [])
}

/// Opens `block` for writing; returns the publication if META2 must be moved for it.
fn entering(book: &mut Book, block: u64) -> Result<Option<Publication>, Failure> {
    let block = u32::try_from(block).map_err(|_| full())?;
    match book.enter(block, Ahead::Blocks(1)).map_err(refused)? {
        Enter::Move(new) => Ok(Some(book.publication(new, 0, CHECKSUM))),
        Enter::GoOn | Enter::Settle(_) => Ok(None), // after an error nothing is entered
    }
}

/// The work of rank 0 after the tables of all ranks are written.
fn make_visible<C: Collective, F>(
    mut publication: Publication,
    sums: &TableSums,
    file: &Handle<C, F>,
    cut: Option<u64>,
) -> Result<(), Failure>
where
    for<'f> &'f F: WriteAt<Error = io::Error>,
{
    publication.file_len = file.io().size().map_err(io_failure("asking for the size"))?;
    run("writing the commit fields", &mut Visible::new(&publication, sums), file, &mut [])?;
    if let Some(len) = cut {
        file.io().set_size(len).map_err(io_failure("cutting the file at its end"))?;
        file.io().sync().map_err(io_failure("syncing the file"))?;
    }
    Ok(())
}

fn run<M, C: Collective, F>(
    what: &'static str,
    machine: &mut M,
    file: &Handle<C, F>,
    buf: &mut [u8],
) -> Result<M::Output, Failure>
where
    M: Machine<Error = std::convert::Infallible>,
    for<'f> &'f F: WriteAt<Error = io::Error>,
{
    drive(machine, &mut file.io(), buf).map_err(|error| match error {
        DriveError::Store(error) => Failure::io(what, &error),
        _ => full(),
    })
}

fn parts_of(word: u64) -> Crc32cParts {
    Crc32cParts::from_word(u32::try_from(word).unwrap_or(0)) // a rank gave one of 32 bits
}
