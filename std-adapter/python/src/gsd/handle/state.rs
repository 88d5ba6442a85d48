//! What a file that is written knows, besides the library's writer.

use crate::gsd::values::Written;
use striae::Error;
use striae::gsd::FileWriter;

/// The longest name of a chunk in a file of layer 1, in bytes. gsd cuts longer names.
const SLOT: usize = 63;

/// The writer, and what was set for it.
#[derive(Debug)]
pub(crate) struct State {
    /// `None` if the file is only read, or closed.
    writer: Option<FileWriter>,
    /// Bytes that are gathered.
    pub(super) buffer: u64,
    /// Chunks after which the end of a frame flushes.
    pub(super) entries: u64,
    /// Chunks since the last flush.
    pub(super) pending: u64,
    /// Whether this handle has changed the file. Only then a close commits and cuts it: another
    /// writer may have appended to it.
    pub(super) has_changed: bool,
}

impl State {
    pub(super) const fn new(writer: Option<FileWriter>, has_changed: bool) -> Self {
        Self { writer, buffer: 1 << 20, entries: u64::MAX, pending: 0, has_changed }
    }

    pub(super) const fn take_writer(&mut self) -> Option<FileWriter> {
        self.writer.take()
    }

    pub(super) fn put_writer(&mut self, writer: FileWriter) {
        self.writer = Some(writer);
    }

    /// Whether the end of a frame flushes.
    pub(super) const fn is_full(&self) -> bool {
        self.pending >= self.entries
    }

    /// Adds a chunk to the open frame.
    pub(in crate::gsd) fn write(
        &mut self,
        writer: &mut FileWriter,
        name: &str,
        written: &Written,
    ) -> Result<(), Error> {
        self.has_changed = true;
        let mut name = name.as_bytes();
        if !writer.version().is_sorted() {
            name = name.get(..SLOT).unwrap_or(name);
        }
        writer.write_bytes(name, written.kind, written.m, written.bytes())?;
        self.pending = self.pending.saturating_add(1);
        Ok(())
    }
}
