//! A SIONlib file that the ranks of a parallel program write, one task for each rank.
//!
//! Every rank holds a copy of the file's [`Book`] and the [`Pen`] of its own task. The copies stay
//! equal, because a Book changes only by what all ranks have agreed on. Ranks share only the file
//! and a [`Collective`]: each writes its own bytes of the tables, and rank 0 makes them visible.

use crate::collective::{Code, Collective, Fault};
use std::io;
use std::ops::Range;
use std::path::Path;
use striae::posix::PosixFile;
use striae_core::integrity::{Checksum, Crc32cParts, crc32c};
use striae_core::sion::book::{Ahead, Book, Enter};
use striae_core::sion::create::{Front, TaskTable, TaskTables};
use striae_core::sion::pen::{Finished, Ledger, Pen, Pens, Since};
use striae_core::sion::tables::{Publication, TableSums, Tables, Unchanged};
use striae_core::sion::visible::{Outcome, Visible};
use striae_core::sion::{Attributes, Blocks, Chunks, Error, Meta1, Varheader};
use striae_core::step::{DriveError, Machine, drive};
use striae_core::store::{ReadAt, WriteAt, usize_to_u64};

/// Length in bytes of the windows in which tables are read and written.
const WINDOW: usize = 1 << 16;

impl Code {
    /// A number overflowed.
    pub const OVERFLOW: Self = Self(1 << 16);
    /// The file has no place for the data.
    pub const FILE_FULL: Self = Self(1 << 17);

    fn of_io(error: &io::Error) -> Self {
        Self(error.raw_os_error().map_or(5, i32::unsigned_abs)) // EIO where there is no number
    }

    fn of<F>(error: &DriveError<io::Error, F>) -> Self {
        match error {
            DriveError::Store(error) => Self::of_io(error),
            _ => Self::FILE_FULL,
        }
    }
}

/// A file that all ranks write; each rank has its own file handle, `F`.
#[derive(Debug)]
pub struct FileWriter<C, F = PosixFile> {
    comm: C,
    file: F,
    book: Book,
    mine: Mine,
    /// The reason why this rank failed, until the other ranks get it.
    untold: Option<Code>,
}

/// The task of this rank.
#[derive(Debug)]
struct Mine {
    pen: Pen,
    finished: Left,
}

/// A ledger that grows.
#[derive(Debug, Default)]
struct Left(Vec<Finished>);

impl Ledger for Left {
    fn push(&mut self, chunk: Finished) -> Result<(), Error> {
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

    fn address(&self, _: u32) -> Option<(u32, u32)> {
        None
    }
}

/// The task table of a rank, which knows only the size of its own task.
struct OneTask {
    ntasks: u64,
    chunksize: u64,
}

impl TaskTable for OneTask {
    fn ntasks(&self) -> u64 {
        self.ntasks
    }

    fn globalrank(&self, local: u32) -> i64 {
        local.into()
    }

    fn chunksize(&self, _: u32) -> u64 {
        self.chunksize
    }
}

impl<C: Collective> FileWriter<C> {
    /// Makes a file with a task for each rank. Chunks have `chunksize` bytes, already rounded to
    /// `fsblksize`. This takes two collectives.
    ///
    /// # Errors
    /// [`Fault`]; the file may not exist then.
    pub fn create(
        comm: C,
        path: &Path,
        fsblksize: u32,
        chunksize: u64,
        sealed: bool,
    ) -> Result<Self, Fault> {
        let open = |anew| match anew {
            true => PosixFile::create(path, true),
            false => PosixFile::open_rw(path),
        };
        let name = path.as_os_str().as_encoded_bytes();
        Self::create_in(comm, open, name, fsblksize, chunksize, sealed)
    }
}

impl<C: Collective, F> FileWriter<C, F>
where
    for<'f> &'f F: WriteAt<Error = io::Error>,
{
    /// Makes a file like [`create`](FileWriter::create), with any file type. Rank 0 empties it with
    /// `open(true)` before any other rank opens it. `name` is the name of the set that is stored
    /// for SIONlib.
    ///
    /// # Errors
    /// The errors of [`create`](FileWriter::create).
    pub fn create_in(
        comm: C,
        open: impl Fn(bool) -> io::Result<F>,
        name: &[u8],
        fsblksize: u32,
        chunksize: u64,
        sealed: bool,
    ) -> Result<Self, Fault> {
        let (rank, ntasks) = (comm.rank(), u64::from(comm.size()));
        // Rank 0 makes the file before any other rank can open it.
        let made = if rank == 0 { open(true).map(Some) } else { Ok(None) };
        let attributes = Attributes { filenumber: 0, fsblksize, ..Attributes::default() };
        let meta1 = Meta1::new(&attributes, ntasks);
        let begun = made.map_err(|error| Code::of_io(&error));
        let begun = begun.and_then(|made| Ok((made, meta1.map_err(|_| Code::OVERFLOW)?)));
        let chunksizes = comm.exscan(begun.as_ref().map(|_| chunksize).map_err(|code| *code))?;
        let (made, meta1) = begun.map_err(|code| Fault::Rank { rank, code })?;

        let blocks = Blocks { first: meta1.layout().first_chunk(), globalskip: chunksizes.1 };
        let written = || {
            let file = match made {
                Some(file) => file,
                None => open(false).map_err(|error| Code::of_io(&error))?,
            };
            let book = Book::create(&meta1, &blocks, 0, sealed).map_err(|_| Code::FILE_FULL)?;
            let (task, mut window) = (OneTask { ntasks, chunksize }, [0; 8]);
            let range = rank..rank.saturating_add(1);
            let tables = TaskTables::new(&meta1, range, task, Some(CHECKSUM), &mut window);
            let mut tables = tables.map_err(|_| Code::FILE_FULL)?;
            let sums = run(&mut tables, &file, &mut [])?;
            sync(&file)?;
            Ok((file, book, sums))
        };
        let written = written();
        let word = |(_, _, sums): &(F, Book, Crc32cParts)| [u64::from(sums.word())];
        let mine = written.as_ref().map(word).map_err(|code| *code);
        let file = written.as_ref().map(|(file, ..)| file).ok();
        let [crc, code] = comm.decide(
            mine,
            |a, b| a ^ b,
            |[sums]| {
                let tables = parts_of(sums);
                match (Front::new(&meta1, name), file) {
                    (Ok(mut front), Some(file)) => {
                        let crc = front.meta1_crc(tables, Some(CHECKSUM));
                        [crc.into(), failure(run(&mut front, file, &mut []).err())]
                    }
                    _ => [0, failure(Some(Code::FILE_FULL))],
                }
            },
        )?;
        told(code)?;
        let (file, book, _) = written.map_err(|code| Fault::Rank { rank, code })?;
        let start = blocks.first.saturating_add(chunksizes.0);
        let chunks = Chunks { start, chunksize, globalskip: Some(blocks.globalskip) };
        let mine = Mine { pen: Pen::new(rank, chunks, sealed), finished: Left::default() };
        let book = book.with_meta1_crc(u32::try_from(crc).unwrap_or(0));
        Ok(Self { comm, file, book, mine, untold: None })
    }

    /// Writes `bytes` to the stream of this rank, without the other ranks. The bytes are part of
    /// the next commit.
    ///
    /// # Errors
    /// An error of the operating system; the next collective reports it to all ranks, and the
    /// stream of this rank is unchanged. [`io::ErrorKind::WouldBlock`] if all ranks must
    /// [`advance`](Self::advance) first; then the write can be tried again.
    pub fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let mark = self.mine.pen;
        while !bytes.is_empty() {
            match self.write_some(bytes) {
                Ok(n) => bytes = bytes.get(n..).unwrap_or_default(),
                Err(error) => {
                    self.mine.pen.take_back(&mark, &mut self.mine.finished);
                    if error.kind() != io::ErrorKind::WouldBlock {
                        self.untold = Some(Code::of_io(&error));
                    }
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    fn write_some(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Mine { pen, finished } = &mut self.mine;
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
        let mut file = &self.file;
        file.write_all_at(span.offset(), bytes)?;
        pen.wrote(span.len(), pen.crc_after(bytes, CHECKSUM));
        Ok(bytes.len())
    }

    /// Makes room for `len` more bytes of this rank: moves META2 to an offset after the blocks that
    /// they need. All ranks call this, each with its own `len`. This takes one collective.
    ///
    /// # Errors
    /// [`Fault`]. The file stays as the last commit left it.
    pub fn advance(&mut self, len: u64) -> Result<(), Fault> {
        self.settle()?;
        let cursor = self.mine.pen.cursor();
        let more = len.saturating_sub(cursor.room()).div_ceil(cursor.chunksize().max(1));
        let block = u64::from(cursor.chunk()).saturating_add(more);
        let (book, file) = (self.book, &self.file);
        let mine = self.untold.take().map_or(Ok([block]), Err);
        let [block, code, outcome] = self.comm.decide(mine, u64::max, |[block]| {
            let moved = entering(&mut book.clone(), block).and_then(|publication| {
                let Some(publication) = publication else { return Ok((0, Outcome::Unchanged)) };
                let (mut window, mut buf) = (vec![0; WINDOW], vec![0; WINDOW]);
                let tables = Tables::new(publication, Unchanged, &mut window);
                let mut tables = tables.map_err(|_| Code::FILE_FULL)?;
                let sums = run(&mut tables, file, &mut buf)?;
                Ok(make_visible(publication, &sums, file, None))
            });
            let (code, outcome) =
                moved.unwrap_or_else(|code| (failure(Some(code)), Outcome::Unchanged));
            [block, code, word_of(outcome)]
        })?;
        // All Books are equal, so all find the same place.
        if let Ok(Some(publication)) = entering(&mut self.book, block) {
            self.book.conclude(outcome_of(outcome, &publication));
        }
        told(code)?;
        entering(&mut self.book, block).map(drop).map_err(|_| FULL)
    }

    /// Makes all data that all ranks wrote part of the file, or none of it. This takes two
    /// collectives.
    ///
    /// # Errors
    /// [`Fault`]. All ranks may continue; data that could not be committed is part of the next
    /// commit.
    pub fn commit(&mut self) -> Result<(), Fault> {
        let maxchunks = self.maxchunks()?;
        let seen = self.mine.pen;
        let new = self.book.commit(maxchunks, Ahead::Blocks(1)).map_err(|_| FULL)?;
        self.publish(self.publication(new), false)?;
        self.mine.pen.committed(&seen);
        self.mine.finished.retain(|done| !done.is_told_by(&seen));
        Ok(())
    }

    /// Commits for the last time, with META2 where SIONlib puts it. This takes two collectives, or
    /// three if the META2 of the last commit is in the way.
    ///
    /// # Errors
    /// The errors of [`commit`](Self::commit).
    pub fn close(mut self) -> Result<(), Fault> {
        let maxchunks = self.maxchunks()?;
        let plan = self.book.close(maxchunks).map_err(|_| FULL)?;
        if let Some(aside) = plan.aside {
            self.publish(self.publication(aside), false)?;
        }
        self.publish(self.publication(plan.last), true)
    }

    /// Number of chunks of the longest stream, after pending publications are settled.
    fn maxchunks(&mut self) -> Result<u32, Fault> {
        self.settle()?;
        let chunks = u64::from(self.mine.pen.chunk()).saturating_add(1);
        let mine = self.untold.take().map_or(Ok([chunks]), Err);
        let [chunks] = self.comm.agree(mine, u64::max)?;
        u32::try_from(chunks).map_err(|_| FULL)
    }

    /// Makes a publication visible that may be visible already. All ranks know about it.
    fn settle(&mut self) -> Result<(), Fault> {
        let Some(new) = self.book.unsettled().copied() else { return Ok(()) };
        let (file, mut settle) = (&self.file, Visible::settle(self.book.meta1(), new));
        let [code] = self
            .comm
            .decide(Ok([]), u64::max, |[]| [failure(run(&mut settle, file, &mut []).err())])?;
        told(code)?;
        self.book.conclude(Outcome::Published(new));
        Ok(())
    }

    /// Writes the table entries of this rank; rank 0 then makes the entries of all ranks visible.
    fn publish(&mut self, publication: Publication, cut: bool) -> Result<(), Fault> {
        let (rank, file) = (self.comm.rank(), &self.file);
        let (mut window, mut buf) = ([0; 8], [0; 8]);
        let mut write = || {
            let range = rank..rank.saturating_add(1);
            let tables = Tables::part(publication, range, Since(&self.mine), &mut window);
            let sums = run(&mut tables.map_err(|_| Code::FILE_FULL)?, file, &mut buf)?;
            sync(file)?;
            Ok([sums.meta2.word().into(), sums.chunks.word().into()])
        };
        let written = write();
        let cut = cut.then(|| publication.new.span().end());
        let [code, outcome] = self.comm.decide(
            written,
            |a, b| a ^ b,
            |words| {
                let [meta2, chunks] = words.map(parts_of);
                let (code, outcome) =
                    make_visible(publication, &TableSums { meta2, chunks }, file, cut);
                [code, word_of(outcome)]
            },
        )?;
        self.book.conclude(outcome_of(outcome, &publication));
        told(code)
    }

    fn publication(&self, new: Varheader) -> Publication {
        self.book.publication(new, 0, CHECKSUM) // rank 0 finds out how long the file is
    }
}

const CHECKSUM: Checksum = crc32c;

/// The fault of a full file, which every Book finds equally.
const FULL: Fault = Fault::Rank { rank: 0, code: Code::FILE_FULL };

/// Opens `block` for writing; returns the publication if META2 must be moved for it.
fn entering(book: &mut Book, block: u64) -> Result<Option<Publication>, Code> {
    let block = u32::try_from(block).map_err(|_| Code::FILE_FULL)?;
    match book.enter(block, Ahead::Blocks(1)).map_err(|_| Code::FILE_FULL)? {
        Enter::Move(new) => Ok(Some(book.publication(new, 0, CHECKSUM))),
        Enter::GoOn | Enter::Settle(_) => Ok(None), // all was settled before
    }
}

/// The work of rank 0 after the tables of all ranks are written: returns its error code and the
/// outcome of the publication.
fn make_visible<F>(
    mut publication: Publication,
    sums: &TableSums,
    mut file: &F,
    cut: Option<u64>,
) -> (u64, Outcome)
where
    for<'f> &'f F: WriteAt<Error = io::Error>,
{
    let file_len = file.size().map_err(|error| Code::of_io(&error));
    publication.file_len = *file_len.as_ref().unwrap_or(&0);
    let mut visible = Visible::new(&publication, sums);
    let done = file_len.and_then(|_| run(&mut visible, file, &mut []));
    let done = done.and_then(|_| {
        let Some(len) = cut else { return Ok(()) };
        file.set_size(len).map_err(|error| Code::of_io(&error))?;
        sync(file)
    });
    (failure(done.err()), visible.outcome())
}

fn run<M, F>(machine: &mut M, mut file: &F, buf: &mut [u8]) -> Result<M::Output, Code>
where
    M: Machine<Error = std::convert::Infallible>,
    for<'f> &'f F: WriteAt<Error = io::Error>,
{
    drive(machine, &mut file, buf).map_err(|error| Code::of(&error))
}

fn sync<F>(mut file: &F) -> Result<(), Code>
where
    for<'f> &'f F: WriteAt<Error = io::Error>,
{
    file.sync().map_err(|error| Code::of_io(&error))
}

fn failure(code: Option<Code>) -> u64 {
    code.map_or(0, |Code(code)| u64::from(code))
}

/// Fails if rank 0 failed.
fn told(code: u64) -> Result<(), Fault> {
    match u32::try_from(code) {
        Ok(0) => Ok(()),
        code => Err(Fault::Rank { rank: 0, code: code.map_or(Code::OVERFLOW, Code) }),
    }
}

const fn word_of(outcome: Outcome) -> u64 {
    match outcome {
        Outcome::Unchanged => 0,
        Outcome::Unknown(_) => 1,
        Outcome::Published(_) => 2,
    }
}

const fn outcome_of(word: u64, publication: &Publication) -> Outcome {
    match word {
        0 => Outcome::Unchanged,
        1 => Outcome::Unknown(publication.new),
        _ => Outcome::Published(publication.new),
    }
}

fn parts_of(word: u64) -> Crc32cParts {
    Crc32cParts::from_word(u32::try_from(word).unwrap_or(0)) // a rank told one of 32 bits
}
