//! The possible places of META2, and the check that it is there.

use super::evidence::{Fields, Remains};
use super::records::are_records;
use super::scan::Sparse;
use crate::endian::{I32, I64};
use crate::sion::disk::head::Head;
use crate::sion::disk::meta2::{Meta2, entry};
use crate::sion::disk::varheader::{Varheader, VarheaderShape};
use crate::sion::error::{Error, ReadError};
use crate::sion::raw;
use crate::sion::read::locate::check_blockcount;
use crate::sion::read::tasks::{Tasks, values};
use crate::step::{DriveError, read_exact};
use crate::store::usize_to_u64;
use zerocopy::{FromZeros, IntoBytes};

/// A whole META2, see [`Remains::whole`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Whole {
    pub(super) varheader: Varheader,
    /// The bytes of all streams. Streams only grow, so of two commits of a file the later one has
    /// at least as many.
    pub(super) bytes: u64,
}

/// The length of the first read of blockcounts: few of the tried places are META2.
const FIRST_READ: usize = 512;

impl Remains {
    /// META2 at the place in the commit fields; it may be after the end of the file.
    pub(super) fn named(&self, (maxchunks, start): Fields) -> Option<Varheader> {
        let start = u64::try_from(start).ok()?;
        let maxchunks = u32::try_from(maxchunks).ok()?;
        self.varheader_at(start, maxchunks)
    }

    pub(super) fn varheader_at(&self, start: u64, maxchunks: u32) -> Option<Varheader> {
        VarheaderShape::new(self.head.meta1.layout(), maxchunks, 0, false)?.at(start)
    }

    /// Whether META2 is where SIONlib puts it.
    pub(super) fn is_natural(&self, varheader: &Varheader) -> bool {
        self.blocks.is_close(varheader.maxchunks(), varheader.start())
    }

    /// Whether META2 is where a commit could have put it.
    pub(super) fn is_commit(&self, varheader: &Varheader) -> bool {
        let is_first = self.head.meta1.is_first_of_several();
        self.blocks.is_commit(varheader.maxchunks(), varheader.span(), is_first)
    }

    /// Whether META2 is where a close or a commit could have put it.
    pub(super) fn is_place(&self, varheader: &Varheader) -> bool {
        self.is_natural(varheader) || self.is_commit(varheader)
    }

    /// The bytes of the mapping, or of its size, after META2 at `place`; 0 if there is none.
    pub(super) fn mapping_len<S: Sparse>(
        &self,
        store: &S,
        place: &Varheader,
    ) -> Result<u64, ReadError<S>> {
        let meta1 = &self.head.meta1;
        let at = place.blocksizes().end();
        let left = self.head.file_len.saturating_sub(at);
        let mut size = I32::new_zeroed();
        if meta1.is_first_of_several() && left >= u64::from(raw::MappingSize::TABLE.len) {
            read_exact(store, at, size.as_mut_bytes())?;
        }
        let entries = u64::try_from(size.get(meta1.order())).unwrap_or(0);
        Ok(meta1.mapping_len_within(entries, left))
    }

    /// META2 at `place`, if all of it is in the file and sound: each blockcount and each blocksize
    /// in use is allowed, and the number of rows is the largest blockcount.
    pub(super) fn whole<S: Sparse>(
        &self,
        store: &S,
        place: Varheader,
        window: &mut [u8],
    ) -> Result<Option<Whole>, ReadError<S>> {
        let Some(head) = self.closed_by(&place) else { return Ok(None) };
        let (mut largest, mut bytes) = (0, 0u64);
        for task in Tasks::new(store, &head, window)? {
            match task {
                Ok(listed) => {
                    largest = listed.task.blockcount.max(largest);
                    bytes = bytes.saturating_add(listed.bytes);
                }
                Err(DriveError::Format(_)) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        let is_whole = largest == u64::from(place.maxchunks());
        Ok(is_whole.then_some(Whole { varheader: place, bytes }))
    }

    /// Whether META2 at `place` has more bytes for a chunk than the chunk has by META1.
    pub(super) fn exceeds_sizes<S: Sparse>(
        &self,
        store: &S,
        place: Varheader,
        window: &mut [u8],
    ) -> Result<bool, ReadError<S>> {
        let Some(head) = self.closed_by(&place) else { return Ok(false) };
        for task in Tasks::new(store, &head, window)? {
            match task {
                Ok(_) => {}
                Err(DriveError::Format(Error::TooLarge { field, .. })) => {
                    return Ok(field == raw::BlocksizeEntry::blocksize);
                }
                Err(DriveError::Format(_)) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Whether each stream of META2 at `place` ends at the end of a record.
    pub(super) fn has_records<S: Sparse>(
        &self,
        store: &S,
        place: Varheader,
        window: &mut [u8],
    ) -> Result<bool, ReadError<S>> {
        let order = self.head.meta1.order();
        let Some(head) = self.closed_by(&place) else { return Ok(false) };
        for task in Tasks::new(store, &head, window)? {
            let listed = task?;
            let (chunks, bytes) = (listed.task.chunks, listed.bytes);
            // All chunks but the last are full.
            let rows = bytes.div_ceil(chunks.chunksize.max(1));
            let is_full = bytes == 0 || rows == listed.task.blockcount;
            if !is_full || !are_records(store, chunks, bytes, order)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// META2 at `start` with as many rows as its largest blockcount. Subtracts the bytes that it
    /// reads from `budget`.
    pub(super) fn by_counts<S: Sparse>(
        &self,
        store: &S,
        start: u64,
        budget: &mut u64,
        window: &mut [u8],
    ) -> Result<Option<Varheader>, ReadError<S>> {
        let Some(place) = self.varheader_at(start, 1) else { return Ok(None) };
        let counts = place.blockcounts();
        let (mut at, mut largest, mut most) = (counts.offset(), 0, FIRST_READ);
        while at < counts.end() && counts.fits(self.head.file_len) {
            let left = usize::try_from(counts.end().saturating_sub(at)).unwrap_or(usize::MAX);
            let len = left.min(most).min(window.len() & !7);
            let bytes = window.get_mut(..len).unwrap_or_default();
            read_exact(store, at, bytes)?;
            *budget = budget.saturating_sub(usize_to_u64(len));
            most = most.saturating_mul(2);
            for value in values(bytes) {
                match check_blockcount(value.get(self.head.meta1.order()), at, u32::MAX) {
                    Ok(count) => largest = count.max(largest),
                    Err(_) => return Ok(None),
                }
            }
            at = at.saturating_add(usize_to_u64(bytes.len()));
        }
        let rows = u32::try_from(largest).ok();
        Ok(rows.and_then(|rows| self.varheader_at(start, rows)))
    }

    /// Whether a blockcount of META2 at `place` is in the file and allowed for `rows` rows: the
    /// first one, or any one if `any` is true.
    pub(super) fn has_counts<S: Sparse>(
        &self,
        store: &S,
        place: &Varheader,
        rows: u32,
        any: bool,
    ) -> Result<bool, ReadError<S>> {
        for local in 0..if any { self.head.meta1.ntasks() } else { 1 } {
            let Some(entry) = entry(place.blockcounts(), local) else { break };
            if !entry.fits(self.head.file_len) {
                break;
            }
            let mut count = I64::new_zeroed();
            read_exact(store, entry.offset(), count.as_mut_bytes())?;
            let count = count.get(self.head.meta1.order());
            if check_blockcount(count, entry.offset(), rows).is_ok() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The head of the file with commit fields that point to `place`; `None` if META2 would end
    /// after the file.
    fn closed_by(&self, place: &Varheader) -> Option<Head> {
        let (meta1, file_len) = (self.head.meta1, self.head.file_len);
        let fields = place.commit_fields(meta1.order());
        let meta2 = Meta2::parse(fields.as_bytes(), &meta1, file_len).ok().flatten();
        meta2.map(|meta2| Head { file_len, meta1, meta2: Some(meta2) })
    }
}
