//! The seals of a file that may be damaged.

use super::certainty::Doubt;
use super::evidence::{Remains, Trust};
use super::scan::Sparse;
use crate::sion::disk::varheader::{TRAILER_LEN, Varheader, VarheaderShape};
use crate::sion::error::ReadError;
use crate::sion::verdict::{Condition, Trailer};

/// A seal with a sound trailer, and which other parts are as sealed.
pub(super) struct Sealed {
    pub(super) varheader: Varheader,
    pub(super) meta1: bool,
    pub(super) meta2: bool,
    pub(super) chunks: bool,
}

impl Sealed {
    /// The trust in the META2 of this seal, if it belongs to the last commit.
    pub(super) const fn word(&self) -> Trust {
        match (self.meta1, self.meta2, self.chunks) {
            (true, true, true) => Trust::Sealed,
            (true, true, false) => Trust::SealedMeta2,
            (true, false, true) => Trust::SealedChunks,
            // Or META1 was altered: chunks may be elsewhere, whatever META2 says of them.
            _ => Trust::Doubtful(Doubt::NotAsSealed),
        }
    }
}

impl Remains {
    /// The seal at the end of the file; only that of META2 at `of`, if this is given.
    pub(super) fn seal_at_end<S: Sparse>(
        &self,
        store: &S,
        of: Option<&Varheader>,
        window: &mut [u8],
    ) -> Result<Option<Sealed>, ReadError<S>> {
        match self.head.file_len.checked_sub(TRAILER_LEN) {
            Some(last) => self.seal_at(store, last, of, window),
            None => Ok(None),
        }
    }

    /// The seal after META2 at `place`.
    pub(super) fn seal_behind<S: Sparse>(
        &self,
        store: &S,
        place: &Varheader,
        window: &mut [u8],
    ) -> Result<Option<Sealed>, ReadError<S>> {
        let mapping_len = self.mapping_len(store, place)?;
        let layout = self.head.meta1.layout();
        let sealed = VarheaderShape::new(layout, place.maxchunks(), mapping_len, true);
        let sealed = sealed.and_then(|sealed| sealed.at(place.start()));
        if let Some(trailer) =
            sealed.map(|sealed| sealed.trailer()).filter(|trailer| trailer.fits(self.head.file_len))
        {
            let seal = self.seal_at(store, trailer.offset(), Some(place), window)?;
            if seal.is_some() {
                return Ok(seal);
            }
        }
        // How long the mapping is may not be known any more.
        self.seal_at_end(store, Some(place), window)
    }

    /// The seal with a trailer at `place`, if it has the file's number of tasks and is of this
    /// META2. Only then are checksums computed: many places may be tried.
    fn seal_at<S: Sparse>(
        &self,
        store: &S,
        place: u64,
        of: Option<&Varheader>,
        window: &mut [u8],
    ) -> Result<Option<Sealed>, ReadError<S>> {
        let trailer = Trailer::read(store, place, self.head.meta1.order())?;
        let is_of_it = |varheader: &Varheader| {
            of.is_none_or(|of| {
                (varheader.start(), varheader.maxchunks()) == (of.start(), of.maxchunks())
            })
        };
        let seal = trailer.seal(&self.head.meta1).filter(|seal| is_of_it(seal.varheader()));
        let Some(seal) = seal.filter(|_| trailer.condition() == Condition::Whole) else {
            return Ok(None);
        };
        let checked = seal.check(store, self.checksum, window)?;
        Ok(Some(Sealed {
            varheader: *seal.varheader(),
            meta1: checked.meta1.is_ok(),
            meta2: checked.meta2.is_ok(),
            chunks: checked.chunks.is_ok(),
        }))
    }
}
