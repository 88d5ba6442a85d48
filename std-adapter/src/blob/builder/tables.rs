//! The maps of a subfile, as bytes.

use super::{Decomposed, Members};
use striae_core::blob::book::{numbers_of, put_part, row_len};
use striae_core::blob::map::Request;
use striae_core::blob::{Part, Share, Shares};
use striae_core::endian::ByteOrder;

/// The requests of the blobs of a subfile.
pub(super) struct Tables<'b> {
    /// For each blob and decomposition the requests.
    requests: Vec<Vec<&'b [Request]>>,
    /// For each blob and decomposition the share.
    pub(super) shares: Vec<Box<[Share]>>,
    /// For each decomposition the sum of the shares.
    pub(super) sums: Vec<Shares>,
}

impl<'b> Tables<'b> {
    pub(super) fn new(decompositions: &'b [Decomposed], ranks: &Members) -> Option<Self> {
        let mut sums = vec![Shares::default(); decompositions.len()];
        let (mut requests, mut shares) = (Vec::new(), Vec::new());
        for &rank in ranks {
            let rank = usize::try_from(rank).ok()?;
            let of = |one: &'b Decomposed| one.requests.get(rank).map(Vec::as_slice);
            let own: Vec<_> = decompositions.iter().map(of).collect::<Option<_>>()?;
            let share = |(sum, requests): (&mut Shares, &&[Request])| {
                let (nreqs, count) = numbers_of(requests)?;
                sum.push(nreqs, count)
            };
            shares.push(sums.iter_mut().zip(&own).map(share).collect::<Option<_>>()?);
            requests.push(own);
        }
        Some(Self { requests, shares, sums })
    }

    /// The values of all variables in definition order, big-endian.
    pub(super) fn columns(&self) -> impl Iterator<Item = Vec<u8>> + '_ {
        let parts = self.sums.iter().enumerate();
        parts.flat_map(move |(index, sum)| {
            Part::VARIABLES.into_iter().map(move |part| self.column(index, part, sum.max_nreqs()))
        })
    }

    fn column(&self, index: usize, part: Part, max_nreqs: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        let row = usize::try_from(row_len(part, max_nreqs)).unwrap_or(0);
        for (shares, requests) in self.shares.iter().zip(&self.requests) {
            let Some((share, requests)) = shares.get(index).zip(requests.get(index)) else { break };
            let end = bytes.len().saturating_add(row);
            put_part(part, *share, requests, ByteOrder::Big, |one| bytes.extend(one));
            bytes.resize(end, 0);
        }
        bytes
    }

    /// The maps of a process-centric blob, little-endian.
    pub(super) fn of_blob(&self, blob: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        let of = self.shares.get(blob).zip(self.requests.get(blob));
        for (share, requests) in of.into_iter().flat_map(|(shares, own)| shares.iter().zip(own)) {
            for part in Part::VARIABLES {
                put_part(part, *share, requests, ByteOrder::Little, |one| bytes.extend(one));
            }
        }
        bytes
    }
}
