//! The machines that find a chunk: by frame and id in a sorted index; by frame and then backwards
//! in an index of layer 1.

use super::order::Order;
use crate::gsd::disk::chunk::{Chunk, Key, Limits};
use crate::gsd::error::Error;
use crate::gsd::layout::{ENTRY_LEN, IndexBlock};
use crate::gsd::raw::IndexEntry;
use crate::gsd::verdict::Head;
use crate::step::{ReadMachine, ReadStep};
use crate::store::usize_to_u64;
use core::ops::Range;
use zerocopy::FromBytes;

/// The most guesses that may fail before every other read is in the middle.
const GUESSES: u8 = 3;

/// Finds the first entry that is not before a [`Key`].
///
/// The index stays in the file: each read gets some neighbouring entries. Their place is estimated
/// from frame and id at both ends of the remaining range. Evenly spread chunks take one or two
/// reads, randomly spread ones two or three. After three estimates, an estimate that did not help
/// much is followed by a read of the middle, so that any index takes at most twice the logarithm of
/// the number of its entries, plus four.
#[derive(Debug, Clone, Copy)]
pub struct LowerBound {
    index: IndexBlock,
    key: Key,
    /// Entries before this are before the key.
    low: u64,
    /// The key of the entry before `low`, or the smallest key.
    low_key: Key,
    /// Entries from here on are not before the key.
    high: u64,
    /// The key of the entry at `high`, or a key larger than all.
    high_key: Key,
    /// Number of names in the file.
    names: u32,
    /// The most entries of a read.
    window: u64,
    /// The most entries of the first read.
    first_window: u64,
    /// A slot that is probably near the place, until it is read.
    near: Option<u64>,
    /// Guesses that may still fail before a read in the middle.
    guesses: u8,
    halve: bool,
    /// First slot of the current read.
    probe: u64,
}

impl LowerBound {
    /// Makes a machine that finds the place of `key` in the used entries of a file, with reads of
    /// at most `window` entries.
    #[must_use]
    pub fn new(head: &Head, key: Key, window: u64) -> Self {
        let index = head.index();
        Self {
            index,
            key,
            low: 0,
            low_key: Key { frame: 0, id: 0 },
            high: index.slots,
            high_key: Key { frame: head.frames, id: 0 },
            names: head.names,
            window: window.max(1),
            first_window: window.max(1),
            near: None,
            guesses: GUESSES,
            halve: false,
            probe: 0,
        }
    }

    /// Gives the search the key of the entry in a slot.
    #[must_use]
    pub fn knowing(mut self, slot: u64, key: Key) -> Self {
        if (self.low..self.high).contains(&slot) {
            match key < self.key {
                true => (self.low, self.low_key) = (slot.saturating_add(1), key),
                false => (self.high, self.high_key) = (slot, key),
            }
        }
        self
    }

    /// The slot around which to read next.
    fn guess(&self) -> u64 {
        let len = self.high.saturating_sub(self.low);
        if let Some(slot) = self.near {
            return slot.min(self.high.saturating_sub(1)).max(self.low);
        }
        let half = self.low.saturating_add(len / 2);
        if self.halve {
            return half;
        }
        let low = self.number(self.low_key);
        let range = self.number(self.high_key).saturating_sub(low);
        let past = self.number(self.key).saturating_sub(low).min(range);
        let skip = u128::from(len).checked_mul(past).and_then(|skip| skip.checked_div(range));
        match skip.and_then(|skip| u64::try_from(skip).ok()) {
            Some(skip) => self.low.saturating_add(skip.min(len.saturating_sub(1))),
            None => half,
        }
    }

    /// The place of a key in an index where all frames have chunks of all names.
    fn number(&self, key: Key) -> u128 {
        let of_frame = u128::from(key.frame).saturating_mul(self.names.into());
        of_frame.saturating_add(key.id.into())
    }
}

impl ReadMachine for LowerBound {
    /// Number of the slot; the number of entries if all are before the key.
    type Output = u64;
    type Error = Error;

    fn poll(&mut self) -> ReadStep<u64> {
        if self.low >= self.high {
            return ReadStep::Done(self.low);
        }
        let guess = self.guess();
        let window = if self.guesses == GUESSES { self.first_window } else { self.window };
        let first = guess.saturating_sub(window / 2).max(self.low);
        let first = first.min(self.high.saturating_sub(window).max(self.low));
        let count = window.min(self.high.saturating_sub(first));
        self.probe = first;
        ReadStep::Read {
            offset: self.index.offset_of(first),
            need: 32,
            want: count.saturating_mul(ENTRY_LEN),
        }
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let (entries, _) = <[IndexEntry]>::ref_from_prefix_with_elems(bytes, bytes.len() / 32)
            .unwrap_or((&[], &[]));
        let before = entries.partition_point(|entry| entry.key() < self.key);
        let len = self.high.saturating_sub(self.low);
        if let Some(entry) = before.checked_sub(1).and_then(|last| entries.get(last)) {
            self.low = self.probe.saturating_add(usize_to_u64(before));
            self.low_key = entry.key();
        }
        if let Some(entry) = entries.get(before) {
            self.high = self.probe.saturating_add(usize_to_u64(before));
            self.high_key = entry.key();
        }
        // After a guess that did not help much, read the middle.
        let is_slow = self.high.saturating_sub(self.low) > len / 4;
        self.halve = !self.halve && is_slow && self.near.is_none() && self.guesses == 0;
        self.guesses = self.guesses.saturating_sub(u8::from(self.near.is_none()));
        self.near = None;
        Ok(())
    }
}

/// Finds a chunk by its frame and id.
///
/// Needs a buffer of 32 bytes for each entry of its window. If several entries have the same frame
/// and id, the first counts in layer 2 and the last in layer 1.
///
/// In an index that is not in order, which damage makes, a search finds some entry of the frame and
/// id, or none, unless it is [`ordered`](Self::ordered).
#[derive(Debug, Clone, Copy)]
pub struct Find {
    search: LowerBound,
    limits: Limits,
    order: Order,
    /// The number of places, at most two, where the order of entries is still to be checked.
    unchecked: u8,
    /// In layer 1, the entries of a frame have any order: the slots before this one are not
    /// searched yet.
    left: Option<u64>,
    key: Key,
    stage: Stage,
}

#[derive(Debug, Clone, Copy)]
enum Stage {
    Search,
    Entry(u64),
    Backwards,
    Done(Option<Chunk>),
}

impl Find {
    /// Makes a machine that finds the chunk of name `id` in `frame`, with reads of at most `window`
    /// entries.
    #[must_use]
    pub fn new(head: &Head, frame: u64, id: u16, window: u64) -> Self {
        let key = Key { frame, id };
        let is_sorted = head.header.version.is_sorted();
        // In layer 1, search for the place after the last entry of the frame.
        let (place, left) = match is_sorted {
            true => (key, None),
            false => (Key { frame: frame.saturating_add(1), id: 0 }, Some(0)),
        };
        let search = LowerBound::new(head, place, window);
        let none = frame >= head.frames;
        let stage = if none { Stage::Done(None) } else { Stage::Search };
        let (limits, order) = (head.limits(), Order::new(head));
        Self { search, limits, order, unchecked: 0, left, key, stage }
    }

    /// Makes it an error if entries next to the place where the search ends are out of order: of a
    /// frame that the file does not have, or before the entry in front of them by frame, or by id
    /// in layer 2. Then there may be a chunk that the search does not find, or the one it finds may
    /// belong to another frame. This takes one more read of four entries, two in layer 1 if the
    /// chunk is not there, for which the buffer needs 128 bytes.
    #[must_use]
    pub const fn ordered(mut self) -> Self {
        self.unchecked = match (self.stage, self.left) {
            (Stage::Done(_), _) => 0, // the file does not have the frame
            _ if self.search.index.slots == 0 => 0,
            (_, None) => 1,
            (_, Some(_)) => 2, // where the search backwards begins, and where it ends
        };
        self
    }

    /// Makes the first read around a slot that is probably near the chunk's slot.
    #[must_use]
    pub const fn near(mut self, slot: u64) -> Self {
        self.search.near = Some(slot);
        self
    }

    /// Limits the first read to `window` entries. It is usually the only read, and most entries of
    /// a longer one are not needed.
    #[must_use]
    pub const fn first_window(mut self, window: u64) -> Self {
        self.search.first_window = if window == 0 { 1 } else { window };
        self
    }

    /// Gives the search the key of the entry in a slot.
    #[must_use]
    pub fn knowing(mut self, slot: u64, key: Key) -> Self {
        self.search = self.search.knowing(slot, key);
        self
    }

    fn entry(&self, bytes: &[u8], slot: u64) -> Result<Option<Chunk>, Error> {
        let Ok((entry, _)) = IndexEntry::ref_from_prefix(bytes) else { return Ok(None) };
        if entry.key() != self.key {
            return Ok(None);
        }
        Chunk::parse_used(entry, self.search.index, slot, self.limits).map(Some)
    }

    /// Searches the entries before slot `left` backwards.
    fn feed_backwards(&mut self, bytes: &[u8], left: u64) -> Result<Stage, Error> {
        let mut slot = left;
        for bytes in bytes.rchunks_exact(32) {
            slot = slot.saturating_sub(1);
            if let Some(chunk) = self.entry(bytes, slot)? {
                self.unchecked = self.unchecked.min(1); // only misses ask where the frame begins
                return Ok(Stage::Done(Some(chunk)));
            }
            let frame = IndexEntry::ref_from_prefix(bytes).map_or(0, |(it, _)| it.frame.get());
            if frame != self.key.frame {
                self.left = Some(slot);
                return Ok(Stage::Done(None));
            }
        }
        self.left = Some(slot);
        Ok(if slot == 0 { Stage::Done(None) } else { Stage::Backwards })
    }
}

impl ReadMachine for Find {
    type Output = Option<Chunk>;
    type Error = Error;

    fn poll(&mut self) -> ReadStep<Option<Chunk>> {
        if matches!(self.stage, Stage::Search) {
            match self.search.poll() {
                ReadStep::Read { offset, need, want } => {
                    return ReadStep::Read { offset, need, want };
                }
                ReadStep::Done(_) => self.stage = self.behind_search(),
            }
        }
        match self.stage {
            Stage::Entry(slot) => ReadStep::Read {
                offset: self.search.index.offset_of(slot),
                need: 32,
                want: ENTRY_LEN,
            },
            Stage::Backwards => {
                let left = self.left.unwrap_or(0);
                let count = self.search.window.min(left);
                let offset = self.search.index.offset_of(left.saturating_sub(count));
                let want = count.saturating_mul(ENTRY_LEN);
                // The bytes must end at `left`.
                ReadStep::Read { offset, need: usize::try_from(want).unwrap_or(usize::MAX), want }
            }
            Stage::Done(chunk) if self.unchecked == 0 => ReadStep::Done(chunk),
            Stage::Done(_) => {
                let slots = self.around();
                let want = slots.end.saturating_sub(slots.start).saturating_mul(ENTRY_LEN);
                let need = usize::try_from(want).unwrap_or(usize::MAX);
                ReadStep::Read { offset: self.search.index.offset_of(slots.start), need, want }
            }
            Stage::Search => ReadStep::Done(None), // never: it was left above
        }
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.stage = match self.stage {
            Stage::Search => {
                self.search.feed(bytes)?;
                self.seen(bytes)?
            }
            Stage::Entry(slot) => Stage::Done(self.entry(bytes, slot)?),
            Stage::Backwards => self.feed_backwards(bytes, self.left.unwrap_or(0))?,
            Stage::Done(chunk) => {
                self.check_order(bytes)?;
                Stage::Done(chunk)
            }
        };
        Ok(())
    }
}

impl Find {
    /// The slots whose order is checked next.
    fn around(&self) -> Range<u64> {
        let place = match self.left {
            Some(left) if self.unchecked == 1 && matches!(self.stage, Stage::Done(None)) => left,
            _ => self.search.low,
        };
        let end = place.saturating_add(2).min(self.search.index.slots);
        place.saturating_sub(2)..end
    }

    fn check_order(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let Some(left) = self.unchecked.checked_sub(1) else { return Ok(()) };
        let (entries, _) = <[IndexEntry]>::ref_from_prefix_with_elems(bytes, bytes.len() / 32)
            .unwrap_or((&[], &[]));
        self.order.check_all(self.around().start, entries)?;
        self.unchecked = left;
        Ok(())
    }

    /// The search has found the place of the entry.
    fn behind_search(&mut self) -> Stage {
        let place = self.search.low;
        match self.left {
            None if place < self.search.index.slots => Stage::Entry(place),
            Some(_) if place > 0 => {
                self.left = Some(place);
                Stage::Backwards
            }
            _ => Stage::Done(None),
        }
    }

    /// Takes the entry from the last read, if the place is inside it, without another read.
    fn seen(&mut self, bytes: &[u8]) -> Result<Stage, Error> {
        if self.search.low < self.search.high {
            return Ok(Stage::Search);
        }
        let skip = self.search.low.saturating_sub(self.search.probe);
        let at = usize::try_from(skip.saturating_mul(ENTRY_LEN)).unwrap_or(usize::MAX);
        match self.left {
            None => match bytes.get(at..).filter(|rest| rest.len() >= 32) {
                Some(rest) => Ok(Stage::Done(self.entry(rest, self.search.low)?)),
                None => Ok(self.behind_search()),
            },
            Some(_) => match bytes.get(..at).filter(|front| !front.is_empty()) {
                Some(front) => self.feed_backwards(front, self.search.low),
                None => Ok(self.behind_search()),
            },
        }
    }
}
