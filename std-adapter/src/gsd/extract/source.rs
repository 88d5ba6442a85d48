//! Reading chunks for the extraction.

use crate::copy::{Copier, Place};
use crate::error::Error;
use crate::gsd::File;
use crate::posix::PosixFile;
use std::path::Path;
use striae_core::span::Span;
use striae_core::store::usize_to_u64;

/// Bytes of the window for short chunks, which mostly lie side by side.
const WINDOW: usize = 1 << 18;

/// The length in bytes from which a chunk is copied alone.
pub(super) const LONG: u64 = 1 << 16;

/// A file whose chunks are read.
pub(super) struct Source<'a> {
    file: &'a File,
    copier: Copier,
    progress: &'a dyn Fn(u64),
    window: Vec<u8>,
    window_at: u64,
    /// The row of which the next chunk consists, if it is no chunk of the file.
    default: Option<Vec<u8>>,
}

impl<'a> Source<'a> {
    pub(super) fn new(file: &'a File, copier: Copier, progress: &'a dyn Fn(u64)) -> Self {
        Self { file, copier, progress, window: Vec::new(), window_at: 0, default: None }
    }

    /// Sets the row of which the next chunk consists, if it is no chunk of the file; its span says
    /// its length.
    pub(super) fn set_default(&mut self, row: Option<&[u8]>) {
        self.default = row.map(<[u8]>::to_vec);
    }

    /// The bytes of a chunk that is shorter than [`LONG`].
    pub(super) fn bytes(&mut self, span: Span) -> Result<&[u8], Error> {
        if let Some(row) = &self.default {
            (self.progress)(span.len());
            let len = usize::try_from(span.len()).unwrap_or(usize::MAX);
            self.window = row.iter().copied().cycle().take(len).collect();
            self.window_at = u64::MAX; // it is of no place in the file
            return Ok(&self.window);
        }
        if self.in_window(span).is_none() {
            self.fill(span)?;
        }
        (self.progress)(span.len());
        Ok(self.in_window(span).unwrap_or_default())
    }

    fn in_window(&self, span: Span) -> Option<&[u8]> {
        let skip = usize::try_from(span.offset().checked_sub(self.window_at)?).ok()?;
        self.window.get(skip..)?.get(..usize::try_from(span.len()).ok()?)
    }

    /// Reads the chunk; if it is near the last read, also the bytes after it, up to a whole window.
    /// chunk.
    fn fill(&mut self, span: Span) -> Result<(), Error> {
        let len = usize_to_u64(WINDOW);
        let skipped = span.offset().checked_sub(self.window_at);
        let left = Span::between(span.offset(), self.file.head().file_len);
        let near = left.filter(|_| skipped.is_some_and(|skipped| skipped / 2 < len));
        let span = near.and_then(|left| left.part(0, len.min(left.len()))).unwrap_or(span);
        self.window_at = span.offset();
        self.window.clear();
        self.window.resize(usize::try_from(span.len()).unwrap_or(WINDOW), 0);
        let read = self.file.read_span(span, &mut self.window);
        if read.is_err() {
            self.window.clear();
        }
        read.map(drop)
    }

    /// Copies a chunk to an offset in `to`, whose path for errors is `path`. Holes stay holes.
    pub(super) fn copy(
        &mut self,
        span: Span,
        to: &PosixFile,
        offset: u64,
        path: &Path,
    ) -> Result<(), Error> {
        if let Some(row) = &self.default {
            let written = write_rows(row, span.len(), (to, offset), self.progress);
            return written.map_err(|error| Error::new(path, error));
        }
        let place = Place { file: to, offset, zeros: true };
        let copied = self.copier.copy(self.file.store().file(), span, &place, self.progress);
        copied.map_err(|error| error.of_files(self.file.path(), path))
    }
}

/// Writes bytes that repeat a row. Zeros stay a hole.
fn write_rows(
    row: &[u8],
    len: u64,
    (to, offset): (&PosixFile, u64),
    progress: &dyn Fn(u64),
) -> std::io::Result<()> {
    if row.iter().all(|byte| *byte == 0) {
        progress(len);
        return Ok(());
    }
    let piece: Vec<_> = row.repeat(WINDOW.checked_div(row.len()).unwrap_or(0).max(1));
    let mut done = 0_u64;
    while done < len {
        let left = usize::try_from(len.saturating_sub(done)).unwrap_or(usize::MAX);
        let bytes = piece.get(..left).unwrap_or(&piece);
        to.write_all_at(offset.saturating_add(done), bytes)?;
        done = done.saturating_add(usize_to_u64(bytes.len()));
        progress(usize_to_u64(bytes.len()));
    }
    Ok(())
}
