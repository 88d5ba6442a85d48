//! A file whose tables are read through the page cache and whose data may be read past it.

use crate::direct::{self, DirectFile, Order};
use crate::error::{Error, ErrorKind};
use crate::posix::PosixFile;
use crate::shown;
use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use striae_core::embedded_io::ReadExactError;
use striae_core::span::{Span, Stride};
use striae_core::step::DriveError;
use striae_core::store::ReadAt;
use striae_inspect::subject::{read, read_pieces};

/// A file that is opened for direct reading when this is first needed. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Bulk {
    path: Arc<Path>,
    file: Arc<PosixFile>,
    options: Option<direct::OpenOptions>,
    direct: Arc<OnceLock<DirectFile>>,
}

impl Bulk {
    /// Opens the file at `path`. With `Some` options, its data is read directly.
    pub(crate) fn open(path: &Path, options: Option<direct::OpenOptions>) -> Result<Self, Error> {
        let file = PosixFile::open(path).map_err(|error| Error::new(path, error))?;
        Ok(Self::new(path, file, options))
    }

    /// Wraps an open file with the path `path`. With `Some` options, its data is read directly.
    pub(crate) fn new(
        path: impl Into<Arc<Path>>,
        file: PosixFile,
        options: Option<direct::OpenOptions>,
    ) -> Self {
        Self { path: path.into(), file: Arc::new(file), options, direct: Arc::default() }
    }

    /// The file, for reading through the page cache.
    pub(crate) const fn file(&self) -> &Arc<PosixFile> {
        &self.file
    }

    /// The options for direct reading, if data is read directly.
    pub(crate) const fn options(&self) -> Option<direct::OpenOptions> {
        self.options
    }

    /// Whether data is to be read past the page cache where possible.
    pub(crate) const fn is_direct(&self) -> bool {
        self.options.is_some()
    }

    /// The file for direct reading, if data is read directly.
    ///
    /// # Errors
    /// The errors of [`direct::OpenOptions::open`].
    pub(crate) fn direct(&self) -> Result<Option<&DirectFile>, Error> {
        let Some(options) = &self.options else { return Ok(None) };
        if let Some(direct) = self.direct.get() {
            return Ok(Some(direct));
        }
        let new = options.open_again(&self.file)?;
        Ok(Some(self.direct.get_or_init(|| {
            log::info!("{}: read by {}", shown::path(&self.path), new.rung());
            new
        })))
    }

    /// Fills `buf` with data of the file.
    ///
    /// # Errors
    /// [`DriveError::Ended`] if the file is shorter; an error of the operating system.
    pub(crate) fn read_into<F>(
        &self,
        offset: u64,
        buf: &mut [u8],
    ) -> Result<(), DriveError<io::Error, F>> {
        match self.direct().map_err(failed)? {
            _ if buf.is_empty() => Ok(()), // wherever that is
            Some(direct) => direct.read_into(offset, buf).map_err(failed),
            None => read(&*self.file, offset, buf),
        }
    }

    /// Passes all bytes of `spans` to `each`, piece by piece, until `each` returns `false`. Pieces
    /// have any length. With direct reading, the next bytes are read ahead.
    ///
    /// # Errors
    /// [`DriveError::Ended`] if the file is shorter; an error of the operating system.
    pub(crate) fn read_pieces<F>(
        &self,
        spans: impl IntoIterator<Item = Span>,
        window: &mut Vec<u8>,
        each: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<(), DriveError<io::Error, F>> {
        let spans = spans.into_iter().filter(|span| !span.is_empty());
        let Some(direct) = self.direct().map_err(failed)? else {
            let mut more = true;
            for span in spans {
                read_pieces(&*self.file, span, window, &mut |bytes| {
                    more = each(bytes);
                    more
                })?;
                if !more {
                    break;
                }
            }
            return Ok(());
        };
        let mut stream = direct.stream(spans, Order::Asked).map_err(failed)?;
        while let Some(piece) = stream.next_piece().map_err(failed)? {
            if !each(piece.bytes) {
                break;
            }
        }
        Ok(())
    }
}

impl ReadAt for Bulk {
    type Error = io::Error;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(offset, buf)
    }

    fn read_spans_at(
        &self,
        spans: &[Stride],
        buf: &mut [u8],
    ) -> Result<(), ReadExactError<io::Error>> {
        self.file.read_spans_at(spans, buf)
    }

    fn size(&self) -> io::Result<u64> {
        self.file.size()
    }
}

/// Reads data that is asked for mostly in file order: each read also fetches the data that follows.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    window: Vec<u8>,
    /// Offset in the file of the bytes in the window.
    at: u64,
    /// End of the last span.
    last: u64,
    /// Length of the last read.
    len: u64,
    /// Buffer for long spans.
    long: Vec<u8>,
}

impl Ahead {
    /// The longest gap in bytes between spans that are read together.
    const GAP: u64 = 1 << 16;

    /// Spans that are shorter are read as a whole.
    pub(crate) const SHORT: u64 = 1 << 20;

    /// Passes all bytes of `span` to `each`, piece by piece, until `each` returns `false`.
    ///
    /// # Errors
    /// The errors of [`Bulk::read_pieces`].
    pub(crate) fn read_pieces<F>(
        &mut self,
        bulk: &Bulk,
        span: Span,
        each: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<(), DriveError<io::Error, F>> {
        if span.is_empty() {
            return Ok(());
        }
        if span.len() >= Self::most(bulk) {
            self.last = span.end();
            return bulk.read_pieces([span], &mut self.long, each); // which is read ahead by itself
        }
        each(self.bytes(bulk, span)?);
        Ok(())
    }

    /// The bytes of a span that is shorter than [`SHORT`](Self::SHORT).
    ///
    /// # Errors
    /// The errors of [`Bulk::read_pieces`].
    pub(crate) fn bytes<F>(
        &mut self,
        bulk: &Bulk,
        span: Span,
    ) -> Result<&[u8], DriveError<io::Error, F>> {
        if !span.is_empty() {
            match self.in_window(span) {
                Some(_) => self.last = span.end(), // as for most short spans
                None => self.bring(bulk, span)?,
            }
        }
        Ok(self.in_window(span).unwrap_or_default())
    }

    /// Reads bytes into the window that will be asked for in another order, if they are not too
    /// many.
    ///
    /// # Errors
    /// The errors of [`Bulk::read_pieces`].
    pub(crate) fn bring<F>(
        &mut self,
        bulk: &Bulk,
        span: Span,
    ) -> Result<(), DriveError<io::Error, F>> {
        let most = Self::most(bulk);
        if self.in_window(span).is_none() && span.len() < most {
            let is_near = span.offset().checked_sub(self.last).is_some_and(|gap| gap <= Self::GAP);
            let more = if is_near { self.len.saturating_mul(2).min(most) } else { 0 };
            let file_len = bulk.file().size().map_err(DriveError::Store)?;
            let left = Span::between(span.offset(), file_len).unwrap_or(span);
            let wide = left.part(0, more.min(left.len()).max(span.len())).unwrap_or(span);
            if self.fill::<F>(bulk, wide).is_err() {
                self.fill(bulk, span)?; // what is behind it may be what cannot be read
            }
        }
        self.last = span.end();
        Ok(())
    }

    /// The most bytes that are read at once.
    const fn most(bulk: &Bulk) -> u64 {
        if bulk.is_direct() { 4 << 20 } else { Self::SHORT }
    }

    fn fill<F>(&mut self, bulk: &Bulk, span: Span) -> Result<(), DriveError<io::Error, F>> {
        self.window.resize(usize::try_from(span.len()).unwrap_or(0), 0);
        let read = bulk.read_into(span.offset(), &mut self.window);
        if read.is_err() {
            self.window.clear();
        }
        (self.at, self.len) = (span.offset(), span.len());
        read
    }

    fn in_window(&self, span: Span) -> Option<&[u8]> {
        let skip = usize::try_from(span.offset().checked_sub(self.at)?).ok()?;
        self.window.get(skip..)?.get(..usize::try_from(span.len()).ok()?)
    }
}

/// Converts an error of direct reading to the error type of reading through the page cache.
fn failed<F>(error: Error) -> DriveError<io::Error, F> {
    match error.into_kind() {
        ErrorKind::Io(error) => DriveError::Store(error),
        ErrorKind::Ended { offset } => DriveError::Ended { offset },
        kind => DriveError::Store(io::Error::other(kind.to_string())), // none has anything else
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::arithmetic_side_effects,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::unwrap_used,
        reason = "a test: a panic fails it"
    )]

    use super::*;
    use striae_core::sion;

    type Done = Result<(), DriveError<io::Error, sion::Error>>;

    /// A file of 6000000 bytes that tell their place, and both ways to read it.
    fn with_both(check: impl Fn(&Bulk, &[u8])) {
        let bytes: Vec<u8> = (0..6_000_000_u32).map(|at| (at % 251).to_le_bytes()[0]).collect();
        let made = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        std::fs::write(made.path(), &bytes).unwrap();
        for options in [None, Some(direct::OpenOptions::new().max_io(8192))] {
            let file = PosixFile::open(made.path()).unwrap();
            check(&Bulk::new(made.path(), file, options), &bytes);
        }
    }

    fn span(offset: u64, len: u64) -> Span {
        Span::new(offset, len).unwrap()
    }

    #[test]
    fn nothing_can_be_read_anywhere() {
        with_both(|bulk, _| {
            let mut none = |_: &[u8]| -> bool { panic!("there is nothing") };
            for offset in [0, 5, 6_000_000, 6_000_001, 1 << 40] {
                let nothing = span(offset, 0);
                let done: Done = bulk.read_pieces([nothing], &mut Vec::new(), &mut none);
                done.unwrap();
                let done: Done = Ahead::default().read_pieces(bulk, nothing, &mut none);
                done.unwrap();
                let done: Done = bulk.read_into(offset, &mut []);
                done.unwrap();
            }
        });
    }

    #[test]
    fn what_follows_is_read_with_it_and_gives_the_same() {
        let near = (0..290).map(|at| span(at * 1000 + at % 7, 900 + at % 90));
        let far = [span(250_000, 9), span(3, 100), span(100_000, 150_000), span(5_999_999, 1)];
        // As frames are checked: a short one behind a long one, that, and what is behind both.
        let framed = (0..3).flat_map(|at| {
            let frame = at * 1_500_000;
            [span(frame + 1_400_000, 16), span(frame, 1_400_000), span(frame + 1_400_016, 8)]
        });
        let long = [span(5_000_000, 8), span(0, 5_000_000), span(5_000_008, 100)];
        let tiny = (0..3000).flat_map(|at| [span(at * 100 + 80, 20), span(at * 100, 80)]);
        let short = (0..20).map(|at| span(at * 10, 5000));
        let spans = near.chain(far).chain(framed).chain(long).chain(tiny).chain(short);
        let spans: Vec<_> = spans.collect();
        with_both(|bulk, bytes| {
            let mut ahead = Ahead::default();
            for &span in &spans {
                let mut read = Vec::new();
                if span.offset() % 2 == 0 {
                    let done: Done = ahead.bring(bulk, span);
                    done.unwrap();
                }
                let done: Done = ahead.read_pieces(bulk, span, &mut |piece| {
                    read.extend_from_slice(piece);
                    true
                });
                done.unwrap();
                let [start, end] =
                    [span.offset(), span.end()].map(|at| usize::try_from(at).unwrap());
                assert!(read == bytes[start..end], "{span:?}");
            }
            let mut none = |_: &[u8]| true;
            let behind: Done = ahead.read_pieces(bulk, span(5_999_000, 2000), &mut none);
            assert!(matches!(behind, Err(DriveError::Ended { .. })), "{behind:?}");
            // And then it goes on.
            let done: Done = ahead.read_pieces(bulk, span(5_999_000, 1000), &mut |piece| {
                assert!(piece == &bytes[5_999_000..]);
                true
            });
            done.unwrap();
        });
    }
}
