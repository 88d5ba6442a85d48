//! Reads that go straight into memory of whoever wants them.

use super::{DriveError, read_exact};
use crate::store::ReadAt;
use core::convert::Infallible;

/// Memory that is filled by reads, one after another.
pub(crate) trait Fill {
    /// Why it cannot be filled.
    type Error;

    /// The next read: an offset, and the memory that it fills, which holds nothing until
    /// [`filled`](Self::filled). `None` if there is nothing more to read.
    fn need(&mut self) -> Result<Option<Need<'_>>, DriveError<Infallible, Self::Error>>;

    /// The read has succeeded.
    fn filled(&mut self);
}

/// An offset, and memory for the bytes that stand there.
pub(crate) type Need<'a> = (u64, &'a mut [u8]);

/// Fills `memory` from `store`.
pub(crate) fn fill<F: Fill, S: ReadAt + ?Sized>(
    memory: &mut F,
    store: &S,
) -> Result<(), DriveError<S::Error, F::Error>> {
    while let Some((offset, bytes)) = memory.need().map_err(DriveError::of_memory)? {
        read_exact(store, offset, bytes)?;
        memory.filled();
    }
    Ok(())
}

/// As [`fill`], of a store that is waited for.
#[cfg(feature = "async")]
pub(crate) async fn fill_async<F: Fill, S: crate::store::AsyncReadAt + ?Sized>(
    memory: &mut F,
    store: &S,
) -> Result<(), DriveError<S::Error, F::Error>> {
    while let Some((offset, bytes)) = memory.need().map_err(DriveError::of_memory)? {
        super::read_exact_async(store, offset, bytes).await?;
        memory.filled();
    }
    Ok(())
}
