//! The seal of a subfile, of which each rank writes its own rows.

use super::size;
use crate::collective::{Collective, Fold};
use crate::error::Failure;
use striae::posix::PosixFile;
use striae_core::blob::book::Sum;
use striae_core::blob::raw::SealTie;
use striae_core::blob::seal::{Facts, SealPlace, Shape, header_crc};
use striae_core::blob::{Fingerprint, Tie};
use striae_core::integrity::Crc32cParts;
use striae_core::span::Span;
use striae_core::store::{ReadAt, usize_to_u64};
use zerocopy::IntoBytes;

/// The bytes that are read at once.
const WINDOW: usize = 1 << 16;

/// The bytes of a checksum in the table.
const ROW: u64 = 4;

/// The bytes of a tie before the table.
const TIE: u64 = 24;
const _: () = assert!(size_of::<SealTie>() == 24);

/// What the seal of a subfile says, and where its copies are.
#[derive(Debug)]
pub(super) struct Seal {
    facts: Facts,
    places: [SealPlace; 2],
    /// The number of the subfile, and that of all subfiles.
    subfile: (u32, u32),
}

/// The checksum over all records of this rank's values of a variable, at these places in the file.
pub(super) fn sum_of(
    sum: Sum,
    places: impl Iterator<Item = Option<Span>>,
    file: &PosixFile,
) -> Result<u32, Failure> {
    let mut crc = match sum.all() {
        Ok(crc) => return Ok(crc),
        Err(before) => before,
    };
    let mut window = vec![0; WINDOW];
    for place in places {
        let mut rest = place.ok_or_else(size)?;
        while !rest.is_empty() {
            let len = usize::try_from(rest.len()).unwrap_or(WINDOW).min(WINDOW);
            let bytes = window.get_mut(..len).unwrap_or_default();
            let read = file.read_exact_at(rest.offset(), bytes).map_err(std::io::Error::from);
            read.map_err(|error| Failure::io("reading values for the seal", &error))?;
            crc = crc32c::crc32c_append(crc, bytes);
            rest = rest.skip(usize_to_u64(len));
        }
    }
    Ok(crc)
}

impl Seal {
    /// The seal in this gap after the header; `None` if there is no room for it. Only the first
    /// rank of a subfile needs the header.
    pub(super) fn new((shape, gap): (Shape, Span), len: u64, header: &[u8]) -> Option<Self> {
        let tie = None; // it is known when the values are
        let header_crc = header_crc(header, crc32c::crc32c_append);
        let values_begin = gap.end();
        let facts = Facts { shape, header_len: len, header_crc, values_begin, numrecs: 0, tie };
        Some(Self { facts, places: shape.places(gap, true)?, subfile: (0, 0) })
    }

    /// Sets the number of the subfile, and that of all subfiles.
    pub(super) const fn set_subfile(&mut self, number: u32, of: u32) {
        self.subfile = (number, of);
    }

    /// The fingerprint of a blob whose variables have these checksums.
    pub(super) fn fingerprint(&self, blob: u32, sums: Vec<u32>) -> Fingerprint {
        let header_crc = if blob == 0 { self.facts.header_crc } else { 0 };
        Fingerprint::of_blob((self.subfile.0, blob), header_crc, sums)
    }

    /// Writes the rows of this rank's blob: its checksum of each variable. The first rank then
    /// writes the heads of both copies. It takes two calls of the message layer on the ranks of the
    /// subfile.
    pub(super) fn write<C: Collective>(
        &self,
        part: &C,
        file: &PosixFile,
        sums: Result<Vec<u32>, Failure>,
        (records, values): (u64, Fingerprint),
    ) -> Result<(), Failure> {
        let tie = Tie::new(values, self.subfile.0, self.subfile.1);
        let (stored, first) = (tie.stored(), part.rank() == 0);
        let at = |error| Failure::io("writing the seal", &error);
        let rows = sums.and_then(|sums| {
            let mut parts = Crc32cParts::NONE;
            for (variable, sum) in (0..).zip(sums) {
                let row = self.facts.shape.row(variable, part.rank()).ok_or_else(size)?;
                let (skip, bytes) = (row.saturating_mul(ROW), sum.to_be_bytes());
                for place in &self.places {
                    let entry = place.table.part(skip, ROW).ok_or_else(size)?;
                    file.write_all_at(entry.offset(), &bytes).map_err(at)?;
                }
                let after = self.len().saturating_sub(skip).saturating_sub(ROW);
                parts.add(crc32c::crc32c(&bytes), ROW, after);
            }
            for place in self.places.iter().filter(|_| first) {
                file.write_all_at(place.tie.offset(), stored.as_bytes()).map_err(at)?;
            }
            if first {
                parts.add(crc32c::crc32c(stored.as_bytes()), TIE, self.len());
            }
            Ok([u64::from(parts.word())])
        });
        let facts = Facts { numrecs: records, tie: Some(tie), ..self.facts };
        part.decide(rows, [Fold::Xor], |[word]| {
            let word = u32::try_from(word).unwrap_or(0); // parts have 32 bits
            let crc = Crc32cParts::from_word(word).crc(self.len().saturating_add(TIE));
            let head = facts.head(crc, crc32c::crc32c_append);
            let mut places = self.places.iter();
            let written = places
                .try_for_each(|place| file.write_all_at(place.head.offset(), head.as_bytes()));
            written.map(|()| []).map_err(at)
        })?;
        Ok(())
    }

    /// The length of the table.
    const fn len(&self) -> u64 {
        let [SealPlace { table, .. }, _] = self.places;
        table.len()
    }
}
