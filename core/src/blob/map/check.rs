//! [`Faults`]: requests outside of the array, overlaps, and holes.

use super::grid::Grid;
use crate::blob::read::find::{Run, sort};

/// Something about the requests of all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Fault {
    /// A request has no elements.
    Empty(Run),
    /// A request has elements outside of the array.
    OutOfArray(Run),
    /// Two requests have elements in common. `first` begins first, or is that of the lower rank.
    Overlap {
        /// The request that has all elements up to here.
        first: Run,
        /// The request that begins inside of it.
        second: Run,
    },
    /// No request has these elements.
    Hole {
        /// The first of them.
        offset: u64,
        /// Their number.
        len: u64,
    },
}

impl Fault {
    /// Whether an overlap is of requests of one rank; E3SM-IO merges them to a wrong one.
    #[must_use]
    pub fn is_inside_a_rank(&self) -> bool {
        let rank = |run: &Run| (run.place.subfile, run.place.blob);
        matches!(self, Self::Overlap { first, second } if rank(first) == rank(second))
    }
}

/// Yields the faults of a decomposition in the order of their offsets.
///
/// The requests are [`Run`]s whose `place.subfile` and `place.blob` are the rank and whose
/// `place.position` is the number of the request in the rank's list. Each request is named as the
/// second one of at most one overlap, so there are at most four faults for each request.
#[derive(Debug)]
pub struct Faults<'r> {
    grid: Grid,
    rest: &'r [Run],
    /// The request that reaches furthest.
    reach: Option<Run>,
    /// The elements before this one are looked at.
    at: u64,
    waiting: [Option<Fault>; 3],
}

impl<'r> Faults<'r> {
    /// Sorts the requests and begins.
    #[must_use]
    pub fn new(requests: &'r mut [Run], grid: Grid) -> Self {
        sort(requests);
        Self { grid, rest: requests, reach: None, at: 0, waiting: [None; 3] }
    }

    /// Looks at a request.
    fn take(&mut self, run: Run) -> [Option<Fault>; 3] {
        if run.len == 0 {
            return [Some(Fault::Empty(run)), None, None];
        }
        let hole = self.hole_up_to(run.offset.min(self.grid.total()));
        let overlap = self.reach.filter(|first| run.offset < first.end());
        let overlap = overlap.map(|first| Fault::Overlap { first, second: run });
        let is_outside = self.grid.total() < run.end();
        if self.reach.is_none_or(|reach| reach.end() < run.end()) {
            self.reach = Some(run);
            self.at = self.at.max(run.end());
        }
        [hole, overlap, is_outside.then_some(Fault::OutOfArray(run))]
    }

    fn hole_up_to(&self, end: u64) -> Option<Fault> {
        let len = end.checked_sub(self.at).filter(|&len| len != 0)?;
        Some(Fault::Hole { offset: self.at, len })
    }
}

impl Iterator for Faults<'_> {
    type Item = Fault;

    fn next(&mut self) -> Option<Fault> {
        loop {
            if let Some(fault) = self.waiting.iter_mut().find_map(Option::take) {
                return Some(fault);
            }
            if let Some((&run, rest)) = self.rest.split_first() {
                self.rest = rest;
                self.waiting = self.take(run);
                continue;
            }
            let hole = self.hole_up_to(self.grid.total());
            self.at = self.grid.total().max(self.at);
            return hole;
        }
    }
}
