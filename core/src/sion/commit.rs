//! Committing: META2 and what belongs to it, then the 12 bytes that make it visible.
//!
//! A commit never touches what the last one made visible, nor a block that any task may write to
//! (`spec/sion.md#commits`). So whatever was written when the power went, the file is as the last
//! commit left it, or as this one does.
//!
//! META2 is written anew each time. What tasks wrote since the last commit comes from [`Written`];
//! all other entries are read back from the last META2, so that memory is one window.

use super::error::Error;
use super::layout::Varheader;
use super::meta1::Meta1;
use super::raw;
use crate::endian::{ByteOrder, I32, I64, U32};
use crate::integrity::{Checksum, crc32c};
use crate::span::Span;
use crate::step::{Machine, Step};
use crate::store::{copy_front, usize_to_u64};
use core::convert::Infallible;
use core::ops::Range;
use zerocopy::IntoBytes;

/// What tasks wrote since the last commit.
pub trait Written {
    /// Sets those of `entries` that are not as the last commit says, or, if there was none, as it is
    /// for a task that wrote nothing: one empty chunk.
    fn lay_over(&self, entries: &mut Entries<'_>);
}

impl<T: Written + ?Sized> Written for &T {
    fn lay_over(&self, entries: &mut Entries<'_>) {
        (**self).lay_over(entries);
    }
}

/// Nothing was written: the last commit once more, at another place.
#[derive(Debug, Clone, Copy)]
pub struct Unchanged;

impl Written for Unchanged {
    fn lay_over(&self, _: &mut Entries<'_>) {}
}

/// A table that a commit writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// Chunks that each task used, at least 1.
    Blockcounts,
    /// Bytes that each task used of one chunk.
    Blocksizes {
        /// Index of the chunk.
        chunk: u32,
    },
    /// CRC-32C of the bytes that each task used of one chunk.
    Crcs {
        /// Index of the chunk.
        chunk: u32,
    },
    /// Physical file and local rank of each global rank; only asked for if there was no commit.
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
    /// Whose entries they are.
    #[must_use]
    pub const fn column(&self) -> Column {
        self.column
    }

    /// The tasks of these entries, or the global ranks.
    #[must_use]
    pub fn range(&self) -> Range<u32> {
        let count = self.bytes.len().checked_div(self.column.entry_len()).unwrap_or(0);
        self.first..self.first.saturating_add(u32::try_from(count).unwrap_or(u32::MAX))
    }

    /// Sets the entry of task `local`; does nothing if it is not among these.
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

/// What is to be committed, and where.
#[derive(Debug, Clone, Copy)]
pub struct Publication {
    /// META1 of the file.
    pub meta1: Meta1,
    /// What the last commit wrote.
    pub old: Option<Varheader>,
    /// The place of what this one writes.
    pub new: Varheader,
    /// Length of the file in bytes: what an older commit left may stand in it.
    pub file_len: u64,
    /// CRC-32C; only used for a seal.
    pub checksum: Checksum,
}

/// What the file is if a machine is given up, because its store failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Outcome {
    /// What it was.
    Unchanged,
    /// What it was, or this: nobody knows which of them is on the disk, so both must stay whole
    /// until [`Commit::settle`] made it this.
    Unknown(Varheader),
    /// This: a part of the work was done.
    Published(Varheader),
}

/// Commits: see [`Publication`]. Its result is what the file has now.
#[derive(Debug)]
pub struct Commit<'w, T> {
    publication: Publication,
    written: T,
    window: &'w mut [u8],
    state: State,
    /// Next byte to be written, or, of META1, to be read.
    at: u64,
    /// Of META1, of META2 with the mapping, of the seal's table.
    crcs: [u32; 3],
    /// The 12 bytes.
    fields: raw::CommitFields,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Meta1,
    Tables,
    /// So many bytes of the window come next.
    Filled(usize),
    Trailer,
    SyncTables,
    Fields,
    SyncFields,
    Done,
}

/// The next entries to be written: at most a window full, of one row of one table.
#[derive(Debug, Clone, Copy)]
struct Piece {
    kind: Kind,
    len: usize,
    /// Where the last commit has them.
    old: Option<u64>,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    MappingSize { entries: u64 },
    Entries { column: Column, first: u32 },
}

/// Bytes that the window of a [`Commit`] needs.
pub const WINDOW: usize = size_of::<raw::SealTrailer>();

impl Kind {
    const fn entry_len(self) -> usize {
        match self {
            Self::MappingSize { .. } => size_of::<raw::MappingSize>(),
            Self::Entries { column, .. } => column.entry_len(),
        }
    }
}

impl Commit<'static, Unchanged> {
    /// Writes the 12 bytes of a commit whose outcome is unknown once more. All that they make visible
    /// was durable before they were first written. It needs no buffer.
    #[must_use]
    pub fn settle(meta1: &Meta1, new: Varheader) -> Self {
        let (checksum, old, file_len): (Checksum, _, _) = (crc32c, None, 0);
        let publication = Publication { meta1: *meta1, old, new, file_len, checksum };
        let fields = fields(&publication);
        let (state, at, crcs) = (State::Fields, new.start, [0; 3]);
        Self { publication, written: Unchanged, window: &mut [], state, at, crcs, fields }
    }
}

impl<'w, T: Written> Commit<'w, T> {
    /// Commits `written`. `window` needs [`WINDOW`] bytes; a larger one makes fewer and larger writes.
    ///
    /// # Errors
    /// [`Error::Window`].
    pub fn new(publication: Publication, written: T, window: &'w mut [u8]) -> Result<Self, Error> {
        if window.len() < WINDOW {
            return Err(Error::Window { need: usize_to_u64(WINDOW) });
        }
        let fields = fields(&publication);
        let (state, at) = begin(&publication.new);
        Ok(Self { publication, written, window, state, at, crcs: [0; 3], fields })
    }

    /// What the file is if this machine is given up now, after an error of the store.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        match self.state {
            State::SyncFields | State::Done => Outcome::Unknown(self.publication.new),
            _ => Outcome::Unchanged,
        }
    }

    /// Commits the same once more, at the place of `new`. Returns where it is until then.
    pub(super) fn restart(&mut self, new: Varheader) -> Varheader {
        let old = self.publication.new;
        self.publication.old = Some(old);
        self.publication.new = new;
        self.fields = fields(&self.publication);
        (self.state, self.at) = begin(&new);
        self.crcs = [0; 3];
        old
    }

    /// Whether all of it has been asked for.
    pub(super) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// The next piece of the tables, or `None` behind them.
    fn piece(&self) -> Option<Piece> {
        let (new, old) = (&self.publication.new, self.publication.old.as_ref());
        if let Some(skip) = skip_in(new.blockcounts(), self.at) {
            let from = old.map(Varheader::blockcounts);
            return Some(self.row(skip, from, |_| Column::Blockcounts));
        }
        if let Some(skip) = skip_in(new.blocksizes(), self.at) {
            let from = old.map(Varheader::blocksizes);
            return Some(self.row(skip, from, |chunk| Column::Blocksizes { chunk }));
        }
        if let Some(skip) = skip_in(new.mapping(), self.at) {
            let from = old.filter(|old| old.mapping_len == new.mapping_len);
            let from = from.and_then(|old| old.mapping().part(skip, 0)).map(Span::offset);
            return Some(self.mapping_piece(skip, from));
        }
        let skip = skip_in(new.crcs(), self.at)?;
        let from = old.filter(|old| old.sealed).map(Varheader::crcs);
        Some(self.row(skip, from, |chunk| Column::Crcs { chunk }))
    }

    /// The entries `skip` bytes into a table of rows, up to the end of their row.
    fn row(&self, skip: u64, from: Option<Span>, column: impl Fn(u32) -> Column) -> Piece {
        let entry_len = usize_to_u64(column(0).entry_len());
        let row_len = u64::from(self.publication.new.ntasks).saturating_mul(entry_len);
        let chunk = skip.checked_div(row_len).unwrap_or(0);
        let into = skip.checked_rem(row_len).unwrap_or(0);
        let column = column(u32::try_from(chunk).unwrap_or(u32::MAX));
        let first = into.checked_div(entry_len).unwrap_or(0);
        let first = u32::try_from(first).unwrap_or(u32::MAX);
        let len = self.fit(row_len.saturating_sub(into), column.entry_len());
        // Both have as many tasks, so an entry is as far into the old table as into the new one.
        let old = from.and_then(|table| table.part(skip, usize_to_u64(len))).map(Span::offset);
        Piece { kind: Kind::Entries { column, first }, len, old }
    }

    fn mapping_piece(&self, skip: u64, old: Option<u64>) -> Piece {
        let head_len = usize_to_u64(size_of::<raw::MappingSize>());
        let all = self.publication.new.mapping_len.saturating_sub(head_len);
        let Some(skip) = skip.checked_sub(head_len) else {
            let kind = Kind::MappingSize { entries: all >> 3 };
            return Piece { kind, len: size_of::<raw::MappingSize>(), old };
        };
        let first = u32::try_from(skip >> 3).unwrap_or(u32::MAX);
        let column = Column::Mapping;
        let len = self.fit(all.saturating_sub(skip), column.entry_len());
        Piece { kind: Kind::Entries { column, first }, len, old }
    }

    /// As many of `left` bytes as the window holds in whole entries.
    fn fit(&self, left: u64, entry_len: usize) -> usize {
        let over = self.window.len().checked_rem(entry_len).unwrap_or(0);
        let most = self.window.len().saturating_sub(over);
        usize::try_from(left).unwrap_or(usize::MAX).min(most)
    }

    /// Makes the window's first bytes those of `piece`; `old` are what the last commit has there.
    fn fill(&mut self, piece: Piece, old: Option<&[u8]>) {
        let order = self.publication.meta1.order();
        let had_commit = self.publication.old.is_some();
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

    /// Counts `len` bytes of the window as written.
    fn advance(&mut self, len: usize) {
        if self.publication.new.sealed {
            let bytes = self.window.get(..len).unwrap_or_default();
            let is_seal = self.at >= self.publication.new.crcs().offset();
            let [_, meta2, chunks] = &mut self.crcs;
            let crc = if is_seal { chunks } else { meta2 };
            *crc = (self.publication.checksum)(*crc, bytes);
        }
        self.at = self.at.saturating_add(usize_to_u64(len));
    }

    /// Where the end of a seal would be if this were sealed: one that an older commit left there, with
    /// META2 at the same place, would pass for the seal of this one.
    fn old_seal(&self) -> Option<Span> {
        let Publication { new, old, file_len, .. } = &self.publication;
        let place = Varheader { sealed: true, ..*new }.at(new.start)?.trailer();
        let is_old = old.is_some_and(|old| old.span().overlaps(place));
        (!new.sealed && !is_old && place.fits(*file_len)).then_some(place)
    }

    fn trailer(&self) -> raw::SealTrailer {
        let (new, order) = (&self.publication.new, self.publication.meta1.order());
        let checksum = self.publication.checksum;
        let i64_of = |n| I64::new(i64::try_from(n).unwrap_or(i64::MAX), order);
        let ntasks = I32::new(i32::try_from(new.ntasks).unwrap_or(i32::MAX), order);
        let [meta1, meta2, chunks] = self.crcs;
        let mut trailer = raw::SealTrailer {
            seal_version: I32::new(raw::SealTrailer::VERSION, order),
            ntasks,
            maxchunks: self.fields.maxchunks,
            meta1_crc: U32::new(checksum(meta1, self.fields.as_bytes()), order),
            start_of_varheader: self.fields.start_of_varheader,
            start_of_seal: i64_of(new.crcs().offset()),
            meta2_crc: U32::new(meta2, order),
            chunks_crc: U32::new(chunks, order),
            reserved: I32::new(0, order),
            trailer_crc: U32::new(0, order),
            magic: raw::SealTrailer::MAGIC,
        };
        let own = usize::from(raw::SealTrailer::trailer_crc.offset());
        let sealed = trailer.as_bytes().get(..own).unwrap_or_default();
        trailer.trailer_crc = U32::new(checksum(0, sealed), order);
        trailer
    }

    fn write(&mut self, len: usize) -> Step<'_, Varheader> {
        let offset = self.at;
        self.advance(len);
        Step::Write { offset, bytes: self.window.get(..len).unwrap_or_default() }
    }
}

/// The 12 bytes that make what is published visible.
fn fields(publication: &Publication) -> raw::CommitFields {
    let (new, order) = (&publication.new, publication.meta1.order());
    raw::CommitFields {
        maxchunks: I32::new(i32::try_from(new.maxchunks).unwrap_or(i32::MAX), order),
        start_of_varheader: I64::new(i64::try_from(new.start).unwrap_or(i64::MAX), order),
    }
}

fn begin(new: &Varheader) -> (State, u64) {
    if new.sealed { (State::Meta1, 0) } else { (State::Tables, new.start) }
}

/// How far `at` is into `table`, or `None` if it is not in it.
fn skip_in(table: Span, at: u64) -> Option<u64> {
    let is_inside = table.offset() <= at && at < table.end();
    is_inside.then(|| at.saturating_sub(table.offset()))
}

impl<T: Written> Machine for Commit<'_, T> {
    type Output = Varheader;
    type Error = Infallible;

    fn poll(&mut self) -> Step<'_, Varheader> {
        let new = self.publication.new;
        if self.state == State::Meta1 {
            let end = self.publication.meta1.layout().commit_fields().offset();
            let want = end.saturating_sub(self.at);
            if want > 0 {
                return Step::Read { offset: self.at, need: 1, want };
            }
            (self.state, self.at) = (State::Tables, new.start);
        }
        if let State::Filled(len) = self.state {
            self.state = State::Tables;
            return self.write(len);
        }
        if self.state == State::Tables {
            match self.piece() {
                Some(Piece { kind, len, old: Some(offset) }) => {
                    let (need, want) = (kind.entry_len(), usize_to_u64(len));
                    return Step::Read { offset, need, want };
                }
                Some(piece) => {
                    self.fill(piece, None);
                    return self.write(piece.len);
                }
                None => self.state = State::Trailer,
            }
        }
        match self.state {
            State::Trailer if new.sealed => {
                self.state = State::SyncTables;
                let trailer = self.trailer();
                let len = copy_front(trailer.as_bytes(), self.window);
                let bytes = self.window.get(..len).unwrap_or_default();
                Step::Write { offset: new.trailer().offset(), bytes }
            }
            State::Trailer if self.old_seal().is_some() => {
                self.state = State::SyncTables;
                let place = self.old_seal().unwrap_or(Span::ZERO);
                let bytes = self.window.get_mut(..WINDOW).unwrap_or_default();
                bytes.fill(0);
                Step::Write { offset: place.offset(), bytes }
            }
            State::Trailer | State::SyncTables => {
                self.state = State::Fields;
                Step::Sync
            }
            State::Fields => {
                self.state = State::SyncFields;
                let offset = self.publication.meta1.layout().commit_fields().offset();
                Step::Write { offset, bytes: self.fields.as_bytes() }
            }
            State::SyncFields => {
                self.state = State::Done;
                Step::Sync
            }
            _ => Step::Done(new),
        }
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Infallible> {
        if self.state == State::Meta1 {
            let [meta1, ..] = &mut self.crcs;
            *meta1 = (self.publication.checksum)(*meta1, bytes);
            self.at = self.at.saturating_add(usize_to_u64(bytes.len()));
        } else if let Some(piece) = self.piece() {
            let entry_len = piece.kind.entry_len();
            let over = bytes.len().checked_rem(entry_len).unwrap_or(0);
            let len = bytes.len().saturating_sub(over).min(piece.len);
            self.fill(Piece { len, ..piece }, Some(bytes));
            self.state = State::Filled(len);
        }
        Ok(())
    }
}
