//! Who has what: the subfiles of processes, and the shares of blobs.

use crate::blob::layout::Share;
use crate::blob::map::{Grid, Request};
use core::num::NonZeroU64;

/// The subfile of a process, if each subfile has processes that follow each other, as if they ran
/// on one node; `None` if `rank * nsubfiles` exceeds `u64::MAX`.
#[must_use]
pub const fn subfile_of(rank: u64, nprocs: NonZeroU64, nsubfiles: u64) -> Option<u64> {
    match rank.checked_mul(nsubfiles) {
        Some(product) => product.checked_div(nprocs.get()),
        None => None,
    }
}

/// Adds up the shares of the blobs of a subfile in one decomposition.
///
/// ```
/// use striae_core::blob::{Share, distribute::Shares};
///
/// let mut shares = Shares::default();
/// assert_eq!(shares.push(2, 10), Some(Share { nreqs: 2, start: 0, count: 10 }));
/// assert_eq!(shares.push(1, 4), Some(Share { nreqs: 1, start: 10, count: 4 }));
/// assert_eq!((shares.nelems(), shares.max_nreqs()), (14, 2));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Shares {
    nelems: u64,
    max_nreqs: u64,
}

impl Shares {
    /// The share of the next blob, which has so many requests and elements; `None` if the sum of
    /// elements exceeds `u64::MAX`.
    #[must_use]
    pub fn push(&mut self, nreqs: u64, count: u64) -> Option<Share> {
        let start = self.nelems;
        self.nelems = start.checked_add(count)?;
        self.max_nreqs = self.max_nreqs.max(nreqs);
        Some(Share { nreqs, start, count })
    }

    /// The number of elements of all blobs.
    #[must_use]
    pub const fn nelems(&self) -> u64 {
        self.nelems
    }

    /// The largest number of requests of a blob.
    #[must_use]
    pub const fn max_nreqs(&self) -> u64 {
        self.max_nreqs
    }
}

/// The first request that is not in the array or that cannot be stored: offsets and lengths have 4
/// bytes and a sign.
#[must_use]
pub fn outside(requests: &[Request], grid: Grid) -> Option<Request> {
    let fits = |number| i32::try_from(number).is_ok();
    let is_inside = |request: &Request| {
        let end = request.offset.checked_add(request.len);
        end.is_some_and(|end| end <= grid.total()) && fits(request.offset) && fits(request.len)
    };
    requests.iter().copied().find(|request| !is_inside(request))
}
