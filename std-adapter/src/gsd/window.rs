//! The part of an index that a thread looked at last.
//!
//! Who looks for a chunk often looks for its neighbours next: a search begins in what was read
//! last, if that is near. Its first read elsewhere is a short one, since most often it is the only
//! one, and most of what a longer one brings would be of no use: each line of it that is in no
//! cache takes time. How short, is learned from the searches before; and where one was not enough,
//! some of the entries that were seen are remembered.

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
use striae_core::gsd::{self as core_gsd, Chunk, Head, ReadError};
use striae_core::step::{DriveError, ReadMachine, ReadStep};
use striae_core::store::{ReadAt, usize_to_u64};
use striae_hoomd::names::{Name, NameList};
use zerocopy::FromBytes;

/// Bytes of the longest read.
const LEN: usize = 4096;

/// Slots that the other reads of a search bring: what makes them hit most often, and no more.
const NEXT: usize = 48;

/// Slots in front of a place near what was read last, and behind it, that are read there.
const BESIDE: usize = LEN / 32 / 4 / 2;

/// Slots in front of the first guess, and behind it, that the first read of a search brings, as far
/// as is known from the searches before.
#[derive(Debug, Clone, Copy)]
struct Beside(usize);

impl Beside {
    /// It counts in parts of a slot: so many searches for which the read was long enough make it as
    /// much shorter as one for which it was not makes it longer.
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

/// Tells apart the states of all files that the process has opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileToken(u64);

impl FileToken {
    const NONE: Self = Self(0);

    /// A token that no other open file has.
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
    /// Behind the entry that was found last, counted from the first of the window.
    next: usize,
    /// Id of the name that was asked for last.
    named: Option<u16>,
    beside: Beside,
}

thread_local! {
    static WINDOW: RefCell<Window> = const {
        let (look, bytes, beside) = (FileToken::NONE, [0; LEN], Beside::UNKNOWN);
        RefCell::new(Window { look, offset: 0, len: 0, bytes, next: 0, named: None, beside })
    };
}

/// The id of a name of the file. Most often it is the one that was asked for last.
#[inline]
pub(super) fn id(look: FileToken, names: &NameList, name: &[u8]) -> Option<u16> {
    WINDOW.with_borrow_mut(|window| {
        let last = window.named.filter(|_| window.look == look);
        if last.and_then(|id| names.get(id)) == Some(Name(name)) {
            return last;
        }
        let id = names.id(name);
        window.named = id.filter(|_| window.look == look);
        id
    })
}

/// Finds the chunk of name `id` in `frame`.
///
/// # Errors
/// Its entry is damaged; the operating system's.
#[inline]
pub(super) fn find(
    store: &Bulk,
    look: FileToken,
    head: &Head,
    frame: u64,
    id: u16,
) -> Result<Option<Chunk>, ReadError<Bulk>> {
    let key = Key { frame, id };
    WINDOW.with_borrow_mut(|window| match window.seen(look, head, key) {
        Some(found) => found.map_err(DriveError::Format),
        None => window.search(store, look, head, key),
    })
}

impl Window {
    /// What a search for `key` would find, if it would end in what was read last.
    ///
    /// An entry of that key, or of a later one, with one of an earlier key in front of it: in a
    /// sorted index there is one such place, and a search ends there wherever it begins. In an
    /// index of layer 2 that is not sorted, which is damaged, searches of any kind find some entry
    /// of the key, or none. In layer 1 entries have no such order: they are searched for.
    #[inline]
    fn seen(
        &mut self,
        look: FileToken,
        head: &Head,
        key: Key,
    ) -> Option<Result<Option<Chunk>, core_gsd::Error>> {
        let is_sorted = head.header.version.is_sorted() && key.frame < head.frames;
        let (index, is_seen) = (head.index(), self.look == look);
        let skip = self.offset.checked_sub(index.location).filter(|_| is_seen && is_sorted)?;
        let first = skip / 32;
        let slots = usize::try_from(index.slots.saturating_sub(first)).unwrap_or(usize::MAX);
        let (entries, _) =
            <[IndexEntry]>::ref_from_prefix_with_elems(&self.bytes, slots.min(self.len / 32))
                .ok()?;
        let (place, entry) = place_of(entries, key, self.next)?;
        if entry.key() != key {
            return Some(Ok(None));
        }
        if !entry.is_used() {
            return None; // an error, which the search finds
        }
        self.next = place.saturating_add(1);
        let slot = first.saturating_add(usize_to_u64(place));
        Some(Chunk::parse(entry, index, slot, head.limits()))
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
        let mut find = Find::new(head, key.frame, key.id, usize_to_u64(NEXT));
        let place = match head.header.version.is_sorted() {
            true => key,
            // It is looked for from behind.
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
                    let bytes = self.bytes(store, look, offset, len)?;
                    find.feed(bytes).map_err(DriveError::Format)?;
                    farthest = farthest.max(offset.abs_diff(*first.get_or_insert(offset)));
                    reads = reads.saturating_add(1);
                }
                ReadStep::Done(chunk) => {
                    match near {
                        // It would not have been made if what was read last were longer.
                        Some(_) => self.beside.learn(false),
                        None if reads > 1 => self.missed(head.index(), farthest),
                        None => self.beside.learn(true),
                    }
                    return Ok(chunk);
                }
            }
        }
    }

    /// Learns from a search that took more than one read, which were at most so many bytes from the
    /// first.
    fn missed(&mut self, index: IndexBlock, farthest: u64) {
        // If that was far off, a longer one would not have helped.
        self.beside.learn(farthest > usize_to_u64(LEN));
        let skip = self.offset.checked_sub(index.location).map(|skip| skip / 32);
        let bytes = self.bytes.get(..self.len).unwrap_or_default();
        let entry = IndexEntry::ref_from_prefix(bytes).ok();
        if let (Some(slot), Some((entry, _))) = (skip, entry) {
            fences::keep(Fence { slot, key: entry.key() });
        }
    }

    /// The slot near which the place of `key` must be, if that is near to what was read last.
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
            // All that is read around it was read already.
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

    /// Where in the window these bytes are, if they are in it.
    fn place(&self, look: FileToken, offset: u64, len: usize) -> Option<Range<usize>> {
        let skip = usize::try_from(offset.checked_sub(self.offset)?).ok()?;
        let end = skip.checked_add(len).filter(|&end| end <= self.len)?;
        (self.look == look).then_some(skip..end)
    }

    /// Reads them, and more if they are near to what was read last.
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

/// The first entry that is not before `key`, and its place, if there is an entry in front of it; it
/// may be at `next`.
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
