//! Finds the file of a shape in a store.

#[twin(FixedError = AsyncFixedError)]
use super::FixedError;
use super::fault::Fault;
use super::rows::PIECE;
use super::shape::Start;
use super::streams::Streams;
use crate::sion::disk::varheader::Varheader;
use crate::sion::layout::span;
use crate::sion::raw::{CommitFields, Ident, SealTrailer};
use crate::sion::read::tasks::values;
use crate::sion::write::book::Book;
use crate::sion::write::cursor::Cursor;
use crate::span::Span;
use crate::step::DriveError;
#[twin(read_exact)]
use crate::step::read_exact;
#[twin(ReadAt)]
use crate::store::ReadAt;
use crate::store::usize_to_u64;
use core::cmp::Ordering;
use striae_twin::twin;
use zerocopy::{FromZeros, IntoBytes};

const FIELDS: u64 = usize_to_u64(size_of::<CommitFields>());
const MAGIC: u64 = usize_to_u64(SealTrailer::MAGIC.len());

#[twin(ReadAt, FixedError = AsyncFixedError)]
impl<const N: usize> Streams<N> {
    /// Sets the streams of a new file, which starts with `start`, to those of the last commit in
    /// `store`. Returns whether there is a file.
    pub(super) async fn find<S: ReadAt>(
        &mut self,
        start: &Start<N>,
        store: &S,
    ) -> Result<bool, FixedError<S>> {
        let store_len = store.size().await.map_err(DriveError::Store)?;
        if store_len == 0 || !Self::has_meta1(start, store, store_len).await? {
            return Ok(false);
        }
        let (order, mut fields) = (self.book.meta1().order(), CommitFields::new_zeroed());
        let at = usize_to_u64(size_of::<Start<N>>()).saturating_sub(FIELDS);
        read_exact(store, at, fields.as_mut_bytes()).await?;
        let (rows, at) = (fields.maxchunks.get(order), fields.start_of_varheader.get(order));
        if (rows, at) == (0, 0) {
            return Ok(true); // there was no commit
        }
        let shape = u32::try_from(rows).ok().and_then(|rows| self.book.shape(rows).ok());
        let place = shape.zip(u64::try_from(at).ok()).and_then(|(shape, at)| shape.at(at));
        let place = place.filter(|place| place.span().fits(store_len)).ok_or(Fault::Damaged)?;
        let seal_end = place.sealed().map_or(u64::MAX, |sealed| sealed.span().end());
        if seal_end <= store_len {
            let mut magic = [0; SealTrailer::MAGIC.len()];
            read_exact(store, seal_end.saturating_sub(MAGIC), &mut magic).await?;
            if magic == SealTrailer::MAGIC {
                return Err(Fault::Another.into());
            }
        }
        // The first row is that of the blockcounts.
        let (mut row, mut task, mut piece) = (0_u32, 0_usize, [0; PIECE]);
        let tables = Span::between(place.start(), place.blocksizes().end());
        let mut left = tables.unwrap_or(Span::ZERO);
        while !left.is_empty() {
            let bytes = left.front_of(&mut piece);
            read_exact(store, left.offset(), bytes).await?;
            for entry in values(bytes) {
                let value = u64::try_from(entry.get(order)).map_err(|_| Fault::Damaged)?;
                if let Some(cursor) = self.cursors.get_mut(task) {
                    *cursor = resumed(cursor, &place, row, value)?;
                }
                task = task.saturating_add(1);
                if task >= N {
                    (row, task) = (row.saturating_add(1), 0);
                }
            }
            left = left.skip(usize_to_u64(bytes.len()));
        }
        self.book = Book::reopen(self.book.meta1(), self.book.blocks(), place, false);
        Ok(true)
    }

    /// Whether `store` has this META1, up to its end; `false` if there is nothing, or one that was
    /// not made to its end.
    async fn has_meta1<S: ReadAt>(
        start: &Start<N>,
        store: &S,
        store_len: u64,
    ) -> Result<bool, FixedError<S>> {
        let mut expected = start.as_bytes();
        let all = usize_to_u64(expected.len());
        let (mut is_own, mut is_begun, mut is_sion) = (true, true, false);
        let (mut left, mut piece) =
            (span(0, all.saturating_sub(FIELDS).min(store_len)), [0; PIECE]);
        while !left.is_empty() {
            let bytes = left.front_of(&mut piece);
            read_exact(store, left.offset(), bytes).await?;
            let (own, rest) = expected.split_at_checked(bytes.len()).unwrap_or_default();
            let is_new = |(&byte, &new): (&u8, &u8)| [new, 0x00, 0xFF].contains(&byte);
            is_own &= own == bytes;
            is_begun &= bytes.iter().zip(own).all(is_new);
            is_sion |= left.offset() == 0 && bytes.starts_with(&Ident::MAGIC);
            (expected, left) = (rest, left.skip(usize_to_u64(bytes.len())));
        }
        match () {
            () if is_own && store_len >= all => Ok(true),
            () if is_begun && store_len <= all => Ok(false),
            () if is_sion => Err(Fault::Another.into()),
            () => Err(Fault::NotBlank.into()),
        }
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
