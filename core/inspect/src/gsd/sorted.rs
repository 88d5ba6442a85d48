//! Passes items in the order of their keys, with little memory.

use alloc::vec::Vec;

/// The number of items that are sorted in one pass.
const BATCH: usize = 1 << 20;

/// Passes all items that `pass` finds to `take`, in the order of their keys. `pass` is called once
/// for each [`BATCH`] of items, and finds the same items each time. Of items with one key, some may
/// be left out.
pub(crate) fn each_sorted<T: Copy, K: Copy + Ord, E>(
    key: impl Fn(&T) -> K,
    mut pass: impl FnMut(&mut dyn FnMut(T)) -> Result<(), E>,
    mut take: impl FnMut(T),
) -> Result<(), E> {
    let mut done = None;
    loop {
        let mut batch: Vec<T> = Vec::new();
        let mut most = None;
        pass(&mut |item| {
            let at = key(&item);
            if done.is_none_or(|done| at > done) && most.is_none_or(|most| at <= most) {
                batch.push(item);
            }
            if batch.len() >= BATCH.saturating_mul(2) {
                let (_, last, _) = batch.select_nth_unstable_by_key(BATCH.saturating_sub(1), &key);
                most = Some(key(last));
                batch.truncate(BATCH);
            }
        })?;
        let is_last = batch.len() < BATCH;
        batch.sort_unstable_by_key(&key);
        batch.truncate(BATCH);
        let Some(last) = batch.last().map(&key) else { return Ok(()) };
        done = Some(last);
        batch.into_iter().for_each(&mut take);
        if is_last {
            return Ok(());
        }
    }
}
