//! [`Chunks`] lists chunks: the entries of the index in order, read through a window.

use super::order::Order;
use crate::gsd::disk::chunk::{Chunk, Limits};
use crate::gsd::error::Error;
#[twin(ReadError = AsyncError)]
use crate::gsd::error::ReadError;
use crate::gsd::layout::{ENTRY_LEN, IndexBlock};
use crate::gsd::raw::IndexEntry;
use crate::gsd::verdict::Head;
use crate::span::{Span, Stride};
use crate::step::DriveError;
#[twin(read_exact)]
use crate::step::read_exact;
#[twin(ReadAt)]
use crate::store::ReadAt;
use crate::store::usize_to_u64;
use core::ops::Range;
use striae_twin::twin;
use zerocopy::FromBytes;

/// Slots in front of a list, and from its end on, whose order shows where it begins and ends.
const AROUND: u64 = 2;

/// An iterator over chunks in the order of the index.
///
/// An entry that repeats the one before is skipped: such entries fill an index that needs more
/// entries than there are chunks. If an entry is wrong, the list has an error in its place and goes
/// on with the next entry. An error of the store ends the list.
///
/// Entries that are out of order, which a damaged frame or id makes of them, are listed as they
/// are, unless the list is [`ordered`](Self::ordered).
#[derive(Debug)]
pub struct Chunks<'s, S, W> {
    store: &'s S,
    index: IndexBlock,
    limits: Limits,
    window: W,
    /// The slots in the window.
    have: Range<u64>,
    /// The first slot of the list.
    first: u64,
    next: u64,
    end: u64,
    /// Later frames are not listed.
    last_frame: u64,
    order: Order,
    is_ordered: bool,
    /// The entry before the window.
    before: Option<IndexEntry>,
}

impl<'s, S, W: AsMut<[u8]>> Chunks<'s, S, W> {
    pub(in crate::gsd) const fn new(
        store: &'s S,
        head: &Head,
        first: u64,
        last_frame: u64,
        window: W,
    ) -> Self {
        let index = head.index();
        Self {
            store,
            index,
            limits: head.limits(),
            window,
            have: 0..0,
            first,
            next: first,
            end: index.slots,
            last_frame,
            order: Order::new(head),
            is_ordered: false,
            before: None,
        }
    }

    /// Makes errors of entries that are out of order: of a frame that the file does not have, or
    /// before the entry in front of them by frame, or by id in layer 2. A list of some frames looks
    /// at the entries around it as well, which shows that it begins and ends where it should: it
    /// may have an error about them before its first chunk and after the last one.
    ///
    /// Made so before the first chunk is taken.
    #[must_use]
    pub const fn ordered(mut self) -> Self {
        self.is_ordered = true;
        self.next = self.first.saturating_sub(AROUND);
        self
    }

    /// The slot that is looked at next: that after the last item of the list.
    #[must_use]
    pub const fn slot(&self) -> u64 {
        self.next
    }

    /// The next chunk in the window, if there is one.
    #[inline]
    fn take(&mut self) -> Option<Result<Chunk, Error>> {
        while self.have.contains(&self.next) {
            let slot = self.next;
            let window: &[u8] = self.window.as_mut();
            let place = slot.saturating_sub(self.have.start);
            let entry = entry_in(window, place)?;
            let is_later = entry.frame.get() > self.last_frame;
            if is_later && !self.is_ordered {
                self.end = slot;
                return None;
            }
            let before = match place.checked_sub(1) {
                Some(place) => entry_in(window, place),
                None => self.before.as_ref(),
            };
            if self.is_ordered && self.order.check(slot, before, entry).is_err() {
                return None; // `disordered` says what is wrong with it
            }
            self.next = slot.saturating_add(1);
            if is_later && self.order.has_frame(entry) {
                self.end = self.end.min(slot.saturating_add(AROUND));
                self.have.end = self.have.end.min(self.end);
                continue;
            }
            if slot < self.first {
                continue;
            }
            if before != Some(entry) {
                return Some(Chunk::parse_used(entry, self.index, slot, self.limits));
            }
        }
        None
    }

    /// The error of the next entry, where [`take`](Self::take) ended although it is in the window:
    /// that of a wrong field, or of its order. It is not in `take`, which is faster without errors.
    #[cold]
    #[inline(never)]
    fn disordered(&mut self) -> Option<Error> {
        let slot = self.next;
        let place = slot.checked_sub(self.have.start).filter(|_| self.have.contains(&slot))?;
        let window: &[u8] = self.window.as_mut();
        let entry = entry_in(window, place)?;
        let before = match place.checked_sub(1) {
            Some(place) => entry_in(window, place),
            None => self.before.as_ref(),
        };
        self.next = slot.saturating_add(1);
        let chunk = Chunk::parse_used(entry, self.index, slot, self.limits);
        chunk.err().or_else(|| self.order.check(slot, before, entry).err())
    }
}

impl<S: ReadAt, W: AsMut<[u8]>> Iterator for Chunks<'_, S, W> {
    type Item = Result<Chunk, ReadError<S>>;

    #[inline] // a list is a loop over this
    fn next(&mut self) -> Option<Self::Item> {
        self.advance()
    }
}

#[cfg(feature = "async")]
impl<S: AsyncReadAt, W: AsMut<[u8]>> Chunks<'_, S, W> {
    /// The next chunk: [`Iterator::next`] for an asynchronous store.
    pub async fn next_async(&mut self) -> Option<Result<Chunk, AsyncError<S>>> {
        self.advance_async().await
    }
}

#[twin(ReadAt, ReadError = AsyncError)]
impl<S: ReadAt, W: AsMut<[u8]>> Chunks<'_, S, W> {
    #[inline]
    async fn advance(&mut self) -> Option<Result<Chunk, ReadError<S>>> {
        loop {
            if let Some(chunk) = self.take() {
                return Some(chunk.map_err(DriveError::Format));
            }
            if self.next >= self.end {
                return None;
            }
            if let Some(error) = self.disordered() {
                return Some(Err(DriveError::Format(error)));
            }
            if let Err(error) = self.fill().await {
                self.end = self.next;
                return Some(Err(error));
            }
        }
    }

    /// Reads the next slots into the window.
    async fn fill(&mut self) -> Result<(), ReadError<S>> {
        let window = self.window.as_mut();
        let most = usize_to_u64(window.len() / 32);
        if most == 0 {
            return Err(DriveError::BufferTooSmall { need: 32 });
        }
        let start = self.index.offset_of(self.next);
        // A list of some frames ends somewhere: then the slots of its end are not known.
        if self.have.end == 0 && self.last_frame == u64::MAX {
            let slots = Span::between(start, self.index.offset_of(self.end));
            self.store.will_read(&[Stride::one(slots.unwrap_or(Span::ZERO))]).await;
        }
        if !self.have.is_empty() {
            let last = self.have.end.saturating_sub(self.have.start).saturating_sub(1);
            self.before = entry_in(window, last).copied();
            self.have = 0..0;
        }
        let count = self.end.saturating_sub(self.next).min(most);
        let len = usize::try_from(count.saturating_mul(ENTRY_LEN)).unwrap_or(usize::MAX);
        read_exact(self.store, start, window.get_mut(..len).unwrap_or_default()).await?;
        self.have = self.next..self.next.saturating_add(count);
        Ok(())
    }
}

/// Entry number `place` of a window.
#[inline]
fn entry_in(window: &[u8], place: u64) -> Option<&IndexEntry> {
    let skip = usize::try_from(place.saturating_mul(ENTRY_LEN)).ok()?;
    IndexEntry::ref_from_prefix(window.get(skip..)?).ok().map(|(entry, _)| entry)
}
