//! A commit becomes visible: first its tables are made durable, with the trailer of a seal; then
//! the 12 bytes of the commit fields are written, which point to META2.
//!
//! After a power cut at any point, the file is as the last commit left it, or as this commit does
//! (`spec/sion.md#commits`): the tables are durable before the 12 bytes are written, and the 12
//! bytes are in one sector.

use super::publication::Publication;
use crate::sion::disk::meta1::Meta1;
use crate::sion::disk::varheader::Varheader;
use crate::sion::raw;
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

/// Makes the tables of `publication` durable, with the trailer of their seal, after all of them
/// were written. No reader sees them before [`show`]: in between, several files can wait for each
/// other.
#[twin(WriteAt)]
pub(in crate::sion) async fn complete<S: WriteAt>(
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
