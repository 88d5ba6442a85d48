//! [`Sealing`]: the seal of a subfile that is written, by one process or by one for each blob.

use super::append::{Copies, NUMRECS, Reseal};
use super::book::Sum;
use crate::blob::disk::seal::{COPIES, Facts, SealPlace, Shape, header_crc};
use crate::blob::disk::tie::{Fingerprint, Tie};
use crate::blob::raw::SealRow;
use crate::integrity::{Checksum, Crc32cParts};
use crate::span::Span;
use crate::store::usize_to_u64;
#[twin(ReadAt, WriteAt)]
use crate::store::{ReadAt, WriteAt};
use embedded_io::ReadExactError;
use striae_twin::twin;
use zerocopy::IntoBytes;
use zerocopy::big_endian::U32;

/// What a seal says, and where its copies are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Sealing {
    facts: Facts,
    places: [SealPlace; COPIES],
    /// The number of the subfile.
    number: u32,
    next: usize,
}

impl Sealing {
    /// The seal of a new subfile, of this number of so many, in a gap after the header; `None` if
    /// the gap has no room for it. A process that does not write the heads needs only the length of
    /// the header.
    #[must_use]
    pub fn new(
        (shape, gap): (Shape, Span),
        (number, nsubfiles): (u32, u32),
        header: (u64, &[u8]),
        checksum: Checksum,
    ) -> Option<Self> {
        let tie = Tie::new(Fingerprint::default(), number, nsubfiles); // until the values are known
        let (header_len, header_crc) = (header.0, header_crc(header.1, checksum));
        let (values_begin, numrecs, tie) = (gap.end(), 0, Some(tie));
        let facts = Facts { shape, header_len, header_crc, values_begin, numrecs, tie };
        Self::of(facts, gap, number, 0)
    }

    /// A seal that is continued, of the subfile with this number. `next` is the copy that is
    /// replaced first: [`Found::next`](crate::blob::seal::Found::next).
    #[must_use]
    pub fn of(facts: Facts, gap: Span, number: u32, next: usize) -> Option<Self> {
        let places = facts.shape.places(gap, facts.tie.is_some())?;
        Some(Self { facts, places, number, next })
    }

    /// The number of blobs.
    #[must_use]
    pub const fn nblobs(&self) -> u32 {
        self.facts.shape.nblobs()
    }

    /// The copy that is replaced first.
    #[must_use]
    pub const fn next(&self) -> usize {
        self.next
    }

    /// What the seal says when the subfile has so many records and the set these values.
    fn facts(&self, numrecs: u64, values: Fingerprint) -> Facts {
        let tie = self.facts.tie.map(|tie| Tie::new(values, tie.number, tie.nsubfiles));
        Facts { numrecs, tie, ..self.facts }
    }

    /// The seal with this table, over so many records, when the set has these values.
    #[must_use]
    pub fn reseal<'t>(&self, numrecs: u64, table: &'t [u8], values: Fingerprint) -> Reseal<'t> {
        Reseal { facts: self.facts(numrecs, values), places: self.places, table }
    }

    /// What a blob, whose variables have these checksums, adds to the values of the set.
    pub fn of_blob(&self, blob: u32, sums: impl IntoIterator<Item = u32>) -> Fingerprint {
        let header_crc = if blob == 0 { self.facts.header_crc } else { 0 };
        Fingerprint::of_blob((self.number, blob), header_crc, sums)
    }

    /// What all blobs add; `sums` are those of the blobs of the first variable, then of the next.
    #[must_use]
    pub fn of_all(&self, sums: &[u32]) -> Fingerprint {
        let step = usize::try_from(self.nblobs()).unwrap_or(usize::MAX).max(1);
        let blobs = (0..self.nblobs())
            .zip(0_usize..)
            .map(|(blob, skip)| self.of_blob(blob, sums.iter().skip(skip).step_by(step).copied()));
        blobs.fold(Fingerprint::default(), Fingerprint::join)
    }
}

#[twin(WriteAt)]
impl Sealing {
    /// Writes the rows of a blob into both copies: its checksums of each variable. Blob 0 also
    /// writes the ties, for a set with these values. Returns its part of the checksum of tie and
    /// table; [`complete`] needs those of all blobs. More sums than the seal
    /// has variables are not written.
    ///
    /// # Errors
    /// The store's own error.
    pub async fn write_rows<S: WriteAt>(
        &self,
        store: &mut S,
        (blob, values): (u32, Fingerprint),
        sums: impl IntoIterator<Item = u32>,
        checksum: Checksum,
    ) -> Result<Crc32cParts, S::Error> {
        let facts = self.facts(0, values);
        let mut copies = Copies::new(store, &self.places, &facts, checksum);
        for (variable, sum) in (0..).zip(sums) {
            let Some(row) = self.facts.shape.row(variable, blob) else { break };
            let (skip, row) = (row.saturating_mul(SealRow::LEN), SealRow { crc: U32::new(sum) });
            copies.put_rows(skip, row.as_bytes()).await?;
        }
        if blob == 0 {
            copies.put_tie().await?;
        }
        Ok(copies.parts)
    }

    /// Writes the ties and the table of both copies, for a set with these values: what all blobs
    /// write by [`write_rows`](Self::write_rows). Returns their checksum.
    ///
    /// # Errors
    /// The store's own error.
    pub async fn write_table<S: WriteAt>(
        &self,
        store: &mut S,
        (table, values): (&[u8], Fingerprint),
        checksum: Checksum,
    ) -> Result<Crc32cParts, S::Error> {
        let facts = self.facts(0, values);
        let mut copies = Copies::new(store, &self.places, &facts, checksum);
        copies.put_tie().await?;
        copies.put_rows(0, table).await?;
        Ok(copies.parts)
    }
}

/// The seal of a new subfile, whose ties and tables are written.
#[derive(Debug, Clone, Copy)]
pub struct NewSeal<'s> {
    /// The seal.
    pub seal: &'s Sealing,
    /// The number of records that its checksums are of.
    pub records: u64,
    /// The values of the set.
    pub values: Fingerprint,
    /// The checksum of tie and table: those of all blobs, joined.
    pub parts: Crc32cParts,
}

/// Completes a new subfile of `len` bytes, whose values are all in the store: it gets the heads of
/// its seal, its length, and last, if it is variable-centric, the number of its records. So a
/// program that is killed leaves no subfile that counts records which its seal does not cover. A
/// power cut may: nothing is synced here, so give the file its name after a sync.
///
/// # Errors
/// The store's own error.
#[twin(WriteAt)]
pub async fn complete<S: WriteAt>(
    store: &mut S,
    (len, numrecs): (u64, Option<u64>),
    sealed: Option<NewSeal<'_>>,
    checksum: Checksum,
) -> Result<(), S::Error> {
    if let Some(NewSeal { seal, records, values, parts }) = sealed {
        let facts = seal.facts(records, values);
        Copies::new(store, &seal.places, &facts, checksum).put_heads(parts).await?;
    }
    store.set_size(len).await?;
    if let Some(numrecs) = numrecs {
        store.write_all_at(NUMRECS, &numrecs.to_be_bytes()).await?;
    }
    Ok(())
}

#[twin(ReadAt)]
impl Sum {
    /// The checksum over all records, whose bytes are at these places: they are read again, in
    /// parts as long as `window`, if they were not written in order.
    ///
    /// # Errors
    /// [`ReadExactError::UnexpectedEof`] if the store is too short, or `window` is empty and
    /// needed; else the store's own error.
    pub async fn over<S: ReadAt + ?Sized>(
        self,
        places: impl Iterator<Item = Span>,
        store: &S,
        window: &mut [u8],
        checksum: Checksum,
    ) -> Result<u32, ReadExactError<S::Error>> {
        let mut crc = match self.all() {
            Ok(crc) => return Ok(crc),
            Err(before) => before,
        };
        for mut rest in places {
            while !rest.is_empty() {
                let len = usize::try_from(rest.len()).unwrap_or(usize::MAX).min(window.len());
                let bytes = window.get_mut(..len).filter(|bytes| !bytes.is_empty());
                let bytes = bytes.ok_or(ReadExactError::UnexpectedEof)?;
                store.read_exact_at(rest.offset(), bytes).await?;
                crc = checksum(crc, bytes);
                rest = rest.skip(usize_to_u64(len));
            }
        }
        Ok(crc)
    }
}
