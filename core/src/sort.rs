//! A sort that needs no memory and cannot panic.

/// Up to this number of items, the sort is an insertion sort.
const FEW: usize = 12;

/// Sorts by `key` in O(n log n); not stable. The sorts of Rust's core library contain a panic.
///
/// It is a quicksort, which needs a third of the instructions of a heap sort. Below a maximal depth
/// it becomes a heap sort.
pub(crate) fn sort_by_key<T: Copy, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K) {
    let depth = items.len().checked_ilog2().unwrap_or(0).saturating_mul(2);
    quick(items, &key, depth);
}

fn quick<T: Copy, K: Ord>(mut items: &mut [T], key: &impl Fn(&T) -> K, mut depth: u32) {
    while items.len() > FEW {
        let Some(pivot) = median(items, key) else { return };
        let left = partition(items, &pivot, key);
        let Some((low, high)) = items.split_at_mut_checked(left) else { return };
        depth = match depth.checked_sub(1) {
            Some(depth) => depth,
            None => {
                heap(low, key);
                return heap(high, key);
            }
        };
        // The longer one in this turn, so that there are few turns within turns.
        let (shorter, longer) = if low.len() < high.len() { (low, high) } else { (high, low) };
        quick(shorter, key, depth);
        items = longer;
    }
    insertion(items, key);
}

/// The median of the first, the middle and the last key.
fn median<T, K: Ord>(items: &[T], key: &impl Fn(&T) -> K) -> Option<K> {
    let (first, last) = (key(items.first()?), key(items.last()?));
    let middle = key(items.get(items.len() / 2)?);
    let (low, high) = if first < last { (first, last) } else { (last, first) };
    Some(if middle < low {
        low
    } else if middle > high {
        high
    } else {
        middle
    })
}

/// Moves the items that are not larger than the pivot before those that are not smaller, and
/// returns the number of the former. Both parts have at least one item, as the pivot is the median
/// of three keys.
fn partition<T, K: Ord>(items: &mut [T], pivot: &K, key: &impl Fn(&T) -> K) -> usize {
    let (mut left, mut rest) = (0_usize, items.iter_mut());
    loop {
        let large = loop {
            match rest.next() {
                Some(item) if key(item) < *pivot => left = left.saturating_add(1),
                Some(item) => break item,
                None => return left,
            }
        };
        let small = loop {
            match rest.next_back() {
                Some(item) if key(item) > *pivot => {}
                Some(item) => break item,
                None => return left,
            }
        };
        core::mem::swap(large, small);
        left = left.saturating_add(1);
    }
}

fn insertion<T: Copy, K: Ord>(items: &mut [T], key: &impl Fn(&T) -> K) {
    for end in 1..items.len() {
        let Some((last, sorted)) = items.get_mut(..=end).and_then(<[T]>::split_last_mut) else {
            return;
        };
        let (item, mut hole) = (*last, last);
        for place in sorted.iter_mut().rev() {
            if key(place) <= key(&item) {
                break;
            }
            *hole = *place;
            hole = place;
        }
        *hole = item;
    }
}

fn heap<T: Copy, K: Ord>(items: &mut [T], key: &impl Fn(&T) -> K) {
    for root in (0..items.len() / 2).rev() {
        sift(items, root, key);
    }
    let mut heap = items;
    while let Some((last, rest)) = heap.split_last_mut() {
        if let Some(first) = rest.first_mut() {
            core::mem::swap(first, last);
        }
        sift(rest, 0, key);
        heap = rest;
    }
}

/// Moves the item at `root` down in the heap until no item below it is larger.
fn sift<T: Copy, K: Ord>(heap: &mut [T], mut root: usize, key: &impl Fn(&T) -> K) {
    loop {
        let child = root.saturating_mul(2).saturating_add(1);
        let other = child.saturating_add(1);
        let (Some(&parent), Some(&left)) = (heap.get(root), heap.get(child)) else { return };
        let (larger, at) = match heap.get(other) {
            Some(&right) if key(&right) > key(&left) => (right, other),
            _ => (left, child),
        };
        if key(&parent) >= key(&larger) {
            return;
        }
        if let Some(place) = heap.get_mut(root) {
            *place = larger;
        }
        if let Some(place) = heap.get_mut(at) {
            *place = parent;
        }
        root = at;
    }
}

#[cfg(test)]
mod tests {
    use super::{heap, sort_by_key};
    use proptest::prelude::*;
    use std::vec::Vec;

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None, ..ProptestConfig::default()
        })]

        #[test]
        fn it_sorts(mut items: Vec<(u8, u8)>) {
            let mut expected = items.clone();
            expected.sort();
            sort_by_key(&mut items, |&item| item);
            prop_assert_eq!(items, expected);
        }

        #[test]
        fn a_heap_sorts_too(mut items: Vec<u16>) {
            let mut expected = items.clone();
            expected.sort();
            heap(&mut items, &|&item: &u16| item);
            prop_assert_eq!(items, expected);
        }
    }

    /// Orders in which a quicksort with a bad pivot takes n^2 steps, and many equal ones.
    #[test]
    fn it_takes_no_more_than_n_log_n_comparisons() {
        use core::cell::Cell;
        let n = 4096_u32;
        let organ_pipe = (0..n).map(|at| at.min(n - at));
        let saw = (0..n).map(|at| at % 7);
        // Musser's sequence, which makes the median of three a bad pivot each time.
        let killer = (0..n).map(|at| match at % 2 {
            0 if at < n / 2 => at,
            _ if at < n / 2 => n / 2 + at,
            _ => 2 * (at - n / 2),
        });
        let orders: [Vec<u32>; 6] = [
            (0..n).collect(),
            (0..n).rev().collect(),
            std::vec![7; 4096],
            organ_pipe.collect(),
            saw.collect(),
            killer.collect(),
        ];
        for mut items in orders {
            let (keys, mut expected) = (Cell::new(0_u32), items.clone());
            expected.sort_unstable();
            sort_by_key(&mut items, |&item| {
                keys.set(keys.get() + 1);
                item
            });
            assert_eq!(items, expected);
            let most = 5 * n * n.ilog2(); // two keys a comparison
            assert!(keys.get() < most, "{} keys of {n} items", keys.get());
        }
    }
}
