//! Copying between files past the page cache.

use super::device::{self, Access};
use super::file::DirectFile;
use super::memory::Memory;
use super::options::OpenOptions;
use super::stream::Order;
use crate::error::ErrorKind;
use crate::error::copy::CopyError;
use crate::posix::PosixFile;
use crate::shown;
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::io;
use striae_core::align::{self, Alignment, Rules};
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
    /// Memory for copies of data that are not aligned in memory, from the first one on.
    memory: Option<Memory>,
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
}

/// Bytes of one copy in memory.
const PIECE: usize = 1 << 20;

/// The longest preferred block that is always written as a whole.
const WHOLE_BLOCK: u64 = 1 << 16;

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
    pub(crate) const fn new(options: OpenOptions) -> Self {
        Self { options, from: None, to: None, memory: None }
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
            let opened = target(to.file);
            self.to = Some(Same { identity: to.file.identity(), opened });
        }
        let mut none = None;
        let target = self.to.as_mut().map_or(&mut none, |same| &mut same.opened);
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
            write(target, &mut self.memory, to.file, offset, piece.bytes)
                .map_err(CopyError::Write)?;
            each(piece.bytes);
        }
        if end < span.end() { Err(CopyError::Ended { offset: end }) } else { Ok(()) }
    }
}

/// The file, opened again for direct writing; `None` if that fails.
fn target(file: &PosixFile) -> Option<DirectTarget> {
    let opened = || {
        let direct = file.reopen(OFlags::RDWR | OFlags::DIRECT)?;
        let needed = device::alignment(&direct, Access::Writing)?;
        let rules = rules(needed, file.block_size()?).map_err(io::Error::other)?;
        Ok(DirectTarget { file: direct, rules })
    };
    opened().inspect_err(|error| warn(file, error)).ok()
}

fn warn(file: &PosixFile, why: &io::Error) {
    let path = file.some_path();
    log::warn!("{}: not written past the page cache: {why}", shown::path(&path));
}

/// The rules for direct writing to a file with this preferred block size: whole pages, and whole
/// blocks up to 64 KiB. Lustre and tmpfs with huge pages prefer blocks that are longer than a
/// piece, which would never be whole.
fn rules(needed: Alignment, block_size: u64) -> Result<Rules, align::Error> {
    let least = usize_to_u64(page()).max(block_size.min(WHOLE_BLOCK));
    let (offset, length) = (needed.offset.max(least), needed.length.max(least));
    Rules::new(Alignment { offset, length, memory: needed.memory }, 0)
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

/// Writes whole pages directly, and the rest through the page cache; all of it if direct writing is
/// refused, from then on.
fn write(
    target: &mut Option<DirectTarget>,
    memory: &mut Option<Memory>,
    file: &PosixFile,
    offset: u64,
    bytes: &[u8],
) -> io::Result<()> {
    let Some(direct) = target else { return file.write_all_at(offset, bytes) };
    let (rules, len) = (direct.rules, usize_to_u64(bytes.len()));
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
    // open(2) with O_DIRECT may succeed on a file that refuses all direct writes; and there may be
    // no memory that is aligned.
    let is_refusal = |error: &io::Error| {
        Errno::from_io_error(error) == Some(Errno::INVAL)
            || error.kind() == io::ErrorKind::OutOfMemory
    };
    match direct.write(memory, body_span.offset(), body) {
        Err(error) if is_refusal(&error) => {
            warn(file, &error);
            *target = None;
            file.write_all_at(body_span.offset(), body)?;
        }
        done => done?,
    }
    file.write_all_at(body_span.end(), tail)
}

/// Splits `bytes` after the bytes of `span`.
fn split(bytes: &[u8], span: Span) -> (&[u8], &[u8]) {
    let len = usize::try_from(span.len()).unwrap_or(usize::MAX);
    bytes.split_at_checked(len).unwrap_or((bytes, &[]))
}

impl DirectTarget {
    /// Writes whole pages.
    fn write(&self, memory: &mut Option<Memory>, mut at: u64, bytes: &[u8]) -> io::Result<()> {
        let align = usize::try_from(self.rules.memory()).unwrap_or(usize::MAX);
        if bytes.as_ptr().addr().is_multiple_of(align) {
            return self.file.write_all_at(at, bytes);
        }
        if memory.is_none() {
            *memory = Memory::new(PIECE, PIECE); // aligned for any target
        }
        let memory = memory.as_mut().ok_or(io::ErrorKind::OutOfMemory)?;
        for piece in bytes.chunks(PIECE) {
            let aligned = memory.bytes_mut().get_mut(..piece.len()).unwrap_or_default();
            aligned.copy_from_slice(piece);
            self.file.write_all_at(at, aligned)?;
            // Exact: the bytes are in the file.
            at = at.saturating_add(usize_to_u64(piece.len()));
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test: a panic fails it")]
#[allow(clippy::print_stdout, reason = "a test that is skipped says so")]
mod tests {
    use super::*;
    use seccompiler::{SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};
    use std::os::fd::{AsFd, AsRawFd};
    use striae_kit::adapter::denying::deny_if;

    #[test]
    fn a_piece_has_whole_blocks_whatever_the_file_system_prefers() {
        for block_size in [1, 512, 4096, 1 << 17, 2 << 20, 16 << 20, 1 << 40] {
            let unit = rules(Alignment::of(512), block_size).unwrap().unit();
            assert!(unit <= usize_to_u64(PIECE) / 2, "{block_size}: {unit}");
            assert!(unit >= usize_to_u64(page()), "{block_size}: {unit}");
        }
        assert_eq!(rules(Alignment::of(1 << 17), 4096).unwrap().unit(), 1 << 17);
    }

    #[test]
    fn a_file_that_refuses_a_direct_write_is_asked_once() {
        let made = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let file = PosixFile::open_rw(made.path()).unwrap();
        let Some(direct) = target(&file) else {
            println!("skipped: the file system has no direct writes");
            return;
        };
        let number = u64::try_from(direct.file.as_fd().as_raw_fd()).unwrap();
        let (mut target, mut memory) = (Some(direct), None);
        let bytes = [7; 100_000];
        let refused = || {
            let (len, is) = (SeccompCmpArgLen::Dword, SeccompCmpOp::Eq);
            let rule = SeccompCondition::new(0, len, is, number).unwrap();
            let rule = SeccompRule::new(vec![rule]).unwrap();
            deny_if(libc::SYS_pwrite64, vec![rule], Errno::INVAL);
            write(&mut target, &mut memory, &file, 1, &bytes).unwrap();
            assert!(target.is_none());
        };
        std::thread::scope(|scope| scope.spawn(refused).join().unwrap());
        assert_eq!(std::fs::read(made.path()).unwrap(), [&[0][..], &bytes].concat());
    }
}
