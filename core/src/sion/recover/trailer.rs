//! Seals of a file that may be damaged.

use super::Doubt;
use super::Sparse;
use super::evidence::{Remains, Word};
use crate::sion::ReadError;
use crate::sion::raw::SealTrailer;
use crate::sion::seal::checksum_of;
use crate::sion::varheader::{TRAILER_LEN, Varheader, VarheaderShape};
use crate::span::Span;
use crate::step::read_exact;
use zerocopy::{FromZeros, IntoBytes};

/// A seal whose trailer is right, and what else is as it was sealed.
pub(super) struct Sealed {
    pub(super) varheader: Varheader,
    pub(super) meta1: bool,
    pub(super) meta2: bool,
    pub(super) chunks: bool,
}

impl Sealed {
    /// What META2 is worth that this is the seal of, if that is the last commit's.
    pub(super) const fn word(&self) -> Word {
        match (self.meta1, self.meta2, self.chunks) {
            (true, true, true) => Word::Sealed,
            (true, true, false) => Word::SealedMeta2,
            (true, false, true) => Word::SealedChunks,
            // Or META1 was altered: chunks may be elsewhere, whatever META2 says of them.
            _ => Word::Doubtful(Doubt::NotAsSealed),
        }
    }
}

impl Remains {
    /// The seal at the end of the file.
    pub(super) fn seal_at_end<S: Sparse>(
        &self,
        store: &S,
        window: &mut [u8],
    ) -> Result<Option<Sealed>, ReadError<S>> {
        match self.head.file_len.checked_sub(TRAILER_LEN) {
            Some(last) => self.seal_at(store, last, window),
            None => Ok(None),
        }
    }

    /// The seal behind META2 at `place`.
    pub(super) fn seal_behind<S: Sparse>(
        &self,
        store: &S,
        place: &Varheader,
        window: &mut [u8],
    ) -> Result<Option<Sealed>, ReadError<S>> {
        let is_of_it = |seal: &Sealed| {
            (seal.varheader.start(), seal.varheader.maxchunks())
                == (place.start(), place.maxchunks())
        };
        let mapping_len = self.mapping_len(store, place)?;
        let sealed = self.sealed_at(place, mapping_len);
        if let Some(trailer) =
            sealed.map(|sealed| sealed.trailer()).filter(|trailer| trailer.fits(self.head.file_len))
        {
            let seal = self.seal_at(store, trailer.offset(), window)?.filter(is_of_it);
            if seal.is_some() {
                return Ok(seal);
            }
        }
        // How long the mapping is may not be known any more.
        Ok(self.seal_at_end(store, window)?.filter(is_of_it))
    }

    /// META2 at `place` with a seal behind so many bytes of mapping.
    fn sealed_at(&self, place: &Varheader, mapping_len: u64) -> Option<Varheader> {
        let layout = self.head.meta1.layout();
        VarheaderShape::new(layout, place.maxchunks(), mapping_len, true)?.at(place.start())
    }

    /// The seal that ends in a trailer at `place`, if it is one of as many tasks.
    fn seal_at<S: Sparse>(
        &self,
        store: &S,
        place: u64,
        window: &mut [u8],
    ) -> Result<Option<Sealed>, ReadError<S>> {
        let order = self.head.meta1.order();
        let mut trailer = SealTrailer::new_zeroed();
        read_exact(store, place, trailer.as_mut_bytes())?;
        let own = usize::from(SealTrailer::trailer_crc.offset());
        let own = (self.checksum)(0, trailer.as_bytes().get(..own).unwrap_or_default());
        if trailer.magic != SealTrailer::MAGIC
            || trailer.trailer_crc.get(order) != own
            || trailer.seal_version.get(order) != SealTrailer::VERSION
            || u32::try_from(trailer.ntasks.get(order)) != Ok(self.head.meta1.ntasks())
        {
            return Ok(None);
        }
        let fields = (trailer.maxchunks.get(order).into(), trailer.start_of_varheader.get(order));
        let start_of_seal = u64::try_from(trailer.start_of_seal.get(order)).unwrap_or(0);
        let sealed = self.named(fields).and_then(|named| {
            let mapping_len = start_of_seal.checked_sub(named.blocksizes().end())?;
            self.sealed_at(&named, mapping_len)
        });
        let Some(varheader) = sealed.filter(|sealed| sealed.trailer().offset() == place) else {
            return Ok(None);
        };
        let mut sum = |span: Span| checksum_of(store, span, 0, self.checksum, window);
        let front = Span::new(0, self.head.meta1.layout().commit_fields().offset());
        let meta1 = (self.checksum)(
            sum(front.unwrap_or(Span::ZERO))?,
            varheader.commit_fields(order).as_bytes(),
        );
        let meta2_len = start_of_seal.saturating_sub(varheader.start());
        let meta2 = sum(Span::new(varheader.start(), meta2_len).unwrap_or(Span::ZERO))?;
        let chunks = sum(varheader.crcs())?;
        Ok(Some(Sealed {
            varheader,
            meta1: meta1 == trailer.meta1_crc.get(order),
            meta2: meta2 == trailer.meta2_crc.get(order),
            chunks: chunks == trailer.chunks_crc.get(order),
        }))
    }
}
