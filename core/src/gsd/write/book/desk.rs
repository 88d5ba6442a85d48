//! A book at work in a store.

use super::tail::{Move, Tail};
use super::waiting::Waiting;
use crate::exact::Exact;
use crate::gsd::error::Error;
use crate::gsd::write::medium::{Errors, Medium, PIECE};
use crate::integrity::Checksum;
use crate::span::Span;
use crate::step::DriveError;
#[twin(WriteAt)]
use crate::store::WriteAt;
use crate::store::usize_to_u64;
use striae_twin::twin;

/// A book at work in a store.
///
/// The tail changes only when the store has done what the change says, so work may end anywhere, by
/// an error or a dropped future, and be done again.
#[derive(Debug)]
pub(super) struct Desk<'w, S, E> {
    pub(super) disk: Medium<&'w mut S, Kept<E>>,
    pub(super) tail: &'w mut Tail,
    pub(super) waiting: Waiting<'w>,
    pub(super) checksum: Checksum,
    /// Memory for copies; empty if the memory of the book is small.
    pub(super) window: &'w mut [u8],
}

/// Work has failed; its [`Medium`] has the error.
///
/// An error has 32 bytes and passes many functions on its way. A device's code would copy it, and
/// look into it, in each of them.
#[derive(Debug)]
pub(super) struct Failure;

/// The error after a [`Failure`].
#[derive(Debug)]
pub(super) struct Kept<E>(pub(super) Result<(), DriveError<E, Error>>);

impl<E> Errors<E> for Kept<E> {
    type Format = Error;
    type Failure = Failure;

    #[inline]
    fn take(&mut self, error: DriveError<E, Error>) -> Failure {
        self.0 = Err(error);
        Failure
    }

    #[cold]
    #[inline(never)]
    fn refuse(&mut self, error: &Error) -> Failure {
        self.0 = Err(DriveError::Format(*error));
        Failure
    }
}

impl<S, E> Medium<S, Kept<E>> {
    /// Notes why work failed.
    pub(super) fn fail(&mut self, error: &Error) -> Failure {
        self.errors.refuse(error)
    }

    /// The value of a result, if it has one.
    #[inline]
    pub(super) fn check<T>(&mut self, result: Result<T, Error>) -> Result<T, Failure> {
        result.map_err(|error| self.fail(&error))
    }
}

/// Bytes of small memory for copies.
pub(super) const SMALL: usize = 256;

#[twin(WriteAt)]
impl<S: WriteAt, K: Errors<S::Error>> Medium<S, K> {
    /// Reads the front of `span`, as much as there is room for in the `window`, or in small memory
    /// if that is empty.
    #[inline(never)]
    pub(super) async fn read_front<'r>(
        &mut self,
        span: Span,
        window: &'r mut [u8],
        small: &'r mut [u8; SMALL],
    ) -> Result<&'r [u8], K::Failure> {
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

    pub(super) async fn write_zeros(&mut self, span: Span) -> Result<(), K::Failure> {
        let (mut zeros, mut left) = ([0; SMALL], span);
        while !left.is_empty() {
            let part = left.front_of(&mut zeros);
            self.write(left.offset(), part).await?;
            left = left.after(part);
        }
        Ok(())
    }
}

impl<S, E> Desk<'_, S, E> {
    /// The result of work that is `done`.
    #[inline]
    pub(super) fn result(self, done: Result<(), Failure>) -> Result<(), DriveError<E, Error>> {
        match done {
            Ok(()) => Ok(()),
            Err(Failure) => self.disk.errors.0,
        }
    }
}

#[twin(WriteAt)]
impl<S: WriteAt> Desk<'_, S, S::Error> {
    /// Makes the store at least `end` bytes long: a record covers everything that it reserves.
    pub(super) async fn reserve(&mut self, end: u64) -> Result<(), Failure> {
        if self.tail.store_len < end {
            // Chunks that were not finished may have made it longer, and some stores do not shrink.
            self.tail.store_len = self.disk.size().await?;
        }
        match self.tail.store_len < end {
            true => self.set_store_len(end).await,
            false => Ok(()),
        }
    }

    /// Copies the front of what must be moved.
    #[inline(never)]
    pub(super) async fn copy_front(&mut self, moving: &mut Move) -> Result<(), Failure> {
        let mut small = [0; SMALL];
        // Long copies write few sectors twice.
        let room = match self.window.is_empty() {
            true => self.waiting.scratch(),
            false => &mut *self.window,
        };
        let room = if room.len() < SMALL { &mut [] } else { room };
        let part = self.disk.read_front(moving.from, room, &mut small).await?;
        self.disk.write(moving.to, part).await?;
        let to = moving.to.exact_add(usize_to_u64(part.len()));
        *moving = Move { from: moving.from.after(part), to };
        Ok(())
    }

    pub(super) async fn set_store_len(&mut self, len: u64) -> Result<(), Failure> {
        self.disk.set_size(len).await?;
        self.tail.store_len = len;
        Ok(())
    }
}
