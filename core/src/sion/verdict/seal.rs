//! Seals: checksums after META2 and the mapping, where SIONlib does not look.

pub(in crate::sion) mod sums;

use crate::endian::ByteOrder;
use crate::field::FieldId;
use crate::integrity::Checksum;
use crate::sion::disk::varheader::Varheader;
use crate::sion::error::Error;
#[twin(ReadError = AsyncError)]
use crate::sion::error::ReadError;
use crate::sion::raw::SealTrailer;
use crate::span::Span;
#[twin(drive_read)]
use crate::step::drive_read;
use crate::step::{DriveError, SumOf};
#[twin(ReadAt)]
use crate::store::ReadAt;
use striae_twin::twin;
use sums::{Crcs, Sums};
use zerocopy::IntoBytes;

/// The seal of a physical file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Seal {
    varheader: Varheader,
    order: ByteOrder,
    meta1_crc: u32,
    meta2_crc: u32,
    chunks_crc: u32,
}

/// The result of a check of a file's metadata: [`Error::Checksum`] for each part that is not as
/// sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct AsSealed {
    /// META1, with the commit fields of the seal.
    pub meta1: Result<(), Error>,
    /// META2 and the mapping.
    pub meta2: Result<(), Error>,
    /// The table of chunk checksums.
    pub chunks: Result<(), Error>,
    /// The CRC-32C of META1 before its commit fields, as it is now.
    pub front_crc: u32,
}

impl AsSealed {
    /// The first error, if any.
    ///
    /// # Errors
    /// [`Error::Checksum`] if a part is not as sealed.
    pub fn all(&self) -> Result<(), Error> {
        self.meta1.and(self.meta2).and(self.chunks)
    }
}

impl Seal {
    pub(in crate::sion) fn new(
        varheader: Varheader,
        trailer: &SealTrailer,
        order: ByteOrder,
    ) -> Self {
        let crcs = [trailer.meta1_crc, trailer.meta2_crc, trailer.chunks_crc];
        let [meta1_crc, meta2_crc, chunks_crc] = crcs.map(|crc| crc.get(order));
        Self { varheader, order, meta1_crc, meta2_crc, chunks_crc }
    }

    /// The place of META2, the mapping and the seal.
    #[must_use]
    pub const fn varheader(&self) -> &Varheader {
        &self.varheader
    }

    /// The place of the checksum of chunk `chunk` of task `local`, or `None` if there is none.
    #[must_use]
    pub fn entry(&self, local: u32, chunk: u64) -> Option<Span> {
        self.varheader.crc(local, chunk)
    }

    /// The checksum in the bytes at [`Seal::entry`].
    #[must_use]
    pub fn crc(&self, bytes: [u8; 4]) -> u32 {
        crate::endian::U32::from(bytes).get(self.order)
    }

    fn compare(&self, field: FieldId, stored: u32, computed: u32) -> Result<(), Error> {
        let offset = self.varheader.trailer().offset().saturating_add(field.offset().into());
        match stored == computed {
            true => Ok(()),
            false => Err(Error::Checksum { field, offset, stored, computed }),
        }
    }
}

#[twin(ReadAt, ReadError = AsyncError)]
impl Seal {
    /// Compares META1, META2, the mapping and the table of chunk checksums with their checksums.
    /// `window` must not be empty.
    ///
    /// # Errors
    /// The store's own error.
    pub async fn check<S: ReadAt>(
        &self,
        store: &S,
        checksum: Checksum,
        window: &mut [u8],
    ) -> Result<AsSealed, ReadError<S>> {
        let varheader = &self.varheader;
        let mut sums = Sums::new(varheader.shape().layout(), self.order, checksum);
        (sums.meta2, sums.chunks) = (varheader.meta2(), varheader.crcs());
        let Crcs { front, meta2, chunks } = drive_read(&mut sums, store, window).await?;
        let meta1 = checksum(front, varheader.commit_fields(self.order).as_bytes());
        Ok(AsSealed {
            meta1: self.compare(SealTrailer::meta1_crc, self.meta1_crc, meta1),
            meta2: self.compare(SealTrailer::meta2_crc, self.meta2_crc, meta2),
            chunks: self.compare(SealTrailer::chunks_crc, self.chunks_crc, chunks),
            front_crc: front,
        })
    }

    /// Checks all parts that [`check`](Self::check) compares. Returns the CRC-32C of META1 before
    /// its commit fields.
    ///
    /// # Errors
    /// [`Error::Checksum`] for the first part that is not as sealed; the store's own error.
    pub async fn check_metadata<S: ReadAt>(
        &self,
        store: &S,
        checksum: Checksum,
        window: &mut [u8],
    ) -> Result<u32, ReadError<S>> {
        let checked = self.check(store, checksum, window).await?;
        checked.all()?;
        Ok(checked.front_crc)
    }
}

/// The checksum of the bytes in `span`, continued from `previous`, the checksum of the bytes
/// before.
///
/// # Errors
/// [`DriveError::BufferTooSmall`] for an empty window; the store's own error.
pub fn checksum_of<S: ReadAt>(
    store: &S,
    span: Span,
    previous: u32,
    checksum: Checksum,
    window: &mut [u8],
) -> Result<u32, ReadError<S>> {
    let mut sum = SumOf::new(span, previous, checksum);
    drive_read(&mut sum, store, window).map_err(DriveError::infallible)
}
