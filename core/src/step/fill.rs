//! Reads that go straight into the memory of the code that asks for them.

use super::DriveError;
#[twin(read_exact)]
use super::read_exact;
use crate::span::Stride;
#[twin(ReadAt)]
use crate::store::ReadAt;
use core::convert::Infallible;
use striae_twin::twin;

/// Memory that is filled by reads, one at a time.
pub(crate) trait Fill {
    /// The error of bytes that break the format.
    type Error;

    /// The next read: an offset and the memory to fill. The memory counts as empty until
    /// [`filled`](Self::filled) is called. `None` if there is nothing more to read.
    fn need(&mut self) -> Result<Option<Need<'_>>, DriveError<Infallible, Self::Error>>;

    /// Says that the last read has succeeded.
    fn filled(&mut self);

    /// The spans that all reads together will need, before the first of them; nothing later.
    fn ahead(&self) -> Option<[Stride; 2]> {
        None
    }
}

/// An offset, and the memory for the bytes at that offset.
pub(crate) type Need<'a> = (u64, &'a mut [u8]);

/// Fills `memory` from `store`.
#[twin(ReadAt)]
pub(crate) async fn fill<F: Fill, S: ReadAt + ?Sized>(
    memory: &mut F,
    store: &S,
) -> Result<(), DriveError<S::Error, F::Error>> {
    if let Some(spans) = memory.ahead() {
        store.will_read(&spans).await;
    }
    while let Some((offset, bytes)) = memory.need().map_err(DriveError::of_memory)? {
        read_exact(store, offset, bytes).await?;
        memory.filled();
    }
    Ok(())
}
