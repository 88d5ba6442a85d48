//! A book at work in a store.

use super::tail::{Move, Tail};
use super::waiting::Waiting;
use crate::exact::Exact;
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
pub(super) struct Desk<'w, S, E> {
    pub(super) disk: Medium<'w, S, E>,
    pub(super) tail: &'w mut Tail,
    pub(super) waiting: Waiting<'w>,
    pub(super) checksum: Checksum,
    /// Memory for copies; empty if the memory of the book is small.
    pub(super) window: &'w mut [u8],
}

/// Work has failed; its [`Medium`] says why.
///
/// An error has 32 bytes and passes many functions on its way. A device's code would copy it, and
/// look into it, in each of them.
#[derive(Debug)]
pub(super) struct Failure;

/// A store, and why work in it failed.
#[derive(Debug)]
pub(super) struct Medium<'w, S, E> {
    pub(super) store: &'w mut S,
    /// An error after a [`Failure`].
    pub(super) result: Result<(), DriveError<E, Error>>,
}

impl<S, E> Medium<'_, S, E> {
    /// Notes why work failed.
    #[cold]
    #[inline(never)]
    pub(super) fn fail(&mut self, error: &Error) -> Failure {
        self.result = Err(DriveError::Format(*error));
        Failure
    }

    /// The value of a result, if it has one.
    #[inline]
    pub(super) fn check<T>(&mut self, result: Result<T, Error>) -> Result<T, Failure> {
        result.map_err(|error| self.fail(&error))
    }

    /// The value of the result of an operation of the store.
    #[inline]
    pub(super) fn done<T>(&mut self, done: Result<T, E>) -> Result<T, Failure> {
        done.map_err(|error| {
            self.result = Err(DriveError::Store(error));
            Failure
        })
    }

    /// The value of the result of reads.
    #[inline]
    pub(super) fn note<T>(&mut self, read: Result<T, DriveError<E, Error>>) -> Result<T, Failure> {
        read.map_err(|error| {
            self.result = Err(error);
            Failure
        })
    }
}

/// Bytes of small memory for copies.
pub(super) const SMALL: usize = 256;
/// The most bytes of one read into small memory.
const PIECE: usize = 64;

#[twin(WriteAt)]
impl<S: WriteAt> Medium<'_, S, S::Error> {
    #[inline(never)]
    pub(super) async fn read(&mut self, offset: u64, bytes: &mut [u8]) -> Result<(), Failure> {
        let read = read_exact(&*self.store, offset, bytes).await;
        self.note(read)
    }

    /// Reads the front of `span`, as much as there is room for in the `window`, or in small memory
    /// if that is empty.
    #[inline(never)]
    pub(super) async fn read_front<'r>(
        &mut self,
        span: Span,
        window: &'r mut [u8],
        small: &'r mut [u8; SMALL],
    ) -> Result<&'r [u8], Failure> {
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
    pub(super) async fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Failure> {
        if bytes.is_empty() {
            return Ok(());
        }
        let done = self.store.write_all_at(offset, bytes).await;
        self.done(done)
    }

    pub(super) async fn write_zeros(&mut self, span: Span) -> Result<(), Failure> {
        let (mut zeros, mut left) = ([0; SMALL], span);
        while !left.is_empty() {
            let part = left.front_of(&mut zeros);
            self.write(left.offset(), part).await?;
            left = left.after(part);
        }
        Ok(())
    }

    /// Writes the part of the header that commits change.
    pub(super) async fn show(&mut self, image: &Image) -> Result<(), Failure> {
        let store = &mut *self.store;
        let done = image.show(store).await;
        self.done(done)
    }

    pub(super) async fn set_size(&mut self, len: u64) -> Result<(), Failure> {
        let done = self.store.set_size(len).await;
        self.done(done)
    }

    pub(super) async fn order(&mut self) -> Result<(), Failure> {
        let done = self.store.order().await;
        self.done(done)
    }

    pub(super) async fn sync(&mut self) -> Result<(), Failure> {
        let done = self.store.sync().await;
        self.done(done)
    }
}

impl<S, E> Desk<'_, S, E> {
    /// The result of work that is `done`.
    #[inline]
    pub(super) fn result(self, done: Result<(), Failure>) -> Result<(), DriveError<E, Error>> {
        match done {
            Ok(()) => Ok(()),
            Err(Failure) => self.disk.result,
        }
    }
}

#[twin(WriteAt)]
impl<S: WriteAt> Desk<'_, S, S::Error> {
    /// Makes the store at least `end` bytes long: a record covers everything that it reserves.
    pub(super) async fn reserve(&mut self, end: u64) -> Result<(), Failure> {
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
