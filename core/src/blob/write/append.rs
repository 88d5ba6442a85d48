//! Appending records to a variable-centric subfile (`spec/blob.md#appending`).
//!
//! The values of the new records are written where [`cdf`](crate::cdf) says. [`count`] then makes
//! them part of the subfile, with its seal. When all subfiles of a set count them, [`settle`]
//! replaces the other copy of each seal. Subfiles count new records in the descending order of
//! their numbers: whatever happens, no subfile has fewer records than the first one.

use crate::blob::disk::seal::{COPIES, Facts, SealPlace};
use crate::cdf::Writer;
use crate::cdf::book::Slot;
#[cfg(feature = "async")]
use crate::cdf::error::AsyncError;
use crate::cdf::writer::WriteError;
use crate::integrity::Checksum;
use crate::step::DriveError;
#[twin(WriteAt)]
use crate::store::WriteAt;
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
        let Facts { tie, .. } = self.facts;
        let table_crc = checksum(self.facts.tie_crc(checksum), self.table);
        let head = self.facts.head(table_crc, checksum);
        if let Some(tie) = tie {
            store.write_all_at(place.tie.offset(), tie.stored().as_bytes()).await?;
        }
        store.write_all_at(place.table.offset(), self.table).await?;
        store.write_all_at(place.head.offset(), head.as_bytes()).await
    }
}

/// Counts some more records, whose values are all in the store: first the values and the copy
/// `next` of the seal are made durable, then the number of records. `next` is that of
/// [`Found::next`](crate::blob::disk::seal::Found::next).
///
/// # Errors
/// [`Error::Records`](crate::cdf::Error::Records) if no file can have so many records; the store's
/// own error.
#[twin(WriteAt, WriteError = AsyncError)]
pub async fn count<S: WriteAt, B: AsMut<[Slot]>, W: AsMut<[u8]>>(
    writer: &mut Writer<S, B, W>,
    records: u64,
    seal: Option<(&Reseal<'_>, usize)>,
    checksum: Checksum,
) -> Result<(), WriteError<S>> {
    writer.end_records(records).map_err(DriveError::Format)?;
    if let Some((seal, next)) = seal {
        seal.write(writer.store_mut(), next, checksum).await.map_err(DriveError::Store)?;
    }
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
