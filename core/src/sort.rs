//! A sort without memory and without a panic.

/// Sorts by `key`. A heap sort, which is not stable: core's own sorts keep a panic.
pub(crate) fn sort_by_key<T: Copy, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K) {
    for root in (0..items.len() / 2).rev() {
        sift(items, root, &key);
    }
    let mut heap = items;
    while let Some((last, rest)) = heap.split_last_mut() {
        if let Some(first) = rest.first_mut() {
            core::mem::swap(first, last);
        }
        sift(rest, 0, &key);
        heap = rest;
    }
}

/// Moves the item at `root` down until none below it is larger.
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
    use super::sort_by_key;
    use proptest::prelude::*;
    use std::vec::Vec;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn it_sorts(mut items: Vec<(u8, u8)>) {
            let mut expected = items.clone();
            expected.sort();
            sort_by_key(&mut items, |&item| item);
            prop_assert_eq!(items, expected);
        }
    }
}
