//! Some entries of an index that a thread has seen.
//!
//! Where frames have chunks by chance, nobody can say within a few slots where one is from the ends
//! of an index alone, and most searches take two reads. Between two entries that are known there
//! are fewer chances. Where a first read is enough, nothing is kept.

use std::cell::RefCell;
use striae_core::gsd::chunk::Key;
use striae_core::gsd::find::Find;

/// Most entries that are kept: 24 bytes each.
const MOST: u64 = 2048;

/// An entry of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fence {
    pub(super) slot: u64,
    pub(super) key: Key,
}

thread_local! {
    /// Not there any more while a thread ends, unlike memory that needs no freeing: a file can be
    /// read then, too.
    static FENCES: RefCell<Fences> = const { RefCell::new(Fences::NONE) };
}

/// Forgets all of them; those that follow are of an index of so many slots.
pub(super) fn clear(slots: u64) {
    let _ = FENCES.try_with(|fences| fences.borrow_mut().clear(slots));
}

/// Keeps one, if it is not near to another one.
pub(super) fn keep(fence: Fence) {
    let _ = FENCES.try_with(|fences| fences.borrow_mut().keep(fence));
}

/// Tells a search for `key` between which of them it is. In an index that is not sorted that may be
/// anywhere, as are the places where searches end.
pub(super) fn tell(key: Key, find: Find) -> Find {
    FENCES.try_with(|fences| fences.borrow().tell(key, find)).unwrap_or(find)
}

/// Entries in the order of their slots.
#[derive(Debug)]
struct Fences {
    kept: Vec<Fence>,
    /// Fewest slots from one to the next.
    apart: u64,
}

impl Fences {
    /// Of no index.
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
        for slots in [0, 1, 5, 2047, 2048, 2049, 1_000_000, u64::MAX] {
            let mut fences = Fences::NONE;
            fences.clear(slots);
            for i in 0..20_000_u64 {
                let slot = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) % slots.max(1);
                fences.keep(Fence { slot, key: Key { frame: slot, id: 0 } });
            }
            let count = u64::try_from(fences.kept.len()).unwrap();
            assert!((1..=MOST).contains(&count), "{count} of {slots}");
            assert!(fences.kept.is_sorted_by(|a, b| a.slot < b.slot));
        }
    }
}
