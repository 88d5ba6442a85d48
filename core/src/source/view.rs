//! A view of a file with some of its pages in memory.

use super::{Miss, Pins, Source, at_most};
use crate::store::usize_to_u64;
use core::cell::Cell;

/// A view of a file with `N` pages in the caller's memory. A page may begin at any offset.
///
/// If all pages hold bytes, the least recently used page is replaced.
#[derive(Debug)]
pub struct View<'m, const N: usize> {
    file_len: u64,
    memory: &'m mut [u8],
    page_len: usize,
    pages: [Page; N],
    pins: Cell<u32>,
    /// The number of reads of a page so far.
    looks: Cell<u64>,
    /// The index of the page that is filled next.
    free: usize,
}

/// The place in the file of the bytes in a page.
#[derive(Debug)]
struct Page {
    offset: u64,
    len: usize,
    /// The number of the last read of the page.
    look: Cell<u64>,
}

impl<'m, const N: usize> View<'m, N> {
    const ALL: u32 = const {
        assert!(N > 0 && N <= 32);
        u32::MAX >> (32 - N)
    };

    /// Makes a view of a file of `file_len` bytes; no bytes are in memory yet. Each page gets an
    /// `N`th of `memory`.
    #[must_use]
    pub fn new(memory: &'m mut [u8], file_len: u64) -> Self {
        Self {
            file_len,
            page_len: memory.len().checked_div(N).unwrap_or(0),
            memory,
            pages: [const { Page { offset: 0, len: 0, look: Cell::new(0) } }; N],
            pins: Cell::new(0),
            looks: Cell::new(0),
            free: 0,
        }
    }

    /// Prepares the parser's restart after a [`Miss::Read`]: frees the least recently used page
    /// that is not in use. After that no page is in use, as the parser begins again.
    pub(crate) fn restart(&mut self) {
        let pins = self.pins.replace(0);
        let pages = self.pages.iter().enumerate();
        let unused = pages.filter(|&(index, _)| pins & bit(index) == 0);
        self.free = unused.min_by_key(|(_, page)| page.look.get()).map_or(0, |(index, _)| index);
        self.filled(0, 0);
    }

    /// The memory for at most `want` missing bytes. Call [`View::filled`] after the read.
    pub(crate) fn room(&mut self, want: u64) -> &mut [u8] {
        let start = self.free.saturating_mul(self.page_len);
        let len = usize::try_from(want).unwrap_or(usize::MAX).min(self.page_len);
        self.memory.get_mut(start..start.saturating_add(len)).unwrap_or_default()
    }

    /// Says that the first `len` bytes of [`View::room`] now hold the bytes at `offset`.
    pub(crate) fn filled(&mut self, offset: u64, len: usize) {
        let look = self.looks.get();
        if let Some(page) = self.pages.get_mut(self.free) {
            *page = Page { offset, len: len.min(self.page_len), look: Cell::new(look) };
        }
    }

    #[cold]
    fn miss(&self, offset: u64, need: usize) -> Miss {
        let (len, left) = (usize_to_u64(need), self.file_len.saturating_sub(offset));
        match () {
            () if left < len || self.file_len < offset => Miss::Ended { offset, len },
            () if self.page_len < need => Miss::Page { len: need },
            () if self.pins.get() == Self::ALL => Miss::Pages,
            () => Miss::Read { offset, need, want: left.min(usize_to_u64(self.page_len)) },
        }
    }
}

impl<const N: usize> Source for View<'_, N> {
    fn file_len(&self) -> u64 {
        self.file_len
    }

    fn some(&self, offset: u64, need: usize, want: u64) -> Result<&[u8], Miss> {
        if need == 0 && offset <= self.file_len {
            return Ok(&[]);
        }
        let mut start = 0_usize;
        for (index, page) in self.pages.iter().enumerate() {
            let skip = offset.checked_sub(page.offset).and_then(|skip| usize::try_from(skip).ok());
            let len = skip.and_then(|skip| page.len.checked_sub(skip)).filter(|&len| need <= len);
            if let (Some(skip), Some(len)) = (skip, len) {
                let from = start.saturating_add(skip);
                if let Some(bytes) = self.memory.get(from..from.saturating_add(len)) {
                    self.looks.set(self.looks.get().saturating_add(1));
                    page.look.set(self.looks.get());
                    self.pins.set(self.pins.get() | bit(index));
                    return Ok(at_most(bytes, need, want));
                }
            }
            start = start.saturating_add(self.page_len);
        }
        Err(self.miss(offset, need))
    }

    fn pins(&self) -> Pins {
        Pins(self.pins.get())
    }

    fn set_pins(&self, pins: Pins) {
        self.pins.set(pins.0);
    }
}

fn bit(index: usize) -> u32 {
    u32::try_from(index).ok().and_then(|index| 1_u32.checked_shl(index)).unwrap_or(0)
}
