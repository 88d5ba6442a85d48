//! A task of a set, and where the program is in it.

use striae::sion::TaskEntry;

/// A task of a set, and the position of the program in it.
#[derive(Debug, Clone)]
pub struct Track {
    pub(super) entry: TaskEntry,
    /// Used bytes of each chunk, at least one; `None` if they were not read yet.
    pub(super) lens: Option<Vec<u64>>,
    pub(super) chunk: usize,
    /// Position in the chunk.
    pub(super) at: u64,
}

impl Track {
    /// A task at its start. `lens` are the used bytes of its chunks, at least of one; `None` if
    /// they are to be read when they are needed.
    #[must_use]
    pub const fn new(entry: TaskEntry, lens: Option<Vec<u64>>) -> Self {
        Self { entry, lens, chunk: 0, at: 0 }
    }

    /// The task.
    #[must_use]
    pub const fn entry(&self) -> &TaskEntry {
        &self.entry
    }

    pub(super) fn lens(&self) -> &[u64] {
        self.lens.as_deref().unwrap_or_default()
    }

    /// Used bytes of the current chunk.
    pub(super) fn len(&self) -> u64 {
        self.lens().get(self.chunk).copied().unwrap_or(0)
    }

    /// Number of the last chunk.
    pub(super) fn last(&self) -> usize {
        self.lens().len().saturating_sub(1)
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.chunk == self.last() && self.at == self.len()
    }

    /// Goes on to the next chunk with bytes, if the current one is at its end; returns whether
    /// there are more bytes.
    pub(super) fn advance(&mut self) -> bool {
        while self.at >= self.len() && self.chunk < self.last() {
            (self.chunk, self.at) = (self.chunk.saturating_add(1), 0);
        }
        self.at < self.len()
    }

    /// Offset of a chunk in the physical file.
    pub(super) fn start_of(&self, chunk: usize) -> Option<u64> {
        let chunk = u64::try_from(chunk).ok()?;
        Some(self.entry.place.chunks.chunk(chunk)?.offset())
    }

    /// Offset of the current position in the physical file.
    pub(super) fn offset(&self) -> Option<u64> {
        self.start_of(self.chunk)?.checked_add(self.at)
    }

    /// Bytes before the current position.
    pub(super) fn bytes_before(&self) -> u64 {
        let before =
            self.lens().iter().take(self.chunk).fold(0, |sum: u64, len| sum.saturating_add(*len));
        before.saturating_add(self.at)
    }

    pub(super) fn bytes(&self) -> u64 {
        self.lens().iter().fold(0, |sum: u64, len| sum.saturating_add(*len))
    }
}
