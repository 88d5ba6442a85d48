//! Copies bytes from file to file: in the kernel where possible, and without filling holes.

use crate::direct::{Destination, DirectCopy, OpenOptions, Order};
pub use crate::error::copy::CopyError;
use crate::posix::PosixFile;
use crate::posix::holes::HoleSearch;
use rustix::fs::FallocateFlags;
use rustix::io::{Errno, retry_on_intr};
use std::io;
use std::num::NonZeroU64;
use striae_core::span::Span;
use striae_core::store::{ReadAt, usize_to_u64};

/// The most bytes that one call copies, so that progress is reported often.
const PIECE: u64 = 8 << 20;

/// Length of the buffer for copies that the kernel cannot do, or that need a checksum.
const BUFFER: usize = 1 << 20;
const BUFFER_LEN: NonZeroU64 = NonZeroU64::new(1 << 20).unwrap();

/// Spans shorter than this are copied without a search for holes: few file systems have blocks this
/// short, and the search takes as long as reading.
const SHORTEST_HOLE: u64 = 4096;

/// Spans shorter than this are copied through the page cache: most of their bytes would go through
/// it anyway, because a direct read needs alignment.
const SHORTEST_DIRECT: u64 = 1 << 14;

/// The target of a copy.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// The target file.
    pub file: &'a PosixFile,
    /// Offset of the first byte in the target file.
    pub offset: u64,
    /// Whether the whole target range reads as zeros, or lies after the end of the file. If so, the
    /// copy skips holes of the source; if not, it punches holes, or writes zeros where the file
    /// system cannot punch holes.
    pub zeros: bool,
}

/// Copies spans of files to places in other files. Make one for each thread and reuse it.
#[derive(Debug)]
pub struct Copier {
    /// Whether copy_file_range(2) has worked so far.
    in_kernel: bool,
    /// The copy buffer; empty until it is needed.
    buf: Vec<u8>,
    holes: HoleSearch,
    /// The direct copier, if direct I/O was asked for; it replaces both of the above.
    direct: Option<Box<DirectCopy>>,
}

impl Default for Copier {
    fn default() -> Self {
        Self::new()
    }
}

impl Copier {
    /// Makes a copier that copies in the kernel until the kernel refuses.
    #[must_use]
    pub const fn new() -> Self {
        Self { in_kernel: true, buf: Vec::new(), holes: HoleSearch::new(), direct: None }
    }

    /// With `Some` options, reads and writes past the page cache where possible. Data that is
    /// copied once should not evict other data from the cache.
    #[must_use]
    pub fn direct(mut self, options: Option<OpenOptions>) -> Self {
        self.direct = options.map(|options| Box::new(DirectCopy::new(options)));
        self
    }

    /// Copies `span` of the file `from` to the place `to`. `progress` gets the length of each
    /// piece.
    ///
    /// A hole of the source becomes a hole of the target. A hole at the end does not make the
    /// target file longer: call [`PosixFile::set_size`] after the last copy. Source and target may
    /// be in one file if they do not overlap.
    ///
    /// # Errors
    /// [`CopyError`], with the file that it is about. Some bytes may have been written by then.
    pub fn copy(
        &mut self,
        from: &PosixFile,
        span: Span,
        to: &Place<'_>,
        progress: &dyn Fn(u64),
    ) -> Result<(), CopyError> {
        Copy { copier: self, from, span, to, progress, seen: None }.run()
    }

    /// Copies like [`copy`](Self::copy), and passes all bytes to `seen` (zeros for holes), for
    /// example for a checksum.
    ///
    /// # Errors
    /// As [`copy`](Self::copy).
    pub fn copy_seen(
        &mut self,
        from: &PosixFile,
        span: Span,
        to: &Place<'_>,
        progress: &dyn Fn(u64),
        seen: &mut dyn FnMut(&[u8]),
    ) -> Result<(), CopyError> {
        Copy { copier: self, from, span, to, progress, seen: Some(seen) }.run()
    }

    /// The first `len` bytes of the buffer, or all of it if it is shorter.
    fn buffer(&mut self, len: u64) -> &mut [u8] {
        self.buf.resize(BUFFER, 0);
        let len = usize::try_from(len).unwrap_or(BUFFER).min(BUFFER);
        self.buf.get_mut(..len).unwrap_or_default()
    }
}

/// A callback that gets the bytes that are copied.
type Seen<'a> = &'a mut dyn FnMut(&[u8]);

/// A copy of one span.
struct Copy<'a> {
    copier: &'a mut Copier,
    from: &'a PosixFile,
    span: Span,
    to: &'a Place<'a>,
    progress: &'a dyn Fn(u64),
    seen: Option<Seen<'a>>,
}

impl Copy<'_> {
    fn run(mut self) -> Result<(), CopyError> {
        if Span::new(self.to.offset, self.span.len()).is_none() {
            return Err(CopyError::Write(Errno::FBIG.into()));
        }
        let mut left = self.span;
        while !left.is_empty() {
            let (start, end) = self.next_data(left.offset())?;
            self.hole(left.offset(), start)?;
            if start == end && end < left.end() {
                return Err(CopyError::Ended { offset: end });
            }
            self.data(start, end)?;
            left = between(end, left.end());
        }
        Ok(())
    }

    /// Start and end of the next data at or after `at`. Both are the end of the span or of the file
    /// if only a hole follows.
    fn next_data(&mut self, at: u64) -> Result<(u64, u64), CopyError> {
        let last = self.span.end();
        if self.span.len() < SHORTEST_HOLE {
            return Ok((at, last));
        }
        if let Some(found) = self.copier.holes.next_data(self.from, at, last) {
            return Ok(found);
        }
        let end = self.from.size().map_err(CopyError::Read)?.max(at).min(last);
        Ok((end, end))
    }

    /// Offset in the target file for the byte at `offset` of the source.
    const fn target(&self, offset: u64) -> u64 {
        // Exact: it is one of the span, or its end, and `run` checked that all of it has a place.
        self.to.offset.saturating_add(offset.saturating_sub(self.span.offset()))
    }

    fn data(&mut self, start: u64, end: u64) -> Result<(), CopyError> {
        let (offset, span) = (self.target(start), between(start, end));
        if let Some(direct) = &mut self.copier.direct
            && span.len() >= SHORTEST_DIRECT
        {
            let order = if self.seen.is_some() { Order::Asked } else { Order::Completed };
            let (to, progress) = (Destination { file: self.to.file, offset }, self.progress);
            return direct.copy((self.from, span), to, order, |piece| {
                if let Some(seen) = &mut self.seen {
                    seen(piece);
                }
                progress(usize_to_u64(piece.len()));
            });
        }
        let mut left = span;
        while !left.is_empty() {
            let n = match self.piece(left.offset(), left.len().min(PIECE))? {
                0 => return Err(CopyError::Ended { offset: left.offset() }),
                n => usize_to_u64(n),
            };
            (self.progress)(n);
            left = left.rest(n).unwrap_or(Span::ZERO);
        }
        Ok(())
    }

    fn piece(&mut self, offset: u64, len: u64) -> Result<usize, CopyError> {
        let target = self.target(offset);
        if self.copier.in_kernel && self.seen.is_none() {
            let room = self.to.file.room_at(target).map_err(CopyError::Write)?;
            let len = usize::try_from(len).unwrap_or(usize::MAX).min(room);
            let (from, to) = (self.from, self.to.file);
            let copied = retry_on_intr(|| {
                let (mut offset, mut target) = (offset, target);
                rustix::fs::copy_file_range(from, Some(&mut offset), to, Some(&mut target), len)
            });
            match copied {
                Ok(n @ 1..) => return Ok(n),
                // It may refuse for many reasons, or say 0 on some file systems of the kernel's
                // own. Where it fails in earnest, reading or writing does so too, and says which.
                _ => self.copier.in_kernel = false,
            }
        }
        let piece = self.copier.buffer(len);
        let n = self.from.read_at(offset, piece).map_err(CopyError::Read)?;
        let bytes = piece.get(..n).unwrap_or_default();
        self.to.file.write_all_at(target, bytes).map_err(CopyError::Write)?;
        if let Some(seen) = &mut self.seen {
            seen(bytes);
        }
        Ok(n)
    }

    fn hole(&mut self, start: u64, end: u64) -> Result<(), CopyError> {
        if !self.to.zeros {
            self.clear(start, end).map_err(CopyError::Write)?;
        }
        let hole = between(start, end);
        if let Some(seen) = &mut self.seen {
            self.copier.buffer(hole.len()).fill(0);
            for piece in hole.pieces(BUFFER_LEN) {
                seen(self.copier.buffer(piece.len()));
            }
        }
        (self.progress)(hole.len());
        Ok(())
    }

    /// Makes the target range of a hole read as zeros.
    fn clear(&mut self, start: u64, end: u64) -> io::Result<()> {
        let file = self.to.file;
        // Behind the file's end there is nothing to clear.
        let hole = between(self.target(start), self.target(end).min(file.size()?));
        if hole.is_empty() {
            return Ok(());
        }
        let (punch, at) = (FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, hole.offset());
        if retry_on_intr(|| rustix::fs::fallocate(file, punch, at, hole.len())).is_ok() {
            return Ok(());
        }
        self.copier.buffer(hole.len()).fill(0);
        for piece in hole.pieces(BUFFER_LEN) {
            file.write_all_at(piece.offset(), self.copier.buffer(piece.len()))?;
        }
        Ok(())
    }
}

/// The bytes from `start` up to `end`, if there are any.
fn between(start: u64, end: u64) -> Span {
    Span::between(start, end).unwrap_or(Span::ZERO)
}
