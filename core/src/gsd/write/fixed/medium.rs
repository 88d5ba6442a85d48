//! The store of a log, whose errors are those of logging.

use super::fault::Fault;
#[twin(FixedError)]
use super::fault::FixedError;
use crate::gsd::error::Error;
use crate::gsd::write::medium::{self, Errors, PIECE};
use crate::span::Span;
use crate::step::DriveError;
#[twin(WriteAt)]
use crate::store::WriteAt;
use crate::store::{Disk, Proof};
use striae_twin::twin;

/// The store of a log.
pub(super) type Medium<S> = medium::Medium<Disk<S>, Returned>;

/// Errors are returned: they are small.
#[derive(Debug)]
pub(super) struct Returned;

impl<E> Errors<E> for Returned {
    type Format = Fault;
    type Failure = DriveError<E, Fault>;

    #[inline]
    fn take(&mut self, error: Self::Failure) -> Self::Failure {
        error
    }

    #[inline]
    fn refuse(&mut self, _: &Error) -> Self::Failure {
        Fault::NotBlank.into()
    }
}

impl<S> Medium<S> {
    #[inline]
    pub(super) const fn new(store: S) -> Self {
        Self { store: Disk::new(store), errors: Returned }
    }
}

#[twin(WriteAt, FixedError)]
impl<S: WriteAt> Medium<S> {
    /// Writes bytes of a chunk.
    pub(super) async fn put(&mut self, offset: u64, bytes: &[u8]) -> Result<(), FixedError<S>> {
        let disk = &mut self.store;
        disk.put(offset, bytes).await.map_err(DriveError::Store)
    }

    /// Makes the store at least `len` bytes long.
    pub(super) async fn reserve(&mut self, len: u64) -> Result<(), FixedError<S>> {
        if self.size().await? < len {
            self.set_size(len).await?;
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
