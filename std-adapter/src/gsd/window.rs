//! The part of an index that a thread looked at last.
//!
//! Who looks for a chunk often looks for its neighbours next. A search alone reads little, since
//! most of what a long read brings is of no use to it; the second one near to it reads more.

use super::file::{Store, to_u64};
use std::cell::RefCell;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use striae_core::store::ReadAt;

/// Bytes of a read near the last one.
const LEN: usize = 4096;

/// Bytes that a search asks for.
pub(super) const SEARCH: usize = 1024;

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

impl Window {
    /// The bytes at `offset`, at most `len`, if all of them were read last.
    fn get(&self, look: Look, offset: u64, len: usize) -> Option<&[u8]> {
        let skip = usize::try_from(offset.checked_sub(self.offset)?).ok()?;
        let bytes = self.bytes.get(..self.len)?.get(skip..skip.checked_add(len)?)?;
        (self.look == look).then_some(bytes)
    }

    /// Where and how much to read to get `len` bytes at `offset`.
    fn plan(&self, look: Look, offset: u64, len: usize) -> (u64, usize) {
        let before = self.offset.saturating_sub(to_u64(LEN));
        let behind = self.offset.saturating_add(to_u64(LEN).saturating_mul(2));
        if self.look != look || !(before..behind).contains(&offset) {
            return (offset, len);
        }
        let rest = to_u64(LEN.saturating_sub(len));
        match offset < self.offset {
            true => (offset.saturating_sub(rest), LEN), // it goes backwards
            false => (offset, LEN),
        }
    }

    fn read(
        &mut self,
        store: &Store,
        look: Look,
        offset: u64,
        buf: &mut [u8],
    ) -> io::Result<usize> {
        if self.get(look, offset, buf.len()).is_none() {
            let (from, len) = self.plan(look, offset, buf.len());
            self.look = Look::NONE;
            let bytes = self.bytes.get_mut(..len).unwrap_or_default();
            self.len = store.read_at(from, bytes)?;
            (self.look, self.offset) = (look, from);
        }
        match self.get(look, offset, buf.len()) {
            Some(bytes) => {
                buf.copy_from_slice(bytes);
                Ok(buf.len())
            }
            None => store.read_at(offset, buf), // the file ends here
        }
    }
}

/// A store of which the last read of this thread is kept.
#[derive(Debug)]
pub(super) struct Windowed<'a> {
    pub(super) store: &'a Store,
    pub(super) look: Look,
}

impl ReadAt for Windowed<'_> {
    type Error = io::Error;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        if buf.len() > LEN {
            return self.store.read_at(offset, buf);
        }
        WINDOW.with_borrow_mut(|window| window.read(self.store, self.look, offset, buf))
    }

    fn size(&self) -> io::Result<u64> {
        self.store.size()
    }
}
