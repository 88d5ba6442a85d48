//! [`begin`] begins a new file.

#[twin(ReadError = AsyncError)]
use super::ReadError;
use super::book::Fill;
use super::define::Define;
use super::encode::Encode;
use super::plan::Plan;
use crate::step::DriveError;
#[twin(WriteAt)]
use crate::store::WriteAt;
use striae_twin::twin;

/// Writes the header of the file of `plan`, which was made of `definition`, without its first bytes:
/// the first commit writes these. The old content of the store is lost; from the first step on it is
/// no netCDF file. `window` needs [`WINDOW`](super::book::WINDOW) bytes.
///
/// With [`Fill::None`] the store is cut first, so that nothing old is left in the file.
///
/// # Errors
/// [`Error::Window`](super::Error::Window) if the window is too short;
/// [`Error::Define`](super::Error::Define) if the definition has changed since the plan was made;
/// the store's own error.
#[twin(WriteAt, ReadError = AsyncError)]
pub async fn begin<S: WriteAt, D: Define + ?Sized>(
    store: &mut S,
    definition: &D,
    plan: &Plan,
    fill: Fill,
    window: &mut [u8],
) -> Result<(), ReadError<S>> {
    let store_len = store.size().await.map_err(DriveError::Store)?;
    let header = Encode::new(definition, plan, 0, window).map_err(DriveError::Format)?.hidden();
    if store_len > 0 {
        store.write_all_at(0, &[0; 12]).await.map_err(DriveError::Store)?;
        store.sync().await.map_err(DriveError::Store)?;
    }
    if fill == Fill::None {
        store.set_size(plan.header_len()).await.map_err(DriveError::Store)?;
    }
    header.run(store).await
}
