//! The mapping of a set that is being written: the file and local rank of each global rank.

use alloc::vec;
use alloc::vec::Vec;
use core::mem;

/// Number of a physical file, and a local rank in it.
pub type Address = (u32, u32);

/// The mapping of tasks with these global ranks.
///
/// SIONlib lists the tasks of a set by its mapping, and its programs crash if the mapping is empty.
/// So each task has an entry: at the index of its global rank, if it is the first task with that
/// rank, else at a free index.
#[must_use]
pub fn mapping_of(tasks: &[(i64, Address)]) -> Vec<Address> {
    let mut mapping = vec![None; tasks.len()];
    let mut others = Vec::new();
    for (rank, address) in tasks {
        let entry = usize::try_from(*rank).ok().and_then(|index| mapping.get_mut(index));
        match entry.filter(|entry| entry.is_none()) {
            Some(entry) => *entry = Some(*address),
            None => others.push(*address),
        }
    }
    let mut others = others.into_iter(); // as many as there is room for
    mapping.into_iter().filter_map(|entry| entry.or_else(|| others.next())).collect()
}

/// Whether these ranks are all numbers from 0 on, each once. Parallel readers of SIONlib need that.
#[must_use]
pub fn are_all_ranks(mut ranks: impl Iterator<Item = i64> + Clone) -> bool {
    let mut seen = vec![false; ranks.clone().count()];
    let is_new = |rank: i64| {
        let place = usize::try_from(rank).ok().and_then(|rank| seen.get_mut(rank));
        place.is_some_and(|seen| !mem::replace(seen, true))
    };
    ranks.all(is_new)
}
