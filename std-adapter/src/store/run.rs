//! Bytes that wait to be written, and their offset.

use crate::posix::PosixFile;
use std::io;
use striae_core::store::usize_to_u64;

/// Consecutive bytes that wait to be written. Bytes that cannot be written stay and are tried
/// again.
#[derive(Debug, Default)]
pub(crate) struct Run {
    /// Offset of the first byte. Above [`MAX_LEN`](crate::posix::MAX_LEN), it is never written.
    pub(super) start: u64,
    pub(super) bytes: Vec<u8>,
}

impl Run {
    /// An empty run at `start`.
    pub(crate) const fn at(start: u64) -> Self {
        Self { start, bytes: Vec::new() }
    }

    /// Number of waiting bytes.
    pub(crate) const fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Offset of the bytes that would follow.
    #[inline]
    pub(crate) fn end(&self) -> u64 {
        // Exact: neither a file nor memory is longer than `i64::MAX`.
        self.start.saturating_add(usize_to_u64(self.bytes.len()))
    }

    /// Adds bytes that follow.
    #[inline]
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Moves the empty run to `start`.
    pub(crate) const fn go_to(&mut self, start: u64) {
        self.start = start;
    }

    /// Writes the waiting bytes.
    pub(crate) fn write(&mut self, file: &PosixFile) -> io::Result<()> {
        let mut done = 0;
        let mut failed = Ok(());
        while let Some(rest) = self.bytes.get(done..).filter(|rest| !rest.is_empty()) {
            let place = self.start.saturating_add(usize_to_u64(done)); // exact, as the end is
            match file.write_some_at(place, rest) {
                Ok(n) => done = done.saturating_add(n), // exact: of these bytes
                Err(error) => {
                    failed = Err(error);
                    break;
                }
            }
        }
        self.written(done);
        failed
    }

    /// Removes the first `done` bytes, which are in the file now.
    pub(super) fn written(&mut self, done: usize) {
        let done = done.min(self.bytes.len());
        self.bytes.drain(..done);
        self.start = self.start.saturating_add(usize_to_u64(done));
    }
}
