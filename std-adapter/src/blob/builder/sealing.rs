//! The seal of a subfile that is written.

use super::writer::{Known, Subfile, Writer, index};
use crate::error::Error;
use crate::posix::PosixFile;
use std::convert::Infallible;
use std::io;
use std::ops::Range;
use striae_core::blob::append::Reseal;
use striae_core::blob::seal::{COPIES, Facts, SealPlace, Shape, header_crc};
use striae_core::blob::{Fingerprint, Share, Tie};
use striae_core::span::Span;
use striae_core::step::DriveError;
use striae_core::store::usize_to_u64;
use striae_inspect::blob::Sealed;
use striae_inspect::subject::read_pieces;

/// What a seal says, and its checksums as they are known so far.
#[derive(Debug)]
pub(super) struct Sealing {
    facts: Facts,
    places: [SealPlace; 2],
    /// The checksums of the decompositions' variables: of each blob of each variable.
    maps: Vec<u32>,
    nblobs: usize,
    /// The copy that is replaced first.
    pub(super) next: usize,
}

impl Sealing {
    /// The seal of a subfile with this header and `nmaps` variables of decompositions; `None` if
    /// the gap has no room for it.
    pub(super) fn new((shape, gap): (Shape, Span), nmaps: u64, header: &[u8]) -> Option<Self> {
        let facts = Facts {
            shape,
            header_len: usize_to_u64(header.len()),
            header_crc: header_crc(header, crc32c::crc32c_append),
            values_begin: gap.end(),
            numrecs: 0,
            tie: None, // it is known when the values are
        };
        let nblobs = usize::try_from(shape.nblobs()).ok()?;
        let maps = vec![0; usize::try_from(nmaps).ok()?.checked_mul(nblobs)?];
        Some(Self { facts, places: shape.places(gap, true)?, maps, nblobs, next: 0 })
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

    /// A seal to be continued, of a subfile with `nmaps` variables of decompositions.
    pub(super) fn of(sealed: &Sealed, gap: Span, nmaps: u64) -> Option<Self> {
        let (facts, next) = (sealed.seal().facts(), sealed.next());
        let nblobs = usize::try_from(facts.shape.nblobs()).ok()?;
        let rows = usize::try_from(nmaps).ok()?.checked_mul(nblobs)?;
        let maps = rows_of(sealed.table()).take(rows).collect();
        let places = facts.shape.places(gap, facts.tie.is_some())?;
        Some(Self { facts, places, maps, nblobs, next })
    }

    /// The table with these checksums of the values.
    pub(super) fn table(&self, values: impl Iterator<Item = u32>) -> Vec<u8> {
        self.maps.iter().copied().chain(values).flat_map(u32::to_be_bytes).collect()
    }

    /// The seal of a new subfile with this tie and table, over so many records.
    const fn first<'t>(&self, numrecs: u64, table: &'t [u8], tie: Tie) -> Reseal<'t> {
        let facts = Facts { numrecs, tie: Some(tie), ..self.facts };
        Reseal { facts, places: self.places, table }
    }

    /// The seal with this table, over so many records, when the set has these values.
    pub(super) fn reseal<'t>(
        &self,
        numrecs: u64,
        table: &'t [u8],
        values: Fingerprint,
    ) -> Reseal<'t> {
        let tie = self.facts.tie.map(|tie| Tie::new(values, tie.number, tie.nsubfiles));
        Reseal { facts: Facts { numrecs, tie, ..self.facts }, places: self.places, table }
    }

    /// The fingerprint of a blob of the subfile with this number, whose variables have these
    /// checksums.
    pub(super) fn of_blob(
        &self,
        (subfile, blob): (u32, u32),
        sums: impl IntoIterator<Item = u32>,
    ) -> Fingerprint {
        let header_crc = if blob == 0 { self.facts.header_crc } else { 0 };
        Fingerprint::of_blob((subfile, blob), header_crc, sums)
    }

    /// That of all blobs; `sums` are those of the blobs of the first variable, then of the next.
    fn of_all(&self, subfile: u32, sums: &[u32]) -> Fingerprint {
        let blobs = (0_u32..).zip(0..self.nblobs);
        let of = blobs.map(|(number, blob)| {
            let own = sums.iter().skip(blob).step_by(self.nblobs.max(1)).copied();
            self.of_blob((subfile, number), own)
        });
        of.fold(Fingerprint::default(), Fingerprint::join)
    }
}

/// The checksums of a table.
pub(super) fn rows_of(table: &[u8]) -> impl Iterator<Item = u32> {
    table.chunks_exact(4).map(|row| u32::from_be_bytes(row.try_into().unwrap_or_default()))
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
            values = values.join(seal.of_all(number, &sums));
        }
        Ok(values)
    }

    /// Writes the seal of a new subfile, if it gets one.
    pub(super) fn seal(
        &self,
        (number, subfile): (u32, &Subfile),
        mut file: &PosixFile,
        records: u64,
        values: Fingerprint,
    ) -> io::Result<()> {
        let Some(seal) = &subfile.made.seal else { return Ok(()) };
        let table = seal.table(self.sums(subfile, file, records)?.into_iter());
        let tie = Tie::new(values, number, self.nsubfiles());
        let seal = seal.first(records, &table, tie);
        (0..COPIES).try_for_each(|copy| seal.write(&mut file, copy, crc32c::crc32c_append))
    }

    /// The checksums of the values of a subfile, with so many records.
    pub(super) fn sums(
        &self,
        subfile: &Subfile,
        file: &PosixFile,
        records: u64,
    ) -> io::Result<Vec<u32>> {
        let mut sums = Vec::new();
        for (number, variable) in self.variables.iter().enumerate() {
            for &rank in &subfile.ranks {
                let Some(known) = self.ranks.get(index(rank)) else { continue };
                let sum = known.done().sums.get(number).copied().unwrap_or_default();
                let records = if variable.is_record { self.first..records } else { 0..1 };
                sums.push(match sum.all() {
                    Ok(crc) => crc,
                    Err(before) => self.read_sum(known, number, file, (records, before))?,
                });
            }
        }
        Ok(sums)
    }

    /// The checksum of a rank's bytes of a variable, as they are in the file, over some records and
    /// those before, which have the checksum `crc`.
    fn read_sum(
        &self,
        known: &Known,
        number: usize,
        file: &PosixFile,
        (records, mut crc): (Range<u64>, u32),
    ) -> io::Result<u32> {
        let len = self.variables.get(number).map_or(0, |variable| self.len(known, variable));
        let mut bytes = Vec::new();
        for record in records {
            let place = self.place(known, number, record).and_then(|at| Span::new(at, len));
            let mut each = |bytes: &[u8]| {
                crc = crc32c::crc32c_append(crc, bytes);
                true
            };
            let read = read_pieces::<_, Infallible>(
                file,
                place.unwrap_or(Span::ZERO),
                &mut bytes,
                &mut each,
            );
            read.map_err(|error| match error {
                DriveError::Store(error) => error,
                _ => io::ErrorKind::UnexpectedEof.into(),
            })?;
        }
        Ok(crc)
    }
}
