//! The tables of a commit: META2, the mapping, and the checksums of a seal.
//!
//! Each commit writes all tables at a place where no reader looks yet;
//! [`show`](super::visible::show) makes them visible. Entries that changed since the last commit
//! come from [`Written`]; all others are read from the last META2. So the only memory is one
//! window.
//!
//! [`Tables`] are the entries of a range of tasks: of all tasks, or of the tasks of one rank or
//! node while other ranks write theirs. [`TableSums::join`] adds up the checksums of the parts.

use super::publication::seal_trailer;
pub use super::publication::{Publication, TableSums};
use crate::endian::{ByteOrder, I32, I64, U32};
use crate::sion::disk::varheader::Varheader;
use crate::sion::error::Error;
#[twin(WriteError = AsyncError)]
use crate::sion::error::WriteError;
use crate::sion::layout::signed;
use crate::sion::raw;
use crate::span::Span;
use crate::step::DriveError;
#[twin(read_exact)]
use crate::step::read_exact;
#[twin(WriteAt)]
use crate::store::WriteAt;
use crate::store::{copy_front, usize_to_u64};
use core::ops::Range;
use striae_twin::twin;
use zerocopy::IntoBytes;

/// The changes of tasks since the last commit.
///
/// Other crates may implement it; a method of a later version has a default.
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

/// The changes, or none: one type for both.
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
                self.put(local, I64::new(signed(value), order).as_bytes());
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

/// The bytes that the window of [`write()`] needs.
pub const WINDOW: usize = size_of::<I64>();

/// Writes the tables of `publication`. A larger `window` makes fewer and larger writes.
///
/// # Errors
/// [`Error::Window`] if the window is shorter than [`WINDOW`]; the store's own error.
#[twin(WriteAt, WriteError = AsyncError)]
pub async fn write<S: WriteAt, P: Pieces>(
    publication: &Publication,
    tables: &mut P,
    store: &mut S,
    window: &mut [u8],
) -> Result<(), WriteError<S>> {
    check_window(window, WINDOW)?;
    write_all(publication, tables, store, window).await
}

/// Writes the tables of `publication` by a window that was checked.
#[twin(WriteAt, WriteError = AsyncError)]
pub(in crate::sion) async fn write_all<S: WriteAt, P: Pieces>(
    publication: &Publication,
    tables: &mut P,
    store: &mut S,
    window: &mut [u8],
) -> Result<(), WriteError<S>> {
    tables.start(publication);
    while let Some(Piece { at, len, old }) = tables.next(publication, window.len()) {
        let bytes = window.get_mut(..len).unwrap_or_default();
        if let Some(old) = old {
            read_exact(&*store, old, bytes).await?;
        }
        tables.fill(publication, bytes);
        store.write_all_at(at, bytes).await.map_err(DriveError::Store)?;
    }
    Ok(())
}

/// Checks that a window has as many bytes as are needed.
pub(in crate::sion) const fn check_window(window: &[u8], need: usize) -> Result<(), Error> {
    match window.len() < need {
        true => Err(Error::Window { need: usize_to_u64(need) }),
        false => Ok(()),
    }
}

/// The tables of a publication, or a part of them, in pieces that fit into a window.
///
/// Other crates cannot implement it.
pub trait Pieces: sealed::Sealed {
    /// Goes to the first piece of `publication`.
    fn start(&mut self, publication: &Publication);

    /// The next piece, of at most `most` bytes; `None` after the last one.
    fn next(&mut self, publication: &Publication, most: usize) -> Option<Piece>;

    /// Makes `bytes` those of the piece. They are what the last commit has there, if the piece says
    /// where.
    fn fill(&mut self, publication: &Publication, bytes: &mut [u8]);

    /// The trailer of the seal, after the last piece; `None` if there is no seal.
    fn trailer(&self, publication: &Publication) -> Option<raw::SealTrailer>;
}

pub(in crate::sion) mod sealed {
    /// No other types are tables.
    #[allow(unnameable_types, reason = "sealed")]
    pub trait Sealed {}
}

/// A piece of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// The offset of the piece.
    pub at: u64,
    /// The bytes of the piece.
    pub len: usize,
    /// The offset of the bytes of the last commit that it starts from.
    pub old: Option<u64>,
}

/// The tables of a range of tasks, with the changes `T` since the last commit.
#[derive(Debug)]
pub struct Tables<T> {
    written: T,
    /// The tasks whose entries these are.
    tasks: Range<u32>,
    /// The offset of the next byte.
    at: u64,
    /// The entries of the last piece.
    kind: Kind,
    /// Whether the last piece starts from bytes of the last commit.
    is_old: bool,
    /// The number of bytes up to `at` that were written without a gap, and their checksum.
    run: (u64, u32),
    sums: TableSums,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    MappingSize { entries: u64 },
    Entries { column: Column, first: u32 },
}

impl<T: Written> Tables<T> {
    /// The tables of all tasks.
    pub const fn all(written: T) -> Self {
        Self::part(0..u32::MAX, written)
    }

    /// The entries of `tasks`, and the mapping if task 0 is among them. Others write the other
    /// entries.
    pub const fn part(tasks: Range<u32>, written: T) -> Self {
        let kind = Kind::MappingSize { entries: 0 };
        let (at, is_old, run, sums) = (0, false, (0, 0), TableSums::NONE);
        Self { written, tasks, at, kind, is_old, run, sums }
    }

    /// The checksums of the entries that were written, if they are sealed.
    #[must_use]
    pub const fn sums(&self) -> &TableSums {
        &self.sums
    }

    /// The entries `skip` bytes into a table of rows, up to the end of their row; or the offset of
    /// the next entries of these tasks.
    #[inline(never)] // one function for all tables: a device's code is small
    fn row(
        &mut self,
        (skip, ntasks, most): (u64, u32, usize),
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
        let len = fit(end.saturating_sub(into), column.entry_len(), most);
        self.kind = Kind::Entries { column, first };
        // Both have as many tasks, so an entry is as far into the old table as into the new one.
        let old = from.and_then(|table| table.part(skip, usize_to_u64(len))).map(Span::offset);
        Ok(Piece { at: self.at, len, old })
    }

    fn mapping_piece(
        &mut self,
        (skip, most): (u64, usize),
        mapping: Span,
        old: Option<u64>,
    ) -> Piece {
        let head_len = usize_to_u64(size_of::<raw::MappingSize>());
        let (at, all) = (self.at, mapping.len().saturating_sub(head_len));
        let Some(skip) = skip.checked_sub(head_len) else {
            self.kind = Kind::MappingSize { entries: all >> 3 };
            return Piece { at, len: size_of::<raw::MappingSize>(), old };
        };
        let first = u32::try_from(skip >> 3).unwrap_or(u32::MAX);
        let column = Column::Mapping;
        self.kind = Kind::Entries { column, first };
        Piece { at, len: fit(all.saturating_sub(skip), column.entry_len(), most), old }
    }

    /// Counts `bytes` as written.
    fn advance(&mut self, Publication { new, checksum, .. }: &Publication, bytes: &[u8]) {
        let len = usize_to_u64(bytes.len());
        if new.is_sealed() {
            if self.at == new.crcs().offset() {
                self.end_run(new); // another checksum begins
            }
            let (run_len, crc) = self.run;
            self.run = (run_len.saturating_add(len), checksum(crc, bytes));
        }
        self.at = self.at.saturating_add(len);
    }

    /// Adds the bytes that were written without a gap to the checksums.
    fn end_run(&mut self, new: &Varheader) {
        let (len, crc) = self.run;
        if len > 0 {
            let seal = new.crcs();
            let (sum, end) = match self.at > seal.offset() {
                true => (&mut self.sums.chunks, seal.end()),
                false => (&mut self.sums.meta2, seal.offset()),
            };
            sum.add(crc, len, end.saturating_sub(self.at));
        }
        self.run = (0, 0);
    }
}

impl<T> sealed::Sealed for Tables<T> {}

impl<T: Written> Pieces for Tables<T> {
    fn start(&mut self, publication: &Publication) {
        (self.at, self.run, self.sums) = (publication.new.start(), (0, 0), TableSums::NONE);
    }

    fn next(&mut self, publication: &Publication, most: usize) -> Option<Piece> {
        let Publication { meta1, new, old, .. } = publication;
        let (ntasks, old) = (meta1.ntasks(), old.as_ref());
        while !self.tasks.is_empty() {
            let row = if let Some(skip) = skip_in(new.blockcounts(), self.at) {
                let from = old.map(Varheader::blockcounts);
                self.row((skip, ntasks, most), from, |_| Column::Blockcounts)
            } else if let Some(skip) = skip_in(new.blocksizes(), self.at) {
                let from = old.map(Varheader::blocksizes);
                self.row((skip, ntasks, most), from, |chunk| Column::Blocksizes { chunk })
            } else if let Some(skip) = skip_in(new.mapping(), self.at) {
                let from = old.filter(|old| old.mapping().len() == new.mapping().len());
                let from = from.and_then(|old| old.mapping().part(skip, 0)).map(Span::offset);
                match self.tasks.start {
                    0 => Ok(self.mapping_piece((skip, most), new.mapping(), from)),
                    _ => Err(new.mapping().end()),
                }
            } else if let Some(skip) = skip_in(new.crcs(), self.at) {
                let from = old.filter(|old| old.is_sealed()).map(Varheader::crcs);
                self.row((skip, ntasks, most), from, |chunk| Column::Crcs { chunk })
            } else {
                break;
            };
            match row {
                Ok(piece) => {
                    self.is_old = piece.old.is_some();
                    return Some(piece);
                }
                Err(next) => {
                    self.end_run(new);
                    self.at = next; // others write the bytes before it
                }
            }
        }
        self.end_run(new);
        None
    }

    fn fill(&mut self, publication: &Publication, bytes: &mut [u8]) {
        let order = publication.meta1.order();
        let counts = matches!(self.kind, Kind::Entries { column: Column::Blockcounts, .. });
        match self.is_old {
            false if counts && publication.old.is_none() => fill(bytes, I64::new(1, order)),
            false => bytes.fill(0),
            true => {}
        }
        match self.kind {
            Kind::MappingSize { entries } => {
                let size = I32::new(i32::try_from(entries).unwrap_or(i32::MAX), order);
                copy_front(size.as_bytes(), bytes);
            }
            Kind::Entries { column: Column::Mapping, .. } if self.is_old => {}
            Kind::Entries { column, first } => {
                let mut entries = Entries { column, order, first, bytes };
                self.written.lay_over(&mut entries);
            }
        }
        self.advance(publication, bytes);
    }

    fn trailer(&self, publication: &Publication) -> Option<raw::SealTrailer> {
        seal_trailer(publication, &self.sums)
    }
}

impl sealed::Sealed for TableSums {}

/// Tables that ranks have written in parts, of which these are the joined checksums: no piece is
/// left.
impl Pieces for TableSums {
    fn start(&mut self, _: &Publication) {}

    fn next(&mut self, _: &Publication, _: usize) -> Option<Piece> {
        None
    }

    fn fill(&mut self, _: &Publication, _: &mut [u8]) {}

    fn trailer(&self, publication: &Publication) -> Option<raw::SealTrailer> {
        seal_trailer(publication, self)
    }
}

/// The bytes of whole entries that a window of `most` bytes holds, at most `left`.
fn fit(left: u64, entry_len: usize, most: usize) -> usize {
    let over = most.checked_rem(entry_len).unwrap_or(0);
    usize::try_from(left).unwrap_or(usize::MAX).min(most.saturating_sub(over))
}

/// The bytes from the start of `table` to `at`, or `None` if `at` is not in the table.
fn skip_in(table: Span, at: u64) -> Option<u64> {
    let is_inside = table.offset() <= at && at < table.end();
    is_inside.then(|| at.saturating_sub(table.offset()))
}

/// Fills a table of entries, in a function of its own: a device's code has it once.
#[inline(never)]
fn fill(bytes: &mut [u8], entry: I64) {
    let entry: [u8; 8] = zerocopy::transmute!(entry);
    let (entries, _) = bytes.as_chunks_mut();
    entries.fill(entry);
}
