//! Bytes of a stream that were read before they were asked for.

use std::fmt;

/// The bytes after the last short read of a stream, so that short reads in order are few calls of
/// the operating system.
///
/// A clone has no bytes: it reads its own.
#[derive(Default)]
pub(super) struct Ahead {
    /// Memory; the first `len` bytes are those of the stream from `begin` on.
    memory: Vec<u8>,
    len: usize,
    begin: u64,
    /// The position after the last read of the file, and how many bytes that read asked for.
    end: u64,
    last: usize,
}

impl Ahead {
    /// The most bytes that are read ahead through the page cache.
    pub(super) const CACHED: usize = 1 << 14;

    /// The most bytes that are read ahead past it, where each read waits for the disk.
    pub(super) const DIRECT: usize = 1 << 16;

    /// The least bytes that are read ahead.
    const LEAST: usize = 1 << 12;

    /// The bytes from `position` on that are here.
    #[inline]
    pub(super) fn at(&self, position: u64) -> Option<&[u8]> {
        let skip = usize::try_from(position.checked_sub(self.begin)?).ok()?;
        self.memory.get(..self.len)?.get(skip..).filter(|bytes| !bytes.is_empty())
    }

    /// Memory for the bytes from `position` on, at most `most` of them, if a read of `asked` bytes
    /// there is one to read ahead for: it is short, and goes on where the last one ended. Bytes
    /// that were here are gone.
    pub(super) fn room(&mut self, position: u64, asked: usize, most: usize) -> Option<&mut [u8]> {
        let is_next = position == self.end;
        let len = self.last.saturating_mul(2).clamp(Self::LEAST, most);
        if !is_next || asked > len >> 1 {
            return None;
        }
        (self.len, self.begin) = (0, position);
        if self.memory.len() < len {
            self.memory.try_reserve_exact(len.saturating_sub(self.memory.len())).ok()?;
            self.memory.resize(len, 0);
        }
        self.memory.get_mut(..len)
    }

    /// Says that the first `n` bytes of [`room`](Self::room) were read.
    pub(super) const fn filled(&mut self, n: usize, end: u64) {
        (self.len, self.last, self.end) = (n, n, end);
    }

    /// Says that `n` bytes before `end` were read elsewhere.
    pub(super) const fn passed(&mut self, n: usize, end: u64) {
        (self.last, self.end) = (n, end);
    }
}

impl Clone for Ahead {
    fn clone(&self) -> Self {
        Self { end: self.end, ..Self::default() }
    }
}

impl fmt::Debug for Ahead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ahead")
            .field("begin", &self.begin)
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}
