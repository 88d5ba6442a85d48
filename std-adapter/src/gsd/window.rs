//! The part of an index that a thread read last.
//!
//! A search for a chunk is often followed by a search for a chunk near it. So a search begins in
//! the bytes of the last read, if the chunk's entry may be near them. Otherwise its first read is
//! short: most often one read is enough, and most bytes of a longer read would be of no use, while
//! each cache line of them costs time. Earlier searches decide how short. If one read was not
//! enough, some of the entries that were read are remembered ([`fences`]).

mod fences;

use crate::store::bulk::Bulk;
use fences::Fence;
use std::cell::RefCell;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use striae_core::gsd::chunk::Key;
use striae_core::gsd::find::Find;
use striae_core::gsd::layout::IndexBlock;
use striae_core::gsd::raw::IndexEntry;
use striae_core::gsd::{Chunk, Head, ReadError};
use striae_core::step::{DriveError, ReadMachine, ReadStep};
use striae_core::store::{ReadAt, usize_to_u64};
use striae_hoomd::names::{Name, NameList};
use zerocopy::FromBytes;

/// Bytes of the longest read.
const LEN: usize = 4096;

/// Slots in each further read of a search: the smallest number with the most hits.
const NEXT: usize = 48;

/// Slots that are read before and after a place near the last read.
const BESIDE: usize = LEN / 32 / 4 / 2;

/// Slots that the first read of a search takes before and after the guessed place, learned from
/// earlier searches.
#[derive(Debug, Clone, Copy)]
struct Beside(usize);

impl Beside {
    /// Unit of the count: parts of a slot. One search whose read was too short adds as much as this
    /// many searches with a read that was long enough take away.
    const PART: usize = 8;

    const UNKNOWN: Self = Self(0);
    const NEW: Self = Self(4 * Self::PART);
    const LEAST: usize = 2 * Self::PART;
    const MOST: usize = 32 * Self::PART;

    const fn slots(self) -> usize {
        self.0 / Self::PART
    }

    fn learn(&mut self, was_enough: bool) {
        let Self(parts) = *self;
        let longer = parts.saturating_add(Self::PART);
        let parts = if was_enough { parts.saturating_sub(1) } else { longer };
        *self = Self(parts.clamp(Self::LEAST, Self::MOST));
    }
}

/// A token that identifies a state of a file among all files that the process has opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileToken(u64);

impl FileToken {
    const NONE: Self = Self(0);

    /// Returns a token that no other open file has.
    pub(super) fn new() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self(LAST.fetch_add(1, Ordering::Relaxed).saturating_add(1))
    }
}

struct Window {
    look: FileToken,
    offset: u64,
    len: usize,
    bytes: [u8; LEN],
    /// Number of the entry after the last one that was found, counted from the start of the window.
    next: usize,
    /// Id of the last name that was asked for.
    named: Option<u16>,
    beside: Beside,
}

thread_local! {
    static WINDOW: RefCell<Window> = const {
        let (look, bytes, beside) = (FileToken::NONE, [0; LEN], Beside::UNKNOWN);
        RefCell::new(Window { look, offset: 0, len: 0, bytes, next: 0, named: None, beside })
    };
}

/// What the bytes of the last read say about a chunk that is looked for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Seen {
    /// They contain an entry of its key, as stored, which is in this slot of the index.
    Entry(u64, IndexEntry),
    /// There is no such chunk.
    NoChunk,
    /// They do not have its place in the index. This is the id of its name.
    Elsewhere(u16),
}

/// Looks for the chunk `name` of `frame` in the bytes of the last read.
#[inline]
pub(super) fn seen_by_name(
    look: FileToken,
    head: &Head,
    names: &NameList,
    frame: u64,
    name: &[u8],
) -> Seen {
    WINDOW.with_borrow_mut(|window| match window.id(look, names, name) {
        Some(id) => window.seen(look, head, Key { frame, id }),
        None => Seen::NoChunk,
    })
}

/// Looks for the chunk `key` in the bytes of the last read.
pub(super) fn seen(look: FileToken, head: &Head, key: Key) -> Seen {
    WINDOW.with_borrow_mut(|window| window.seen(look, head, key))
}

/// Finds the chunk `key` in the file.
///
/// # Errors
/// An error about its entry if the entry is damaged; an error of the operating system.
pub(super) fn search(
    store: &Bulk,
    look: FileToken,
    head: &Head,
    key: Key,
) -> Result<Option<Chunk>, ReadError<Bulk>> {
    WINDOW.with_borrow_mut(|window| window.search(store, look, head, key))
}

impl Window {
    /// The id of a name of the file. The last name that was asked for is tried first.
    #[inline]
    fn id(&mut self, look: FileToken, names: &NameList, name: &[u8]) -> Option<u16> {
        let last = self.named.filter(|_| self.look == look);
        if last.and_then(|id| names.get(id)) == Some(Name(name)) {
            return last;
        }
        let id = names.id(name);
        self.named = id.filter(|_| self.look == look);
        id
    }

    /// Looks for an entry of `key` in the bytes of the last read.
    ///
    /// They answer the search if they have an entry of this key or a later one directly after an
    /// entry of an earlier key. A sorted index has only one such place, where every search ends. If
    /// the entries around it are not in order, the file is damaged, which the search finds. In
    /// layer 1 entries are not sorted by key, so a search is needed.
    #[inline]
    fn seen(&mut self, look: FileToken, head: &Head, key: Key) -> Seen {
        let is_sorted = head.header.version.is_sorted() && key.frame < head.frames;
        if self.look != look || !is_sorted {
            return Seen::Elsewhere(key.id);
        }
        let Some((first, entries)) = self.entries(head.index()) else {
            return Seen::Elsewhere(key.id);
        };
        let last = first.saturating_add(usize_to_u64(entries.len()));
        let ends = (first == 0, last == head.index().slots);
        let place = place_of(entries, key, self.next);
        match place.filter(|&(place, _)| is_proven(entries, place, key, ends)) {
            Some((_, entry)) if entry.key() != key => Seen::NoChunk,
            Some((place, entry)) if entry.is_used() => {
                let entry = *entry;
                self.next = place.saturating_add(1);
                Seen::Entry(first.saturating_add(usize_to_u64(place)), entry)
            }
            // An unused entry, or one out of order, is an error, which the search finds.
            _ => Seen::Elsewhere(key.id),
        }
    }

    /// The entries of the last read, and the slot of the first one.
    #[inline]
    fn entries(&self, index: IndexBlock) -> Option<(u64, &[IndexEntry])> {
        let first = self.offset.checked_sub(index.location)? / 32;
        let slots = usize::try_from(index.slots.saturating_sub(first)).unwrap_or(usize::MAX);
        let slots = slots.min(self.len / 32);
        let (entries, _) = <[IndexEntry]>::ref_from_prefix_with_elems(&self.bytes, slots).ok()?;
        Some((first, entries))
    }

    #[cold]
    #[inline(never)]
    fn search(
        &mut self,
        store: &Bulk,
        look: FileToken,
        head: &Head,
        key: Key,
    ) -> Result<Option<Chunk>, ReadError<Bulk>> {
        if self.look != look {
            self.beside = Beside::NEW;
            fences::clear(head.index().slots);
        }
        let mut find = Find::new(head, key.frame, key.id, usize_to_u64(NEXT)).ordered();
        let place = match head.header.version.is_sorted() {
            true => key,
            // In layer 1, a search begins at the end of the frame.
            false => Key { frame: key.frame.saturating_add(1), id: 0 },
        };
        let near = self.near(look, head.index(), place);
        find = match near {
            Some(slot) => find.first_window(usize_to_u64(2 * BESIDE)).near(slot),
            None => {
                let find = find.first_window(usize_to_u64(self.beside.slots().saturating_mul(2)));
                fences::tell(place, find)
            }
        };
        let (mut first, mut farthest, mut reads) = (None, 0, 0_usize);
        loop {
            match find.poll() {
                ReadStep::Read { offset, need, want } => {
                    let len = usize::try_from(want).unwrap_or(LEN).min(LEN).max(need);
                    if self.place(look, offset, len).is_none() {
                        farthest = farthest.max(offset.abs_diff(*first.get_or_insert(offset)));
                        reads = reads.saturating_add(1);
                    }
                    let bytes = self.bytes(store, look, offset, len)?;
                    find.feed(bytes).map_err(DriveError::Format)?;
                }
                ReadStep::Done(chunk) => {
                    match near {
                        // A longer last read would have made this search unnecessary.
                        Some(_) => self.beside.learn(false),
                        None if reads > 1 => self.missed(head.index(), farthest),
                        None => self.beside.learn(true),
                    }
                    return Ok(chunk);
                }
            }
        }
    }

    /// Learns from a search with more than one read; `farthest` is the largest distance in bytes
    /// from the first read.
    fn missed(&mut self, index: IndexBlock, farthest: u64) {
        // If the distance is large, a longer first read would not have been enough.
        self.beside.learn(farthest > usize_to_u64(LEN));
        let skip = self.offset.checked_sub(index.location).map(|skip| skip / 32);
        let bytes = self.bytes.get(..self.len).unwrap_or_default();
        let entry = IndexEntry::ref_from_prefix(bytes).ok();
        if let (Some(slot), Some((entry, _))) = (skip, entry) {
            fences::keep(Fence { slot, key: entry.key() });
        }
    }

    /// The slot near the place of `key`, if that place is near the last read.
    fn near(&self, look: FileToken, index: IndexBlock, key: Key) -> Option<u64> {
        let bytes = self.bytes.get(..self.len).filter(|_| self.look == look)?;
        let (entries, _) =
            <[IndexEntry]>::ref_from_prefix_with_elems(bytes, bytes.len() / 32).ok()?;
        let (first, last) = (entries.first()?.key().frame, entries.last()?.key().frame);
        let around = last.checked_sub(first)?.saturating_add(1);
        if key.frame.saturating_add(around) < first || key.frame > last.saturating_add(around) {
            return None;
        }
        let mut place = entries.partition_point(|entry| entry.key() < key);
        if (1..entries.len()).contains(&place) {
            // Everything around the place is in the window already.
            place = place.min(entries.len().saturating_sub(BESIDE)).max(BESIDE);
        }
        let skip = self.offset.checked_sub(index.location)? / 32;
        skip.checked_add(usize_to_u64(place))
    }

    /// `len` bytes at `offset`, at most [`LEN`].
    fn bytes(
        &mut self,
        store: &Bulk,
        look: FileToken,
        offset: u64,
        len: usize,
    ) -> Result<&[u8], ReadError<Bulk>> {
        if self.place(look, offset, len).is_none() {
            self.fill(store, look, offset, len)?;
        }
        let place = self.place(look, offset, len).unwrap_or_default();
        Ok(self.bytes.get(place).unwrap_or_default())
    }

    /// The place of these bytes in the window, if they are in it.
    fn place(&self, look: FileToken, offset: u64, len: usize) -> Option<Range<usize>> {
        let skip = usize::try_from(offset.checked_sub(self.offset)?).ok()?;
        let end = skip.checked_add(len).filter(|&end| end <= self.len)?;
        (self.look == look).then_some(skip..end)
    }

    /// Reads these bytes, and more if they are near the last read.
    fn fill(
        &mut self,
        store: &Bulk,
        look: FileToken,
        offset: u64,
        len: usize,
    ) -> Result<(), ReadError<Bulk>> {
        let before = self.offset.saturating_sub(usize_to_u64(LEN));
        let behind = self.offset.saturating_add(usize_to_u64(LEN).saturating_mul(2));
        let is_near = self.look == look && (before..behind).contains(&offset);
        let rest = usize_to_u64(LEN.saturating_sub(len));
        let (from, most) = match is_near {
            true if offset < self.offset => (offset.saturating_sub(rest), LEN), // backwards
            true => (offset, LEN),
            false => (offset, len),
        };
        if self.look != look {
            self.named = None; // a name of another file
        }
        self.look = FileToken::NONE;
        self.len = 0;
        while let Some(buf) = self.bytes.get_mut(self.len..most).filter(|buf| !buf.is_empty()) {
            let at = from.saturating_add(usize_to_u64(self.len));
            match store.read_at(at, buf).map_err(DriveError::Store)? {
                0 => break,
                n => self.len = self.len.saturating_add(n),
            }
        }
        (self.look, self.offset) = (look, from);
        match self.place(look, offset, len) {
            Some(_) => Ok(()),
            None => Err(DriveError::Ended { offset: from.saturating_add(usize_to_u64(self.len)) }),
        }
    }
}

/// Whether the entries around `place` show that a search for `key` ends there, and not somewhere
/// else because one of them is damaged. `ends` says whether the first entry is the first of the
/// index, and whether the last one is the last.
#[inline]
fn is_proven(entries: &[IndexEntry], place: usize, key: Key, ends: (bool, bool)) -> bool {
    let at = |place: usize| entries.get(place).map(IndexEntry::key);
    let next = at(place.saturating_add(1));
    if at(place) == Some(key) {
        return next.map_or(ends.1, |next| key <= next);
    }
    let around = place.saturating_sub(2)..place.saturating_add(2).min(entries.len());
    let is_known = (ends.0 || place >= 2) && (ends.1 || next.is_some());
    is_known && entries.get(around).is_some_and(|some| some.is_sorted_by_key(IndexEntry::key))
}

/// The first entry that is not before `key`, and its number, if there is an entry before it. The
/// entry at `next` is tried first.
#[inline]
fn place_of(entries: &[IndexEntry], key: Key, next: usize) -> Option<(usize, &IndexEntry)> {
    let is_behind = |place: usize| {
        let before = place.checked_sub(1).and_then(|before| entries.get(before));
        before.is_some_and(|before| before.key() < key)
    };
    if let Some(entry) = entries.get(next).filter(|entry| entry.key() == key && is_behind(next)) {
        return Some((next, entry));
    }
    let place = entries.partition_point(|entry| entry.key() < key);
    entries.get(place).filter(|_| place > 0).map(|entry| (place, entry))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gsd::{Builder, File};

    #[test]
    fn searches_whose_first_read_is_enough_make_the_next_reads_shorter() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("even.gsd");
        let mut file = Builder::new().application("test").create(&path).unwrap();
        for frame in 0..4000_u64 {
            for name in ["a", "b", "c"] {
                file.write(name, &[frame], 1).unwrap();
            }
            file.end_frame().unwrap();
        }
        file.close().unwrap();
        let file = File::open(&path).unwrap();
        for frame in (0..200_u64).map(|number| number * 1777 % 4000) {
            assert!(file.find(frame, "b").unwrap().is_some());
        }
        let beside = WINDOW.with_borrow(|window| window.beside.slots());
        assert!(beside < Beside::NEW.slots(), "{beside}");
    }
}
