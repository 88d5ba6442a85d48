//! Writing a file past the page cache.
#![expect(unsafe_code, reason = "its memory is of a kind that others may write to")]

use super::device::{self, Access};
use super::memory::{Memory, Pool};
use super::standing::Policy;
use crate::posix::{MAX_LEN, PosixFile};
use crate::shown;
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::io;
use striae_core::align::{Alignment, Edge, Rules, Write};
use striae_core::span::Span;
use striae_core::store::{ReadAt, WriteAt, usize_to_u64};

/// The most bytes of a write.
const BUFFER: usize = 1 << 20;

/// A file that is written past the page cache if possible, at any offset and with any length.
///
/// Consecutive writes are gathered, up to 1 MiB. A block that is written in part is read, changed
/// and written back. If the last block ends after the end of the file, the right length is set
/// afterwards. So **nobody else may write to the file** meanwhile. The length is right only after a
/// [`flush`](Self::flush), a [`sync`](Self::sync), or the drop of the writer. At other times, and
/// after a power cut, the file may be too long: by less than a block, and by zeros. A child of
/// fork(2) may only drop the writer of its parent, and that writes nothing.
#[derive(Debug)]
pub struct Writer {
    file: PosixFile,
    /// The file, opened again for direct writing, if possible.
    direct: Option<PosixFile>,
    why: Option<io::Error>,
    policy: Policy,
    alignment: Alignment,
    /// The gathered data; the first byte is at its place in its block.
    memory: Memory,
    gathered: Span,
    /// Length of the file without the gathered data.
    file_len: u64,
    /// The process that made the writer. The gathered data of a fork are those of this process.
    owner: u32,
}

impl Writer {
    /// Makes a writer of a file that is open for reading and writing.
    ///
    /// # Errors
    /// An error of the operating system; of kind [`Unsupported`](io::ErrorKind::Unsupported) if
    /// direct writing is required and not possible.
    pub fn new(file: PosixFile, policy: Policy) -> io::Result<Self> {
        let opened = match policy {
            Policy::Off => None,
            Policy::Preferred | Policy::Required => Some(open_direct(&file)),
        };
        let (direct, alignment, why) = match opened {
            None => (None, Alignment::NONE, None),
            Some(Ok((direct, alignment))) => (Some(direct), alignment, None),
            Some(Err(error)) if policy == Policy::Required => return Err(not_direct(&error)),
            Some(Err(error)) => (None, Alignment::NONE, Some(error)),
        };
        let align = usize::try_from(alignment.memory).unwrap_or(usize::MAX).max(4096);
        let memory = Pool::new(align).take(BUFFER).ok_or(io::ErrorKind::OutOfMemory)?;
        let file_len = file.size()?;
        let (gathered, owner) = (Span::ZERO, std::process::id());
        Ok(Self { file, direct, why, policy, alignment, memory, gathered, file_len, owner })
    }

    /// Whether writes bypass the page cache.
    #[must_use]
    pub const fn is_direct(&self) -> bool {
        self.direct.is_some()
    }

    /// The reason why writes use the page cache, unless the caller asked for it.
    #[must_use]
    pub const fn why(&self) -> Option<&io::Error> {
        self.why.as_ref()
    }

    /// Allocates the room of a span on disk, also after the end of the file, so that writing it
    /// needs no more room. The length of the file stays.
    ///
    /// # Errors
    /// An error of the operating system, also if the file system cannot allocate.
    pub fn preallocate(&self, span: Span) -> io::Result<()> {
        self.file.preallocate(span.offset(), span.len())
    }

    /// Writes `bytes` at `offset`. A gap after the end of the file becomes a hole.
    ///
    /// # Errors
    /// - [`io::ErrorKind::FileTooLarge`] if no file can be so long; then nothing has changed.
    /// - As [`flush`](Self::flush). Then some of the bytes may be written, and data that were
    ///   gathered before are kept.
    pub fn write_all_at(&mut self, mut offset: u64, mut bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        // Whole blocks are written: the last one must end where a file can. What cannot be flushed
        // must not be gathered, as it would be in the way of all later writes.
        let max = MAX_LEN & self.unit().wrapping_neg();
        let whole = Span::new(offset, usize_to_u64(bytes.len()));
        if whole.is_none_or(|whole| whole.end() > max) {
            return Err(Errno::FBIG.into());
        }
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

    /// The length of a block.
    fn unit(&self) -> u64 {
        self.alignment.offset.max(self.alignment.length)
    }

    /// Number of bytes that can still be gathered.
    fn room(&self) -> usize {
        BUFFER.saturating_sub(self.place(self.gathered.end()))
    }

    /// The place in memory of a byte of the file, at or after the first gathered byte. The memory
    /// begins with the first gathered byte's block.
    fn place(&self, offset: u64) -> usize {
        let start = self.gathered.offset() & self.unit().wrapping_neg();
        usize::try_from(offset.saturating_sub(start)).unwrap_or(usize::MAX)
    }

    /// Writes the gathered data in whole blocks, and sets the right length of the file.
    ///
    /// # Errors
    /// An error of the operating system; of kind [`Unsupported`](io::ErrorKind::Unsupported) if
    /// direct writing is required and refused. The gathered data are kept then.
    pub fn flush(&mut self) -> io::Result<()> {
        if self.gathered.is_empty() {
            return Ok(());
        }
        let rules = Rules::new(self.alignment, self.file_len).map_err(too_long)?;
        let write = Write::new(self.gathered, &rules).map_err(too_long)?;
        for edge in write.head.iter().chain(&write.tail) {
            self.complete(edge)?;
        }
        // Exact: `write` checked that a file may be so long, and the memory has whole blocks.
        let (start, end) = (rules.down(self.gathered.offset()), rules.up(self.gathered.end()));
        let len = self.place(end);
        let blocks = self.memory.bytes_mut().get(..len).ok_or(Errno::FBIG)?;
        let file = self.direct.as_ref().unwrap_or(&self.file);
        match file.write_all_at(start, blocks) {
            // open(2) with O_DIRECT may succeed on a file that refuses all direct writes.
            Err(error)
                if self.direct.is_some() && Errno::from_io_error(&error) == Some(Errno::INVAL) =>
            {
                if self.policy == Policy::Required {
                    return Err(not_direct(&error));
                }
                self.file.write_all_at(start, blocks)?;
                (self.direct, self.why) = (None, Some(error));
            }
            done => done?,
        }
        if let Some(len) = write.set_len {
            self.file.set_size(len)?; // or it is planned again
        }
        self.file_len = write.set_len.unwrap_or(self.file_len.max(end));
        self.gathered = Span::ZERO;
        Ok(())
    }

    /// Reads the file's bytes of a block that is written in part.
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
            // Read through the page cache: the kernel makes it consistent with direct writes.
            self.file.read_exact_at(offset, part).map_err(|error| match error {
                embedded_io::ReadExactError::UnexpectedEof => {
                    io::Error::other("became shorter while it was written")
                }
                embedded_io::ReadExactError::Other(error) => error,
            })?;
        }
        Ok(())
    }

    /// Sets the length of the file: cuts the file, or extends it with a hole.
    ///
    /// # Errors
    /// An error of the operating system.
    pub fn set_size(&mut self, len: u64) -> io::Result<()> {
        self.flush()?;
        self.file.set_size(len)?;
        self.file_len = len;
        Ok(())
    }

    /// Makes all written data and the file's length durable.
    ///
    /// # Errors
    /// As [`PosixFile::sync`] and [`flush`](Self::flush).
    pub fn sync(&mut self) -> io::Result<()> {
        self.flush()?;
        self.file.sync()
    }
}

/// Opens the file again for direct writing, and returns the alignment that it needs.
fn open_direct(file: &PosixFile) -> io::Result<(PosixFile, Alignment)> {
    let direct = file.reopen(OFlags::RDWR | OFlags::DIRECT)?;
    let alignment = device::alignment(&direct, Access::Writing)?;
    let fits = |bytes: u64| usize::try_from(bytes).is_ok_and(|bytes| BUFFER.is_multiple_of(bytes));
    match fits(alignment.offset) && fits(alignment.length) {
        true => Ok((direct, alignment)),
        false => Err(io::Error::other("its blocks are too long")),
    }
}

fn not_direct(why: &io::Error) -> io::Error {
    let error = format!("not to be written past the page cache: {why}");
    io::Error::new(io::ErrorKind::Unsupported, error)
}

fn too_long(_: striae_core::align::Error) -> io::Error {
    Errno::FBIG.into()
}

impl Drop for Writer {
    fn drop(&mut self) {
        if self.owner != std::process::id() {
            return; // the other process writes them, and the file may be longer by now
        }
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
        // The gathered data are newer than the file's.
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
