//! Copying between files past the page cache.

use super::device::{self, Access};
use super::file::DirectFile;
use super::memory::{Memory, Pool};
use super::options::OpenOptions;
use super::stream::Order;
use crate::error::ErrorKind;
use crate::error::copy::CopyError;
use crate::posix::PosixFile;
use crate::shown;
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::io;
use std::sync::Arc;
use striae_core::align::{Alignment, Rules};
use striae_core::span::Span;
use striae_core::store::{ReadAt, usize_to_u64};

/// Copies spans of files past the page cache: it reads ahead, and writes the aligned parts
/// directly.
///
/// Unaligned parts are written through the page cache, and direct writes cover whole pages of it.
/// Another process may write to the same file at the same time, and its data would be lost if a
/// whole block were read, changed and written back.
#[derive(Debug)]
pub(crate) struct DirectCopy {
    options: OpenOptions,
    from: Option<Same<DirectFile>>,
    to: Option<Same<Option<DirectTarget>>>,
    pool: Arc<Pool>,
}

/// A value that was made for a file, valid for the file with this identity.
#[derive(Debug)]
struct Same<T> {
    identity: (u64, u64),
    opened: T,
}

/// A file that can be written directly.
#[derive(Debug)]
struct DirectTarget {
    file: PosixFile,
    rules: Rules,
    /// Memory for copies of data that are not aligned in memory.
    memory: Memory,
}

/// Bytes of one copy in memory.
const PIECE: usize = 1 << 20;

/// Bytes from which a span is allocated in the file before the copy.
const WORTH: u64 = 1 << 20;

/// The target of a copied span.
#[derive(Clone, Copy)]
pub(crate) struct Destination<'a> {
    pub(crate) file: &'a PosixFile,
    /// Offset of the span's first byte in `file`.
    pub(crate) offset: u64,
}

impl DirectCopy {
    pub(crate) fn new(options: OpenOptions) -> Self {
        Self { options, from: None, to: None, pool: Pool::new(page()) }
    }

    /// Copies a span, and calls `each` with all of its pieces, in `order`.
    pub(crate) fn copy(
        &mut self,
        (from, span): (&PosixFile, Span),
        to: Destination<'_>,
        order: Order,
        mut each: impl FnMut(&[u8]),
    ) -> Result<(), CopyError> {
        let place = Span::new(to.offset, span.len());
        let place = place.ok_or_else(|| CopyError::Write(Errno::FBIG.into()))?;
        let source = match self.from.take() {
            Some(same) if same.identity == from.identity() => same,
            _ => {
                let opened =
                    self.options.open_again(from).map_err(|error| read_error(error.into_kind()))?;
                Same { identity: from.identity(), opened }
            }
        };
        if self.to.as_ref().is_none_or(|same| same.identity != to.file.identity()) {
            let opened = self.target(to.file);
            self.to = Some(Same { identity: to.file.identity(), opened });
        }
        let mut target = self.to.as_mut().and_then(|same| same.opened.as_mut());
        if span.len() >= WORTH {
            // Contiguous room, if the file system can. An error can be ignored: the write reports
            // it.
            let _ = to.file.preallocate(place.offset(), place.len());
        }
        let source = self.from.insert(source);
        // The existing part of the span is copied, even if it is not the whole span.
        let end = span.end().min(from.size().map_err(CopyError::Read)?.max(span.offset()));
        let there = Span::between(span.offset(), end).unwrap_or(Span::ZERO);
        let stream = source.opened.stream([there], order);
        let mut stream = stream.map_err(|error| read_error(error.into_kind()))?;
        while let Some(piece) = stream.piece_or_error().map_err(read_error)? {
            let offset = place.rest(piece.at).map_or(place.end(), Span::offset);
            write(target.as_deref_mut(), to.file, offset, piece.bytes).map_err(CopyError::Write)?;
            each(piece.bytes);
        }
        if end < span.end() { Err(CopyError::Ended { offset: end }) } else { Ok(()) }
    }

    /// The file, opened again for direct writing; `None` if that fails.
    fn target(&self, file: &PosixFile) -> Option<DirectTarget> {
        let opened = file.reopen(OFlags::RDWR | OFlags::DIRECT).and_then(|direct| {
            let needed = device::alignment(&direct, Access::Writing)?;
            Ok((direct, needed))
        });
        let (direct, needed) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                let path = file.some_path();
                log::warn!("{}: not written past the page cache: {error}", shown::path(&path));
                return None;
            }
        };
        let page = u64::try_from(page()).ok()?.max(file.block_size().ok()?);
        let whole = |value: u64| value.max(page);
        let (offset, length) = (whole(needed.offset), whole(needed.length));
        let rules = Rules::new(Alignment { offset, length, memory: needed.memory }, 0).ok()?;
        Some(DirectTarget { file: direct, rules, memory: self.pool.take(PIECE)? })
    }
}

/// Bytes of a page of the page cache. No page is written both directly and through the cache.
fn page() -> usize {
    rustix::param::page_size()
}

fn read_error(kind: ErrorKind) -> CopyError {
    match kind {
        ErrorKind::Ended { offset } => CopyError::Ended { offset },
        ErrorKind::Io(error) => CopyError::Read(error),
        // Reading spans has no other errors.
        other => CopyError::Read(io::Error::other(format!("{other:?}"))),
    }
}

/// Writes whole pages directly, and the rest through the page cache.
fn write(
    target: Option<&mut DirectTarget>,
    file: &PosixFile,
    offset: u64,
    bytes: &[u8],
) -> io::Result<()> {
    let Some(target) = target else { return file.write_all_at(offset, bytes) };
    let (rules, len) = (target.rules, usize_to_u64(bytes.len()));
    let end = Span::new(offset, len).ok_or(Errno::FBIG)?.end();
    // Head and body, if the span has whole pages.
    let spans = (
        Span::between(offset, rules.up(offset)),
        Span::between(rules.up(offset), rules.down(end)).filter(|body| !body.is_empty()),
    );
    let (Some(head_span), Some(body_span)) = spans else { return file.write_all_at(offset, bytes) };
    let (head, rest) = split(bytes, head_span);
    let (body, tail) = split(rest, body_span);
    file.write_all_at(offset, head)?;
    target.write(file, body_span.offset(), body)?;
    file.write_all_at(body_span.end(), tail)
}

/// Splits `bytes` after the bytes of `span`.
fn split(bytes: &[u8], span: Span) -> (&[u8], &[u8]) {
    let len = usize::try_from(span.len()).unwrap_or(usize::MAX);
    bytes.split_at_checked(len).unwrap_or((bytes, &[]))
}

impl DirectTarget {
    /// Writes whole pages directly, or through the page cache if direct writing is refused.
    fn write(&mut self, file: &PosixFile, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let memory = usize::try_from(self.rules.memory()).unwrap_or(usize::MAX);
        let done = if bytes.as_ptr().addr().is_multiple_of(memory) {
            self.file.write_all_at(offset, bytes)
        } else {
            self.write_copied(offset, bytes)
        };
        match done {
            // open(2) with O_DIRECT may succeed on a file that refuses all direct writes.
            Err(error) if Errno::from_io_error(&error) == Some(Errno::INVAL) => {
                file.write_all_at(offset, bytes)
            }
            done => done,
        }
    }

    fn write_copied(&mut self, mut offset: u64, bytes: &[u8]) -> io::Result<()> {
        for piece in bytes.chunks(PIECE) {
            let aligned = self.memory.bytes_mut().get_mut(..piece.len()).unwrap_or_default();
            aligned.copy_from_slice(piece);
            self.file.write_all_at(offset, aligned)?;
            // Exact: the bytes are in the file.
            offset = offset.saturating_add(usize_to_u64(piece.len()));
        }
        Ok(())
    }
}
