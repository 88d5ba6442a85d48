//! Data that wait in memory: entries of ended frames, entries of the current frame, and its
//! checksums.

use crate::exact::Exact;
use crate::gsd::disk::chunk::Chunk;
use crate::gsd::error::Error;
use crate::gsd::raw::{ChecksumRow, IndexEntry};
use crate::store::usize_to_u64;
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Whether there are chunks that need [few checks](super::again).
pub(super) const FEW_CHECKS: bool = !cfg!(target_os = "none");

/// The memory for one chunk of a frame that is being written: 40 bytes.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Slot {
    entry: [u8; 32],
    row: [u8; 8],
}

impl Slot {
    /// An empty slot.
    pub const EMPTY: Self = Self { entry: [0; 32], row: [0; 8] };
}

/// The numbers of waiting entries.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    /// Length of the memory in bytes.
    len: usize,
    /// Entries of ended frames.
    ended: usize,
    /// Entries of the current frame.
    open: usize,
    /// Places that were given away and whose chunks are not added yet.
    placed: usize,
    /// Larger ids than any of the current frame start here.
    next_id: u32,
    has_rows: bool,
    /// Whether chunks of new last ids need few checks while there is room.
    is_checked: bool,
}

/// The waiting data. Entries are at the front: first those of ended frames, then those of the
/// current frame in the order of their ids. The rows of the current frame's checksums are at the
/// end, in the same order.
#[derive(Debug)]
pub(super) struct Waiting<'m> {
    bytes: &'m mut [u8],
    pub(super) counts: &'m mut Counts,
}

const ENTRY: usize = size_of::<IndexEntry>();
const ROW: usize = size_of::<ChecksumRow>();

impl Counts {
    /// Counts of an empty memory of `len` bytes, with rows of checksums if `has_rows`.
    pub(super) fn new(len: usize, has_rows: bool) -> Result<Self, Error> {
        let slots = if has_rows { 2 } else { 1 };
        let have = usize_to_u64(len);
        let need = usize_to_u64(size_of::<Slot>()).saturating_mul(slots);
        match have >= need {
            true => Ok(Self { len, has_rows, ..Self::default() }),
            false => Err(Error::Memory { need, have }),
        }
    }

    /// Length of the memory in bytes.
    pub(super) const fn memory_len(&self) -> usize {
        self.len
    }

    /// Sets whether there are rows of checksums. There must be none now.
    pub(super) const fn set_rows(&mut self, has_rows: bool) {
        self.has_rows = has_rows;
    }

    /// Number of entries and of rows of the current frame.
    pub(super) const fn open_len(&self) -> usize {
        self.open
    }

    /// Number of entries of ended frames.
    pub(super) fn ended_len(&self) -> u64 {
        usize_to_u64(self.ended)
    }

    /// Whether name `id` comes after all others of the current frame, as most do.
    #[inline]
    pub(super) fn is_last(&self, id: u16) -> bool {
        u32::from(id) >= self.next_id
    }

    /// Whether a chunk of this id needs few checks, if there is room for it.
    #[inline]
    pub(super) fn is_checked(&self, id: u16) -> bool {
        self.is_checked && self.is_last(id)
    }

    /// Notes that the entry after the others is that of a chunk `id` of the current frame, a new
    /// last one.
    #[inline]
    pub(super) fn take_last(&mut self, id: u16) {
        self.next_id = u32::from(id).exact_add(1);
        self.open = self.open.exact_add(1);
    }

    /// Sets whether the next chunks need few checks.
    #[inline]
    pub(super) const fn set_checked(&mut self, is_checked: bool) {
        self.is_checked = is_checked && !self.has_rows && self.placed == 0;
    }

    /// Whether no entry waits.
    pub(super) const fn is_empty(&self) -> bool {
        self.ended == 0 && self.open == 0
    }

    #[inline]
    pub(super) const fn entries_len(&self) -> usize {
        self.ended.wrapping_add(self.open).wrapping_mul(ENTRY) // exact: they are in memory
    }

    const fn rows_len(&self) -> usize {
        if self.has_rows { self.open.wrapping_mul(ROW) } else { 0 } // exact, too
    }

    /// Whether there is room for another chunk and for the checksums of the frame.
    #[inline]
    pub(super) const fn has_room(&self) -> bool {
        let placed = self.placed.saturating_add(1);
        let entries = self.entries_len().saturating_add(placed.saturating_mul(ENTRY));
        let rows = match self.has_rows {
            true => {
                self.rows_len().saturating_add(placed.saturating_mul(ROW)).saturating_add(ENTRY)
            }
            false => 0,
        };
        entries.saturating_add(rows) <= self.len
    }

    /// Notes that a chunk will come, for which there is room.
    pub(super) const fn place(&mut self) {
        self.is_checked = false;
        self.placed = self.placed.saturating_add(1);
    }

    /// Notes that a chunk has come; returns whether it was expected.
    pub(super) const fn has_come(&mut self) -> bool {
        let was_placed = self.placed > 0;
        self.placed = self.placed.saturating_sub(1);
        was_placed
    }

    /// Whether the entries of ended frames should go to the index.
    pub(super) const fn is_half_full(&self) -> bool {
        self.entries_len() > self.len / 2
    }

    /// Makes the current frame an ended one.
    pub(super) const fn end_frame(&mut self) {
        if FEW_CHECKS && self.open == 0 {
            self.is_checked = false;
        }
        self.ended = self.ended.wrapping_add(self.open); // exact: they are in memory
        self.discard_open();
    }

    /// Forgets the current frame.
    const fn discard_open(&mut self) {
        (self.open, self.placed, self.next_id) = (0, 0, 0);
    }

    /// Forgets all entries.
    pub(super) const fn clear(&mut self) {
        self.ended = 0;
        self.discard_open();
    }
}

impl<'m> Waiting<'m> {
    /// The waiting data in `memory`.
    #[inline]
    pub(super) fn new(memory: &'m mut [u8], counts: &'m mut Counts) -> Self {
        let bytes = memory.get_mut(..counts.len).unwrap_or_default();
        Self { bytes, counts }
    }

    /// The position for the entry of name `id` in the current frame, or the position of its
    /// existing entry.
    #[inline]
    pub(super) fn position(&mut self, id: u16) -> Result<usize, usize> {
        match self.counts.is_last(id) {
            true => Ok(self.counts.open),
            false => self.search(id),
        }
    }

    fn search(&mut self, id: u16) -> Result<usize, usize> {
        let ended = self.counts.ended;
        let frame = self.entries(0).get(ended..).unwrap_or_default();
        match frame.binary_search_by(|entry| entry.id.get().cmp(&id)) {
            Ok(at) => Err(at),
            Err(at) => Ok(at),
        }
    }

    /// The entries of ended frames, those of the current frame, and `more` unused ones.
    fn entries(&mut self, more: usize) -> &mut [IndexEntry] {
        let len = self.counts.entries_len().wrapping_add(more.wrapping_mul(ENTRY));
        let bytes = self.bytes.get_mut(..len).unwrap_or_default();
        <[IndexEntry]>::mut_from_bytes(bytes).unwrap_or_default()
    }

    /// Adds the entry of a chunk, whose sealed checksum is `crc`, to the current frame, or replaces
    /// the entry of its id. There must be room.
    #[inline]
    pub(super) fn insert(&mut self, chunk: &Chunk, crc: u32) {
        let id = u32::from(chunk.id);
        match !FEW_CHECKS || id < self.counts.next_id || self.counts.has_rows {
            true => self.insert_entry(&chunk.to_raw(), crc),
            false => {
                draft(self.bytes, self.counts, chunk);
                self.counts.take_last(chunk.id);
            }
        }
    }

    /// Adds an entry to the current frame, or replaces the entry of its id. There must be room.
    pub(super) fn insert_entry(&mut self, entry: &IndexEntry, crc: u32) {
        let id = u32::from(entry.id.get());
        let (at, more) = match self.position(entry.id.get()) {
            Ok(at) => (at, 1),
            Err(at) => (at, 0),
        };
        let place = self.counts.ended.exact_add(at);
        if more == 0 {
            if let Some(there) = self.entries(0).get_mut(place) {
                *there = *entry;
            }
            return;
        }
        let mut moved = *entry;
        let behind = self.entries(more).get_mut(place..).unwrap_or_default();
        behind.iter_mut().for_each(|slot| core::mem::swap(slot, &mut moved));
        if self.counts.has_rows {
            let mut moved = ChecksumRow { id: id.into(), crc: crc.into() };
            let front = self.rows_mut(1).get_mut(..=at).unwrap_or_default();
            front.iter_mut().rev().for_each(|slot| core::mem::swap(slot, &mut moved));
        }
        self.counts.next_id = self.counts.next_id.max(id.exact_add(1));
        self.counts.open = self.counts.open.exact_add(1);
    }

    /// Removes the entry of name `id` from the current frame, and its row; returns whether it
    /// was there.
    pub(super) fn remove(&mut self, id: u16) -> bool {
        let Err(at) = self.position(id) else { return false };
        let place = self.counts.ended.exact_add(at);
        let mut moved = IndexEntry::new_zeroed();
        let behind = self.entries(0).get_mut(place..).unwrap_or_default();
        behind.iter_mut().rev().for_each(|slot| core::mem::swap(slot, &mut moved));
        if self.counts.has_rows {
            let mut moved = ChecksumRow::new_zeroed();
            let front = self.rows_mut(0).get_mut(..=at).unwrap_or_default();
            front.iter_mut().for_each(|slot| core::mem::swap(slot, &mut moved));
        }
        self.counts.open = self.counts.open.exact_sub(1);
        true
    }

    /// The rows of the current frame's checksums, after `more` unused ones.
    fn rows_mut(&mut self, more: usize) -> &mut [ChecksumRow] {
        let len = self.counts.rows_len().wrapping_add(more.wrapping_mul(ROW));
        let start = self.bytes.len().wrapping_sub(len); // exact: they are in memory
        let bytes = self.bytes.get_mut(start..).unwrap_or_default();
        <[ChecksumRow]>::mut_from_bytes(bytes).unwrap_or_default()
    }

    /// The rows of the current frame's checksums, as in the file.
    pub(super) fn rows(&mut self) -> &[u8] {
        self.rows_mut(0).as_bytes()
    }

    /// Forgets the current frame; returns the start of its first chunk, if it has any.
    pub(super) fn discard_open(&mut self) -> Option<u64> {
        let ended = self.counts.ended;
        let open = self.entries(0).get(ended..).unwrap_or_default();
        let starts = open.iter().filter_map(|entry| u64::try_from(entry.location.get()).ok());
        let start = starts.min();
        self.counts.discard_open();
        start
    }

    /// The entries of ended frames, as in the file.
    pub(super) fn ended(&mut self) -> &[u8] {
        let len = self.counts.ended.wrapping_mul(ENTRY);
        self.bytes.get(..len).unwrap_or_default()
    }

    /// The last ended frame that has chunks.
    pub(super) fn last_ended(&mut self) -> Option<u64> {
        let last = self.counts.ended.checked_sub(1)?;
        self.entries(0).get(last).map(|entry| entry.frame.get())
    }

    /// Forgets the entries of ended frames.
    pub(super) fn drop_ended(&mut self) {
        let ended = self.counts.ended;
        let entries = self.entries(0);
        // Not one after the other: that is moved by a function, which a device has for this alone.
        for to in 0..entries.len().exact_sub(ended) {
            if let Ok([to, from]) = entries.get_disjoint_mut([to, to.exact_add(ended)]) {
                core::mem::swap(to, from);
            }
        }
        self.counts.ended = 0;
    }

    /// Unused memory between entries and rows. It may be short.
    pub(super) fn scratch(&mut self) -> &mut [u8] {
        let (len, rows_len) = (self.counts.entries_len(), self.counts.rows_len());
        let bytes = &mut *self.bytes;
        let end = bytes.len().exact_sub(rows_len);
        bytes.get_mut(len.min(end)..end).unwrap_or_default()
    }
}

/// Puts the entry of a chunk after those in `memory`, which do not change; [`Counts::take_last`]
/// makes it one of them. Returns whether there is room.
#[inline]
pub(super) fn draft(memory: &mut [u8], counts: &Counts, chunk: &Chunk) -> bool {
    let memory = memory.get_mut(..counts.len).unwrap_or_default();
    let unused = memory.get_mut(counts.entries_len()..).unwrap_or_default();
    // The entry is made in its place: if it were made elsewhere and copied, a processor would wait
    // for the small writes of its fields.
    match unused.first_chunk_mut::<ENTRY>() {
        Some(place) => {
            *place = zerocopy::transmute!(chunk.to_raw());
            true
        }
        None => false,
    }
}

impl IndexEntry {
    /// The checksum of a chunk whose bytes have `crc`: of the bytes and of this entry without its
    /// location (`spec/gsd.md#checksums`).
    #[must_use]
    pub fn sealed_crc(&self, crc: u32, checksum: crate::integrity::Checksum) -> u32 {
        let entry = Self { location: 0.into(), ..*self };
        checksum(crc, entry.as_bytes())
    }
}

const _: () = assert!(ENTRY == 32 && ROW == 8 && size_of::<Slot>() == 40);
