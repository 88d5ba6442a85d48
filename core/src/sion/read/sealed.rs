//! The seal of a file: found, judged and read.

use super::find_seal::FindSeal;
use super::physical::Physical;
use crate::endian::ByteOrder;
use crate::sion::disk::head::Head;
use crate::sion::disk::mapping::Mapping;
use crate::sion::disk::varheader::{TRAILER_LEN, Varheader};
use crate::sion::error::Error;
#[twin(ReadError = AsyncError)]
use crate::sion::error::ReadError;
use crate::sion::raw::{CommitFields, SealTrailer};
use crate::sion::verdict::seal::Seal;
use crate::sion::verdict::{Trailer, Verdict};
use crate::span::{Span, Stride};
use crate::step::DriveError;
#[twin(drive_read, read_exact)]
use crate::step::{drive_read, read_exact};
#[twin(ReadAt)]
use crate::store::ReadAt;
use crate::store::usize_to_u64 as widen;
use striae_twin::twin;
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

impl Trailer {
    /// Reads the trailer at `offset`.
    pub(in crate::sion) fn read<S: ReadAt>(
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
pub(in crate::sion) fn commit_fields<S: ReadAt>(
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

#[twin(ReadAt, ReadError = AsyncError)]
impl<S: ReadAt> Physical<S> {
    /// The seal of the file, if there is one.
    ///
    /// # Errors
    /// [`Error`] if the seal or the mapping before it is damaged, or if the seal proves that a
    /// number in META1 changed; the store's own error.
    pub async fn seal(&self) -> Result<SealState, ReadError<S>> {
        let store = self.store();
        store.will_read(&places(self.head())).await;
        let mapping = self.mapping().await?;
        let place = Varheader::of(self.head(), mapping.as_ref());
        let Some(place) = place else { return Ok(SealState::None) };
        let mut find = FindSeal::new(self.head(), place.span().end(), crate::integrity::crc32c);
        let found = drive_read(&mut find, store, &mut [0; PROOF_WINDOW]).await?;
        let Some(found) = found else { return Ok(SealState::None) };
        match *found.verdict() {
            Verdict::Current(seal) => Ok(SealState::Sealed(seal)),
            Verdict::Stale => Ok(SealState::Stale { offset: found.trailer().offset() }),
            Verdict::Damaged(error, _)
            | Verdict::Unknown(error, _)
            | Verdict::Contradicted(error) => Err(DriveError::Format(error)),
        }
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
        let blockcount = self.meta2().maxchunks().into();
        let place = seal.entry(local, chunk).ok_or(Error::NoChunk { chunk, blockcount })?;
        let mut bytes = [0; 4];
        read_exact(self.store(), place.offset(), &mut bytes).await?;
        Ok(seal.crc(bytes))
    }
}

/// Where the mapping begins, and where a seal usually ends.
fn places(head: &Head) -> [Stride; 2] {
    let mapping = Mapping::place(head).and_then(|at| Span::new(at, widen(Mapping::HEAD_LEN)));
    let last = head.file_len.checked_sub(TRAILER_LEN);
    let last = last.and_then(|last| Span::new(last, TRAILER_LEN));
    [mapping, last].map(|span| Stride::one(span.unwrap_or(Span::ZERO)))
}
