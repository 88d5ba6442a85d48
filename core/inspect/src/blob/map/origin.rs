//! The map, the rule and the order by which E3SM-IO wrote a set.

use super::{Decomposition, List, Map};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::num::NonZeroU64;
use striae_core::blob::map::{Request, Rule, sort_and_merge};
use striae_core::store::usize_to_u64;

/// How the requests of a process are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// Sorted and merged, as E3SM-IO does without `-q`.
    #[default]
    Merged,
    /// As in the map: E3SM-IO with `-q`.
    Kept,
}

/// How a set was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// How the requests of ranks were found in the map.
    pub rule: Rule,
    /// How the requests of a process were ordered.
    pub order: Order,
    /// The number of blobs whose requests are those of a process of their own.
    pub matching: usize,
}

/// The requests of a blob, a list for each decomposition.
pub type Lists = Vec<Vec<Request>>;

impl Decomposition {
    /// The process of `nprocs` that has the requests of a rank.
    fn process_of(&self, rank: u64, nprocs: NonZeroU64) -> u64 {
        let (each, more) = (self.nprocs / nprocs, self.nprocs % nprocs);
        let larger = each.saturating_add(1);
        match rank.checked_sub(more.saturating_mul(larger)) {
            Some(rest) => more.saturating_add(rest.checked_div(each).unwrap_or(0)),
            None => rank.checked_div(larger).unwrap_or(0),
        }
    }

    /// The requests of process `process` of `nprocs`, as E3SM-IO hands them out: each process has
    /// those of as many ranks that follow each other, and the first ones of one rank more
    /// (`read_decomp.cpp:157`).
    #[must_use]
    pub fn of_process(&self, process: u64, nprocs: NonZeroU64, order: Order) -> Vec<Request> {
        let (each, more) = (self.nprocs / nprocs, self.nprocs % nprocs);
        let start = process.saturating_mul(each).saturating_add(process.min(more));
        let count = each.saturating_add(u64::from(process < more));
        let end = start.saturating_add(count);
        let place = |rank| self.lists.partition_point(|list| list.rank < rank);
        let lists = self.lists.get(place(start)..place(end)).unwrap_or_default();
        let of = |list: &List| self.requests.get(list.requests.clone()).unwrap_or_default();
        let mut requests: Vec<_> = lists.iter().flat_map(of).copied().collect();
        if order == Order::Merged {
            let count = sort_and_merge(&mut requests, self.grid);
            requests.truncate(count);
        }
        requests
    }
}

/// How the blobs of a set, or of some of its subfiles, were written: of both rules and both orders
/// those by which most blobs are those of a process. A process has at most one blob. `by_rule` has
/// the map by each rule; `nprocs` is the number of processes that wrote the set. Of equals, the
/// first one counts: [`Rule::Nreqs`] and [`Order::Merged`].
///
/// The time and the memory are those of the map for each rule and order.
#[must_use]
pub fn origin(by_rule: [(Rule, &Map); 2], nprocs: NonZeroU64, blobs: &[Lists]) -> Origin {
    let mut best = None;
    for order in [Order::Merged, Order::Kept] {
        for (rule, map) in by_rule {
            let origin = Origin { rule, order, matching: matching(map, nprocs, order, blobs) };
            if best.is_none_or(|best: Origin| best.matching < origin.matching) {
                best = Some(origin);
            }
        }
    }
    best.unwrap_or(Origin { rule: Rule::Nreqs, order: Order::Merged, matching: 0 })
}

/// The number of blobs that are those of a process.
fn matching(map: &Map, nprocs: NonZeroU64, order: Order, blobs: &[Lists]) -> usize {
    let key = |one: &Request| (one.offset, one.len);
    let keys = |lists: &Lists| -> Vec<Vec<_>> {
        lists.iter().map(|list| list.iter().map(key).collect()).collect()
    };
    let mut left: BTreeMap<_, usize> = BTreeMap::new();
    for blob in blobs {
        let count = left.entry(keys(blob)).or_default();
        *count = count.saturating_add(1);
    }
    // All other processes have no request.
    let busy = |one| Decomposition::ranks(one).map(|rank| one.process_of(rank, nprocs));
    let busy: BTreeSet<_> = map.decompositions.iter().flat_map(busy).collect();
    let idle = nprocs.get().saturating_sub(usize_to_u64(busy.len()));
    let nothing: Vec<_> = map.decompositions.iter().map(|_| Vec::new()).collect();
    let mut matching = 0_usize;
    if let Some(count) = left.get_mut(&nothing) {
        matching = usize::try_from(idle).unwrap_or(usize::MAX).min(*count);
        *count = count.saturating_sub(matching);
    }
    for process in busy {
        let of = |one: &Decomposition| one.of_process(process, nprocs, order);
        let lists: Lists = map.decompositions.iter().map(of).collect();
        let key = keys(&lists);
        if let Some(count) = left.get_mut(&key).filter(|count| **count > 0) {
            matching = matching.saturating_add(1);
            *count = count.saturating_sub(1);
        }
    }
    matching
}
