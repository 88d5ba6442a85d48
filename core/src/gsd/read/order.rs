//! [`Order`]: the order of the entries of an index.

use crate::gsd::error::Error;
use crate::gsd::layout::IndexBlock;
use crate::gsd::raw::IndexEntry;
use crate::gsd::verdict::Head;

/// The order of the entries of a file: by frame, and by id in layer 2 (`spec/gsd.md#index`).
///
/// One damaged frame or id leads searches to a wrong place, where the entry that they look for is
/// not, and ends lists too early. So who must not mistake a lost chunk for one that is not there
/// has the entries around such a place compared with each other.
#[derive(Debug, Clone, Copy)]
pub(in crate::gsd) struct Order {
    index: IndexBlock,
    frames: u64,
    by_id: bool,
}

impl Order {
    pub(in crate::gsd) const fn new(head: &Head) -> Self {
        Self { index: head.index(), frames: head.frames, by_id: head.header.version.is_sorted() }
    }

    /// Whether the file has the frame of an entry.
    #[inline]
    pub(in crate::gsd) const fn has_frame(&self, entry: &IndexEntry) -> bool {
        entry.frame.get() < self.frames
    }

    /// Checks the entry in `slot`, and that it does not belong before the entry in front of it. If
    /// that one has a frame that the file does not have, it is not compared.
    ///
    /// # Errors
    /// [`Error::TooLarge`], [`Error::Order`], [`Error::Unsorted`].
    #[inline]
    pub(in crate::gsd) fn check(
        &self,
        slot: u64,
        before: Option<&IndexEntry>,
        entry: &IndexEntry,
    ) -> Result<(), Error> {
        match before {
            Some(before) if self.is_right(before, entry) => Ok(()),
            before => self.check_closely(slot, before, entry),
        }
    }

    /// Whether two entries are certainly in order, without an answer why not.
    #[inline]
    fn is_right(&self, before: &IndexEntry, entry: &IndexEntry) -> bool {
        let (last, frame) = (before.frame.get(), entry.frame.get());
        let is_later = last < frame || (last == frame && before.id.get() <= entry.id.get());
        is_later && frame < self.frames
    }

    #[cold]
    #[inline(never)]
    fn check_closely(
        &self,
        slot: u64,
        before: Option<&IndexEntry>,
        entry: &IndexEntry,
    ) -> Result<(), Error> {
        let (frame, id) = (entry.frame.get(), entry.id.get());
        let offset = |field| self.index.field_of(slot, field);
        if !self.has_frame(entry) {
            let (field, max) = (IndexEntry::frame, self.frames.saturating_sub(1));
            return Err(Error::TooLarge { field, offset: offset(field), value: frame, max });
        }
        let Some(last) = before.filter(|before| self.has_frame(before)) else { return Ok(()) };
        let (before, id_before) = (last.frame.get(), last.id.get());
        if frame < before {
            return Err(Error::Order { offset: offset(IndexEntry::frame), frame, before });
        }
        if self.by_id && frame == before && id < id_before {
            let (offset, before) = (offset(IndexEntry::id), id_before);
            return Err(Error::Unsorted { offset, frame, id, before });
        }
        Ok(())
    }

    /// Checks entries in slots from `first` on.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub(in crate::gsd) fn check_all(
        &self,
        first: u64,
        entries: &[IndexEntry],
    ) -> Result<(), Error> {
        let mut before = None;
        for (slot, entry) in (first..).zip(entries) {
            self.check(slot, before, entry)?;
            before = Some(entry);
        }
        Ok(())
    }
}
