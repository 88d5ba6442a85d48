//! The machine that writes the tables of a commit: META2, the mapping, and the checksums of a seal.
//!
//! Each commit writes all tables at a place where no reader looks yet;
//! [`Visible`] makes them visible. Entries that changed since the last
//! commit come from [`Written`]; all others are read from the last META2. So the only memory is one
//! window.
//!
//! [`Tables`] writes the entries of a range of tasks: of all tasks, or of the tasks of one rank or
//! node while other ranks write theirs. [`TableSums::join`] adds up the checksums of the parts.

use super::error::Error;
use super::meta1::Meta1;
use super::raw;
use super::varheader::Varheader;
use super::visible::Visible;
use crate::endian::{ByteOrder, I32, I64, U32};
use crate::integrity::{Checksum, Crc32cParts};
use crate::span::Span;
use crate::step::{Machine, Step};
use crate::store::{copy_front, usize_to_u64};
use core::convert::Infallible;
use core::ops::Range;
use zerocopy::IntoBytes;

/// The changes of tasks since the last commit.
pub trait Written {
    /// Sets those of `entries` that differ from the last commit. If there was no commit, they
    /// differ from the entries of a task that wrote nothing: one empty chunk.
    fn lay_over(&self, entries: &mut Entries<'_>);
}

impl<T: Written + ?Sized> Written for &T {
    fn lay_over(&self, entries: &mut Entries<'_>) {
        (**self).lay_over(entries);
    }
}

/// No changes: the last commit is written again at another place.
#[derive(Debug, Clone, Copy)]
pub struct Unchanged;

impl Written for Unchanged {
    fn lay_over(&self, _: &mut Entries<'_>) {}
}

/// The changes, or none: one machine for both.
impl<T: Written> Written for Option<T> {
    fn lay_over(&self, entries: &mut Entries<'_>) {
        if let Some(written) = self {
            written.lay_over(entries);
        }
    }
}

/// A table, or a row of a table, that a commit writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Column {
    /// The number of chunks that each task used, at least 1.
    Blockcounts,
    /// The bytes that each task used of one chunk.
    Blocksizes {
        /// Index of the chunk.
        chunk: u32,
    },
    /// CRC-32C of the bytes that each task used of one chunk.
    Crcs {
        /// Index of the chunk.
        chunk: u32,
    },
    /// The physical file and the local rank of each global rank; only needed if there was no
    /// commit.
    Mapping,
}

/// Some consecutive entries of a table.
#[derive(Debug)]
pub struct Entries<'a> {
    column: Column,
    order: ByteOrder,
    first: u32,
    bytes: &'a mut [u8],
}

impl Entries<'_> {
    /// The table of these entries.
    #[must_use]
    pub const fn column(&self) -> Column {
        self.column
    }

    /// The local ranks of these entries; in the mapping, the global ranks.
    #[must_use]
    pub fn range(&self) -> Range<u32> {
        let count = self.bytes.len().checked_div(self.column.entry_len()).unwrap_or(0);
        self.first..self.first.saturating_add(u32::try_from(count).unwrap_or(u32::MAX))
    }

    /// Sets the entry of task `local`; does nothing if it is not in [`range`](Self::range).
    pub fn set(&mut self, local: u32, value: u64) {
        let order = self.order;
        match self.column {
            Column::Crcs { .. } => {
                let crc = U32::new(u32::try_from(value).unwrap_or(u32::MAX), order);
                self.put(local, crc.as_bytes());
            }
            _ => {
                let entry = I64::new(i64::try_from(value).unwrap_or(i64::MAX), order);
                self.put(local, entry.as_bytes());
            }
        }
    }

    /// Sets the entry of a global rank in the mapping.
    pub fn set_address(&mut self, globalrank: u32, filenumber: u32, lrank: u32) {
        let i32_of = |n| I32::new(i32::try_from(n).unwrap_or(i32::MAX), self.order);
        let entry = raw::MappingEntry { filenumber: i32_of(filenumber), lrank: i32_of(lrank) };
        self.put(globalrank, entry.as_bytes());
    }

    fn put(&mut self, index: u32, entry: &[u8]) {
        let skip = index.checked_sub(self.first).and_then(|skip| usize::try_from(skip).ok());
        let skip = skip.and_then(|skip| skip.checked_mul(entry.len()));
        let place = skip.and_then(|skip| self.bytes.get_mut(skip..)?.get_mut(..entry.len()));
        if let Some(place) = place {
            copy_front(entry, place);
        }
    }
}

impl Column {
    const fn entry_len(self) -> usize {
        match self {
            Self::Crcs { .. } => size_of::<raw::ChunkCrcEntry>(),
            _ => size_of::<I64>(),
        }
    }
}

/// A commit that is to be published, and its place.
#[derive(Debug, Clone, Copy)]
pub struct Publication {
    /// META1 of the file.
    pub meta1: Meta1,
    /// CRC-32C of META1 before its commit fields; only used for a seal.
    pub meta1_crc: u32,
    /// The place of the last commit.
    pub old: Option<Varheader>,
    /// The place of this commit.
    pub new: Varheader,
    /// The length of the file in bytes, which may contain tables of an older commit.
    pub file_len: u64,
    /// CRC-32C; only used for a seal.
    pub checksum: Checksum,
}

/// The checksums of the tables that were written, or of parts of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct TableSums {
    /// The checksum of META2 and the mapping.
    pub meta2: Crc32cParts,
    /// The checksum of the table of chunk checksums.
    pub chunks: Crc32cParts,
}

impl TableSums {
    /// No parts yet.
    pub const NONE: Self = Self { meta2: Crc32cParts::NONE, chunks: Crc32cParts::NONE };

    /// The checksums of the parts of both.
    #[must_use]
    pub const fn join(self, other: Self) -> Self {
        let (meta2, chunks) = (self.meta2.join(other.meta2), self.chunks.join(other.chunks));
        Self { meta2, chunks }
    }
}

/// Writes the tables of a [`Publication`]. The output is their checksums, if they are sealed.
#[derive(Debug)]
pub struct Tables<'w, T> {
    /// `None` if there is nothing to write yet.
    publication: Option<Publication>,
    written: T,
    /// The tasks whose entries are written.
    tasks: Range<u32>,
    window: &'w mut [u8],
    /// The number of bytes in the window that are written next.
    filled: Option<usize>,
    /// The offset of the next byte to write.
    at: u64,
    /// The number of bytes up to `at` that were written without a gap, and their checksum.
    run: (u64, u32),
    sums: TableSums,
}

/// The next entries to write: at most a window, of one row of one table.
#[derive(Debug, Clone, Copy)]
struct Piece {
    kind: Kind,
    len: usize,
    /// Their place in the last commit.
    old: Option<u64>,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    MappingSize { entries: u64 },
    Entries { column: Column, first: u32 },
}

/// The bytes that the window of [`Tables`] needs.
pub const WINDOW: usize = size_of::<I64>();

impl Kind {
    const fn entry_len(self) -> usize {
        match self {
            Self::MappingSize { .. } => size_of::<raw::MappingSize>(),
            Self::Entries { column, .. } => column.entry_len(),
        }
    }
}

impl<'w, T: Written> Tables<'w, T> {
    /// Makes a machine that writes all tables. `window` needs [`WINDOW`] bytes; a larger window
    /// makes fewer and larger writes.
    ///
    /// # Errors
    /// [`Error::Window`] if the window is too small.
    pub fn new(publication: Publication, written: T, window: &'w mut [u8]) -> Result<Self, Error> {
        let tasks = 0..publication.meta1.ntasks();
        Self::part(publication, tasks, written, window)
    }

    /// Makes a machine that writes the entries of `tasks`, and the mapping if task 0 is among them.
    /// Other machines write the other entries.
    ///
    /// # Errors
    /// [`Error::Window`] if the window is too small.
    pub fn part(
        publication: Publication,
        tasks: Range<u32>,
        written: T,
        window: &'w mut [u8],
    ) -> Result<Self, Error> {
        let mut tables = Self::idle(written, window)?;
        tables.start(publication, tasks);
        Ok(tables)
    }

    /// Makes a machine that writes nothing before [`restart`](Emit::restart).
    pub(super) fn idle(written: T, window: &'w mut [u8]) -> Result<Self, Error> {
        if window.len() < WINDOW {
            return Err(Error::Window { need: usize_to_u64(WINDOW) });
        }
        let (filled, at, run, sums) = (None, 0, (0, 0), TableSums::NONE);
        Ok(Self { publication: None, written, tasks: 0..0, window, filled, at, run, sums })
    }

    fn start(&mut self, publication: Publication, tasks: Range<u32>) {
        (self.at, self.tasks) = (publication.new.start(), tasks);
        (self.filled, self.run, self.sums) = (None, (0, 0), TableSums::NONE);
        self.publication = Some(publication);
    }

    /// The next piece of the tables, or `None` at their end.
    fn piece(&mut self) -> Option<Piece> {
        if self.tasks.is_empty() {
            return None;
        }
        loop {
            let Publication { meta1, new, old, .. } = self.publication.as_ref()?;
            let (ntasks, old) = (meta1.ntasks(), old.as_ref());
            let row = if let Some(skip) = skip_in(new.blockcounts(), self.at) {
                let from = old.map(Varheader::blockcounts);
                self.row(skip, ntasks, from, |_| Column::Blockcounts)
            } else if let Some(skip) = skip_in(new.blocksizes(), self.at) {
                let from = old.map(Varheader::blocksizes);
                self.row(skip, ntasks, from, |chunk| Column::Blocksizes { chunk })
            } else if let Some(skip) = skip_in(new.mapping(), self.at) {
                if self.tasks.start > 0 {
                    self.leap(new.mapping().end());
                    continue;
                }
                let from = old.filter(|old| old.mapping().len() == new.mapping().len());
                let from = from.and_then(|old| old.mapping().part(skip, 0)).map(Span::offset);
                Ok(self.mapping_piece(skip, new.mapping(), from))
            } else if let Some(skip) = skip_in(new.crcs(), self.at) {
                let from = old.filter(|old| old.is_sealed()).map(Varheader::crcs);
                self.row(skip, ntasks, from, |chunk| Column::Crcs { chunk })
            } else {
                return None;
            };
            match row {
                Ok(piece) => return Some(piece),
                Err(next) => self.leap(next),
            }
        }
    }

    /// The entries `skip` bytes into a table of rows, up to the end of their row; or the offset of
    /// the next entries of these tasks.
    #[inline(never)] // one function for all tables: a device's code is small
    fn row(
        &self,
        skip: u64,
        ntasks: u32,
        from: Option<Span>,
        column: fn(u32) -> Column,
    ) -> Result<Piece, u64> {
        let entry_len = usize_to_u64(column(0).entry_len());
        let bytes = |tasks: u32| u64::from(tasks).saturating_mul(entry_len);
        let row_len = bytes(ntasks);
        let chunk = skip.checked_div(row_len).unwrap_or(0);
        let into = skip.checked_rem(row_len).unwrap_or(0);
        let (start, end) = (bytes(self.tasks.start), bytes(self.tasks.end).min(row_len));
        if into < start {
            return Err(self.at.saturating_add(start.saturating_sub(into)));
        }
        if into >= end {
            return Err(self.at.saturating_add(row_len.saturating_sub(into)));
        }
        let column = column(u32::try_from(chunk).unwrap_or(u32::MAX));
        let first = into.checked_div(entry_len).unwrap_or(0);
        let first = u32::try_from(first).unwrap_or(u32::MAX);
        let len = self.fit(end.saturating_sub(into), column.entry_len());
        // Both have as many tasks, so an entry is as far into the old table as into the new one.
        let old = from.and_then(|table| table.part(skip, usize_to_u64(len))).map(Span::offset);
        Ok(Piece { kind: Kind::Entries { column, first }, len, old })
    }

    fn mapping_piece(&self, skip: u64, mapping: Span, old: Option<u64>) -> Piece {
        let head_len = usize_to_u64(size_of::<raw::MappingSize>());
        let all = mapping.len().saturating_sub(head_len);
        let Some(skip) = skip.checked_sub(head_len) else {
            let kind = Kind::MappingSize { entries: all >> 3 };
            return Piece { kind, len: size_of::<raw::MappingSize>(), old };
        };
        let first = u32::try_from(skip >> 3).unwrap_or(u32::MAX);
        let column = Column::Mapping;
        let len = self.fit(all.saturating_sub(skip), column.entry_len());
        Piece { kind: Kind::Entries { column, first }, len, old }
    }

    /// The bytes of whole entries that the window holds, at most `left`.
    fn fit(&self, left: u64, entry_len: usize) -> usize {
        let over = self.window.len().checked_rem(entry_len).unwrap_or(0);
        let most = self.window.len().saturating_sub(over);
        usize::try_from(left).unwrap_or(usize::MAX).min(most)
    }

    /// Fills the window with the bytes of `piece`; `old` is the bytes of the last commit there.
    fn fill(&mut self, piece: Piece, old: Option<&[u8]>) {
        let Some(Publication { meta1, old: last, .. }) = &self.publication else { return };
        let (order, had_commit) = (meta1.order(), last.is_some());
        let bytes = self.window.get_mut(..piece.len).unwrap_or_default();
        match old {
            Some(old) => bytes.iter_mut().zip(old).for_each(|(to, from)| *to = *from),
            None => bytes.fill(0),
        }
        match piece.kind {
            Kind::MappingSize { entries } => {
                if old.is_none() {
                    let size = I32::new(i32::try_from(entries).unwrap_or(i32::MAX), order);
                    copy_front(size.as_bytes(), bytes);
                }
            }
            Kind::Entries { column, first } => {
                let mut entries = Entries { column, order, first, bytes };
                if column == Column::Blockcounts && !had_commit {
                    entries.range().for_each(|local| entries.set(local, 1));
                }
                if column != Column::Mapping || old.is_none() {
                    self.written.lay_over(&mut entries);
                }
            }
        }
    }

    /// Continues at `next`; other machines write the bytes before it.
    fn leap(&mut self, next: u64) {
        self.end_run();
        self.at = next;
    }

    /// Counts `len` bytes of the window as written.
    fn advance(&mut self, len: usize) {
        let sealed = self.publication.as_ref().filter(|publication| publication.new.is_sealed());
        if let Some(Publication { new, checksum, .. }) = sealed {
            let checksum = *checksum;
            if self.at == new.crcs().offset() {
                self.end_run(); // another checksum begins
            }
            let bytes = self.window.get(..len).unwrap_or_default();
            let (run_len, crc) = self.run;
            let run_len = run_len.saturating_add(usize_to_u64(len));
            self.run = (run_len, checksum(crc, bytes));
        }
        self.at = self.at.saturating_add(usize_to_u64(len));
    }

    /// Adds the bytes that were written without a gap to the checksums.
    fn end_run(&mut self) {
        let (len, crc) = self.run;
        if let Some(Publication { new, .. }) = self.publication.as_ref().filter(|_| len > 0) {
            let seal = new.crcs();
            let is_seal = self.at > seal.offset();
            let (sum, end) = match is_seal {
                true => (&mut self.sums.chunks, seal.end()),
                false => (&mut self.sums.meta2, seal.offset()),
            };
            sum.add(crc, len, end.saturating_sub(self.at));
        }
        self.run = (0, 0);
    }

    fn write(&mut self, len: usize) -> Step<'_, TableSums> {
        let offset = self.at;
        self.advance(len);
        Step::Write { offset, bytes: self.window.get(..len).unwrap_or_default() }
    }
}

/// The bytes from the start of `table` to `at`, or `None` if `at` is not in the table.
fn skip_in(table: Span, at: u64) -> Option<u64> {
    let is_inside = table.offset() <= at && at < table.end();
    is_inside.then(|| at.saturating_sub(table.offset()))
}

/// A machine that writes the tables of one publication after another.
pub trait Emit: Machine<Error = Infallible> {
    /// Starts with all tables of `publication`.
    fn restart(&mut self, publication: &Publication);

    /// The machine that makes `publication` visible, when all its tables are written.
    fn visible(&mut self, publication: &Publication) -> Option<Visible>;
}

impl<T: Written> Emit for Tables<'_, T> {
    fn restart(&mut self, publication: &Publication) {
        self.start(*publication, 0..publication.meta1.ntasks());
    }

    fn visible(&mut self, _: &Publication) -> Option<Visible> {
        if self.filled.is_some() || self.piece().is_some() {
            return None;
        }
        self.end_run();
        Some(Visible::new(self.publication.as_ref()?, &self.sums))
    }
}

impl<T: Written> Machine for Tables<'_, T> {
    type Output = TableSums;
    type Error = Infallible;

    fn poll(&mut self) -> Step<'_, TableSums> {
        if let Some(len) = self.filled.take() {
            return self.write(len);
        }
        match self.piece() {
            Some(Piece { kind, len, old: Some(offset) }) => {
                let (need, want) = (kind.entry_len(), usize_to_u64(len));
                Step::Read { offset, need, want }
            }
            Some(piece) => {
                self.fill(piece, None);
                self.write(piece.len)
            }
            None => {
                self.end_run();
                Step::Done(self.sums)
            }
        }
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Infallible> {
        if let Some(piece) = self.piece() {
            let entry_len = piece.kind.entry_len();
            let over = bytes.len().checked_rem(entry_len).unwrap_or(0);
            let len = bytes.len().saturating_sub(over).min(piece.len);
            self.fill(Piece { len, ..piece }, Some(bytes));
            self.filled = Some(len);
        }
        Ok(())
    }
}
