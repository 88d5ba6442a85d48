//! The entries of one task in META2, and whether they can be trusted.

use super::evidence::{Remains, SECTOR_MASK, Trust, is_zero_sector};
use super::records::are_records;
use super::scan::Sparse;
use super::scratch::Scratch;
use crate::endian::I64;
use crate::sion::disk::meta2::entry;
use crate::sion::disk::varheader::Varheader;
use crate::sion::error::ReadError;
use crate::sion::layout::Chunks;
use crate::sion::read::locate::{check_blockcount, check_blocksize};
use crate::span::Span;
use crate::step::{DriveError, read_exact};

/// The state of the entries of a task.
pub(super) enum Entries {
    /// All entries are present and sound; the blockcount.
    Sound(u64),
    /// All entries are present and sound, but a blocksize of 0 may never have been written.
    Zero,
    /// Some entries are missing or damaged.
    InPart,
}

/// One task of a file.
pub(super) struct Work<'a, S> {
    pub(super) remains: &'a Remains,
    pub(super) store: &'a S,
    pub(super) local: u32,
    pub(super) chunks: Chunks,
}

impl<S: Sparse> Work<'_, S> {
    /// Reads an entry and its offset; `None` if the file ends before the end of the entry.
    pub(super) fn read_entry(
        &self,
        place: Option<Span>,
    ) -> Result<Option<(i64, u64)>, ReadError<S>> {
        let Some(place) = place.filter(|place| place.fits(self.remains.head.file_len)) else {
            return Ok(None);
        };
        let mut bytes = [0; 8];
        read_exact(self.store, place.offset(), &mut bytes)?;
        Ok(Some((I64::from(bytes).get(self.remains.head.meta1.order()), place.offset())))
    }

    pub(super) const fn is_keyval(&self) -> bool {
        self.remains.head.meta1.is_keyval()
    }

    /// The blockcount of the task, if it is present and sound.
    pub(super) fn blockcount(&self, varheader: &Varheader) -> Result<Option<u64>, ReadError<S>> {
        let value = self.read_entry(entry(varheader.blockcounts(), self.local))?;
        Ok(value.and_then(|(value, at)| check_blockcount(value, at, varheader.maxchunks()).ok()))
    }

    /// A blocksize, if it is present and sound. The chunk need not be in use.
    pub(super) fn blocksize(
        &self,
        varheader: &Varheader,
        chunk: u64,
    ) -> Result<Option<u64>, ReadError<S>> {
        let (value, span) = (varheader.blocksize(self.local, chunk), self.chunks.chunk(chunk));
        let file_len = self.remains.head.file_len;
        let value = self.read_entry(value)?;
        Ok(value.and_then(|(value, at)| check_blocksize(value, at, span, file_len).ok()))
    }

    /// The first chunk from `chunk` on whose blocksize may be other than 0, by the holes of the
    /// file; `None` if the entry of `chunk` is not in the file.
    pub(super) fn next_blocksize(
        &self,
        varheader: &Varheader,
        chunk: u64,
    ) -> Result<Option<u64>, ReadError<S>> {
        let sizes = varheader.blocksizes();
        let end = sizes.end().min(self.remains.head.file_len);
        let place = varheader.blocksize(self.local, chunk).filter(|place| place.fits(end));
        let Some(place) = place else { return Ok(None) };
        let rest = Span::new(place.offset(), end.saturating_sub(place.offset()));
        let data = self.store.first_data(rest.unwrap_or(Span::ZERO)).map_err(DriveError::Store)?;
        let data = data.map_or(end, Span::offset);
        let row_len = varheader.blockcounts().len();
        let row = data.saturating_sub(sizes.offset()).checked_div(row_len).unwrap_or(0);
        Ok(Some(row.max(chunk)))
    }

    /// The first of these chunks that may have been written; all before it are holes.
    pub(super) fn first_written(
        &self,
        chunks: core::ops::Range<u64>,
    ) -> Result<Option<u64>, ReadError<S>> {
        let found = self.room().next(self.store, chunks.start)?;
        Ok(found.map(|(found, _)| found).filter(|&found| found < chunks.end))
    }

    /// The state of all entries of the task.
    pub(super) fn entries(&self, scratch: &mut Scratch<'_>) -> Result<Entries, ReadError<S>> {
        let Some(varheader) = &self.remains.varheader else { return Ok(Entries::InPart) };
        let Some(count) = self.blockcount(varheader)? else { return Ok(Entries::InPart) };
        if matches!(self.remains.word, Trust::Sealed | Trust::SealedMeta2) {
            return self.sealed_entries(varheader, count);
        }
        let (mut zero, mut chunk, mut bytes, mut is_full) = (false, 0u64, 0u64, true);
        while chunk < count {
            let next = match self.next_blocksize(varheader, chunk)? {
                None => return Ok(Entries::InPart),
                Some(next) if next > chunk => {
                    let next = next.min(count); // a hole of META2: surely not written
                    zero |= self.first_written(chunk..next)?.is_some();
                    is_full = false;
                    next
                }
                Some(_) => match self.blocksize(varheader, chunk)? {
                    None => return Ok(Entries::InPart),
                    Some(size) => {
                        bytes = bytes.saturating_add(size);
                        let behind = chunk.saturating_add(1);
                        let place = varheader.blocksize(self.local, chunk).unwrap_or(Span::ZERO);
                        zero |= self.may_be_unwritten((chunk, size, place), count, scratch)?;
                        is_full &= behind == count || size == self.chunks.chunksize;
                        behind
                    }
                },
            };
            chunk = next;
        }
        if zero {
            return Ok(Entries::Zero);
        }
        let (is_keyval, order) = (self.is_keyval(), self.remains.head.meta1.order());
        let fits = !is_keyval || is_full && are_records(self.store, self.chunks, bytes, order)?;
        let is_sound = fits && self.are_unused(varheader, count)?;
        Ok(if is_sound { Entries::Sound(count) } else { Entries::InPart })
    }

    /// The state of the entries of a META2 that is as sealed.
    pub(super) fn sealed_entries(
        &self,
        varheader: &Varheader,
        count: u64,
    ) -> Result<Entries, ReadError<S>> {
        let mut chunk = 0;
        while let Some(next) = self.next_blocksize(varheader, chunk)?.filter(|&next| next < count) {
            if self.blocksize(varheader, next)?.is_none() {
                return Ok(Entries::InPart);
            }
            chunk = next.saturating_add(1);
        }
        Ok(Entries::Sound(count))
    }

    /// Whether all entries after the last chunk in use are unused.
    pub(super) fn are_unused(
        &self,
        varheader: &Varheader,
        count: u64,
    ) -> Result<bool, ReadError<S>> {
        let (rows, mut chunk) = (u64::from(varheader.maxchunks()), count);
        while let Some(next) = self.next_blocksize(varheader, chunk)?.filter(|&next| next < rows) {
            let entry = self.read_entry(varheader.blocksize(self.local, next))?;
            // SIONlib's mapped writers leave -1 there (sion_filedesc.c:554).
            if entry.is_some_and(|(value, _)| !matches!(value, 0 | -1)) {
                return Ok(false);
            }
            chunk = next.saturating_add(1);
        }
        Ok(true)
    }

    /// Whether a blocksize and its place, of chunk `chunk` of `count`, may be lost, or may never
    /// have been written to its end.
    fn may_be_unwritten(
        &self,
        (chunk, size, place): (u64, u64, Span),
        count: u64,
        scratch: &mut Scratch<'_>,
    ) -> Result<bool, ReadError<S>> {
        let (behind, file_len) = (chunk.saturating_add(1), self.remains.head.file_len);
        let is_closed = self.remains.word == Trust::Closed;
        let is_doubtful = match size {
            0 if self.first_written(chunk..behind)?.is_none() => false, // nor was the chunk
            // No task leaves a chunk empty and goes on in the next one.
            0 if behind < count => return Ok(true),
            0 if is_closed => !self.is_written(place)?,
            0 => {
                let sector = place.offset() & !SECTOR_MASK;
                return is_zero_sector(self.store, place.offset(), sector, file_len);
            }
            // Of the last entry that is not zero, the end may read as zeros.
            _ => is_closed && (place.offset()..=place.end()).contains(&self.remains.written),
        };
        Ok(is_doubtful && self.used(chunk, scratch)? > size)
    }

    /// Whether this entry, which is 0, was certainly written: the rest of its sector has bytes that
    /// are not zero. SIONlib writes the commit fields first and then META2 from start to end, so
    /// the commit fields may point to a META2 whose end, or some of whose sectors, were never
    /// written.
    pub(super) fn is_written(&self, place: Span) -> Result<bool, ReadError<S>> {
        let (last, file_len) = (place.end().saturating_sub(1), self.remains.head.file_len);
        is_zero_sector(self.store, last, place.end(), file_len).map(|is_zero| !is_zero)
    }

    /// The length of the stream in a whole META2.
    pub(super) fn bytes_in(&self, varheader: &Varheader) -> Result<u64, ReadError<S>> {
        let count = self.blockcount(varheader)?.unwrap_or(0);
        let (mut bytes, mut chunk) = (0u64, 0);
        while let Some(next) = self.next_blocksize(varheader, chunk)?.filter(|&next| next < count) {
            bytes = bytes.saturating_add(self.blocksize(varheader, next)?.unwrap_or(0));
            chunk = next.saturating_add(1);
        }
        Ok(bytes)
    }
}
