//! A file whose small writes are gathered into long ones.

mod ahead;
#[cfg(test)]
mod tests;

use super::Run;
use crate::posix::{MAX_LEN, PosixFile};
use ahead::Ahead;
use rustix::io::Errno;
use std::io;
use std::ops::{Deref, Range};
use std::sync::atomic::{AtomicUsize, Ordering};
use striae_core::span::Span;
use striae_core::store::{ReadAt, WriteAt, usize_to_u64};

/// Writes of at least this length are not copied into the buffer first.
const LONG: usize = 1 << 16;

/// Writes of at least this length that do not follow the gathered bytes are not copied either:
/// those must be written first in any case.
const APART: usize = 1 << 12;

/// Long pieces end at multiples of this, if the buffer is long enough: at the end of a page, or of
/// several, as file systems keep them.
const PIECE: usize = 1 << 16;

/// The longest gap before a write after the end of the file that is filled with zeros, so that the
/// bytes on both sides are written at once.
const GAP: u64 = 1 << 12;

/// Bytes at the start of the file that are kept in memory; formats change these most often.
const FRONT: usize = 256;

/// A file that is written in long pieces; nothing else may write to it in the meantime.
///
/// Consecutive writes are gathered. The gathered bytes are written when other bytes come that do
/// not follow them, and when writes are to be ordered or synced. Reads through this see the
/// gathered bytes as part of the file. Bytes that cannot be written stay in memory and are tried
/// again.
#[derive(Debug)]
pub(crate) struct Gatherer<F> {
    file: F,
    /// The most bytes that are gathered.
    capacity: AtomicUsize,
    /// The gathered bytes.
    run: Run,
    /// The start of the file as the writer sees it, if known. Changes that are close to each other
    /// there are written in one piece, with the bytes between them.
    front: Option<[u8; FRONT]>,
    /// Length of the file as the writer sees it, with the gathered bytes but those that were
    /// [appended](Self::append) since it was last [settled](Self::settle).
    settled_len: u64,
    /// Length of the file on disk. From the length that the writer sees on, it has zeros.
    file_len: u64,
    ahead: Ahead,
}

impl<F: Deref<Target = PosixFile>> Gatherer<F> {
    /// Gathers at most `capacity` bytes for `file`.
    pub(crate) fn new(file: F, capacity: usize) -> io::Result<Self> {
        let (len, mut front) = (file.size()?, [0; FRONT]);
        let count = usize::try_from(len).unwrap_or(FRONT).min(FRONT);
        let read = file.read_exact_at(0, front.get_mut(..count).unwrap_or_default());
        let front = read.is_ok().then_some(front);
        let (run, file_len, ahead) = (Run::at(0), len, Ahead::new(len));
        let capacity = AtomicUsize::new(capacity);
        Ok(Self { file, capacity, run, front, settled_len: len, file_len, ahead })
    }

    /// Gathers at most `capacity` bytes from now on. What was gathered already is written with the
    /// next bytes, if it is more.
    pub(crate) fn set_capacity(&self, capacity: usize) {
        self.capacity.store(capacity, Ordering::Relaxed);
    }

    fn capacity(&self) -> usize {
        self.capacity.load(Ordering::Relaxed)
    }

    /// The file, without the gathered bytes.
    pub(crate) fn file(&self) -> &PosixFile {
        &self.file
    }

    /// What the file was made of.
    pub(crate) const fn locked(&self) -> &F {
        &self.file
    }

    /// Cuts off the zeros that were written ahead. Nothing is written after this.
    pub(crate) fn trim(&self) -> io::Result<()> {
        let len = self.len();
        if self.file_len > len { self.file.set_size(len) } else { Ok(()) }
    }

    /// Runs `copy`, which puts `len` bytes at `offset` of the file itself; nothing may be gathered
    /// there.
    pub(crate) fn put<T>(
        &mut self,
        offset: u64,
        len: u64,
        copy: impl FnOnce(&PosixFile) -> io::Result<T>,
    ) -> io::Result<T> {
        self.flush()?;
        if offset < usize_to_u64(FRONT) {
            self.front = None;
        }
        let copied = copy(&self.file)?;
        let end = Span::new(offset, len).ok_or(Errno::FBIG)?.end();
        if self.file.size()? < end {
            self.file.set_size(end)?; // the last bytes were a hole
        }
        self.settled_len = self.settled_len.max(end);
        Ok(copied)
    }

    /// Drops the gathered bytes at and after `offset`, which are not needed any more.
    pub(crate) fn forget(&mut self, offset: u64) {
        self.settle();
        let kept = usize::try_from(offset.saturating_sub(self.run.start)).unwrap_or(usize::MAX);
        self.run.bytes.truncate(kept);
        let gathered = if self.run.is_empty() { 0 } else { self.run.end() };
        self.settled_len = self.settled_len.min(self.file_len.max(gathered));
    }

    /// Length of the file as the writer sees it.
    fn len(&self) -> u64 {
        let gathered = if self.run.is_empty() { 0 } else { self.run.end() };
        self.settled_len.max(gathered)
    }

    /// Notes the length of the file, before the gathered bytes become fewer.
    fn settle(&mut self) {
        self.settled_len = self.len();
    }

    /// Number of bytes that can be gathered from the start of the run.
    fn room(&self) -> usize {
        if self.capacity() < PIECE {
            return self.capacity();
        }
        let past = self.run.start.checked_rem(usize_to_u64(PIECE)).unwrap_or(0);
        self.capacity().saturating_sub(usize::try_from(past).unwrap_or(0))
    }

    /// Gathers bytes that follow the others, if there is room.
    #[inline]
    fn append(&mut self, offset: u64, bytes: &[u8]) -> bool {
        let follows = offset.wrapping_sub(self.run.start) == usize_to_u64(self.run.len());
        let is_usual = follows && bytes.len() < LONG && offset >= usize_to_u64(FRONT);
        let new_len = self.run.len().wrapping_add(bytes.len()); // exact: both are in memory
        // A run that is not near its end need not know where that is.
        let is_small = new_len.saturating_add(PIECE) <= self.capacity();
        let fits = is_usual && (is_small || new_len <= self.room());
        if fits {
            self.run.push(bytes);
        }
        fits
    }

    /// Gathers bytes that replace some of the gathered ones, or that follow after a short gap.
    fn merge(&mut self, offset: u64, bytes: &[u8]) -> bool {
        let end = self.run.end();
        let skip = offset.checked_sub(self.run.start).and_then(|skip| usize::try_from(skip).ok());
        let Some(skip) = skip.filter(|_| !self.run.is_empty() && bytes.len() < LONG) else {
            return false;
        };
        if skip.checked_add(bytes.len()).is_none_or(|new_len| new_len > self.room()) {
            return false;
        }
        if let Some(gap) = offset.checked_sub(end).filter(|&gap| gap > 0) {
            // Behind the end of the file there are zeros, elsewhere nobody knows.
            if end >= self.len() && gap <= GAP {
                self.run.bytes.resize(skip, 0);
            } else if let Some((front, place)) = self.front_between(end, offset) {
                self.run.push(front.get(place).unwrap_or_default());
            } else {
                return false;
            }
        }
        let there = self.run.bytes.get_mut(skip..).unwrap_or_default();
        let (over, behind) = bytes.split_at(there.len().min(bytes.len()));
        if let Some(there) = there.get_mut(..over.len()) {
            there.copy_from_slice(over);
        }
        self.run.push(behind);
        true
    }

    /// The start of the file, and the range from `end` to `offset` in it, if known.
    fn front_between(&self, end: u64, offset: u64) -> Option<([u8; FRONT], Range<usize>)> {
        let (from, to) = (usize::try_from(end).ok()?, usize::try_from(offset).ok()?);
        self.front.filter(|_| to <= FRONT).map(|front| (front, from..to))
    }

    #[cold]
    fn write_elsewhere(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if offset > MAX_LEN {
            return Err(Errno::FBIG.into());
        }
        let Some(skip) = usize::try_from(offset).ok().filter(|&skip| skip < FRONT) else {
            return self.gather(offset, bytes);
        };
        if let Err(error) = self.gather(offset, bytes) {
            self.front = None; // nobody knows
            return Err(error);
        }
        let front = self.front.as_mut().map_or(&mut [][..], |front| front);
        let places = front.get_mut(skip..).unwrap_or_default();
        let len = places.len().min(bytes.len());
        if let (Some(places), Some(bytes)) = (places.get_mut(..len), bytes.get(..len)) {
            places.copy_from_slice(bytes);
        }
        Ok(())
    }

    fn gather(&mut self, mut offset: u64, mut bytes: &[u8]) -> io::Result<()> {
        if self.merge(offset, bytes) {
            return Ok(());
        }
        let is_apart = !self.run.is_empty() && offset != self.run.end() && bytes.len() >= APART;
        if is_apart || bytes.len() >= LONG.min(self.capacity()) {
            self.flush()?;
            return self.write_through(offset, bytes);
        }
        let free = self.room().saturating_sub(self.run.len());
        if offset == self.run.end()
            && !self.run.is_empty()
            && let Some((front, rest)) = bytes.split_at_checked(free)
        {
            // If it cannot be written, it was not accepted: it is in the place of what comes then.
            self.run.push(front);
            (offset, bytes) = (self.run.end(), rest);
        }
        self.flush()?;
        self.run.start = offset;
        self.run.push(bytes);
        Ok(())
    }

    /// Writes bytes to the file immediately.
    fn write_through(&mut self, mut offset: u64, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let n = self.file.write_some_at(offset, bytes)?;
            bytes = bytes.get(n..).unwrap_or_default();
            offset = offset.saturating_add(usize_to_u64(n)); // exact: those are in the file
            self.settled_len = self.settled_len.max(offset);
            self.file_len = self.file_len.max(offset);
        }
        Ok(())
    }

    /// Writes the gathered bytes. Bytes that cannot be written stay.
    fn flush(&mut self) -> io::Result<()> {
        if self.run.is_empty() {
            return Ok(());
        }
        self.settle();
        self.write_ahead();
        let (start, written) = (self.run.start, self.run.write(&self.file));
        if self.run.start > start {
            self.file_len = self.file_len.max(self.run.start);
        }
        written
    }

    /// If the file has grown and is expected to grow further, writes the gathered bytes with zeros
    /// after them. A failure is ignored: there is only less room.
    fn write_ahead(&mut self) {
        let (len, end) = (self.run.len(), self.run.end());
        if end <= self.file_len || end != self.len() {
            return;
        }
        let Some(zeros) = self.ahead.behind(end) else { return };
        self.run.bytes.resize(len.saturating_add(zeros), 0);
        let written = self.file.write_some_at(self.run.start, &self.run.bytes);
        self.run.bytes.truncate(len);
        match written {
            Ok(n) => {
                let there = self.run.start.saturating_add(usize_to_u64(n)); // exact: in the file
                self.file_len = self.file_len.max(there);
                self.run.written(n);
            }
            Err(_) => self.ahead.stop(),
        }
    }
}

impl<F: Deref<Target = PosixFile>> ReadAt for Gatherer<F> {
    type Error = io::Error;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let len = usize::try_from(self.len().saturating_sub(offset)).unwrap_or(usize::MAX);
        let len = len.min(buf.len());
        let buf = buf.get_mut(..len).unwrap_or_default();
        let (start, end) = (self.run.start, self.run.end());
        if (start..end).contains(&offset) {
            let skip = usize::try_from(offset.saturating_sub(start)).unwrap_or(usize::MAX);
            let run = self.run.bytes.get(skip..).unwrap_or_default();
            let n = run.len().min(buf.len());
            if let (Some(to), Some(from)) = (buf.get_mut(..n), run.get(..n)) {
                to.copy_from_slice(from);
            }
            return Ok(n);
        }
        // Up to what was gathered.
        let before = start.checked_sub(offset).filter(|_| !self.run.is_empty());
        let before = before.and_then(|before| usize::try_from(before).ok()).unwrap_or(usize::MAX);
        let buf = match buf.get_mut(..before.min(len)) {
            Some(buf) if !buf.is_empty() => buf,
            _ => return Ok(0),
        };
        match self.file.read_at(offset, buf)? {
            0 => {
                buf.fill(0); // the file will be so long when what was gathered is written
                Ok(buf.len())
            }
            n => Ok(n),
        }
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.len())
    }
}

impl<F: Deref<Target = PosixFile>> WriteAt for Gatherer<F> {
    #[inline]
    fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() || self.append(offset, bytes) {
            return Ok(());
        }
        self.write_elsewhere(offset, bytes)
    }

    fn set_size(&mut self, len: u64) -> io::Result<()> {
        if len < self.run.end() {
            self.flush()?;
            self.run.start = len; // of nothing
        }
        if len < self.len() || len > self.file_len {
            self.file.set_size(len)?;
            self.file_len = len;
        }
        self.settled_len = len;
        let cut = usize::try_from(len).unwrap_or(FRONT);
        let front = self.front.as_mut().and_then(|front| front.get_mut(cut..));
        front.unwrap_or_default().fill(0);
        Ok(())
    }

    fn order(&mut self) -> io::Result<()> {
        self.flush()
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.check_syncs()?;
        self.flush()?;
        self.file.sync()?;
        if self.file.is_durable() {
            self.ahead.synced(self.len());
        }
        Ok(())
    }
}
