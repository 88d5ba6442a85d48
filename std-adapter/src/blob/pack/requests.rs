//! The requests of processes.

use crate::blob::BuildError;
use crate::blob::map::{Decomposition, Order, Request};
use std::num::{NonZeroU32, NonZeroU64};

/// The requests of each process. E3SM-IO merges requests that overlap to a wrong one; here they are
/// refused if they are to be merged.
pub(super) fn distribute(
    of: &Decomposition,
    nprocs: NonZeroU32,
    order: Order,
) -> Result<Vec<Vec<Request>>, BuildError> {
    let requests = |rank: u32| {
        let by = |order| of.of_process(rank.into(), NonZeroU64::from(nprocs), order);
        let mut sorted = by(Order::Kept);
        if order == Order::Kept {
            return Ok(sorted);
        }
        sorted.sort_unstable_by_key(|request| (request.offset, request.len));
        let pairs = sorted.iter().zip(sorted.iter().skip(1));
        let mut overlaps = pairs.filter(|(one, other)| other.offset < one.end());
        match overlaps.next() {
            Some((_, &Request { offset, .. })) => {
                Err(BuildError::Overlap { id: of.id().get(), rank, offset })
            }
            None => Ok(by(order)),
        }
    };
    (0..nprocs.get()).map(requests).collect()
}
