//! The maps of a subfile, as bytes.

use super::{Decomposed, Members};
use striae_core::blob::map::Request;
use striae_core::blob::{Part, Share, Shares};
use striae_core::endian::{ByteOrder, I32, I64};
use striae_core::store::usize_to_u64;
use zerocopy::IntoBytes;

/// The requests of the blobs of a subfile.
pub(super) struct Tables<'b> {
    /// For each blob and decomposition the requests.
    requests: Vec<Vec<&'b [Request]>>,
    /// For each blob and decomposition the share.
    pub(super) shares: Vec<Box<[Share]>>,
    /// For each decomposition the sum of the shares.
    pub(super) sums: Vec<Shares>,
}

/// An integer of 4 bytes, as [`outside`](striae_core::blob::distribute::outside) has checked.
fn int(value: u64, order: ByteOrder) -> I32 {
    I32::new(i32::try_from(value).unwrap_or(i32::MAX), order)
}

fn int64(value: u64, order: ByteOrder) -> I64 {
    I64::new(i64::try_from(value).unwrap_or(i64::MAX), order)
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
                let mut lens = requests.iter().map(|request| request.len);
                let count = lens.try_fold(0, u64::checked_add)?;
                // The values of a CDF file are signed.
                let is_storable = i32::try_from(requests.len()).is_ok();
                sum.push(usize_to_u64(requests.len()), count).filter(|_| is_storable)
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
        let (order, mut bytes) = (ByteOrder::Big, Vec::new());
        let row = usize::try_from(max_nreqs).unwrap_or(0).saturating_mul(4);
        for (shares, requests) in self.shares.iter().zip(&self.requests) {
            let Some((share, requests)) = shares.get(index).zip(requests.get(index)) else { break };
            let end = bytes.len().saturating_add(row);
            match part {
                Part::Nreqs => bytes.extend(int(share.nreqs, order).as_bytes()),
                Part::BlobStart => bytes.extend(int64(share.start, order).as_bytes()),
                Part::BlobCount => bytes.extend(int64(share.count, order).as_bytes()),
                part => {
                    put(&mut bytes, requests, part, order);
                    bytes.resize(end, 0); // E3SM-IO leaves garbage after the requests
                }
            }
        }
        bytes
    }

    /// The maps of a process-centric blob, little-endian.
    pub(super) fn of_blob(&self, blob: usize) -> Vec<u8> {
        let (order, mut bytes) = (ByteOrder::Little, Vec::new());
        let of = self.shares.get(blob).zip(self.requests.get(blob));
        for (share, requests) in of.into_iter().flat_map(|(shares, own)| shares.iter().zip(own)) {
            bytes.extend(int(share.nreqs, order).as_bytes());
            bytes.extend(int64(share.start, order).as_bytes());
            bytes.extend(int64(share.count, order).as_bytes());
            put(&mut bytes, requests, Part::Offsets, order);
            put(&mut bytes, requests, Part::Lengths, order);
        }
        bytes
    }
}

fn put(bytes: &mut Vec<u8>, requests: &[Request], part: Part, order: ByteOrder) {
    for request in requests {
        let value = if part == Part::Offsets { request.offset } else { request.len };
        bytes.extend(int(value, order).as_bytes());
    }
}
