//! Moving bytes from file to file, in the kernel where it can.

use crate::posix::PosixFile;
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Write};
use striae_core::span::Span;
use striae_core::store::ReadAt;

/// Most bytes that one call moves, so that progress is seen.
const PIECE: u64 = 8 << 20;

/// Appends spans of other files to a file.
#[derive(Debug)]
pub(crate) struct Appender {
    to: File,
    /// Whether copy_file_range(2) has not refused yet.
    in_kernel: bool,
    buf: Vec<u8>,
}

impl Appender {
    /// Appends to `to`, at its cursor.
    pub(crate) const fn new(to: File) -> Self {
        Self { to, in_kernel: true, buf: Vec::new() }
    }

    /// Appends the bytes of `span` in `from`, and tells `progress` of each piece's length.
    ///
    /// # Errors
    /// The operating system's; [`io::ErrorKind::UnexpectedEof`] if `from` ends before.
    pub(crate) fn append(
        &mut self,
        from: &PosixFile,
        span: Span,
        progress: &dyn Fn(u64),
    ) -> io::Result<()> {
        let mut offset = span.offset();
        while offset < span.end() {
            let len = span.end().saturating_sub(offset).min(PIECE);
            let n = match self.append_piece(from, offset, len)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                n => u64::try_from(n).unwrap_or(len),
            };
            progress(n);
            offset = offset.saturating_add(n);
        }
        Ok(())
    }

    fn append_piece(&mut self, from: &PosixFile, offset: u64, len: u64) -> io::Result<usize> {
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        if self.in_kernel {
            let mut at = offset;
            let copied = rustix::io::retry_on_intr(|| {
                rustix::fs::copy_file_range(from, Some(&mut at), &self.to, None, len)
            });
            match copied {
                // Other file systems, old kernels, containers: copy_file_range(2), ERRORS.
                Err(Errno::XDEV | Errno::NOSYS | Errno::OPNOTSUPP | Errno::INVAL | Errno::PERM) => {
                    self.in_kernel = false
                }
                // Some file systems of the kernel's own give 0 instead of an error.
                Ok(0) => self.in_kernel = false,
                copied => return Ok(copied?),
            }
        }
        self.buf.resize(1 << 20, 0);
        let len = len.min(self.buf.len());
        let piece = self.buf.get_mut(..len).unwrap_or_default();
        let n = from.read_at(offset, piece)?;
        self.to.write_all(piece.get(..n).unwrap_or_default())?;
        Ok(n)
    }
}
