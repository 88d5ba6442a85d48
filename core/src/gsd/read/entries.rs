//! [`Chunks`] lists chunks: the entries of the index in order, read through a window.

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

/// An iterator over chunks in the order of the index.
///
/// An entry that repeats the one before is skipped: such entries fill an index that needs more
/// entries than there are chunks. If an entry is wrong, the list has an error in its place and goes
/// on with the next entry. An error of the store ends the list.
#[derive(Debug)]
pub struct Chunks<'s, S, W> {
    store: &'s S,
    index: IndexBlock,
    limits: Limits,
    window: W,
    /// The slots in the window.
    have: Range<u64>,
    next: u64,
    end: u64,
    /// Later frames are not listed.
    last_frame: u64,
    /// The entry before the window.
    before: Option<IndexEntry>,
}

impl<'s, S, W: AsMut<[u8]>> Chunks<'s, S, W> {
    pub(in crate::gsd) const fn new(
        store: &'s S,
        head: &Head,
        next: u64,
        last_frame: u64,
        window: W,
    ) -> Self {
        let (index, limits) = (head.index(), head.limits());
        let (have, end, before) = (0..0, index.slots, None);
        Self { store, index, limits, window, have, next, end, last_frame, before }
    }

    /// The slot of the next chunk, if there is one.
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
            if entry.frame.get() > self.last_frame {
                self.end = slot;
                return None;
            }
            self.next = slot.saturating_add(1);
            let before = match place.checked_sub(1) {
                Some(place) => entry_in(window, place),
                None => self.before.as_ref(),
            };
            if before != Some(entry) {
                return Some(Chunk::parse_used(entry, self.index, slot, self.limits));
            }
        }
        None
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
