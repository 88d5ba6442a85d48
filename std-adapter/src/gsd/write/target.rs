//! A file as the store that core's writer writes to: it gathers what comes, and writes it in long
//! pieces.

mod ahead;
#[cfg(test)]
mod tests;

use super::lock::unlock;
use crate::posix::PosixFile;
use ahead::Ahead;
use std::io;
use std::ops::Range;
use striae_core::store::{ReadAt, WriteAt};

/// What is as long as this is not copied into the buffer first.
const LONG: usize = 1 << 16;

/// Long pieces end at multiples of this, if there is room for so much: at the end of a page, and of
/// several, as file systems keep them.
const PIECE: usize = 1 << 16;

/// The longest gap in front of a write behind the end of the file that is filled with zeros, so
/// that what comes in front of it and behind it is written at once.
const GAP: u64 = 1 << 12;

/// Bytes at the front of the file that are kept in memory, where formats have what they change most.
const FRONT: usize = 256;

/// A file that is written in long pieces.
///
/// Writes that follow one another are gathered; what was gathered is written when something comes
/// that does not belong behind it, and when writes are to be ordered or synced. Whoever reads by this
/// sees it as if it were in the file. What cannot be written stays here
/// and is tried again.
#[derive(Debug)]
pub(super) struct Target {
    file: PosixFile,
    syncs: bool,
    /// Most bytes that are gathered.
    capacity: usize,
    /// What was gathered, which belongs at `start`.
    run: Vec<u8>,
    start: u64,
    /// The front of the file as the writer sees it, if it is known: changes that are near each other
    /// there are written at once, with what is in between.
    front: Option<[u8; FRONT]>,
    /// Length of the file as the writer sees it, with what was gathered.
    len: u64,
    /// Length of the file. Behind `len`, it has zeros.
    file_len: u64,
    ahead: Ahead,
}

impl Target {
    /// Gathers at most `capacity` bytes for `file`, and asks the disk to be durable if `syncs`.
    pub(super) fn new(file: PosixFile, capacity: usize, syncs: bool) -> io::Result<Self> {
        let (len, mut front) = (file.size()?, [0; FRONT]);
        let count = usize::try_from(len).unwrap_or(FRONT).min(FRONT);
        let read = file.read_exact_at(0, front.get_mut(..count).unwrap_or_default());
        let front = read.is_ok().then_some(front);
        let ahead = Ahead::new(len);
        let (run, start, file_len) = (Vec::new(), 0, len);
        Ok(Self { file, syncs, capacity, run, start, front, len, file_len, ahead })
    }

    /// The file, which has what was not gathered.
    pub(super) const fn file(&self) -> &PosixFile {
        &self.file
    }

    /// Cuts off what was written ahead.
    pub(super) fn trim(&mut self) -> io::Result<()> {
        if self.file_len > self.len {
            self.file.set_size(self.len)?;
            self.file_len = self.len;
        }
        Ok(())
    }

    /// Lets `copy` bring `len` bytes to `offset` of the file itself, of which nothing was gathered.
    pub(super) fn put<T>(
        &mut self,
        offset: u64,
        len: u64,
        copy: impl FnOnce(&PosixFile) -> io::Result<T>,
    ) -> io::Result<T> {
        self.flush()?;
        if offset < to_u64(FRONT) {
            self.front = None;
        }
        let copied = copy(&self.file)?;
        let end = offset.saturating_add(len);
        if self.file.size()? < end {
            self.file.set_size(end)?; // the last bytes were a hole
        }
        self.len = self.len.max(end);
        Ok(copied)
    }

    /// Drops what was gathered for `offset` and behind it, which nobody needs any more.
    pub(super) fn forget(&mut self, offset: u64) {
        let kept = usize::try_from(offset.saturating_sub(self.start)).unwrap_or(usize::MAX);
        self.run.truncate(kept);
        let gathered = if self.run.is_empty() { 0 } else { self.end() };
        self.len = self.len.min(self.file_len.max(gathered));
    }

    /// The byte behind what was gathered.
    fn end(&self) -> u64 {
        self.start.saturating_add(to_u64(self.run.len()))
    }

    /// How much can be gathered at `start`.
    fn room(&self) -> usize {
        if self.capacity < PIECE {
            return self.capacity;
        }
        let past = self.start.checked_rem(to_u64(PIECE)).unwrap_or(0);
        self.capacity.saturating_sub(usize::try_from(past).unwrap_or(0))
    }

    /// Gathers bytes that belong right behind the others, if there is room.
    #[inline]
    fn append(&mut self, offset: u64, bytes: &[u8]) -> bool {
        let free = self.room().saturating_sub(self.run.len());
        let fits = offset == self.end() && bytes.len() <= free && bytes.len() < LONG;
        let fits = fits && offset >= to_u64(FRONT);
        if fits {
            self.run.extend_from_slice(bytes);
            self.len = self.len.max(self.end());
        }
        fits
    }

    /// Gathers bytes that replace some of the others, or stand a little behind them.
    fn merge(&mut self, offset: u64, bytes: &[u8]) -> bool {
        let end = self.end();
        let skip = offset.checked_sub(self.start).and_then(|skip| usize::try_from(skip).ok());
        let Some(skip) = skip.filter(|_| !self.run.is_empty() && bytes.len() < LONG) else {
            return false;
        };
        let new_len = skip.saturating_add(bytes.len());
        if new_len > self.room() {
            return false;
        }
        if offset > end {
            // Behind the end of the file there are zeros, elsewhere nobody knows.
            let is_behind = end >= self.len && offset.saturating_sub(end) <= GAP;
            if is_behind {
                self.run.resize(skip, 0);
            } else if let Some((front, place)) = self.front_between(end, offset) {
                self.run.extend_from_slice(front.get(place).unwrap_or_default());
            } else {
                return false;
            }
        }
        let there = self.run.get_mut(skip..).unwrap_or_default();
        let (over, behind) = bytes.split_at(there.len().min(bytes.len()));
        there.iter_mut().zip(over).for_each(|(to, from)| *to = *from);
        self.run.extend_from_slice(behind);
        self.len = self.len.max(self.end());
        true
    }

    /// The front of the file, and the range from `end` to `offset` of it, if that is known.
    fn front_between(&self, end: u64, offset: u64) -> Option<([u8; FRONT], Range<usize>)> {
        let (from, to) = (usize::try_from(end).ok()?, usize::try_from(offset).ok()?);
        self.front.filter(|_| to <= FRONT).map(|front| (front, from..to))
    }

    #[cold]
    fn write_elsewhere(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let Some(skip) = usize::try_from(offset).ok().filter(|&skip| skip < FRONT) else {
            return self.gather(offset, bytes);
        };
        if let Err(error) = self.gather(offset, bytes) {
            self.front = None; // nobody knows
            return Err(error);
        }
        let front = self.front.as_mut().map_or(&mut [][..], |front| front);
        let places = front.iter_mut().skip(skip);
        places.zip(bytes).for_each(|(place, byte)| *place = *byte);
        Ok(())
    }

    fn gather(&mut self, mut offset: u64, mut bytes: &[u8]) -> io::Result<()> {
        if self.merge(offset, bytes) {
            return Ok(());
        }
        if bytes.len() >= LONG.min(self.capacity) {
            self.flush()?;
            return self.write_through(offset, bytes);
        }
        let free = self.room().saturating_sub(self.run.len());
        if offset == self.end()
            && !self.run.is_empty()
            && let Some((front, rest)) = bytes.split_at_checked(free)
        {
            // If it cannot be written, it was not accepted: it is in the place of what comes then.
            self.run.extend_from_slice(front);
            self.len = self.len.max(self.end());
            (offset, bytes) = (self.end(), rest);
        }
        self.flush()?;
        self.start = offset;
        self.run.extend_from_slice(bytes);
        self.len = self.len.max(self.end());
        Ok(())
    }

    /// Writes bytes to the file at once.
    fn write_through(&mut self, mut offset: u64, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let n = self.file.write_some_at(offset, bytes)?;
            bytes = bytes.get(n..).unwrap_or_default();
            offset = offset.saturating_add(to_u64(n));
            self.len = self.len.max(offset);
            self.file_len = self.file_len.max(offset);
        }
        Ok(())
    }

    /// Writes what was gathered. What fails stays.
    fn flush(&mut self) -> io::Result<()> {
        self.write_ahead();
        let mut done = 0;
        let mut failed = Ok(());
        while let Some(rest) = self.run.get(done..).filter(|rest| !rest.is_empty()) {
            match self.file.write_some_at(self.start.saturating_add(to_u64(done)), rest) {
                Ok(n) => done = done.saturating_add(n),
                Err(error) => {
                    failed = Err(error);
                    break;
                }
            }
        }
        self.flushed(done);
        failed
    }

    /// The first `done` bytes of what was gathered are in the file.
    fn flushed(&mut self, done: usize) {
        if done == 0 {
            return;
        }
        self.run.drain(..done.min(self.run.len()));
        self.start = self.start.saturating_add(to_u64(done));
        self.file_len = self.file_len.max(self.start);
    }

    /// If the file grows and is to grow further, writes what was gathered with zeros behind it. If
    /// that fails, there is nothing but less room.
    fn write_ahead(&mut self) {
        let (len, end) = (self.run.len(), self.end());
        if len == 0 || end <= self.file_len || end != self.len {
            return;
        }
        let Some(zeros) = self.ahead.behind(end) else { return };
        self.run.resize(len.saturating_add(zeros), 0);
        let written = self.file.write_some_at(self.start, &self.run);
        self.run.truncate(len);
        match written {
            Ok(n) => {
                self.flushed(n.min(len));
                self.file_len =
                    self.file_len.max(end.saturating_add(to_u64(n.saturating_sub(len))));
            }
            Err(_) => self.ahead.stop(),
        }
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        unlock(&self.file);
    }
}

impl ReadAt for Target {
    type Error = io::Error;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let len = usize::try_from(self.len.saturating_sub(offset)).unwrap_or(usize::MAX);
        let len = len.min(buf.len());
        let buf = buf.get_mut(..len).unwrap_or_default();
        if (self.start..self.end()).contains(&offset) {
            let skip = usize::try_from(offset.saturating_sub(self.start)).unwrap_or(usize::MAX);
            let run = self.run.get(skip..).unwrap_or_default();
            let n = run.len().min(buf.len());
            if let (Some(to), Some(from)) = (buf.get_mut(..n), run.get(..n)) {
                to.copy_from_slice(from);
            }
            return Ok(n);
        }
        // Up to what was gathered.
        let before = self.start.checked_sub(offset).filter(|_| !self.run.is_empty());
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
        Ok(self.len)
    }
}

impl WriteAt for Target {
    #[inline]
    fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if !bytes.is_empty() && !self.append(offset, bytes) {
            self.write_elsewhere(offset, bytes)?;
        }
        Ok(())
    }

    fn set_size(&mut self, len: u64) -> io::Result<()> {
        if len < self.end() {
            self.flush()?;
            self.start = len; // of nothing
        }
        if len < self.len || len > self.file_len {
            self.file.set_size(len)?;
            self.file_len = len;
        }
        self.len = len;
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
        if self.syncs {
            self.file.sync()?;
            self.ahead.synced(self.len);
        }
        Ok(())
    }
}

fn to_u64(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}
