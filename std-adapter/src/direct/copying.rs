//! Bytes moved from file to file past the page cache.

use super::device::{self, Access};
use super::file::DirectFile;
use super::memory::{Memory, Pool};
use super::options::OpenOptions;
use super::stream::Order;
use crate::copy::CopyError;
use crate::error::ErrorKind;
use crate::posix::PosixFile;
use crate::shown;
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::io;
use std::sync::Arc;
use striae_core::align::{Alignment, Rules};
use striae_core::span::Span;
use striae_core::store::{ReadAt, usize_to_u64};

/// Copies spans of files past the page cache: reads ahead, and writes what is aligned directly.
///
/// What is not is written through the page cache, by whole pages of it: others may write to the
/// same file at the same time, and to read a block, change it and write it would undo what they
/// write.
#[derive(Debug)]
pub(crate) struct DirectCopy {
    options: OpenOptions,
    from: Option<Same<DirectFile>>,
    to: Option<Same<Option<Target>>>,
    pool: Arc<Pool>,
}

/// Something that was opened for a file, while that is the one.
#[derive(Debug)]
struct Same<T> {
    identity: (u64, u64),
    opened: T,
}

/// A file that can be written directly.
#[derive(Debug)]
struct Target {
    file: PosixFile,
    rules: Rules,
    /// Where what is not aligned in memory is copied to.
    memory: Memory,
}

/// Bytes of a piece that is copied in memory.
const PIECE: usize = 1 << 20;

/// Fewer bytes of a file are not worth being allocated at once.
const WORTH: u64 = 1 << 20;

/// What a span is copied to.
#[derive(Clone, Copy)]
pub(crate) struct To<'a> {
    pub(crate) file: &'a PosixFile,
    /// Where its first byte belongs.
    pub(crate) offset: u64,
}

impl DirectCopy {
    pub(crate) fn new(options: OpenOptions) -> Self {
        Self { options, from: None, to: None, pool: Pool::new(page()) }
    }

    /// Copies a span, which `each` sees all pieces of: in their order, if that is asked for.
    pub(crate) fn copy(
        &mut self,
        (from, span): (&PosixFile, Span),
        to: To<'_>,
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
            // Contiguous, where the file system can; if it cannot, writing tells what is wrong.
            let _ = to.file.preallocate(place.offset(), place.len());
        }
        let source = self.from.insert(source);
        // What is there is copied, also if it is not all.
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

    /// The file, opened again for direct writing, if that can be.
    fn target(&self, file: &PosixFile) -> Option<Target> {
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
        Some(Target { file: direct, rules, memory: self.pool.take(PIECE)? })
    }
}

/// Bytes of a page of the page cache: none has bytes that are written both ways.
fn page() -> usize {
    rustix::param::page_size()
}

fn read_error(kind: ErrorKind) -> CopyError {
    match kind {
        ErrorKind::Ended { offset } => CopyError::Ended { offset },
        ErrorKind::Io(error) => CopyError::Read(error),
        // Reading spans has no others.
        other => CopyError::Read(io::Error::other(format!("{other:?}"))),
    }
}

/// Writes whole pages directly, and the rest through the page cache.
fn write(
    target: Option<&mut Target>,
    file: &PosixFile,
    offset: u64,
    bytes: &[u8],
) -> io::Result<()> {
    let Some(target) = target else { return file.write_all_at(offset, bytes) };
    let (rules, len) = (target.rules, usize_to_u64(bytes.len()));
    let end = Span::new(offset, len).ok_or(Errno::FBIG)?.end();
    // Head and body, if there are whole pages.
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

/// The bytes of a span, and those behind it.
fn split(bytes: &[u8], span: Span) -> (&[u8], &[u8]) {
    let len = usize::try_from(span.len()).unwrap_or(usize::MAX);
    bytes.split_at_checked(len).unwrap_or((bytes, &[]))
}

impl Target {
    /// Writes whole pages; through the page cache, if they are refused.
    fn write(&mut self, file: &PosixFile, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let memory = usize::try_from(self.rules.memory()).unwrap_or(usize::MAX);
        let done = if bytes.as_ptr().addr().is_multiple_of(memory) {
            self.file.write_all_at(offset, bytes)
        } else {
            self.write_copied(offset, bytes)
        };
        match done {
            // open(2) of O_DIRECT may succeed where no write does.
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
            // Exact: those are in the file.
            offset = offset.saturating_add(usize_to_u64(piece.len()));
        }
        Ok(())
    }
}
