//! A file that is written past the page cache.
#![expect(unsafe_code, reason = "its memory is of a kind that others may write to")]

use super::device::{self, Access};
use super::memory::{Memory, Pool};
use super::standing::Policy;
use crate::posix::PosixFile;
use crate::shown;
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::io;
use striae_core::align::{Alignment, Edge, Rules, Write};
use striae_core::span::Span;
use striae_core::store::{ReadAt, WriteAt, usize_to_u64};

/// Bytes that are written at once.
const BUFFER: usize = 1 << 20;

/// A file that is written past the page cache, if that can be, at any offset and of any length.
///
/// What follows on what was written last is gathered, up to 1 MiB. Blocks that are not wholly
/// written are read, changed and written; where the last one reaches behind the end of the file,
/// the length is set behind it. So **nobody else may write to the file** meanwhile, and its length
/// is right only behind a [`flush`](Self::flush), a [`sync`](Self::sync), or when the writer is
/// dropped: in between, and after a power cut, it may be too long, by less than a block, of zeros.
#[derive(Debug)]
pub struct Writer {
    file: PosixFile,
    /// The file, opened again for direct writing, if that can be.
    direct: Option<PosixFile>,
    why: Option<io::Error>,
    alignment: Alignment,
    /// What was gathered: its first byte stands where its block has it.
    memory: Memory,
    gathered: Span,
    /// Length of the file, without what was gathered.
    file_len: u64,
}

impl Writer {
    /// Writes to a file that is open for reading and writing.
    ///
    /// # Errors
    /// The operating system's; if direct writing is required, of kind
    /// [`Unsupported`](io::ErrorKind::Unsupported) where that cannot be.
    pub fn new(file: PosixFile, policy: Policy) -> io::Result<Self> {
        let opened = match policy {
            Policy::Off => None,
            Policy::Preferred | Policy::Required => Some(open_direct(&file)),
        };
        let (direct, alignment, why) = match opened {
            None => (None, Alignment::NONE, None),
            Some(Ok((direct, alignment))) => (Some(direct), alignment, None),
            Some(Err(error)) if policy == Policy::Required => {
                let error = format!("not to be written past the page cache: {error}");
                return Err(io::Error::new(io::ErrorKind::Unsupported, error));
            }
            Some(Err(error)) => (None, Alignment::NONE, Some(error)),
        };
        let align = usize::try_from(alignment.memory).unwrap_or(usize::MAX).max(4096);
        let memory = Pool::new(align).take(BUFFER).ok_or(io::ErrorKind::OutOfMemory)?;
        let file_len = file.size()?;
        Ok(Self { file, direct, why, alignment, memory, gathered: Span::ZERO, file_len })
    }

    /// Whether the page cache is passed by.
    #[must_use]
    pub const fn is_direct(&self) -> bool {
        self.direct.is_some()
    }

    /// Why it is not, if that was not asked for.
    #[must_use]
    pub const fn why(&self) -> Option<&io::Error> {
        self.why.as_ref()
    }

    /// Sees to it that a span, which may lie behind the end, needs no more room on the disk when it
    /// is written. The length of the file is as before.
    ///
    /// # Errors
    /// The operating system's, also where the file system cannot do that.
    pub fn preallocate(&self, span: Span) -> io::Result<()> {
        self.file.preallocate(span.offset(), span.len())
    }

    /// Writes `bytes` at `offset`; a gap behind the end of the file becomes a hole.
    ///
    /// # Errors
    /// The operating system's; [`io::ErrorKind::FileTooLarge`]. Some of the bytes may have been
    /// written, and what was gathered before is still there.
    pub fn write_all_at(&mut self, mut offset: u64, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            if offset != self.gathered.end() || self.gathered.is_empty() || self.room() == 0 {
                self.flush()?;
                self.gathered = Span::new(offset, 0).ok_or(Errno::FBIG)?;
            }
            let (now, rest) = bytes.split_at(self.room().min(bytes.len()));
            let new = Span::new(offset, usize_to_u64(now.len()));
            let gathered = new.and_then(|new| self.gathered.joined(new)).ok_or(Errno::FBIG)?;
            let place = self.place(offset);
            let there = self.memory.bytes_mut().get_mut(place..);
            if let Some(there) = there.and_then(|there| there.get_mut(..now.len())) {
                there.copy_from_slice(now);
            }
            self.gathered = gathered;
            (offset, bytes) = (gathered.end(), rest);
        }
        Ok(())
    }

    /// Bytes that can be gathered behind the others.
    fn room(&self) -> usize {
        BUFFER.saturating_sub(self.place(self.gathered.end()))
    }

    /// Where a byte of the file is in memory, which begins with the first block of what was
    /// gathered; it is none before that.
    fn place(&self, offset: u64) -> usize {
        let unit = self.alignment.offset.max(self.alignment.length);
        let start = self.gathered.offset() & unit.wrapping_neg();
        usize::try_from(offset.saturating_sub(start)).unwrap_or(usize::MAX)
    }

    /// Writes what was gathered, by whole blocks, and sets the length that the file must have.
    ///
    /// # Errors
    /// The operating system's. What was gathered is still there.
    pub fn flush(&mut self) -> io::Result<()> {
        if self.gathered.is_empty() {
            return Ok(());
        }
        let rules = Rules::new(self.alignment, self.file_len).map_err(too_long)?;
        let write = Write::new(self.gathered, &rules).map_err(too_long)?;
        for edge in write.head.iter().chain(&write.tail) {
            self.complete(edge)?;
        }
        // Exact: `write` checked that a file may be so long. Memory has whole blocks.
        let (start, end) = (rules.down(self.gathered.offset()), rules.up(self.gathered.end()));
        let len = self.place(end);
        let blocks = self.memory.bytes_mut().get(..len).ok_or(Errno::FBIG)?;
        let file = self.direct.as_ref().unwrap_or(&self.file);
        match file.write_all_at(start, blocks) {
            // open(2) of O_DIRECT may succeed where no write does.
            Err(error)
                if self.direct.is_some() && Errno::from_io_error(&error) == Some(Errno::INVAL) =>
            {
                self.file.write_all_at(start, blocks)?;
                (self.direct, self.why) = (None, Some(error));
            }
            done => done?,
        }
        self.file_len = self.file_len.max(end);
        if let Some(len) = write.set_len {
            self.file.set_size(len)?;
            self.file_len = len;
        }
        self.gathered = Span::ZERO;
        Ok(())
    }

    /// Reads what the file has of a block that is not wholly written.
    fn complete(&mut self, edge: &Edge) -> io::Result<()> {
        let place = self.place(edge.block.offset());
        let len = usize::try_from(edge.block.len()).unwrap_or(usize::MAX);
        let block = self.memory.bytes_mut().get_mut(place..).and_then(|bytes| bytes.get_mut(..len));
        let block = block.unwrap_or_default();
        let skip = usize::try_from(edge.skip).unwrap_or(usize::MAX).min(block.len());
        let (before, rest) = block.split_at_mut(skip);
        let written = usize::try_from(edge.len).unwrap_or(usize::MAX).min(rest.len());
        let behind = rest.get_mut(written..).unwrap_or_default();
        let there = edge.block.part(0, edge.read).unwrap_or(Span::ZERO);
        let (first, last) = (there.rest(0), there.rest(edge.skip.saturating_add(edge.len)));
        for (part, there) in [(before, first), (behind, last)] {
            part.fill(0);
            let Some(there) = there else { continue }; // the file ends before
            let have = usize::try_from(there.len()).unwrap_or(usize::MAX).min(part.len());
            let (part, offset) = (part.get_mut(..have).unwrap_or_default(), there.offset());
            // Through the page cache: the kernel sees to it that it has what was written past it.
            self.file.read_exact_at(offset, part).map_err(|error| match error {
                embedded_io::ReadExactError::UnexpectedEof => {
                    io::Error::other("became shorter while it was written")
                }
                embedded_io::ReadExactError::Other(error) => error,
            })?;
        }
        Ok(())
    }

    /// Makes the file so long: cuts it, or grows it by a hole.
    ///
    /// # Errors
    /// The operating system's.
    pub fn set_size(&mut self, len: u64) -> io::Result<()> {
        self.flush()?;
        self.file.set_size(len)?;
        self.file_len = len;
        Ok(())
    }

    /// Makes all that was written durable, and the file's length.
    ///
    /// # Errors
    /// As [`PosixFile::sync`]; as [`flush`](Self::flush).
    pub fn sync(&mut self) -> io::Result<()> {
        self.flush()?;
        self.file.sync()
    }
}

/// Opens the file once more, for direct writing, and says what that needs.
fn open_direct(file: &PosixFile) -> io::Result<(PosixFile, Alignment)> {
    let direct = file.reopen(OFlags::RDWR | OFlags::DIRECT)?;
    let alignment = device::alignment(&direct, Access::Writing)?;
    let fits = |bytes: u64| usize::try_from(bytes).is_ok_and(|bytes| BUFFER.is_multiple_of(bytes));
    match fits(alignment.offset) && fits(alignment.length) {
        true => Ok((direct, alignment)),
        false => Err(io::Error::other("its blocks are too long")),
    }
}

fn too_long(_: striae_core::align::Error) -> io::Error {
    Errno::FBIG.into()
}

impl Drop for Writer {
    fn drop(&mut self) {
        if let Err(error) = self.flush() {
            let path = self.file.some_path();
            log::error!("{}: the last {} bytes: {error}", shown::path(&path), self.gathered.len());
        }
    }
}

impl ReadAt for Writer {
    type Error = io::Error;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let len = usize::try_from(self.size()?.saturating_sub(offset)).unwrap_or(usize::MAX);
        let len = len.min(buf.len());
        let buf = buf.get_mut(..len).unwrap_or_default();
        buf.fill(0);
        let (mut done, mut at) = (0, offset);
        while let Some(rest) = buf.get_mut(done..).filter(|rest| !rest.is_empty()) {
            let Some(n @ 1..) = Some(self.file.read_at(at, rest)?) else { break };
            (done, at) = (done.saturating_add(n), at.saturating_add(usize_to_u64(n)));
        }
        // Over that, what was gathered.
        let from = self.gathered.offset().max(offset);
        let to = self.gathered.end().min(offset.saturating_add(usize_to_u64(len)));
        if from < to {
            let skip = usize::try_from(from.saturating_sub(offset)).unwrap_or(usize::MAX);
            let count = usize::try_from(to.saturating_sub(from)).unwrap_or(usize::MAX);
            let place = self.place(from);
            // SAFETY: "no read of these bytes is under way": none ever is, the memory is the
            // writer's own.
            let there = unsafe { self.memory.bytes(place, count) };
            let wanted = buf.get_mut(skip..).and_then(|buf| buf.get_mut(..count));
            if let (Some(wanted), Some(there)) = (wanted, there) {
                wanted.copy_from_slice(there);
            }
        }
        Ok(len)
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.file_len.max(self.gathered.end()))
    }
}

impl WriteAt for Writer {
    fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        Self::write_all_at(self, offset, bytes)
    }

    fn set_size(&mut self, len: u64) -> io::Result<()> {
        Self::set_size(self, len)
    }

    fn order(&mut self) -> io::Result<()> {
        self.flush()
    }

    fn sync(&mut self) -> io::Result<()> {
        Self::sync(self)
    }
}
