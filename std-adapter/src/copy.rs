//! Moving bytes from file to file, in the kernel where it can.

use crate::posix::PosixFile;
use std::fs::File;
use std::io::{self, Write};
use striae_core::span::Span;
use striae_core::store::ReadAt;

/// Most bytes that one call moves, so that progress is seen.
const PIECE: u64 = 8 << 20;

/// Why bytes were not copied, and by which file's fault.
#[derive(Debug)]
pub(crate) enum CopyError {
    /// They could not be read.
    Read(io::Error),
    /// The file ended before.
    Ended {
        /// Where a byte was expected.
        offset: u64,
    },
    /// They could not be written.
    Write(io::Error),
}

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
    /// See [`CopyError`].
    pub(crate) fn append(
        &mut self,
        from: &PosixFile,
        span: Span,
        progress: &dyn Fn(u64),
    ) -> Result<(), CopyError> {
        let mut offset = span.offset();
        while offset < span.end() {
            let len = span.end().saturating_sub(offset).min(PIECE);
            let n = match self.append_piece(from, offset, len)? {
                0 => return Err(CopyError::Ended { offset }),
                n => u64::try_from(n).unwrap_or(len),
            };
            progress(n);
            offset = offset.saturating_add(n);
        }
        Ok(())
    }

    fn append_piece(
        &mut self,
        from: &PosixFile,
        offset: u64,
        len: u64,
    ) -> Result<usize, CopyError> {
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        if self.in_kernel {
            let mut at = offset;
            let copied = rustix::io::retry_on_intr(|| {
                rustix::fs::copy_file_range(from, Some(&mut at), &self.to, None, len)
            });
            match copied {
                Ok(n @ 1..) => return Ok(n),
                // It may refuse for many reasons, or say 0 on some file systems of the kernel's own.
                // Where it fails in earnest, reading or writing does so too, and says which.
                _ => self.in_kernel = false,
            }
        }
        self.buf.resize(1 << 20, 0);
        let len = len.min(self.buf.len());
        let piece = self.buf.get_mut(..len).unwrap_or_default();
        let n = from.read_at(offset, piece).map_err(CopyError::Read)?;
        self.to.write_all(piece.get(..n).unwrap_or_default()).map_err(CopyError::Write)?;
        Ok(n)
    }
}
