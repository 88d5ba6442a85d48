//! The seal of a subfile that is written.

use super::writer::{Subfile, Writer, index};
use crate::error::Error;
use crate::posix::PosixFile;
use std::io;
use striae_core::blob::book::row_crc;
use striae_core::blob::raw::SealRow;
use striae_core::blob::seal::Shape;
use striae_core::blob::sealing::{NewSeal, complete};
use striae_core::blob::{self as book, Fingerprint, Share};
use striae_core::span::Span;
use striae_core::store::usize_to_u64;
use striae_inspect::blob::Sealed;
use zerocopy::big_endian::U32;
use zerocopy::{FromBytes, IntoBytes};

/// The bytes of values that are read at once.
const WINDOW: usize = 1 << 16;

/// The seal of a subfile, and its checksums as they are known so far.
#[derive(Debug)]
pub(super) struct Sealing {
    pub(super) seal: book::Sealing,
    /// The checksums of the decompositions' variables: of each blob of each variable.
    maps: Vec<u32>,
    nblobs: usize,
}

impl Sealing {
    /// The seal in this gap of a subfile, of this number of so many, with this header and `nmaps`
    /// variables of decompositions; `None` if the gap has no room for it.
    pub(super) fn new(
        sealed: (Shape, Span),
        number: (u32, u32),
        nmaps: usize,
        header: &[u8],
    ) -> Option<Self> {
        let header = (usize_to_u64(header.len()), header);
        let seal = book::Sealing::new(sealed, number, header, crc32c::crc32c_append)?;
        let nblobs = usize::try_from(seal.nblobs()).ok()?;
        Some(Self { seal, maps: vec![0; nmaps.checked_mul(nblobs)?], nblobs })
    }

    /// Sets the checksum of what a blob has of a variable of the decompositions: `bytes`, then
    /// zeros, `row_len` bytes in all.
    pub(super) fn set(&mut self, (variable, blob): (usize, usize), bytes: &[u8], row_len: u64) {
        let row = variable.saturating_mul(self.nblobs).saturating_add(blob);
        if let Some(place) = self.maps.get_mut(row) {
            *place = row_crc(crc32c::crc32c(bytes), usize_to_u64(bytes.len()), row_len);
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
                self.set((variable, blob), bytes.unwrap_or_default(), part.len());
                variable = variable.saturating_add(1);
            }
        }
    }

    /// A seal to be continued, of the subfile with this number and `nmaps` variables of
    /// decompositions.
    pub(super) fn of(sealed: &Sealed, gap: Span, number: u32, nmaps: u64) -> Option<Self> {
        let seal = book::Sealing::of(sealed.seal().facts(), gap, number, sealed.next())?;
        let nblobs = usize::try_from(seal.nblobs()).ok()?;
        let rows = usize::try_from(nmaps).ok()?.checked_mul(nblobs)?;
        Some(Self { seal, maps: rows_of(sealed.table()).take(rows).collect(), nblobs })
    }

    /// The table with these checksums of the values.
    pub(super) fn table(&self, values: impl Iterator<Item = u32>) -> Vec<u8> {
        let sums = self.maps.iter().copied().chain(values);
        let rows: Vec<_> = sums.map(|crc| SealRow { crc: U32::new(crc) }).collect();
        rows.as_bytes().to_vec()
    }
}

/// The checksums of a table.
pub(super) fn rows_of(table: &[u8]) -> impl Iterator<Item = u32> {
    let rows = <[SealRow]>::ref_from_bytes(table).unwrap_or_default();
    rows.iter().map(|row| row.crc.get())
}

impl Writer {
    /// The fingerprint of the values of all sealed subfiles, with so many records.
    pub(super) fn fingerprint(&self, records: u64) -> Result<Fingerprint, Error> {
        let mut values = Fingerprint::default();
        for (number, subfile) in (0..).zip(&self.subfiles) {
            let Some(seal) = &subfile.made.seal else { continue };
            let file = self.open(number)?;
            let sums = self.sums(subfile, &file, records);
            let sums = sums.map_err(|error| self.error(number, error))?;
            values = values.join(seal.seal.of_all(&sums));
        }
        Ok(values)
    }

    /// Completes a new subfile of so many bytes, with its seal if it gets one.
    pub(super) fn complete(
        &self,
        subfile: &Subfile,
        mut file: &PosixFile,
        end: (u64, Option<u64>),
        (records, values): (u64, Fingerprint),
    ) -> io::Result<()> {
        let mut sealed = None;
        if let Some(own) = &subfile.made.seal {
            let table = own.table(self.sums(subfile, file, records)?.into_iter());
            let (seal, table) = (&own.seal, (&*table, values));
            let parts = seal.write_table(&mut file, table, crc32c::crc32c_append)?;
            sealed = Some(NewSeal { seal, records, values, parts });
        }
        complete(&mut file, end, sealed, crc32c::crc32c_append)
    }

    /// The checksums of the values of a subfile, with so many records.
    pub(super) fn sums(
        &self,
        subfile: &Subfile,
        file: &PosixFile,
        records: u64,
    ) -> io::Result<Vec<u32>> {
        let (mut sums, mut window) = (Vec::new(), vec![0; WINDOW]);
        for (number, variable) in self.variables.iter().enumerate() {
            for &rank in &subfile.ranks {
                let Some(known) = self.ranks.get(index(rank)) else { continue };
                let held = self.held(known, number, variable).unwrap_or_default();
                let (of, pen) = ((number, variable.column, held), known.pen());
                let crc = pen.sum_of_all(of, records, file, &mut window, crc32c::crc32c_append);
                sums.push(crc?);
            }
        }
        Ok(sums)
    }
}
