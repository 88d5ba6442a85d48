//! The places of the elements of blobs: numbers in, spans out.
//!
//! Both layouts store the elements of blob p of a variable in the order of the requests of p. They
//! differ in what follows what:
//!
//! | layout | file | order |
//! |---|---|---|
//! | variable-centric | CDF-5 | for each record of each variable: the blobs |
//! | process-centric | HDF5 | for each blob: its maps, then for each variable: the records |

use crate::cdf::layout::Layout;
use crate::span::Span;

/// A blob's share of a decomposition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Share {
    /// The number of requests.
    pub nreqs: u64,
    /// The number of elements of the blobs before it in the subfile.
    pub start: u64,
    /// The number of elements.
    pub count: u64,
}

impl Share {
    /// The bytes of the maps before the requests in a process-centric blob: `nreqs`, `blob_start`
    /// and `blob_count`.
    pub const HEAD_LEN: u64 = 20;

    /// The bytes of the offset or the length of a request.
    pub const REQUEST_LEN: u64 = 4;

    /// The span of the blob's elements in the variable-centric layout, or `None` if they are not
    /// inside the values of the variable. `values` are the values of one record, or of a variable
    /// without records.
    #[must_use]
    pub const fn in_values(&self, values: Span, value_len: u64) -> Option<Span> {
        match (self.start.checked_mul(value_len), self.count.checked_mul(value_len)) {
            (Some(skip), Some(len)) => values.part(skip, len),
            _ => None,
        }
    }

    /// The span of the blob's elements in record `record` of a variable in the variable-centric
    /// layout. `record` must be 0 if the variable has no records.
    #[must_use]
    pub const fn in_variable(&self, layout: Layout, record: u64) -> Option<Span> {
        let values = match layout.recsize {
            Some(_) => layout.record(record),
            None if record == 0 => Some(layout.first),
            None => None,
        };
        match values {
            Some(values) => self.in_values(values, layout.value_len),
            None => None,
        }
    }

    /// The bytes of this map in a process-centric blob, or `None` if they exceed `u64::MAX`.
    #[must_use]
    pub const fn map_len(&self) -> Option<u64> {
        match self.nreqs.checked_mul(Self::REQUEST_LEN.saturating_mul(2)) {
            Some(requests) => requests.checked_add(Self::HEAD_LEN),
            None => None,
        }
    }

    /// The values of the variables of a decomposition, in the order of
    /// [`Part::VARIABLES`](super::Part::VARIABLES), for a map that is at `at` in a process-centric
    /// blob.
    #[must_use]
    pub fn parts(&self, at: u64) -> Option<[Span; 5]> {
        let nreqs = Span::new(at, 4)?;
        let start = Span::new(nreqs.end(), 8)?;
        let count = Span::new(start.end(), 8)?;
        let [offsets, lengths] = self.requests(at)?;
        Some([nreqs, start, count, offsets, lengths])
    }

    /// The offsets and the lengths of the requests, for a map that is at `at` in a process-centric
    /// blob.
    #[must_use]
    pub const fn requests(&self, at: u64) -> Option<[Span; 2]> {
        let Some(at) = at.checked_add(Self::HEAD_LEN) else { return None };
        let Some(offsets) = Span::of_table(at, self.nreqs, Self::REQUEST_LEN) else { return None };
        match Span::of_table(offsets.end(), self.nreqs, Self::REQUEST_LEN) {
            Some(lengths) => Some([offsets, lengths]),
            None => None,
        }
    }
}

/// What a variable has in a process-centric blob.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Content {
    /// All values of all records, in blob 0 only: the variable is not decomposed.
    Whole {
        /// The bytes of the values of all records.
        len: u64,
    },
    /// The elements of the blob in each record.
    Elements {
        /// Index of the decomposition, from 0.
        decomposition: usize,
        /// The bytes that an element has in all records.
        len: u64,
    },
    /// Bytes without meaning in each blob (`spec/blob.md#empty`).
    Stray {
        /// The number of bytes.
        len: u64,
    },
}

/// Bytes in blobs that do not depend on a number of elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Fixed {
    /// The bytes in the first blob only.
    pub first: u64,
    /// The bytes in every blob.
    pub every: u64,
}

/// The bytes that some variables have in the blobs of a process-centric subfile.
///
/// They depend on the blob in two ways only: on its number of elements of each decomposition, and
/// on whether it is the first one. So this sum over the variables is made once for all blobs.
#[derive(Debug, PartialEq, Eq)]
pub struct Width<'m> {
    fixed: Fixed,
    /// For each decomposition the bytes for each element.
    elements: &'m mut [u64],
}

impl<'m> Width<'m> {
    /// The width of no variables. `memory` needs an entry for each decomposition.
    #[must_use]
    pub fn new(memory: &'m mut [u64]) -> Self {
        memory.fill(0);
        Self { fixed: Fixed::default(), elements: memory }
    }

    /// The bytes that do not depend on a number of elements.
    #[must_use]
    pub const fn fixed(&self) -> Fixed {
        self.fixed
    }

    /// For each decomposition the bytes for each element.
    #[must_use]
    pub const fn elements(&self) -> &[u64] {
        self.elements
    }

    /// Adds a variable. `None` if the sum exceeds `u64::MAX`, or if there is no such decomposition.
    #[must_use]
    pub fn add(&mut self, content: Content) -> Option<()> {
        let (sum, len) = match content {
            Content::Whole { len } => (&mut self.fixed.first, len),
            Content::Elements { decomposition, len } => {
                (self.elements.get_mut(decomposition)?, len)
            }
            Content::Stray { len } => (&mut self.fixed.every, len),
        };
        *sum = sum.checked_add(len)?;
        Some(())
    }

    /// The bytes of the variables in blob `blob`, which has these shares; `None` if they exceed
    /// `u64::MAX`.
    #[must_use]
    pub fn of_blob(&self, blob: u32, shares: &[Share]) -> Option<u64> {
        width_of_blob(self.fixed, self.elements, blob, shares)
    }
}

/// [`Width::of_blob`] for a width in parts.
#[must_use]
pub fn width_of_blob(fixed: Fixed, elements: &[u64], blob: u32, shares: &[Share]) -> Option<u64> {
    let first = if blob == 0 { fixed.first } else { 0 };
    elements.iter().zip(shares).try_fold(first.checked_add(fixed.every)?, |sum, (len, share)| {
        sum.checked_add(len.checked_mul(share.count)?)
    })
}

/// The bytes of all maps of a process-centric blob, which are at its start; `None` if they exceed
/// `u64::MAX`.
#[must_use]
pub fn maps_len(shares: &[Share]) -> Option<u64> {
    shares.iter().try_fold(0_u64, |sum, share| sum.checked_add(share.map_len()?))
}
