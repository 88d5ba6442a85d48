//! A commit becomes visible: first its tables are made durable, with the trailer of a seal; then
//! the 12 bytes of the commit fields are written, which point to META2.
//!
//! After a power cut at any point, the file is as the last commit left it, or as this commit does
//! (`spec/sion.md#commits`): the tables are durable before the 12 bytes are written, and the 12
//! bytes are in one sector.

use super::meta1::Meta1;
use super::raw;
use super::tables::{Publication, TableSums};
use super::varheader::Varheader;
use crate::endian::{I32, I64, U32};
use crate::integrity::crc32c;
use crate::span::Span;
#[twin(WriteAt)]
use crate::store::WriteAt;
use striae_twin::twin;
use zerocopy::{FromZeros, IntoBytes};

/// The state of the file after a publication has ended, or was given up because its store failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Outcome {
    /// The state before the publication.
    Unchanged,
    /// The state before, or this one: it is not known which of them is on the disk. Both must stay
    /// whole until [`show`] has made it this one.
    Unknown(Varheader),
    /// This state.
    Published(Varheader),
}

/// Makes the tables of `publication` durable, after all of them were written; `sums` is their
/// checksums. No reader sees them before [`show`]: in between, several files can wait for each
/// other.
///
/// # Errors
/// The store's own error.
#[twin(WriteAt)]
pub async fn complete<S: WriteAt>(
    publication: &Publication,
    sums: &TableSums,
    store: &mut S,
) -> Result<(), S::Error> {
    complete_by(publication, seal_trailer(publication, sums), store).await
}

/// [`complete`] with this trailer.
#[twin(WriteAt)]
pub(super) async fn complete_by<S: WriteAt>(
    publication: &Publication,
    trailer: Option<raw::SealTrailer>,
    store: &mut S,
) -> Result<(), S::Error> {
    let place = match trailer {
        Some(_) => Some(publication.new.trailer()),
        None => old_seal(publication),
    };
    if let Some(place) = place {
        let trailer = trailer.unwrap_or(raw::SealTrailer::new_zeroed());
        store.write_all_at(place.offset(), trailer.as_bytes()).await?;
    }
    store.sync().await
}

/// Makes a commit visible whose tables are durable: writes the 12 bytes that point to it, and makes
/// these durable. If the outcome of an earlier call is unknown, this can be done again.
///
/// # Errors
/// The store's own error; the outcome is then [unknown](Outcome::Unknown).
#[twin(WriteAt)]
pub async fn show<S: WriteAt>(
    meta1: &Meta1,
    new: &Varheader,
    store: &mut S,
) -> Result<(), S::Error> {
    let (place, fields) = (meta1.layout().commit_fields(), new.commit_fields(meta1.order()));
    store.write_all_at(place.offset(), fields.as_bytes()).await?;
    store.sync().await
}

/// The place of the trailer if this publication were sealed. A trailer that an older commit left
/// there, with META2 at the same place, would be taken for the seal of this one.
fn old_seal(publication: &Publication) -> Option<Span> {
    let Publication { new, old, file_len, .. } = publication;
    let place = new.sealed()?.trailer();
    let is_old = old.is_some_and(|old| old.span().overlaps(place));
    (!is_old && place.fits(*file_len)).then_some(place)
}

/// The trailer of the seal; `None` if the publication has none.
pub(super) fn seal_trailer(
    publication: &Publication,
    sums: &TableSums,
) -> Option<raw::SealTrailer> {
    let Publication { meta1, meta1_crc, new, checksum, .. } = publication;
    if !new.is_sealed() {
        return None;
    }
    let order = meta1.order();
    let fields = new.commit_fields(order);
    let i64_of = |n| I64::new(i64::try_from(n).unwrap_or(i64::MAX), order);
    let ntasks = I32::new(i32::try_from(meta1.ntasks()).unwrap_or(i32::MAX), order);
    let meta2 = sums.meta2.crc(new.crcs().offset().saturating_sub(new.start()));
    let mut trailer = raw::SealTrailer {
        seal_version: I32::new(raw::SealTrailer::VERSION, order),
        ntasks,
        maxchunks: fields.maxchunks,
        meta1_crc: U32::new(checksum(*meta1_crc, fields.as_bytes()), order),
        start_of_varheader: fields.start_of_varheader,
        start_of_seal: i64_of(new.crcs().offset()),
        meta2_crc: U32::new(meta2, order),
        chunks_crc: U32::new(sums.chunks.crc(new.crcs().len()), order),
        set_number: I32::new(new.set_number().cast_signed(), order),
        trailer_crc: U32::new(0, order),
        magic: raw::SealTrailer::MAGIC,
    };
    let own = usize::from(raw::SealTrailer::trailer_crc.offset());
    let sealed = trailer.as_bytes().get(..own).unwrap_or_default();
    trailer.trailer_crc = U32::new(crc32c(0, sealed), order);
    Some(trailer)
}
