//! The machine that finds the file of a shape in a store.

use super::fault::Fault;
use super::shape::{Shape, Start};
use super::streams::Streams;
use crate::endian::I64;
use crate::sion::disk::varheader::Varheader;
use crate::sion::layout::ENTRY_LEN;
use crate::sion::raw::{CommitFields, Ident, SealTrailer};
use crate::sion::write::book::Book;
use crate::sion::write::cursor::Cursor;
use crate::span::Span;
use crate::step::{ReadMachine, ReadStep};
use crate::store::usize_to_u64;
use core::cmp::Ordering;
use zerocopy::{FromBytes, IntoBytes};

/// Sets the streams to those of the last commit; the output is whether there is a file. The driver
/// needs a buffer of at least 12 bytes.
#[derive(Debug)]
pub(super) struct Find<'f, const N: usize> {
    shape: &'f Shape<N>,
    streams: &'f mut Streams<N>,
    store_len: u64,
    /// What META1 is so far.
    meta1: Meta1,
    stage: Stage,
}

#[derive(Debug, Clone, Copy)]
struct Meta1 {
    /// Whether it is that of the shape.
    is_own: bool,
    /// Whether it is nothing, or was not made to its end.
    is_begun: bool,
    is_sion: bool,
}

#[derive(Debug, Clone, Copy)]
enum Stage {
    /// Reads META1 from this offset on, up to the commit fields.
    Meta1(u64),
    Fields,
    /// Reads the magic of the seal of this commit.
    Seal(Varheader),
    /// Reads META2 of this commit from the entry of a row and a task on. The first row is that of
    /// the blockcounts.
    Rows(Varheader, u32, usize),
    Done(bool),
}

const FIELDS: u64 = usize_to_u64(size_of::<CommitFields>());
const MAGIC: u64 = usize_to_u64(SealTrailer::MAGIC.len());

impl<'f, const N: usize> Find<'f, N> {
    pub(super) fn new(shape: &'f Shape<N>, streams: &'f mut Streams<N>, store_len: u64) -> Self {
        let meta1 = Meta1 { is_own: true, is_begun: true, is_sion: false };
        let stage = if store_len == 0 { Stage::Done(false) } else { Stage::Meta1(0) };
        Self { shape, streams, store_len, meta1, stage }
    }

    /// The offset of the commit fields.
    const fn fields() -> u64 {
        usize_to_u64(size_of::<Start<N>>()).saturating_sub(FIELDS)
    }

    fn feed_meta1(&mut self, at: u64, bytes: &[u8]) -> Result<Stage, Fault> {
        let start = usize::try_from(at).unwrap_or(usize::MAX);
        let expected = self.shape.start.as_bytes().get(start..).unwrap_or_default();
        let is_begun = |(&byte, &new): (&u8, &u8)| [new, 0x00, 0xFF].contains(&byte);
        self.meta1.is_own &= expected.starts_with(bytes);
        self.meta1.is_begun &= bytes.iter().zip(expected).all(is_begun);
        self.meta1.is_sion |= at == 0 && bytes.starts_with(&Ident::MAGIC);
        let end = at.saturating_add(usize_to_u64(bytes.len()));
        let (fields, all) = (Self::fields(), Self::fields().saturating_add(FIELDS));
        match self.meta1 {
            _ if end < fields.min(self.store_len) => Ok(Stage::Meta1(end)),
            Meta1 { is_own: true, .. } if self.store_len >= all => Ok(Stage::Fields),
            Meta1 { is_begun: true, .. } if self.store_len <= all => Ok(Stage::Done(false)),
            Meta1 { is_sion: true, .. } => Err(Fault::Another),
            _ => Err(Fault::NotBlank),
        }
    }

    fn feed_fields(&self, bytes: &[u8]) -> Result<Stage, Fault> {
        let Ok((fields, _)) = CommitFields::ref_from_prefix(bytes) else {
            return Err(Fault::Damaged);
        };
        let order = self.shape.book.meta1().order();
        let (rows, start) = (fields.maxchunks.get(order), fields.start_of_varheader.get(order));
        if (rows, start) == (0, 0) {
            return Ok(Stage::Done(true)); // there was no commit
        }
        let [rows, start] = [i64::from(rows), start].map(|field| u64::try_from(field).ok());
        let rows = rows.and_then(|rows| u32::try_from(rows).ok());
        let shape = rows.and_then(|rows| self.shape.book.shape(rows).ok());
        let place = shape.zip(start).and_then(|(shape, start)| shape.at(start));
        let place =
            place.filter(|place| place.span().fits(self.store_len)).ok_or(Fault::Damaged)?;
        Ok(match Self::seal(&place).fits(self.store_len) {
            true => Stage::Seal(place),
            false => Stage::Rows(place, 0, 0),
        })
    }

    /// Where the magic of a seal would be.
    fn seal(place: &Varheader) -> Span {
        let end = place.sealed().map_or(u64::MAX, |sealed| sealed.span().end());
        Span::new(end.saturating_sub(MAGIC), MAGIC).unwrap_or(Span::ZERO)
    }

    /// Takes the next entries of META2.
    fn feed_rows(&mut self, at: (Varheader, u32, usize), bytes: &[u8]) -> Result<Stage, Fault> {
        let ((place, mut row, mut task), order) = (at, self.shape.book.meta1().order());
        for entry in bytes.chunks_exact(size_of::<I64>()) {
            let Ok(entry) = I64::ref_from_bytes(entry) else { return Err(Fault::Damaged) };
            let value = u64::try_from(entry.get(order)).map_err(|_| Fault::Damaged)?;
            if let Some(cursor) = self.streams.cursors.get_mut(task) {
                *cursor = resumed(cursor, &place, row, value)?;
            }
            task = task.saturating_add(1);
            if task >= N {
                (row, task) = (row.saturating_add(1), 0);
            }
        }
        if row <= place.maxchunks() {
            return Ok(Stage::Rows(place, row, task));
        }
        let book = &self.shape.book;
        self.streams.book = Book::reopen(book.meta1(), book.blocks(), place, false);
        Ok(Stage::Done(true))
    }

    /// The next read of META2.
    fn next_row(place: &Varheader, row: u32, task: usize) -> Span {
        let entries = u64::from(row).saturating_mul(usize_to_u64(N));
        let skip = entries.saturating_add(usize_to_u64(task)).saturating_mul(ENTRY_LEN);
        let end = place.blocksizes().end();
        Span::between(place.start().saturating_add(skip), end).unwrap_or(Span::ZERO)
    }
}

/// The cursor of a task after its entry in row `row` of META2 was read.
fn resumed(cursor: &Cursor, place: &Varheader, row: u32, value: u64) -> Result<Cursor, Fault> {
    let Some(chunk) = row.checked_sub(1) else {
        let last = value.checked_sub(1).ok_or(Fault::Another)?;
        return match value <= place.maxchunks().into() {
            true => cursor.at(last, 0).map_err(|_| Fault::Damaged),
            false => Err(Fault::Damaged),
        };
    };
    match chunk.cmp(&cursor.chunk()) {
        Ordering::Less if value == cursor.chunksize() => Ok(*cursor),
        Ordering::Equal => cursor.at(chunk.into(), value).map_err(|_| Fault::Damaged),
        Ordering::Greater if value == 0 => Ok(*cursor),
        _ => Err(Fault::Another), // a `Writer` leaves chunks that are not full
    }
}

impl<const N: usize> ReadMachine for Find<'_, N> {
    type Output = bool;
    type Error = Fault;

    fn poll(&mut self) -> ReadStep<bool> {
        let (span, need) = match &self.stage {
            Stage::Meta1(at) => {
                let end = Self::fields().min(self.store_len);
                (Span::between(*at, end).unwrap_or(Span::ZERO), 1)
            }
            Stage::Fields => (Span::new(Self::fields(), FIELDS).unwrap_or(Span::ZERO), FIELDS),
            Stage::Seal(place) => (Self::seal(place), MAGIC),
            Stage::Rows(place, row, task) => (Self::next_row(place, *row, *task), ENTRY_LEN),
            Stage::Done(is_there) => return ReadStep::Done(*is_there),
        };
        let need = usize::try_from(need).unwrap_or(usize::MAX);
        ReadStep::Read { offset: span.offset(), need, want: span.len() }
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        self.stage = match self.stage {
            Stage::Meta1(at) => self.feed_meta1(at, bytes)?,
            Stage::Fields => self.feed_fields(bytes)?,
            Stage::Seal(_) if bytes == SealTrailer::MAGIC => return Err(Fault::Another),
            Stage::Seal(place) => Stage::Rows(place, 0, 0),
            Stage::Rows(place, row, task) => self.feed_rows((place, row, task), bytes)?,
            done @ Stage::Done(_) => done,
        };
        Ok(())
    }
}
