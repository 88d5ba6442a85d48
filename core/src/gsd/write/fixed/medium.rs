//! The store of a log.

#[twin(FixedError)]
use super::FixedError;
use crate::span::Span;
use crate::step::DriveError;
#[twin(read_exact)]
use crate::step::read_exact;
use crate::store::{Disk, Proof};
#[twin(ReadAt, WriteAt)]
use crate::store::{ReadAt, WriteAt};
use striae_twin::twin;

/// The store of a log, whose errors are those of logging. Each operation is one function: a
/// device's code is small.
#[derive(Debug)]
pub(super) struct Medium<S> {
    store: Disk<S>,
}

/// Bytes that are copied at once.
pub(super) const PIECE: usize = 64;

impl<S> Medium<S> {
    #[inline]
    pub(super) const fn new(store: S) -> Self {
        Self { store: Disk::new(store) }
    }

    pub(super) const fn store(&self) -> &Disk<S> {
        &self.store
    }

    pub(super) const fn store_mut(&mut self) -> &mut Disk<S> {
        &mut self.store
    }

    pub(super) fn into_store(self) -> S {
        self.store.into_store()
    }
}

#[twin(WriteAt, FixedError)]
impl<S: WriteAt> Medium<S> {
    #[inline(never)]
    pub(super) async fn read(&self, offset: u64, bytes: &mut [u8]) -> Result<(), FixedError<S>> {
        read_exact(&self.store, offset, bytes).await
    }

    #[inline(never)]
    pub(super) async fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), FixedError<S>> {
        self.store.write_all_at(offset, bytes).await.map_err(DriveError::Store)
    }

    /// Writes bytes of a chunk.
    pub(super) async fn put(&mut self, offset: u64, bytes: &[u8]) -> Result<(), FixedError<S>> {
        let disk = &mut self.store;
        disk.put(offset, bytes).await.map_err(DriveError::Store)
    }

    #[inline(never)]
    pub(super) async fn sync(&mut self) -> Result<(), FixedError<S>> {
        self.store.sync().await.map_err(DriveError::Store)
    }

    pub(super) async fn size(&self) -> Result<u64, FixedError<S>> {
        self.store.size().await.map_err(DriveError::Store)
    }

    /// Makes the store at least `len` bytes long.
    pub(super) async fn reserve(&mut self, len: u64) -> Result<(), FixedError<S>> {
        if self.size().await? < len {
            self.store.set_size(len).await.map_err(DriveError::Store)?;
        }
        Ok(())
    }

    /// Fills `to` with the bytes at `from`, then `bytes`, then zeros.
    #[inline(never)]
    pub(super) async fn fill(
        &mut self,
        mut to: Span,
        mut from: Span,
        mut bytes: &[u8],
    ) -> Result<(), FixedError<S>> {
        let (mut piece, mut zeros) = ([0; PIECE], [0; PIECE]);
        while !to.is_empty() {
            let part = if !from.is_empty() {
                let part = from.front_of(&mut piece);
                self.read(from.offset(), part).await?;
                from = from.after(part);
                &*part
            } else if !bytes.is_empty() {
                core::mem::take(&mut bytes)
            } else {
                &*to.front_of(&mut zeros)
            };
            self.write(to.offset(), part).await?;
            to = to.after(part);
        }
        Ok(())
    }

    /// After an error of the store: checks that it still has the log.
    #[inline]
    pub(super) async fn recognise(&mut self, proof: &impl Proof) -> Result<(), FixedError<S>> {
        let disk = &mut self.store;
        disk.recognise(proof).await
    }
}
