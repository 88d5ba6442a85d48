//! The store of a writer, and the steps that all writers make in it. Each is one function: a
//! device's code is small.

use super::create::blank::Blank;
use super::create::{Create, OTHER_SHADOW, SHADOW};
use crate::gsd::error::Error;
use crate::gsd::raw::{Header, Image, Shadow};
use crate::span::Span;
#[twin(read_exact)]
use crate::step::read_exact;
use crate::step::{DriveError, ReadStep};
#[twin(WriteAt)]
use crate::store::WriteAt;
use striae_twin::twin;
use zerocopy::IntoBytes;

/// A store, and what becomes of its errors.
#[derive(Debug)]
pub(super) struct Medium<S, K> {
    pub(super) store: S,
    pub(super) errors: K,
}

/// What becomes of errors of a store whose own errors are `E`: they are returned, or kept while
/// less is returned.
pub(super) trait Errors<E> {
    /// The errors of the format.
    type Format;
    /// What a function returns that has failed.
    type Failure;

    /// Takes the error of an operation of the store.
    fn take(&mut self, error: DriveError<E, Self::Format>) -> Self::Failure;

    /// Takes the error of what is in the store.
    fn refuse(&mut self, error: &Error) -> Self::Failure;
}

impl<S, K> Medium<S, K> {
    /// The value of the result of an operation of the store.
    #[inline]
    pub(super) fn done<T, E>(&mut self, done: Result<T, E>) -> Result<T, K::Failure>
    where
        K: Errors<E>,
    {
        done.map_err(|error| self.errors.take(DriveError::Store(error)))
    }
}

/// Bytes that are read at once, where memory is small.
pub(super) const PIECE: usize = 64;

#[twin(WriteAt)]
impl<S: WriteAt, K: Errors<S::Error>> Medium<S, K> {
    #[inline(never)]
    pub(super) async fn read(&mut self, offset: u64, bytes: &mut [u8]) -> Result<(), K::Failure> {
        let read = read_exact(&self.store, offset, bytes).await;
        read.map_err(|error| self.errors.take(error))
    }

    #[inline(never)]
    pub(super) async fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), K::Failure> {
        if bytes.is_empty() {
            return Ok(());
        }
        let done = self.store.write_all_at(offset, bytes).await;
        self.done(done)
    }

    pub(super) async fn size(&mut self) -> Result<u64, K::Failure> {
        let size = self.store.size().await;
        self.done(size)
    }

    pub(super) async fn set_size(&mut self, len: u64) -> Result<(), K::Failure> {
        let done = self.store.set_size(len).await;
        self.done(done)
    }

    pub(super) async fn order(&mut self) -> Result<(), K::Failure> {
        let done = self.store.order().await;
        self.done(done)
    }

    #[inline(never)]
    pub(super) async fn sync(&mut self) -> Result<(), K::Failure> {
        let done = self.store.sync().await;
        self.done(done)
    }

    /// Writes the shadow of a commit, and makes it durable with all that was written before.
    pub(super) async fn prepare(&mut self, shadow: &Shadow) -> Result<(), K::Failure> {
        let commit = &shadow.new.commit;
        let offset = Shadow::offset_of(commit.shadow.get(), commit.sequence.get());
        self.write(offset, shadow.as_bytes()).await?;
        self.sync().await
    }

    /// Writes the part of the header that commits change, in the order of its bytes. It is not
    /// durable yet.
    pub(super) async fn show(&mut self, image: &Image) -> Result<(), K::Failure> {
        let store = &mut self.store;
        let done = image.show(store).await;
        self.done(done)
    }

    /// Completes a commit that may have been interrupted while its header was written. Who made it
    /// may have had no time to make durable what it shows.
    pub(super) async fn complete(&mut self, image: &Image) -> Result<(), K::Failure> {
        self.sync().await?;
        self.publish(image).await
    }

    /// Writes the part of the header that commits change, and makes it durable.
    #[inline(never)]
    pub(super) async fn publish(&mut self, image: &Image) -> Result<(), K::Failure> {
        self.show(image).await?;
        self.sync().await
    }

    /// Finds the header that the shadows of a new file prove, in a store of `store_len` bytes;
    /// `proved` is zeros. `bytes` is memory.
    pub(super) async fn find_proof(
        &mut self,
        store_len: u64,
        bytes: &mut [u8; size_of::<Shadow>()],
        proved: &mut Image,
    ) -> Result<(), K::Failure> {
        if store_len >= SHADOW.saturating_add(Shadow::BOTH_LEN) {
            for offset in [SHADOW, OTHER_SHADOW] {
                self.read(offset, bytes).await?;
                Shadow::prove(bytes, offset, proved);
            }
        }
        Ok(())
    }

    /// Writes a whole header whose sector was erased.
    pub(super) async fn restore(&mut self, header: &Header) -> Result<(), K::Failure> {
        self.write(0, header.as_bytes()).await?;
        self.sync().await
    }

    /// Checks that a store of `store_len` bytes is blank, or as a power cut left it while the file
    /// was made; `more` is the byte at an offset that the caller writes. `window` is memory.
    pub(super) async fn check_blank(
        &mut self,
        create: &Create,
        store_len: u64,
        window: &mut [u8],
        more: impl Fn(u64) -> Option<u8>,
    ) -> Result<(), K::Failure> {
        let mut blank = Blank::unseen(create.data_end(), store_len);
        while let Some(ReadStep::<()>::Read { offset, want, .. }) = blank.read() {
            let part = Span::exact(offset, want).front_of(window);
            self.read(offset, part).await?;
            let seen = blank.see(part, create, &more);
            seen.map_err(|error| self.errors.refuse(&error))?;
        }
        Ok(())
    }
}
