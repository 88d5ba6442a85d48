//! Seals: checksums behind META2 and the mapping, where SIONlib does not look.

use super::ReadError;
use super::error::Error;
use super::raw::{self, SealTrailer};
use super::reader::Physical;
use super::varheader::Varheader;
use crate::endian::ByteOrder;
use crate::integrity::Checksum;
use crate::span::Span;
use crate::step::{DriveError, read_exact};
use crate::store::{ReadAt, usize_to_u64};
use zerocopy::{FromBytes, FromZeros, IntoBytes};

/// What stands where a seal would be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum SealState {
    /// No seal.
    None,
    /// The seal of another state of the file: someone has written to it since, and did not seal it.
    Stale {
        /// Where its end stands.
        offset: u64,
    },
    /// The seal of this file. Whether the file is still as it was sealed is to be checked.
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

impl Seal {
    /// Reads the end of a seal, the bytes at [`Varheader::trailer`]. `varheader` is that of the file,
    /// as if it were sealed.
    ///
    /// # Errors
    /// [`Error::Checksum`] if it is damaged itself, [`Error::TooLarge`] if its version is unknown.
    pub fn parse(
        bytes: &[u8],
        varheader: &Varheader,
        order: ByteOrder,
    ) -> Result<SealState, Error> {
        let offset = varheader.trailer().offset();
        let Ok((trailer, _)) = SealTrailer::ref_from_prefix(bytes) else {
            return Ok(SealState::None);
        };
        if trailer.magic != SealTrailer::MAGIC {
            return Ok(SealState::None);
        }
        let own = usize::from(SealTrailer::trailer_crc.offset());
        let computed = crate::integrity::crc32c(0, bytes.get(..own).unwrap_or_default());
        let stored = trailer.trailer_crc.get(order);
        if stored != computed {
            let field = SealTrailer::trailer_crc;
            let offset = offset.saturating_add(field.offset().into());
            return Err(Error::Checksum { field, offset, stored, computed });
        }
        let (field, version) = (SealTrailer::seal_version, trailer.seal_version.get(order));
        if version != SealTrailer::VERSION {
            let (value, max) = (version.into(), SealTrailer::VERSION.into());
            return Err(Error::TooLarge { field, offset, value, max });
        }
        let is = |stored: i64, now: u64| u64::try_from(stored) == Ok(now);
        let is_current = is(trailer.ntasks.get(order).into(), varheader.blockcounts().len() >> 3)
            && is(trailer.maxchunks.get(order).into(), varheader.maxchunks().into())
            && is(trailer.start_of_varheader.get(order), varheader.start())
            && is(trailer.start_of_seal.get(order), varheader.crcs().offset());
        if !is_current {
            return Ok(SealState::Stale { offset });
        }
        Ok(SealState::Sealed(Self {
            varheader: *varheader,
            order,
            meta1_crc: trailer.meta1_crc.get(order),
            meta2_crc: trailer.meta2_crc.get(order),
            chunks_crc: trailer.chunks_crc.get(order),
        }))
    }

    /// META2 and all that belongs to it.
    #[must_use]
    pub const fn varheader(&self) -> &Varheader {
        &self.varheader
    }

    /// Where the checksum of chunk `chunk` of task `local` is, or `None` if there is none.
    #[must_use]
    pub fn entry(&self, local: u32, chunk: u64) -> Option<Span> {
        self.varheader.crc(local, chunk)
    }

    /// The checksum in the bytes at [`Seal::entry`].
    #[must_use]
    pub fn crc(&self, bytes: [u8; 4]) -> u32 {
        crate::endian::U32::from(bytes).get(self.order)
    }

    /// Checks META1, which is `meta1_len` bytes long with its commit fields, META2, the mapping and the
    /// seal's own table. Returns the CRC-32C of META1 before its commit fields. `window` must not be
    /// empty.
    ///
    /// # Errors
    /// [`Error::Checksum`] for the first that is not as it was sealed; the store's own.
    pub fn check_metadata<S: ReadAt>(
        &self,
        store: &S,
        meta1_len: u64,
        checksum: Checksum,
        window: &mut [u8],
    ) -> Result<u32, ReadError<S>> {
        let varheader = &self.varheader;
        let meta2_len = varheader.crcs().offset().saturating_sub(varheader.start());
        let fields_len = u64::from(raw::CommitFields::TABLE.len).min(meta1_len);
        let fields_at = meta1_len.saturating_sub(fields_len);
        let front = Span::new(0, fields_at).unwrap_or(Span::ZERO);
        let front = checksum_of(store, front, 0, checksum, window)?;
        let parts = [
            (SealTrailer::meta1_crc, self.meta1_crc, front, Span::new(fields_at, fields_len)),
            (SealTrailer::meta2_crc, self.meta2_crc, 0, Span::new(varheader.start(), meta2_len)),
            (SealTrailer::chunks_crc, self.chunks_crc, 0, Some(varheader.crcs())),
        ];
        for (field, stored, before, span) in parts {
            let span = span.unwrap_or(Span::ZERO);
            let computed = checksum_of(store, span, before, checksum, window)?;
            if computed != stored {
                let offset = varheader.trailer().offset().saturating_add(field.offset().into());
                let error = Error::Checksum { field, offset, stored, computed };
                return Err(DriveError::Format(error));
            }
        }
        Ok(front)
    }
}

/// The checksum of what is in `span`, behind bytes whose checksum is `previous`.
///
/// # Errors
/// [`DriveError::BufferTooSmall`] for an empty window; the store's own.
pub fn checksum_of<S: ReadAt>(
    store: &S,
    span: Span,
    previous: u32,
    checksum: Checksum,
    window: &mut [u8],
) -> Result<u32, ReadError<S>> {
    let mut crc = previous;
    let mut at = span.offset();
    while at < span.end() {
        let left = usize::try_from(span.end().saturating_sub(at)).unwrap_or(usize::MAX);
        let len = left.min(window.len());
        let bytes = window.get_mut(..len).filter(|bytes| !bytes.is_empty());
        let bytes = bytes.ok_or(DriveError::BufferTooSmall { need: 1 })?;
        read_exact(store, at, bytes)?;
        crc = checksum(crc, bytes);
        at = at.saturating_add(usize_to_u64(len));
    }
    Ok(crc)
}

impl<S: ReadAt> Physical<S> {
    /// The seal, or what stands in its place.
    ///
    /// # Errors
    /// [`Error`] if the seal or a mapping before it is damaged; the store's own.
    pub fn seal(&self) -> Result<SealState, ReadError<S>> {
        let mapping = self.mapping()?;
        let varheader = Varheader::of(self.head(), mapping.as_ref());
        let varheader = varheader.and_then(|varheader| varheader.sealed());
        let fits = |sealed: &Varheader| sealed.span().fits(self.head().file_len);
        let Some(varheader) = varheader.filter(fits) else { return Ok(SealState::None) };
        let place = varheader.trailer();
        let mut trailer = SealTrailer::new_zeroed();
        read_exact(self.store(), place.offset(), trailer.as_mut_bytes())?;
        Seal::parse(trailer.as_bytes(), &varheader, self.meta1().order())
            .map_err(DriveError::Format)
    }

    /// The checksum that `seal` has of chunk `chunk` of task `local`.
    ///
    /// # Errors
    /// [`Error::NoChunk`]; the store's own.
    pub fn sealed_crc(&self, seal: &Seal, local: u32, chunk: u64) -> Result<u32, ReadError<S>> {
        let blockcount = self.meta2().maxchunks().into();
        let no_chunk = DriveError::Format(Error::NoChunk { chunk, blockcount });
        let place = seal.entry(local, chunk).ok_or(no_chunk)?;
        let mut bytes = [0; 4];
        read_exact(self.store(), place.offset(), &mut bytes)?;
        Ok(seal.crc(bytes))
    }
}
