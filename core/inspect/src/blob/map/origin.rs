//! The map, the rule and the order by which E3SM-IO wrote a set.

use super::{Decomposition, List, Map};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::num::NonZeroU64;
use striae_core::blob::map::{Request, Rule, sort_and_merge};

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
    assign(by_rule, nprocs, blobs).origin
}

/// How a set was written, and the process of each blob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// How the set was written.
    pub origin: Origin,
    /// For each blob its process, and whether the blob has the requests of the process. Other blobs
    /// get the processes that are left, in order.
    pub processes: Vec<(u64, bool)>,
}

/// Finds how the blobs of a set were written, as [`origin`] does, and the process of each blob.
#[must_use]
pub fn assign(by_rule: [(Rule, &Map); 2], nprocs: NonZeroU64, blobs: &[Lists]) -> Assignment {
    let mut best: Option<Assignment> = None;
    for order in [Order::Merged, Order::Kept] {
        for (rule, map) in by_rule {
            let found = processes(map, nprocs, order, blobs);
            let matching = found.iter().filter(|process| process.is_some()).count();
            if best.as_ref().is_none_or(|best| best.origin.matching < matching) {
                let processes = complete(&found, nprocs.get());
                best = Some(Assignment { origin: Origin { rule, order, matching }, processes });
            }
        }
    }
    best.unwrap_or(Assignment {
        origin: Origin { rule: Rule::Nreqs, order: Order::Merged, matching: 0 },
        processes: Vec::new(),
    })
}

/// Gives the processes that are left to blobs without one. The blobs of a subfile are in the order
/// of their processes, so the next process that is left is the likely one.
fn complete(found: &[Option<u64>], nprocs: u64) -> Vec<(u64, bool)> {
    let mut taken = Taken::default();
    found.iter().flatten().for_each(|&process| taken.add(process));
    let mut after = 0_u64; // the process of the blob before
    let next = |process: &Option<u64>| {
        let given = process.unwrap_or_else(|| {
            let free = Some(taken.first_free(after)).filter(|&free| free < nprocs);
            let free = free.unwrap_or_else(|| taken.first_free(0));
            let free = if free < nprocs { free } else { after };
            taken.add(free);
            free
        });
        after = given.saturating_add(1);
        (given, process.is_some())
    };
    found.iter().map(next).collect()
}

/// Processes that are taken: the end of each run of numbers, by its start.
#[derive(Debug, Default)]
struct Taken(BTreeMap<u64, u64>);

impl Taken {
    /// The run that begins at most at this process, if it reaches it.
    fn run(&self, process: u64) -> Option<(u64, u64)> {
        let (&start, &end) = self.0.range(..=process).next_back()?;
        (process <= end).then_some((start, end))
    }

    /// The first process from this one on that is not taken.
    fn first_free(&self, from: u64) -> u64 {
        self.run(from).map_or(from, |(_, end)| end)
    }

    fn add(&mut self, process: u64) {
        let after = process.saturating_add(1);
        let (start, end) = self.run(process).unwrap_or((process, process));
        if end <= process {
            let end = self.0.remove(&after).unwrap_or(after);
            self.0.insert(start, end);
        }
    }
}

/// For each blob the process that has its requests.
fn processes(map: &Map, nprocs: NonZeroU64, order: Order, blobs: &[Lists]) -> Vec<Option<u64>> {
    let key = |one: &Request| (one.offset, one.len);
    let keys = |lists: &Lists| -> Vec<Vec<_>> {
        lists.iter().map(|list| list.iter().map(key).collect()).collect()
    };
    // The blobs with these requests, the first one last.
    let mut left: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (blob, lists) in blobs.iter().enumerate().rev() {
        left.entry(keys(lists)).or_default().push(blob);
    }
    let mut found = alloc::vec![None; blobs.len()];
    let mut take = |key: &Vec<Vec<_>>, process| {
        let blob = left.get_mut(key).and_then(Vec::pop);
        if let Some(place) = blob.and_then(|blob| found.get_mut(blob)) {
            *place = Some(process);
        }
        blob.is_some()
    };
    // All other processes have no request.
    let busy = |one| Decomposition::ranks(one).map(|rank| one.process_of(rank, nprocs));
    let busy: BTreeSet<_> = map.decompositions.iter().flat_map(busy).collect();
    for &process in &busy {
        let of = |one: &Decomposition| one.of_process(process, nprocs, order);
        let lists: Lists = map.decompositions.iter().map(of).collect();
        take(&keys(&lists), process);
    }
    let nothing: Vec<_> = map.decompositions.iter().map(|_| Vec::new()).collect();
    let mut idle = (0..nprocs.get()).filter(|process| !busy.contains(process));
    while idle.next().is_some_and(|process| take(&nothing, process)) {}
    found
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, reason = "a test: an overflow fails it")]
mod tests {
    use super::complete;
    use alloc::vec::Vec;

    /// The next process that no blob has, or the first one; process by process.
    fn by_search(found: &[Option<u64>], nprocs: u64) -> Vec<u64> {
        let mut given: Vec<u64> = Vec::new();
        for process in found {
            let after = given.last().map_or(0, |last| last + 1);
            let is_free = |one: &u64| !found.contains(&Some(*one)) && !given.contains(one);
            let free = (after..nprocs).chain(0..after.min(nprocs)).find(is_free);
            given.push(process.or(free).unwrap_or(after));
        }
        given
    }

    #[test]
    fn blobs_get_the_processes_that_are_left_in_order() {
        let choices = [None, Some(0), Some(1), Some(2), Some(3)];
        for number in 0..5_usize.pow(5) {
            let found: Vec<_> = (0..5).map(|at| choices[number / 5_usize.pow(at) % 5]).collect();
            let numbers: Vec<_> = found.iter().flatten().collect();
            if (1..numbers.len()).any(|at| numbers[..at].contains(&numbers[at])) {
                continue; // a process has at most one blob
            }
            for nprocs in 4..7 {
                let given: Vec<_> = complete(&found, nprocs).iter().map(|one| one.0).collect();
                assert_eq!(given, by_search(&found, nprocs), "{found:?} of {nprocs}");
            }
        }
    }

    /// Each search begins before all that are taken.
    #[test]
    fn many_blobs_without_a_process_do_not_take_the_square_of_the_time() {
        let count = 200_000;
        let found = (0..count).rev().flat_map(|process| [Some(process), None]);
        let given = complete(&found.collect::<Vec<_>>(), 2 * count);
        assert_eq!(given[..3], [(count - 1, true), (count, false), (count - 2, true)]);
        let mut all: Vec<_> = given.iter().map(|one| one.0).collect();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..2 * count));
    }
}
