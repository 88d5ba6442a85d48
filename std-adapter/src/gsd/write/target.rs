//! A file as the store that core's writer writes to: it gathers what comes, and writes it in long
//! pieces.

use crate::posix::PosixFile;
use std::io;
use striae_core::store::{ReadAt, WriteAt};

/// What is as long as this is not copied into the buffer first.
const LONG: usize = 1 << 16;

/// The longest gap in front of a write behind the end of the file that is filled with zeros, so
/// that what comes in front of it and behind it is written at once.
const GAP: u64 = 1 << 12;

/// A file that is written in long pieces.
///
/// Writes that follow one another are gathered; what was gathered is written when something comes
/// that does not belong behind it, and before a sync. Whoever reads sees it as if it were in the
/// file. What cannot be written stays here and is tried again.
#[derive(Debug)]
pub(super) struct Target {
    file: PosixFile,
    syncs: bool,
    /// Most bytes that are gathered.
    capacity: usize,
    /// What was gathered, which belongs at `start`.
    run: Vec<u8>,
    start: u64,
    /// Length of the file as the writer sees it, with what was gathered.
    len: u64,
    /// Set when the disk failed: it does not say so twice.
    sync_failed: bool,
}

impl Target {
    /// Gathers at most `capacity` bytes for `file`, and asks the disk to be durable if `syncs`.
    pub(super) fn new(file: PosixFile, capacity: usize, syncs: bool) -> io::Result<Self> {
        let len = file.size()?;
        let (run, start, sync_failed) = (Vec::new(), 0, false);
        Ok(Self { file, syncs, capacity, run, start, len, sync_failed })
    }

    /// Whether what was written may be lost, and nothing tells.
    pub(super) const fn sync_failed(&self) -> bool {
        self.sync_failed
    }

    /// The byte behind what was gathered.
    fn end(&self) -> u64 {
        self.start.saturating_add(to_u64(self.run.len()))
    }

    /// Gathers bytes that belong right behind the others, if there is room.
    #[inline]
    fn append(&mut self, offset: u64, bytes: &[u8]) -> bool {
        let free = self.capacity.saturating_sub(self.run.len());
        let fits = offset == self.end() && bytes.len() <= free && bytes.len() < LONG;
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
        // Behind the end of the file there are zeros, elsewhere nobody knows.
        let is_gap = offset > end && offset.saturating_sub(end) <= GAP && end >= self.len;
        if new_len > self.capacity || (offset > end && !is_gap) {
            return false;
        }
        if new_len > self.run.len() {
            self.run.resize(new_len, 0);
        }
        if let Some(place) = self.run.get_mut(skip..new_len) {
            place.copy_from_slice(bytes);
        }
        self.len = self.len.max(self.end());
        true
    }

    #[cold]
    fn write_elsewhere(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() || self.merge(offset, bytes) {
            return Ok(());
        }
        self.flush()?;
        if bytes.len() >= LONG.min(self.capacity) {
            self.file.write_all_at(offset, bytes)?;
        } else {
            self.start = offset;
            self.run.extend_from_slice(bytes);
        }
        self.len = self.len.max(offset.saturating_add(to_u64(bytes.len())));
        Ok(())
    }

    /// Writes what was gathered. What fails stays.
    fn flush(&mut self) -> io::Result<()> {
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
        self.run.drain(..done.min(self.run.len()));
        self.start = self.start.saturating_add(to_u64(done));
        failed
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
        if self.append(offset, bytes) {
            return Ok(());
        }
        self.write_elsewhere(offset, bytes)
    }

    fn set_size(&mut self, len: u64) -> io::Result<()> {
        if len < self.end() {
            self.flush()?;
        }
        self.file.set_size(len)?;
        self.len = len;
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        if self.sync_failed {
            return Err(io::Error::other("an earlier sync failed, and what it lost is not known"));
        }
        self.flush()?;
        if self.syncs {
            self.file.sync().inspect_err(|_| self.sync_failed = true)?;
        }
        Ok(())
    }
}

fn to_u64(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}
