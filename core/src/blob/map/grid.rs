//! Requests in the array of a decomposition.

use crate::cdf::Define;
use crate::sort::sort_by_key;
use core::num::NonZeroU64;

/// Elements that follow each other in the flattened array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Request {
    /// The offset of the first element, from 0.
    pub offset: u64,
    /// The number of elements.
    pub len: u64,
}

impl Request {
    /// The offset after the last element.
    #[must_use]
    pub const fn end(self) -> u64 {
        self.offset.saturating_add(self.len)
    }
}

/// The array of a decomposition: the number of its elements, and the length of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Grid {
    total: u64,
    row: NonZeroU64,
}

impl Grid {
    /// The grid of an array with these dimensions, the slowest first; `None` if there is no
    /// dimension, if one is 0, or if the number of elements exceeds `u64::MAX`.
    #[must_use]
    pub fn new(dims: &[u64]) -> Option<Self> {
        Self::of(dims.iter().map(|&length| Some(length)))
    }

    /// The grid of an array with these dimensions of a definition, as [`new`](Self::new) makes it;
    /// `None`, too, if the definition does not have one of them.
    #[must_use]
    pub fn of_dims<D: Define + ?Sized>(definition: &D, dimids: &[u64]) -> Option<Self> {
        Self::of(dimids.iter().map(|&dimid| Some(definition.dim(dimid)?.length)))
    }

    fn of(lengths: impl Iterator<Item = Option<u64>>) -> Option<Self> {
        let (mut total, mut row) = (1_u64, None);
        for length in lengths {
            let length = NonZeroU64::new(length?)?;
            (total, row) = (total.checked_mul(length.get())?, Some(length));
        }
        Some(Self { total, row: row? })
    }

    /// The number of elements.
    #[must_use]
    pub const fn total(self) -> u64 {
        self.total
    }

    /// The length of a row: of the fastest dimension.
    #[must_use]
    pub const fn row(self) -> NonZeroU64 {
        self.row
    }

    /// Whether a row begins at this element.
    #[must_use]
    pub const fn begins_row(self, offset: u64) -> bool {
        offset.is_multiple_of(self.row.get())
    }

    /// The offset of an element of a text map, which counts from 1; `None` for 0 and for a number
    /// that is larger than the array. E3SM-IO leaves these out.
    #[must_use]
    pub const fn offset_of(self, element: u64) -> Option<u64> {
        match element.checked_sub(1) {
            Some(offset) if offset < self.total => Some(offset),
            _ => None,
        }
    }
}

/// Joins single elements to requests: an element extends the last request if it follows it and does
/// not begin a row (`dat2nc.c:240`).
///
/// ```
/// use striae_core::blob::map::{Grid, Join, Request};
///
/// let mut join = Join::new(Grid::new(&[3, 4]).unwrap());
/// let mut requests: Vec<_> = [1, 2, 3, 4, 7].into_iter().filter_map(|at| join.push(at)).collect();
/// requests.extend(join.finish());
/// let request = |offset, len| Request { offset, len };
/// assert_eq!(requests, [request(1, 3), request(4, 1), request(7, 1)]);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Join {
    grid: Grid,
    last: Option<Request>,
}

impl Join {
    /// No element yet.
    #[must_use]
    pub const fn new(grid: Grid) -> Self {
        Self { grid, last: None }
    }

    /// Adds the element at `offset`; returns a request that it does not extend.
    pub fn push(&mut self, offset: u64) -> Option<Request> {
        if let Some(last) = &mut self.last
            && last.end() == offset
            && !self.grid.begins_row(offset)
        {
            last.len = last.len.saturating_add(1);
            return None;
        }
        self.last.replace(Request { offset, len: 1 })
    }

    /// The last request; the next element begins a new list.
    pub fn finish(&mut self) -> Option<Request> {
        self.last.take()
    }
}

/// Sorts and merges the requests of a process as E3SM-IO does without `-q`, and returns how many
/// are left at the front of `requests`.
///
/// A request is merged with the one before unless it begins a row or begins after its end
/// (`read_decomp.cpp:472`). So requests that overlap become one of the length of both, which has
/// elements that none of them has; [`Faults`](super::Faults) finds such overlaps. Requests with
/// equal offsets are in the order of their lengths here; E3SM-IO leaves their order to `qsort`.
pub fn sort_and_merge(requests: &mut [Request], grid: Grid) -> usize {
    sort_by_key(requests, |request| (request.offset, request.len));
    let mut count = 0_usize;
    for from in 0..requests.len() {
        let Some(&request) = requests.get(from) else { break };
        let last = count.checked_sub(1).and_then(|last| requests.get_mut(last));
        match last {
            Some(last) if !grid.begins_row(request.offset) && request.offset <= last.end() => {
                last.len = last.len.saturating_add(request.len);
            }
            _ => {
                if let Some(place) = requests.get_mut(count) {
                    *place = request;
                }
                count = count.saturating_add(1);
            }
        }
    }
    count
}
