//! Appending records to a variable-centric subfile (`spec/blob.md#appending`).
//!
//! The values of the new records are written where [`cdf`](crate::cdf) says. [`count`] then makes
//! them part of the subfile, with its seal. When all subfiles of a set count them, [`settle`]
//! replaces the other copy of each seal. Subfiles count new records in the descending order of
//! their numbers: whatever happens, no subfile has fewer records than the first one.

use crate::blob::disk::seal::{COPIES, Facts, SealPlace};
use crate::blob::disk::tie::Tie;
use crate::cdf::Writer;
use crate::cdf::book::Slot;
#[cfg(feature = "async")]
use crate::cdf::error::AsyncError;
use crate::cdf::writer::WriteError;
use crate::integrity::{Checksum, Crc32cParts};
use crate::step::DriveError;
#[twin(WriteAt)]
use crate::store::WriteAt;
use crate::store::usize_to_u64;
use striae_twin::twin;
use zerocopy::IntoBytes;

/// The offset of `numrecs` in a CDF-5 file.
pub(in crate::blob) const NUMRECS: u64 = 4;

/// A seal that is written.
#[derive(Debug, Clone, Copy)]
pub struct Reseal<'t> {
    /// What it says.
    pub facts: Facts,
    /// The places of its copies.
    pub places: [SealPlace; COPIES],
    /// Its table of checksums.
    pub table: &'t [u8],
}

#[twin(WriteAt)]
impl Reseal<'_> {
    /// Writes a copy.
    ///
    /// # Errors
    /// The store's own error.
    pub async fn write<S: WriteAt>(
        &self,
        store: &mut S,
        copy: usize,
        checksum: Checksum,
    ) -> Result<(), S::Error> {
        let Some(place) = self.places.get(copy) else { return Ok(()) };
        let mut copy = Copies::new(store, core::slice::from_ref(place), &self.facts, checksum);
        copy.put_tie().await?;
        copy.put_rows(0, self.table).await?;
        copy.put_heads(copy.parts).await
    }
}

/// Copies of a seal that are written together, piece by piece: ties and tables, then the heads.
#[derive(Debug)]
pub(in crate::blob) struct Copies<'w, S> {
    store: &'w mut S,
    places: &'w [SealPlace],
    facts: &'w Facts,
    checksum: Checksum,
    /// The checksum of what was written of tie and table.
    pub(in crate::blob) parts: Crc32cParts,
}

impl<'w, S> Copies<'w, S> {
    pub(in crate::blob) const fn new(
        store: &'w mut S,
        places: &'w [SealPlace],
        facts: &'w Facts,
        checksum: Checksum,
    ) -> Self {
        Self { store, places, facts, checksum, parts: Crc32cParts::NONE }
    }

    /// The bytes of a tie, and of a table.
    fn lens(&self) -> (u64, u64) {
        self.places.first().map_or((0, 0), |place| (place.tie.len(), place.table.len()))
    }

    /// Adds the checksum of these bytes of tie and table, `after` of which follow them.
    fn add(&mut self, bytes: &[u8], after: u64) {
        self.parts.add((self.checksum)(0, bytes), usize_to_u64(bytes.len()), after);
    }
}

#[twin(WriteAt)]
impl<S: WriteAt> Copies<'_, S> {
    /// Writes the ties, if there are any.
    pub(in crate::blob) async fn put_tie(&mut self) -> Result<(), S::Error> {
        let Some(tie) = self.facts.tie.map(Tie::stored) else { return Ok(()) };
        for place in self.places {
            self.store.write_all_at(place.tie.offset(), tie.as_bytes()).await?;
        }
        let (_, after) = self.lens();
        self.add(tie.as_bytes(), after);
        Ok(())
    }

    /// Writes rows of the tables, `skip` bytes into them.
    pub(in crate::blob) async fn put_rows(
        &mut self,
        skip: u64,
        rows: &[u8],
    ) -> Result<(), S::Error> {
        for place in self.places {
            self.store.write_all_at(place.table.offset().saturating_add(skip), rows).await?;
        }
        let (_, table_len) = self.lens();
        let end = skip.saturating_add(usize_to_u64(rows.len()));
        self.add(rows, table_len.saturating_sub(end));
        Ok(())
    }

    /// Writes the heads, when ties and tables are written. `parts` is the checksum of all that was
    /// written of a tie and a table.
    pub(in crate::blob) async fn put_heads(&mut self, parts: Crc32cParts) -> Result<(), S::Error> {
        let (tie_len, table_len) = self.lens();
        let crc = parts.crc(tie_len.saturating_add(table_len));
        let head = self.facts.head(crc, self.checksum);
        for place in self.places {
            self.store.write_all_at(place.head.offset(), head.as_bytes()).await?;
        }
        Ok(())
    }
}

/// Counts some more records, whose values are all in the store: first the values and the copy
/// `next` of the seal are made durable, then the number of records. `next` is that of
/// [`Found::next`](crate::blob::disk::seal::Found::next).
///
/// After an error, or a future that was dropped, the call can be repeated as long as
/// [`Writer::records`] has not grown; if it has, [`Writer::close`] is what is left to do.
///
/// # Errors
/// [`Error::Records`](crate::cdf::Error::Records) if no file can have so many records, when nothing
/// was written; the store's own error.
#[twin(WriteAt, WriteError = AsyncError)]
pub async fn count<S: WriteAt, B: AsMut<[Slot]>, W: AsMut<[u8]>>(
    writer: &mut Writer<S, B, W>,
    records: u64,
    seal: Option<(&Reseal<'_>, usize)>,
    checksum: Checksum,
) -> Result<(), WriteError<S>> {
    writer.check_records(records).map_err(DriveError::Format)?;
    if let Some((seal, next)) = seal {
        seal.write(writer.store_mut(), next, checksum).await.map_err(DriveError::Store)?;
    }
    writer.end_records(records).map_err(DriveError::Format)?;
    writer.close().await
}

/// Replaces the copy of the seal that [`count`] has not written, after all subfiles of the set
/// count the records.
///
/// # Errors
/// The store's own error.
#[twin(WriteAt)]
pub async fn settle<S: WriteAt>(
    store: &mut S,
    seal: &Reseal<'_>,
    next: usize,
    checksum: Checksum,
) -> Result<(), S::Error> {
    seal.write(store, usize::from(next == 0), checksum).await?;
    store.sync().await
}

/// Takes back records that not all subfiles count: the header then has `numrecs`, durably.
///
/// # Errors
/// The store's own error.
#[twin(WriteAt)]
pub async fn take_back<S: WriteAt>(store: &mut S, numrecs: u64) -> Result<(), S::Error> {
    store.write_all_at(NUMRECS, &numrecs.to_be_bytes()).await?;
    store.sync().await
}
