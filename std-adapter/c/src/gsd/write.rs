//! The writer, which is opened by the first change: a handle that only reads never changes a file.

use super::code::Code;
use super::read::to_machine_order;
use std::borrow::Cow;
use std::path::Path;
use striae::error::ErrorKind as ErrorKindOf;
use striae::gsd::{ChunkType, Durability, FileWriter, Reopen, Version};

/// How a file is written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    pub(super) durability: Durability,
    /// Whether commits take one sync; `None` for no change.
    pub(super) one_sync: Option<bool>,
    /// Whether other writers are kept out.
    pub(super) lock: bool,
}

impl Default for Settings {
    /// As gsd: commits are durable, and nobody is kept out.
    fn default() -> Self {
        Self { durability: Durability::OnCommit, one_sync: None, lock: false }
    }
}

/// What a handle writes.
#[derive(Debug)]
pub(super) struct Writing {
    writer: Option<FileWriter>,
    settings: Settings,
    /// Bytes that are gathered before a write.
    pub(super) buffer: u64,
    /// The number of chunks after which the end of a frame flushes.
    pub(super) entries_to_buffer: u64,
    /// Chunks of the open frame.
    pub(super) pending: u64,
    /// Chunks since the last flush, with those of the open frame.
    pub(super) unflushed: u64,
    /// Whether a frame has ended since the last flush.
    ended: bool,
    /// Whether the flush failed that the end of a frame asked for.
    is_late: bool,
}

impl Writing {
    /// gsd's default.
    pub(super) const BUFFER: u64 = 1 << 20;

    pub(super) const fn new(writer: Option<FileWriter>, settings: Settings) -> Self {
        Self {
            writer,
            settings,
            buffer: Self::BUFFER,
            entries_to_buffer: u64::MAX,
            pending: 0,
            unflushed: 0,
            ended: false,
            is_late: false,
        }
    }

    /// Whether the writer waits for nothing: the file has all that it was given.
    pub(super) const fn is_idle(&self) -> bool {
        self.unflushed == 0 && !self.ended
    }

    /// Whether frames have ended since the last flush.
    pub(super) const fn has_ended_frames(&self) -> bool {
        self.ended
    }

    pub(super) const fn is_open(&self) -> bool {
        self.writer.is_some()
    }

    /// Forgets a writer that waits for nothing, as another program has written to the file.
    pub(super) fn forget(&mut self) {
        if self.is_idle() {
            self.writer = None;
        }
    }

    /// Leaves the file to the process that this one was forked from, with its lock: to drop the
    /// writer changes nothing here.
    pub(super) fn leave(&mut self) {
        self.writer = None;
    }

    /// The writer of the file at `path`.
    fn writer(&mut self, path: &Path) -> Result<&mut FileWriter, Code> {
        if self.writer.is_none() {
            let Settings { durability, one_sync, lock } = self.settings;
            let mut reopen =
                Reopen::new().durability(durability).lock(lock).buffer(self.buffer_len());
            if let Some(one_sync) = one_sync {
                reopen = reopen.one_sync(one_sync);
            }
            self.writer = Some(reopen.open(path)?);
        }
        self.writer.as_mut().ok_or(Code::IO)
    }

    fn buffer_len(&self) -> usize {
        usize::try_from(self.buffer).unwrap_or(usize::MAX)
    }

    /// Number of frames with those that are not flushed, if the writer is open.
    pub(super) fn frames(&self) -> Option<u64> {
        self.writer.as_ref().map(FileWriter::frames)
    }

    pub(super) fn set_buffer(&mut self, bytes: u64) {
        self.buffer = bytes;
        let len = self.buffer_len();
        if let Some(writer) = &mut self.writer {
            writer.set_buffer(len);
        }
    }

    /// Adds a chunk to the open frame, in place of one of this name, which is gone also if there is
    /// no room for the new one.
    pub(super) fn write_chunk(
        &mut self,
        path: &Path,
        name: &[u8],
        kind: ChunkType,
        m: u32,
        bytes: &[u8],
    ) -> Result<(), Code> {
        let bytes = match cfg!(target_endian = "big") {
            true => {
                let mut bytes = bytes.to_vec();
                to_machine_order(kind, &mut bytes);
                Cow::Owned(bytes)
            }
            false => Cow::Borrowed(bytes),
        };
        let writer = self.writer(path)?;
        let name = name_in(writer.version(), name);
        let mut written = writer.write_bytes(name, kind, m, &bytes);
        let is_second = written.as_ref().is_err_and(is_duplicate) && writer.discard_chunk(name);
        if is_second {
            written = writer.write_bytes(name, kind, m, &bytes);
            if written.is_err() {
                self.pending = self.pending.saturating_sub(1);
                self.unflushed = self.unflushed.saturating_sub(1);
            }
        } else if written.is_ok() {
            self.pending = self.pending.saturating_add(1);
            self.unflushed = self.unflushed.saturating_add(1);
        }
        written?;
        Ok(())
    }

    /// Ends the frame; returns whether enough chunks wait for a flush. If it is called again after
    /// a flush that failed, the frame has ended.
    pub(super) fn end_frame(&mut self, path: &Path) -> Result<bool, Code> {
        if !self.is_late || self.pending > 0 {
            self.writer(path)?.end_frame()?;
        }
        self.pending = 0;
        self.ended = true;
        self.is_late = self.unflushed >= self.entries_to_buffer; // until it is flushed
        Ok(self.is_late)
    }

    /// Makes the ended frames part of the file.
    pub(super) fn flush(&mut self) -> Result<(), Code> {
        if let Some(writer) = &mut self.writer {
            writer.commit()?;
        }
        self.unflushed = self.pending;
        (self.ended, self.is_late) = (false, false);
        Ok(())
    }

    pub(super) fn upgrade(&mut self, path: &Path) -> Result<(), Code> {
        Ok(self.writer(path)?.upgrade()?)
    }

    pub(super) fn truncate(&mut self, path: &Path) -> Result<(), Code> {
        let writer = self.writer(path)?;
        writer.truncate()?;
        (self.pending, self.unflushed) = (0, 0);
        (self.ended, self.is_late) = (false, false);
        self.set_buffer(Self::BUFFER);
        Ok(())
    }

    /// Commits for the last time. The open frame is dropped, as gsd does. After an error there is
    /// still a writer, unless the file was removed.
    pub(super) fn close(&mut self) -> Result<(), Code> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        writer.discard_frame();
        let closed = writer.close();
        if closed.as_ref().map_or_else(striae::Error::is_removed, |()| true) {
            self.writer = None;
        }
        Ok(closed?)
    }
}

/// Whether the frame has a chunk of this name already, which gsd accepts: the last one counts.
fn is_duplicate(error: &striae::Error) -> bool {
    use striae::gsd::{Error, ErrorKind};
    let ErrorKindOf::Gsd(ErrorKind::Chunk { error, .. }) = error.kind() else { return false };
    matches!(error, Error::Duplicate { .. })
}

/// A name as a file of this layer has it: layer 1 has 63 bytes of it.
pub(super) fn name_in(version: Version, name: &[u8]) -> &[u8] {
    match version.is_sorted() {
        true => name,
        false => name.get(..63).unwrap_or(name),
    }
}
