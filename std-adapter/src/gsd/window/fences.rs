//! Some entries of an index that a thread has read.
//!
//! If frames have chunks at random, the ends of an index are not enough to guess the place of an
//! entry within a few slots, and most searches take two reads. Two known entries closer to it make
//! the guess better. If first reads are enough, nothing is kept.

use std::cell::RefCell;
use striae_core::gsd::chunk::Key;
use striae_core::gsd::find::Find;

/// The most entries that are kept, 24 bytes each: 384 KiB for a thread.
const MOST: u64 = 1 << 14;

/// A known entry of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fence {
    pub(super) slot: u64,
    pub(super) key: Key,
}

thread_local! {
    /// Destroyed when its thread ends, unlike variables without destructors. Files can be read
    /// after that, too.
    static FENCES: RefCell<Fences> = const { RefCell::new(Fences::NONE) };
}

/// Forgets all entries. The next entries are from an index of `slots` slots.
pub(super) fn clear(slots: u64) {
    let _ = FENCES.try_with(|fences| fences.borrow_mut().clear(slots));
}

/// Keeps an entry, unless it is near a kept one.
pub(super) fn keep(fence: Fence) {
    let _ = FENCES.try_with(|fences| fences.borrow_mut().keep(fence));
}

/// Gives a search for `key` the kept entries before and after it. In an index that is not sorted,
/// they may be anywhere; searches end anywhere there as well.
pub(super) fn tell(key: Key, find: Find) -> Find {
    FENCES.try_with(|fences| fences.borrow().tell(key, find)).unwrap_or(find)
}

/// Known entries in the order of their slots.
#[derive(Debug)]
struct Fences {
    kept: Vec<Fence>,
    /// The smallest distance in slots between two entries.
    apart: u64,
}

impl Fences {
    /// No entries, of no index.
    const NONE: Self = Self { kept: Vec::new(), apart: 0 };

    fn clear(&mut self, slots: u64) {
        self.kept.clear();
        self.apart = slots.div_ceil(MOST).max(1);
    }

    fn keep(&mut self, fence: Fence) {
        let place = self.kept.partition_point(|it| it.slot < fence.slot);
        let before = place.checked_sub(1).and_then(|before| self.kept.get(before));
        let is_near = |it: &Fence| it.slot.abs_diff(fence.slot) < self.apart;
        if !before.is_some_and(is_near) && !self.kept.get(place).is_some_and(is_near) {
            self.kept.insert(place, fence);
        }
    }

    fn tell(&self, key: Key, find: Find) -> Find {
        let place = self.kept.partition_point(|it| it.key < key);
        let before = place.checked_sub(1).and_then(|before| self.kept.get(before));
        let both = before.into_iter().chain(self.kept.get(place));
        both.fold(find, |find, fence| find.knowing(fence.slot, fence.key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_are_kept_than_there_is_room_for_and_they_are_in_order() {
        for slots in [0, 1, 5, MOST - 1, MOST, MOST + 1, 1_000_000, u64::MAX] {
            let mut fences = Fences::NONE;
            fences.clear(slots);
            for i in 0..50_000_u64 {
                let slot = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) % slots.max(1);
                fences.keep(Fence { slot, key: Key { frame: slot, id: 0 } });
            }
            let count = u64::try_from(fences.kept.len()).unwrap();
            assert!((1..=MOST).contains(&count), "{count} of {slots}");
            assert!(fences.kept.is_sorted_by(|a, b| a.slot < b.slot));
        }
    }
}
