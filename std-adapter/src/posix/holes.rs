//! Which parts of a file are holes.

use super::PosixFile;
use rustix::fs::SeekFrom;
use rustix::io::Errno;

/// Start and end of the next data at or after `at`, in a part of the file that ends at `last`. Both
/// are `last` if only a hole follows there, and `None` is a hole up to the end of the file.
pub(crate) fn next_data(file: &PosixFile, at: u64, last: u64) -> Option<(u64, u64)> {
    let start = match rustix::fs::seek(file, SeekFrom::Data(at)) {
        Ok(start) => start.clamp(at, last),
        Err(Errno::NXIO) => return None,
        Err(_) => return Some((at, last)), // the file system does not know its holes
    };
    match rustix::fs::seek(file, SeekFrom::Hole(start)) {
        Ok(end) if end > start => Some((start, end.min(last))),
        _ => Some((start, last)),
    }
}

/// Looks for data as [`next_data`] does, and remembers what it found last: a part of a file without
/// holes. On tmpfs a search looks at each page up to the next hole, and spans are often adjacent.
/// If a hole is made later, its zeros are read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HoleSearch {
    file: (u64, u64),
    start: u64,
    end: u64,
}

impl HoleSearch {
    pub(crate) const fn new() -> Self {
        Self { file: (0, 0), start: 0, end: 0 }
    }

    pub(crate) fn next_data(&mut self, file: &PosixFile, at: u64, last: u64) -> Option<(u64, u64)> {
        let is_known = self.file == file.identity() && self.start <= at && at < self.end;
        if !is_known {
            let (start, end) = next_data(file, at, u64::MAX)?;
            *self = Self { file: file.identity(), start, end };
        }
        Some((self.start.max(at).min(last), self.end.min(last)))
    }
}
