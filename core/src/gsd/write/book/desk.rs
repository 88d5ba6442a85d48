//! A book at work in a store.

use super::tail::Tail;
use super::waiting::Waiting;
use crate::gsd::error::Error;
use crate::gsd::raw::Image;
use crate::integrity::Checksum;
use crate::span::Span;
use crate::step::DriveError;
#[twin(read_exact)]
use crate::step::read_exact;
#[twin(WriteAt)]
use crate::store::WriteAt;
use crate::store::usize_to_u64;
use striae_twin::twin;

/// A book at work in a store.
///
/// The tail changes only when the store has done what the change says, so work may end anywhere, by
/// an error or a dropped future, and be done again.
#[derive(Debug)]
pub(super) struct Desk<'w, S> {
    pub(super) disk: Medium<'w, S>,
    pub(super) tail: &'w mut Tail,
    pub(super) waiting: Waiting<'w>,
    pub(super) checksum: Checksum,
    /// Memory for copies; empty if the memory of the book is small.
    pub(super) window: &'w mut [u8],
}

/// Why work failed in a store with errors `E`.
pub(super) type Failed<E> = DriveError<E, Error>;

/// A store whose errors are those of work.
#[derive(Debug)]
pub(super) struct Medium<'w, S> {
    pub(super) store: &'w mut S,
}

/// Bytes of small memory for copies.
pub(super) const SMALL: usize = 256;
const ZEROS: [u8; SMALL] = [0; SMALL];
/// The most bytes of one read into small memory.
const PIECE: usize = 64;

#[twin(WriteAt)]
impl<S: WriteAt> Medium<'_, S> {
    #[inline(never)]
    pub(super) async fn read(
        &mut self,
        offset: u64,
        bytes: &mut [u8],
    ) -> Result<(), Failed<S::Error>> {
        read_exact(&*self.store, offset, bytes).await
    }

    /// Reads the front of `span`, as much as there is room for in the `window`, or in small memory
    /// if that is empty.
    #[inline(never)]
    pub(super) async fn read_front<'r>(
        &mut self,
        span: Span,
        window: &'r mut [u8],
        small: &'r mut [u8; SMALL],
    ) -> Result<&'r [u8], Failed<S::Error>> {
        let room = if window.is_empty() { small } else { window };
        let len = usize::try_from(span.len()).unwrap_or(usize::MAX).min(room.len());
        let front = room.get_mut(..len).unwrap_or_default();
        let piece = if len > SMALL { len } else { PIECE };
        let mut offset = span.offset();
        for part in front.chunks_mut(piece) {
            self.read(offset, part).await?;
            offset = offset.saturating_add(usize_to_u64(part.len()));
        }
        Ok(front)
    }

    #[inline(never)]
    pub(super) async fn write(
        &mut self,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), Failed<S::Error>> {
        match bytes.is_empty() {
            true => Ok(()),
            false => self.store.write_all_at(offset, bytes).await.map_err(DriveError::Store),
        }
    }

    pub(super) async fn write_zeros(&mut self, span: Span) -> Result<(), Failed<S::Error>> {
        let mut left = span;
        while !left.is_empty() {
            let len = usize::try_from(left.len()).unwrap_or(SMALL).min(SMALL);
            self.write(left.offset(), ZEROS.get(..len).unwrap_or(&ZEROS)).await?;
            left = left.skip(usize_to_u64(len));
        }
        Ok(())
    }

    /// Writes the part of the header that commits change.
    pub(super) async fn show(&mut self, image: &Image) -> Result<(), Failed<S::Error>> {
        let store = &mut *self.store;
        image.show(store).await.map_err(DriveError::Store)
    }

    pub(super) async fn set_size(&mut self, len: u64) -> Result<(), Failed<S::Error>> {
        self.store.set_size(len).await.map_err(DriveError::Store)
    }

    pub(super) async fn order(&mut self) -> Result<(), Failed<S::Error>> {
        self.store.order().await.map_err(DriveError::Store)
    }

    pub(super) async fn sync(&mut self) -> Result<(), Failed<S::Error>> {
        self.store.sync().await.map_err(DriveError::Store)
    }
}

#[twin(WriteAt)]
impl<S: WriteAt> Desk<'_, S> {
    /// Makes the store at least `end` bytes long: a record covers everything that it reserves.
    pub(super) async fn reserve(&mut self, end: u64) -> Result<(), Failed<S::Error>> {
        match self.tail.store_len < end {
            true => self.set_store_len(end).await,
            false => Ok(()),
        }
    }

    /// Copies the front of `from` to the offset `to`; returns the length of that part.
    #[inline(never)]
    pub(super) async fn copy_front(
        &mut self,
        from: Span,
        to: u64,
    ) -> Result<u64, Failed<S::Error>> {
        let mut small = [0; SMALL];
        // Long copies write few sectors twice.
        let room = match self.window.is_empty() {
            true => self.waiting.scratch(),
            false => &mut *self.window,
        };
        let room = if room.len() < SMALL { &mut [] } else { room };
        let part = self.disk.read_front(from, room, &mut small).await?;
        self.disk.write(to, part).await?;
        Ok(usize_to_u64(part.len()))
    }

    pub(super) async fn set_store_len(&mut self, len: u64) -> Result<(), Failed<S::Error>> {
        self.disk.set_size(len).await?;
        self.tail.store_len = len;
        Ok(())
    }
}
