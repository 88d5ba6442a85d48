//! Seals: checksums after META2 and the mapping, where SIONlib does not look.

mod find;
mod sums;

pub use find::FindSeal;

#[twin(ReadError = AsyncError)]
use super::ReadError;
use super::error::Error;
use super::mapping::Mapping;
use super::meta2::Meta2;
use super::open::Head;
use super::raw::{CommitFields, SealTrailer};
use super::reader::Physical;
use super::varheader::Varheader;
use super::verdict::{FoundTrailer, Trailer, Verdict};
use crate::endian::ByteOrder;
use crate::field::FieldId;
use crate::integrity::Checksum;
use crate::span::Span;
use crate::step::{DriveError, SumOf};
#[twin(drive_read, read_exact)]
use crate::step::{drive_read, read_exact};
#[twin(ReadAt)]
use crate::store::ReadAt;
use striae_twin::twin;
use sums::{Crcs, Sums};
use zerocopy::{FromZeros, IntoBytes};

/// The state of the place where a seal would be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum SealState {
    /// There is no seal.
    None,
    /// The seal belongs to another state of the file: another writer has changed the file and not
    /// sealed it.
    Stale {
        /// The offset of the trailer.
        offset: u64,
    },
    /// The seal belongs to this state of the file. Whether the bytes match it is not checked yet.
    Sealed(Seal),
}

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
    pub(super) fn new(varheader: Varheader, trailer: &SealTrailer, order: ByteOrder) -> Self {
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

    /// The machine that computes the checksums of everything that the seal covers except data.
    fn sums(&self, checksum: Checksum) -> Sums {
        let varheader = &self.varheader;
        let mut sums = Sums::new(varheader.shape().layout(), self.order, checksum);
        (sums.meta2, sums.chunks) = (varheader.meta2(), varheader.crcs());
        sums
    }

    fn compare_all(&self, crcs: Crcs, checksum: Checksum) -> AsSealed {
        let Crcs { front, meta2, chunks } = crcs;
        let meta1 = checksum(front, self.varheader.commit_fields(self.order).as_bytes());
        AsSealed {
            meta1: self.compare(SealTrailer::meta1_crc, self.meta1_crc, meta1),
            meta2: self.compare(SealTrailer::meta2_crc, self.meta2_crc, meta2),
            chunks: self.compare(SealTrailer::chunks_crc, self.chunks_crc, chunks),
            front_crc: front,
        }
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
        let crcs = drive_read(&mut self.sums(checksum), store, window).await?;
        Ok(self.compare_all(crcs, checksum))
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
        checked.all().map(|()| checked.front_crc).map_err(DriveError::Format)
    }
}

impl Trailer {
    /// Reads the trailer at `offset`.
    pub(super) fn read<S: ReadAt>(
        store: &S,
        offset: u64,
        order: ByteOrder,
    ) -> Result<Self, ReadError<S>> {
        let mut raw = SealTrailer::new_zeroed();
        read_exact(store, offset, raw.as_mut_bytes())?;
        Ok(Self::new(raw, offset, order))
    }
}

/// The bytes of memory for the proof that a number changed; only damaged files need it.
const PROOF_WINDOW: usize = 512;

/// The commit fields as stored; `None` if the file ends before their end.
pub(super) fn commit_fields<S: ReadAt>(
    store: &S,
    head: &Head,
) -> Result<Option<CommitFields>, ReadError<S>> {
    let place = head.meta1.layout().commit_fields();
    if !place.fits(head.file_len) {
        return Ok(None);
    }
    let mut fields = CommitFields::new_zeroed();
    read_exact(store, place.offset(), fields.as_mut_bytes())?;
    Ok(Some(fields))
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

#[twin(ReadAt, ReadError = AsyncError)]
impl<S: ReadAt> Physical<S> {
    /// The seal of the file, if there is one.
    ///
    /// # Errors
    /// [`Error`] if the seal or the mapping before it is damaged, or if the seal proves that a
    /// number in META1 changed; the store's own error.
    pub async fn seal(&self) -> Result<SealState, ReadError<S>> {
        let mapping = self.mapping().await?;
        let Some(mut find) = find(self.head(), mapping) else { return Ok(SealState::None) };
        let found = drive_read(&mut find, self.store(), &mut [0; PROOF_WINDOW]).await?;
        SealState::of(found).map_err(DriveError::Format)
    }

    /// The checksum in `seal` of chunk `chunk` of task `local`.
    ///
    /// # Errors
    /// [`Error::NoChunk`] if the task has no such chunk; the store's own error.
    pub async fn sealed_crc(
        &self,
        seal: &Seal,
        local: u32,
        chunk: u64,
    ) -> Result<u32, ReadError<S>> {
        let place = crc_place(self.meta2(), seal, local, chunk).map_err(DriveError::Format)?;
        let mut bytes = [0; 4];
        read_exact(self.store(), place, &mut bytes).await?;
        Ok(seal.crc(bytes))
    }
}

/// What looks for the seal of a file; `None` if it was never closed.
fn find(head: &Head, mapping: Option<Mapping>) -> Option<FindSeal> {
    let place = Varheader::of(head, mapping.as_ref())?;
    Some(FindSeal::new(head, place.span().end(), crate::integrity::crc32c))
}

impl SealState {
    /// What was found.
    fn of(found: Option<FoundTrailer>) -> Result<Self, Error> {
        let Some(found) = found else { return Ok(Self::None) };
        match *found.verdict() {
            Verdict::Current(seal) => Ok(Self::Sealed(seal)),
            Verdict::Stale => Ok(Self::Stale { offset: found.trailer().offset() }),
            Verdict::Damaged(error, _)
            | Verdict::Unknown(error, _)
            | Verdict::Contradicted(error) => Err(error),
        }
    }
}

/// Where `seal` has the checksum of chunk `chunk` of task `local`.
fn crc_place(meta2: &Meta2, seal: &Seal, local: u32, chunk: u64) -> Result<u64, Error> {
    let blockcount = meta2.maxchunks().into();
    let place = seal.entry(local, chunk).ok_or(Error::NoChunk { chunk, blockcount })?;
    Ok(place.offset())
}
