//! The maps of a subfile, as bytes.

use super::sealing::Sealing;
use super::{Builder, Decomposed, Members};
use crate::blob::Container;
use crate::posix::PosixFile;
use std::io;
use striae_core::blob::book::{numbers_of, put_part, row_len};
use striae_core::blob::map::Request;
use striae_core::blob::{Part, Share, Shares};
use striae_core::cdf::Define;
use striae_core::endian::ByteOrder;
use striae_core::store::usize_to_u64;

/// The fewest zeros between the requests of two blobs that are not written.
const HOLE: usize = 4096;

/// The bytes after which a write does not grow by another blob.
const PIECE: usize = 1 << 20;

impl<D: Define + ?Sized> Builder<'_, D> {
    /// The bytes of the tables of requests of all subfiles, and those of them that are not zeros
    /// after the requests of a blob; 0 if the ranks of the subfiles are wrong.
    pub(crate) fn tables(&self) -> (u64, u64) {
        let row = |nreqs: u64| {
            let lens = Part::VARIABLES.map(|part| row_len(part, nreqs));
            lens.into_iter().fold(0, u64::saturating_add)
        };
        let (mut size, mut used) = (0_u64, 0_u64);
        for ranks in self.members().map(|(members, _)| members).unwrap_or_default() {
            for of in 0..self.decompositions.len() {
                let nreqs = ranks.iter().map(|&rank| usize_to_u64(self.requests(of, rank).len()));
                let own = nreqs.clone().map(row).fold(0, u64::saturating_add);
                let all = row(nreqs.max().unwrap_or(0)).saturating_mul(usize_to_u64(ranks.len()));
                used = used.saturating_add(own);
                let is_padded = self.set.container == Container::Cdf;
                size = size.saturating_add(if is_padded { all } else { own });
            }
        }
        (size, used)
    }
}

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

    /// Writes all variables in definition order, big-endian, to a new file, where they begin at
    /// these places. What follows the requests of a blob is zeros: long ones stay holes.
    pub(super) fn write_columns(
        &self,
        begins: &[u64],
        file: &PosixFile,
        mut seal: Option<&mut Sealing>,
    ) -> io::Result<()> {
        let sums = self.sums.iter().enumerate();
        let parts = sums.flat_map(|(index, sum)| {
            let max_nreqs = sum.max_nreqs();
            Part::VARIABLES.into_iter().map(move |part| (index, part, row_len(part, max_nreqs)))
        });
        for ((number, &begin), (index, part, row_len)) in (0..).zip(begins).zip(parts) {
            let (mut at, mut end, mut bytes) = (begin, begin, Vec::new());
            for (blob, (shares, requests)) in self.shares.iter().zip(&self.requests).enumerate() {
                let Some((share, own)) = shares.get(index).zip(requests.get(index)) else { break };
                let start = bytes.len();
                put_part(part, *share, own, ByteOrder::Big, |one| bytes.extend(one));
                let row = bytes.get(start..).unwrap_or_default();
                if let Some(seal) = &mut seal {
                    seal.set((number, blob), row, row_len);
                }
                let zeros = row_len.saturating_sub(usize_to_u64(row.len()));
                end = end.saturating_add(row_len);
                match usize::try_from(zeros) {
                    Ok(zeros) if zeros < HOLE && bytes.len() < PIECE => {
                        bytes.resize(bytes.len().saturating_add(zeros), 0);
                    }
                    _ => {
                        file.write_all_at(at, &bytes)?;
                        (at, bytes) = (end, Vec::new());
                    }
                }
            }
            file.write_all_at(at, &bytes)?;
        }
        Ok(())
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
