//! The part of an index that a thread looked at last.
//!
//! Who looks for a chunk often looks for its neighbours next: a search begins in what was read last,
//! if that is near. Its first read elsewhere is a short one, since most often it is the only one, and
//! most of what a longer one brings would be of no use.

use super::file::{Store, to_u64};
use std::cell::RefCell;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use striae_core::gsd::chunk::Key;
use striae_core::gsd::find::Find;
use striae_core::gsd::layout::IndexBlock;
use striae_core::gsd::raw::IndexEntry;
use striae_core::gsd::{Chunk, Head, ReadError};
use striae_core::step::{DriveError, Machine, Step};
use striae_core::store::ReadAt;
use zerocopy::FromBytes;

/// Bytes of the longest read.
const LEN: usize = 4096;

/// Slots in front of the first guess, and behind it, that the first read of a search brings.
const BESIDE: usize = LEN / 32 / 4 / 2;

/// What tells apart the states of all files that the process has looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Look(u64);

impl Look {
    const NONE: Self = Self(0);

    /// Another one.
    pub(super) fn new() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self(LAST.fetch_add(1, Ordering::Relaxed).saturating_add(1))
    }
}

struct Window {
    look: Look,
    offset: u64,
    len: usize,
    bytes: [u8; LEN],
}

thread_local! {
    static WINDOW: RefCell<Window> =
        const { RefCell::new(Window { look: Look::NONE, offset: 0, len: 0, bytes: [0; LEN] }) };
}

/// Finds the chunk of name `id` in `frame`.
///
/// # Errors
/// Its entry is damaged; the operating system's.
pub(super) fn find(
    store: &Store,
    look: Look,
    head: &Head,
    frame: u64,
    id: u16,
) -> Result<Option<Chunk>, ReadError<Store>> {
    let find = Find::new(head, frame, id, to_u64(LEN / 32));
    let mut find = find.first_window(to_u64(2 * BESIDE));
    let key = match head.header.version.is_sorted() {
        true => Key { frame, id },
        false => Key { frame: frame.saturating_add(1), id: 0 }, // it is looked for from behind
    };
    WINDOW.with_borrow_mut(|window| {
        if let Some(slot) = window.near(look, head.index(), key) {
            find = find.near(slot);
        }
        loop {
            match find.poll() {
                Step::Read { offset, need, want } => {
                    let len = usize::try_from(want).unwrap_or(LEN).min(LEN).max(need);
                    let bytes = window.bytes(store, look, offset, len)?;
                    find.feed(bytes).map_err(DriveError::Format)?;
                }
                Step::Done(chunk) => return Ok(chunk),
                _ => return Err(DriveError::ReadOnly), // never: it only reads
            }
        }
    })
}

impl Window {
    /// The slot near which the place of `key` must be, if that is near to what was read last.
    fn near(&self, look: Look, index: IndexBlock, key: Key) -> Option<u64> {
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
        skip.checked_add(to_u64(place))
    }

    /// `len` bytes at `offset`, at most [`LEN`].
    fn bytes(
        &mut self,
        store: &Store,
        look: Look,
        offset: u64,
        len: usize,
    ) -> Result<&[u8], ReadError<Store>> {
        if self.place(look, offset, len).is_none() {
            self.fill(store, look, offset, len)?;
        }
        let place = self.place(look, offset, len).unwrap_or_default();
        Ok(self.bytes.get(place).unwrap_or_default())
    }

    /// Where in the window these bytes are, if they are in it.
    fn place(&self, look: Look, offset: u64, len: usize) -> Option<Range<usize>> {
        let skip = usize::try_from(offset.checked_sub(self.offset)?).ok()?;
        let end = skip.checked_add(len).filter(|&end| end <= self.len)?;
        (self.look == look).then_some(skip..end)
    }

    /// Reads them, and more if they are near to what was read last.
    fn fill(
        &mut self,
        store: &Store,
        look: Look,
        offset: u64,
        len: usize,
    ) -> Result<(), ReadError<Store>> {
        let before = self.offset.saturating_sub(to_u64(LEN));
        let behind = self.offset.saturating_add(to_u64(LEN).saturating_mul(2));
        let is_near = self.look == look && (before..behind).contains(&offset);
        let rest = to_u64(LEN.saturating_sub(len));
        let (from, most) = match is_near {
            true if offset < self.offset => (offset.saturating_sub(rest), LEN), // backwards
            true => (offset, LEN),
            false => (offset, len),
        };
        self.look = Look::NONE;
        self.len = 0;
        while let Some(buf) = self.bytes.get_mut(self.len..most).filter(|buf| !buf.is_empty()) {
            let at = from.saturating_add(to_u64(self.len));
            match store.read_at(at, buf).map_err(DriveError::Store)? {
                0 => break,
                n => self.len = self.len.saturating_add(n),
            }
        }
        (self.look, self.offset) = (look, from);
        match self.place(look, offset, len) {
            Some(_) => Ok(()),
            None => Err(DriveError::Ended { offset: from.saturating_add(to_u64(self.len)) }),
        }
    }
}
