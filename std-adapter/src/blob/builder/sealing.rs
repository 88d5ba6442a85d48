//! The seal of a subfile that is written.

use crate::posix::PosixFile;
use std::io;
use striae_core::blob::Share;
use striae_core::blob::seal::{Facts, SealPlace, Shape, header_crc};
use striae_core::span::Span;
use striae_core::store::usize_to_u64;
use zerocopy::IntoBytes;

/// What a seal says, and its checksums as they are known so far.
#[derive(Debug)]
pub(super) struct Sealing {
    /// The number of records is that of the last close.
    facts: Facts,
    places: [SealPlace; 2],
    /// The checksums of the decompositions' variables: of each blob of each variable.
    maps: Vec<u32>,
    nblobs: usize,
}

impl Sealing {
    /// The seal of a subfile with this header and `nmaps` variables of decompositions; `None` if
    /// the gap has no room for it.
    pub(super) fn new(shape: Shape, nmaps: u64, gap: Span, header: &[u8]) -> Option<Self> {
        let facts = Facts {
            shape,
            header_len: usize_to_u64(header.len()),
            header_crc: header_crc(header, crc32c::crc32c_append),
            values_begin: gap.end(),
            numrecs: 0,
        };
        let nblobs = usize::try_from(shape.nblobs()).ok()?;
        let maps = vec![0; usize::try_from(nmaps).ok()?.checked_mul(nblobs)?];
        Some(Self { facts, places: shape.places(gap)?, maps, nblobs })
    }

    fn set(&mut self, variable: usize, blob: usize, bytes: &[u8]) {
        let row = variable.saturating_mul(self.nblobs).saturating_add(blob);
        if let Some(place) = self.maps.get_mut(row) {
            *place = crc32c::crc32c(bytes);
        }
    }

    /// Sets the checksums of a variable of the decompositions with these values.
    pub(super) fn set_column(&mut self, variable: usize, column: &[u8]) {
        let len = column.len().checked_div(self.nblobs).unwrap_or(0).max(1);
        for (blob, row) in column.chunks_exact(len).enumerate() {
            self.set(variable, blob, row);
        }
    }

    /// Sets the checksums of the maps of a process-centric blob, which has these shares.
    pub(super) fn set_blob(&mut self, blob: usize, maps: &[u8], shares: &[Share]) {
        let (mut at, mut variable) = (0, 0_usize);
        for part in shares.iter().filter_map(|share| {
            let parts = share.parts(at)?;
            at = parts.last()?.end();
            Some(parts)
        }) {
            for part in part {
                let [start, end] = [part.offset(), part.end()];
                let place = usize::try_from(start).ok().zip(usize::try_from(end).ok());
                let bytes = place.and_then(|(start, end)| maps.get(start..end));
                self.set(variable, blob, bytes.unwrap_or_default());
                variable = variable.saturating_add(1);
            }
        }
    }

    /// Writes both copies. `values` are the checksums of the other variables, over so many records.
    pub(super) fn write(
        &self,
        file: &PosixFile,
        numrecs: u64,
        values: impl Iterator<Item = u32>,
    ) -> io::Result<()> {
        let rows = self.maps.iter().copied().chain(values);
        let table: Vec<u8> = rows.flat_map(u32::to_be_bytes).collect();
        let facts = Facts { numrecs, ..self.facts };
        let head = facts.head(crc32c::crc32c(&table), crc32c::crc32c_append);
        for place in &self.places {
            file.write_all_at(place.table.offset(), &table)?;
            file.write_all_at(place.head.offset(), head.as_bytes())?;
        }
        Ok(())
    }
}

/// The checksum of a rank's bytes of a variable, over the records that it has written in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Sum {
    /// The record that comes next.
    pub(super) next: u64,
    pub(super) crc: u32,
    /// Whether records were written out of order, or twice: the bytes must be read again.
    pub(super) is_stale: bool,
}

impl Sum {
    /// The sum after a record, whose bytes continue it to `crc`. `before` is the sum as it was when
    /// the bytes were written.
    pub(super) fn add(&mut self, before: Self, record: u64, crc: u32) {
        if *self == before && self.next == record {
            *self = Self { next: record.saturating_add(1), crc, is_stale: self.is_stale };
        } else {
            self.is_stale = true;
        }
    }
}
