//! A file that all ranks write.

use super::root::Root;
use super::rows::{self, Column, Rows};
use super::{Named, refused};
use crate::collective::{Collective, Fold};
use crate::error::{Error, Failure};
use crate::file::{agree_in_cache, leaves_syncs};
use crate::operation::Operation;
use std::fmt;
use std::io;
use std::iter::repeat;
use striae::posix::PosixFile;
use striae_core::gsd::Chunk;
use striae_core::integrity::{Crc32cParts, crc32c as checksum};
use striae_core::span::Span;
use striae_core::store::{WriteAt, usize_to_u64};

/// Numbers of rows in a collective.
const COUNTS: usize = 6;

/// Checksums in a collective, two in each value.
const SUMS: usize = 12;

/// A GSD file that all ranks write, each through its own handle of the file, `F`.
///
/// [`write`](Self::write) adds chunks to the open frame, [`end_frame`](Self::end_frame) ends it,
/// and [`commit`](Self::commit) makes the ended frames part of the file. Until then the file is in
/// the state of the last commit for all readers, whatever happens to a rank.
///
/// After an error the communicator is poisoned, so nothing more is written. To go on, drop the
/// writer and [reopen](super::Reopen) the file with another communicator.
pub struct FileWriter<C, F = PosixFile> {
    comm: C,
    side: Side<F>,
    /// Number of ended frames.
    frames: u64,
    has_checksums: bool,
    /// Whether rank 0, whose commits sync twice, syncs what this rank writes by the first of them.
    leaves_syncs: bool,
    /// Whether this rank has written since the last commit.
    has_written: bool,
    /// The reason why this rank failed, until the other ranks get it.
    untold: Option<Failure>,
}

/// What a rank has of the file.
pub(super) enum Side<F> {
    Root(Box<Root<F>>),
    Other(F),
}

/// The rows of all lower ranks, and of all ranks.
#[derive(Debug, Clone, Copy)]
struct Share {
    before: u64,
    all: u64,
}

impl<F: WriteAt<Error = io::Error>> Side<F> {
    const fn file(&self) -> &F {
        match self {
            Self::Root(root) => root.file(),
            Self::Other(file) => file,
        }
    }

    /// Runs `work` at rank 0.
    fn at_root(
        &mut self,
        work: impl FnOnce(&mut Root<F>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        match self {
            Self::Root(root) => work(root),
            Self::Other(_) => Ok(()),
        }
    }
}

impl<C: Collective, F> FileWriter<C, F>
where
    F: WriteAt<Error = io::Error>,
    for<'f> &'f F: WriteAt<Error = io::Error>,
{
    /// Makes or opens the file at rank 0 by `begin`, and then opens it at the others by `open`,
    /// which gets what `begin` returned. Takes three calls of the message layer.
    pub(super) fn begin(
        comm: C,
        (operation, arguments): (Operation, u32),
        begin: impl FnOnce() -> Result<(Root<F>, u64), Failure>,
        open: impl FnOnce(u64) -> Result<F, Failure>,
    ) -> Result<Self, Error> {
        comm.begin(operation, arguments);
        let mut root = None;
        let [frames, has_checksums, token] = comm.decide(Ok([]), [], |[]| {
            let (made, token) = begin()?;
            let answer = [made.frames(), made.has_checksums().into(), token];
            root = Some(Box::new(made));
            Ok(answer)
        })?;
        let side = match root {
            Some(root) => Ok(Side::Root(root)),
            None => open(token).map(Side::Other),
        };
        let (side, synced) = agree_in_cache(&comm, side, |side| side.file().cache())?;
        let is_root = matches!(side, Side::Root(_));
        let leaves_syncs = is_root || leaves_syncs(synced, side.file().cache());
        let (has_checksums, has_written, untold) = (has_checksums != 0, false, None);
        Ok(Self { comm, side, frames, has_checksums, leaves_syncs, has_written, untold })
    }

    /// The communicator of the file.
    pub const fn comm(&self) -> &C {
        &self.comm
    }

    /// Number of ended frames, including frames that are not committed.
    #[must_use]
    pub const fn frames(&self) -> u64 {
        self.frames
    }

    /// Adds chunks to the open frame: those of `rows`, in this order, with the rows of all ranks in
    /// the order of the ranks. All ranks call this with the same chunks.
    ///
    /// This takes 4 calls of the message layer, and 2 more for each 6 more elements of `rows`. In a
    /// file with checksums it takes one more for each 12 chunks. A rank writes only its own rows.
    ///
    /// # Errors
    /// [`Error`], after which the file stays as the last commit left it:
    /// [`Code::Differ`](crate::Code::Differ) if the ranks pass different chunks, names, types or
    /// columns; [`Code::Refused`](crate::Code::Refused) for a chunk that no file can have, or that
    /// the frame has already; [`Code::Full`](crate::Code::Full) if it has no place in the file; an
    /// error of the operating system.
    pub fn write(&mut self, rows: &[Rows<'_>]) -> Result<(), Error> {
        let shares = self.share(rows)?;
        let columns = rows.iter().zip(shares);
        let columns = columns.flat_map(|(rows, share)| rows.columns().iter().zip(repeat(share)));
        let columns: Vec<_> = columns.collect();
        let places = self.place(&columns)?;
        let chunks: Vec<_> = columns.iter().zip(&places).collect();
        let mut sums = Vec::new();
        let mut written = Ok(());
        for ((column, share), chunk) in &chunks {
            let sum = written.and_then(|()| self.write_rows(column, *share, chunk));
            sums.push(sum.as_ref().map_or(Crc32cParts::NONE, |sum| *sum));
            written = sum.map(drop);
        }
        if self.has_checksums {
            self.combine(written, &mut sums)?;
        } else {
            self.untold = written.err();
        }
        let add = |root: &mut Root<F>| {
            let mut all = chunks.iter().zip(&sums);
            all.try_for_each(|((_, chunk), sum)| root.add(**chunk, sum.crc(chunk.span.len())))
        };
        let added = self.side.at_root(add);
        self.untold = self.untold.take().or(added.err());
        Ok(())
    }

    /// The shares of this rank in the elements of `rows`.
    fn share(&mut self, rows: &[Rows<'_>]) -> Result<Vec<Share>, Error> {
        let frame = checksum(0, &self.frames.to_le_bytes());
        let fingerprint = rows.iter().fold(frame, |crc, rows| rows.fingerprint(crc));
        let fingerprint = checksum(fingerprint, &usize_to_u64(rows.len()).to_le_bytes());
        self.comm.begin(Operation::GsdWrite, fingerprint);
        let counts = rows::counts(rows);
        let mut mine = self.untold.take().map_or(counts, Err);
        let mut shares = Vec::new();
        loop {
            let at = shares.len();
            let some = mine.as_ref().map_err(Clone::clone).map(|counts| {
                let mut values = [0; COUNTS];
                let rest = counts.iter().skip(at);
                values.iter_mut().zip(rest).for_each(|(to, count)| *to = *count);
                values
            });
            let before = self.comm.exscan(some.clone());
            let all = self.comm.total(before.clone().and(some))?;
            let before = before.map_err(Error::agreed)?; // never: no rank has failed
            let both = before.into_iter().zip(all);
            let left = rows.len().saturating_sub(at);
            shares.extend(both.take(left).map(|(before, all)| Share { before, all }));
            if shares.len() == rows.len() {
                return Ok(shares);
            }
            mine = mine.or(Ok(Vec::new())); // never: as above
        }
    }

    /// The places of chunks, which rank 0 finds.
    fn place(&mut self, columns: &[(&Column<'_>, Share)]) -> Result<Vec<Chunk>, Error> {
        let (mut words, mut placed) = (Vec::new(), Vec::new());
        let done = self.side.at_root(|root| {
            for (column, share) in columns {
                let chunk = root.place(column, share.all)?;
                words.extend(chunk.span.offset().to_le_bytes());
                placed.push(chunk);
            }
            Ok(())
        });
        let limit = columns.len().saturating_mul(8);
        let words = self.comm.bcast(0, done.map(|()| words.as_slice()), limit)?;
        if self.comm.rank() == 0 {
            return Ok(placed);
        }
        let starts = words.chunks_exact(8).filter_map(|word| word.first_chunk());
        let starts = starts.map(|word| u64::from_le_bytes(*word));
        let chunks = columns.iter().zip(starts).map(|((column, share), start)| {
            let Column { kind, m, .. } = **column;
            let len = share.all.saturating_mul(kind.size().get()).saturating_mul(m.into());
            let span = Span::new(start, len).unwrap_or(Span::ZERO); // rank 0 has found it right
            Chunk { frame: self.frames, id: 0, kind, n: share.all, m, span }
        });
        Ok(chunks.collect())
    }

    /// Writes the rows of this rank, and returns their part of the chunk's checksum.
    fn write_rows(
        &mut self,
        column: &Column<'_>,
        share: Share,
        chunk: &Chunk,
    ) -> Result<Crc32cParts, Failure> {
        let (len, mut sum) = (usize_to_u64(column.bytes.len()), Crc32cParts::NONE);
        if len == 0 {
            return Ok(sum);
        }
        let name = Named(&column.name);
        let before = chunk.rows(0..share.before).map_err(|error| refused(&name, error))?;
        let after = chunk.span.len().saturating_sub(before.len()).saturating_sub(len);
        self.has_written = true;
        let mut file = self.side.file();
        let written = file.write_all_at(before.end(), &column.bytes);
        written.map_err(|error| Failure::io(name, &error))?;
        if self.has_checksums {
            sum.add(crc32c::crc32c(&column.bytes), len, after);
        }
        Ok(sum)
    }

    /// Joins the parts of all ranks.
    fn combine(
        &self,
        mut written: Result<(), Failure>,
        sums: &mut [Crc32cParts],
    ) -> Result<(), Error> {
        let mut rest = sums;
        loop {
            let (some, others) = rest.split_at_mut(rest.len().min(SUMS));
            let mut values = [0; 6];
            for (value, two) in values.iter_mut().zip(some.chunks(2)) {
                *value = two.iter().rev().fold(0, |word, sum| word << 32 | u64::from(sum.word()));
            }
            let joined = self.comm.combine(written.map(|()| values), [Fold::Xor; 6])?;
            for (value, two) in joined.into_iter().zip(some.chunks_mut(2)) {
                let words = [value & u64::from(u32::MAX), value >> 32];
                let words = words.map(|word| u32::try_from(word).unwrap_or(0)); // of 32 bits
                let sums = two.iter_mut().zip(words);
                sums.for_each(|(sum, word)| *sum = Crc32cParts::from_word(word));
            }
            (written, rest) = (Ok(()), others);
            if rest.is_empty() {
                return Ok(());
            }
        }
    }

    /// Ends the open frame, also if it has no chunks, and returns its number. All ranks call this;
    /// no message is sent. An error is that of the next collective.
    ///
    /// The next commit makes the frame part of the file. Frames without chunks are only visible if
    /// a frame with chunks follows.
    pub fn end_frame(&mut self) -> u64 {
        let ended = match self.untold {
            None => self.side.at_root(Root::end_frame),
            Some(_) => Ok(()), // of an incomplete frame, which will never be committed
        };
        self.untold = self.untold.take().or(ended.err());
        let frame = self.frames;
        self.frames = frame.saturating_add(1);
        frame
    }

    /// Makes all ended frames part of the file, as durable as the options say. This takes two calls
    /// of the message layer: rank 0 makes the frames visible after the rows of all ranks are
    /// durable.
    ///
    /// # Errors
    /// [`Error`]. The file is in the state of the last commit, or of this one if it was visible
    /// already.
    pub fn commit(&mut self) -> Result<(), Error> {
        self.decide(Operation::GsdCommit, Root::commit)
    }

    /// Commits for the last time, and cuts off unused bytes at the end of the file. Returns the
    /// communicator. This takes two calls of the message layer.
    ///
    /// # Errors
    /// [`Code::Refused`](crate::Code::Refused) if the last frame has chunks and was not ended; as
    /// [`commit`](Self::commit).
    pub fn close(mut self) -> Result<C, Error> {
        self.decide(Operation::GsdClose, Root::close)?;
        Ok(self.comm)
    }

    /// Runs `work` at rank 0 when the rows of all ranks are durable, or will be by its first sync.
    fn decide(
        &mut self,
        operation: Operation,
        work: impl FnOnce(&mut Root<F>) -> Result<(), Failure>,
    ) -> Result<(), Error> {
        self.comm.begin(operation, checksum(0, &self.frames.to_le_bytes()));
        let synced = match self.untold.take() {
            Some(failure) => Err(failure),
            None if self.has_written && !self.leaves_syncs => {
                let mut file = self.side.file();
                file.sync().map_err(|error| Failure::io("syncing the file", &error))
            }
            None => Ok(()),
        };
        let side = &mut self.side;
        let mine = synced.map(|()| []);
        self.comm.decide(mine, [], |[]| side.at_root(work).map(|()| []))?;
        self.has_written = false;
        Ok(())
    }
}

impl<C: Collective, F> fmt::Debug for FileWriter<C, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("FileWriter");
        all.field("rank", &self.comm.rank()).field("frames", &self.frames).finish_non_exhaustive()
    }
}
