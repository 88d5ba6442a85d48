//! A writer's store, and whether the medium in it is still the one that the writer knows.

#[cfg(feature = "async")]
mod asynch;

use super::{Again, copy_front, usize_to_u64};
#[twin(ReadAt, WriteAt)]
use super::{ReadAt, WriteAt};
#[cfg(feature = "gsd")]
use crate::span::Span;
use crate::step::DriveError;
use core::sync::atomic::{AtomicBool, Ordering};
use embedded_io::ReadExactError;
use striae_twin::twin;

/// A writer's store.
///
/// After an error of the store, its medium may be another one: somebody has changed the card. So
/// the writer calls [`recognise`](Self::recognise) before it uses the store again.
#[derive(Debug)]
pub(crate) struct Disk<S> {
    store: S,
    /// The ends of the last data that were written, perhaps to a cache, and of the last that were
    /// synced; 0 if there are none. Two logs of one device may have equal headers; they hardly have
    /// equal data.
    ends: [u64; 2],
    /// The last bytes of these data.
    tails: [[u8; TAIL]; 2],
    /// Whether the store has failed since the writer last recognised its file.
    is_doubted: AtomicBool,
}

const TAIL: usize = 4;
const TAIL_LEN: u64 = usize_to_u64(TAIL);

/// What a writer knows of its file: bytes that tell it from other files, and were synced.
pub(crate) trait Proof {
    /// Puts the bytes of a place of the file at the front of `known`: their offset and length.
    /// `None` after the last place.
    fn place(&self, number: u32, known: &mut [u8; KNOWN_LEN]) -> Option<(u64, usize)>;
}

/// The most bytes of a place.
const KNOWN_LEN: usize = 80;

/// What is known at a place, and what is there.
struct Compared {
    number: u32,
    known: [u8; KNOWN_LEN],
    found: [u8; KNOWN_LEN],
    len: usize,
}

impl Compared {
    const FIRST: Self = Self { number: 0, known: [0; KNOWN_LEN], found: [0; KNOWN_LEN], len: 0 };

    /// The next place: its offset, and memory for what is there.
    fn next(&mut self, data: (u64, [u8; TAIL]), proof: &impl Proof) -> Option<(u64, &mut [u8])> {
        let offset = match (self.number.checked_sub(1), data) {
            (None, (end, tail)) => {
                self.len = if end == 0 { 0 } else { copy_front(&tail, &mut self.known) };
                end.saturating_sub(TAIL_LEN)
            }
            (Some(number), _) => {
                let (offset, len) = proof.place(number, &mut self.known)?;
                self.len = len;
                offset
            }
        };
        self.number = self.number.saturating_add(1);
        Some((offset, self.found.get_mut(..self.len).unwrap_or_default()))
    }

    /// The result of a place after its bytes were read.
    fn check<E, F: Swapped>(
        &self,
        read: Result<(), ReadExactError<E>>,
    ) -> Result<(), DriveError<E, F>> {
        let is_known = self.found.get(..self.len) == self.known.get(..self.len);
        match read {
            Ok(()) if is_known => Ok(()),
            Ok(()) | Err(ReadExactError::UnexpectedEof) => Err(DriveError::Format(F::SWAPPED)),
            Err(ReadExactError::Other(error)) => Err(DriveError::Store(error)),
        }
    }
}

/// An error of a format that has a value for another medium.
pub(crate) trait Swapped {
    /// The store does not have the file.
    const SWAPPED: Self;
}

impl<S> Disk<S> {
    #[inline]
    pub(crate) const fn new(store: S) -> Self {
        let is_doubted = AtomicBool::new(false);
        Self { store, ends: [0; 2], tails: [[0; TAIL]; 2], is_doubted }
    }

    pub(crate) const fn store(&self) -> &S {
        &self.store
    }

    pub(crate) fn into_store(self) -> S {
        self.store
    }

    /// The store, for writes to `span` that this type does not see.
    #[cfg(feature = "gsd")]
    pub(crate) fn lend(&mut self, span: Span) -> &mut S {
        self.forget_within(span.offset(), span.end());
        &mut self.store
    }

    /// The store, for writes from `offset` on that this type does not see.
    #[cfg(any(feature = "cdf", feature = "gsd"))]
    pub(crate) fn lend_from(&mut self, offset: u64) -> &mut S {
        self.forget_within(offset, u64::MAX);
        &mut self.store
    }

    /// Notes that data, `bytes`, were written to `offset`.
    pub(crate) fn put_was(&mut self, offset: u64, bytes: &[u8]) {
        if let (Some(tail), [_, last]) = (bytes.last_chunk(), &mut self.tails) {
            *last = *tail;
            let [_, end] = &mut self.ends;
            *end = offset.saturating_add(usize_to_u64(bytes.len()));
        }
    }

    /// Notes that all data are synced.
    const fn sync_was(&mut self) {
        let ([synced, last], [tail, last_tail]) = (&mut self.ends, &mut self.tails);
        (*synced, *tail) = (*last, *last_tail);
    }

    /// Forgets data that end after `offset` and begin before `end`.
    #[cfg_attr(target_os = "none", inline(never))] // a device's code is small
    #[cfg_attr(not(target_os = "none"), inline)]
    fn forget_within(&mut self, offset: u64, end: u64) {
        let [synced, last] = self.ends;
        // New data, which are usual, are after both.
        if cfg!(target_os = "none") || offset < last || offset < synced {
            self.forget_tails(offset, end);
        }
    }

    #[cfg_attr(target_os = "none", inline)]
    #[cfg_attr(not(target_os = "none"), inline(never))]
    fn forget_tails(&mut self, offset: u64, end: u64) {
        for tail_end in &mut self.ends {
            if offset < *tail_end && tail_end.saturating_sub(TAIL_LEN) < end {
                *tail_end = 0;
            }
        }
    }

    /// The end and the last bytes of the data that were synced.
    const fn data(&self) -> (u64, [u8; TAIL]) {
        let ([end, _], [tail, _]) = (self.ends, self.tails);
        (end, tail)
    }

    /// Whether the file must be [recognised](Self::recognise) before the next write.
    #[inline]
    pub(crate) fn is_doubted(&self) -> bool {
        self.is_doubted.load(Ordering::Relaxed)
    }

    /// Notes the result of a read. A store that ends where the file has bytes may be another.
    fn note_read<E>(&self, wanted: usize, done: Result<usize, E>) -> Result<usize, E> {
        if wanted > 0 && matches!(done, Ok(0)) {
            self.is_doubted.store(true, Ordering::Relaxed);
        }
        self.note(done)
    }

    /// Notes the result of an operation.
    pub(crate) fn note<T, E>(&self, done: Result<T, E>) -> Result<T, E> {
        if done.is_err() {
            self.is_doubted.store(true, Ordering::Relaxed);
        }
        done
    }
}

#[twin(WriteAt)]
impl<S: WriteAt> Disk<S> {
    /// Writes bytes of a chunk or stream.
    #[cfg_attr(not(target_os = "none"), inline)]
    #[cfg(any(feature = "gsd", feature = "sion"))]
    pub(crate) async fn put(&mut self, offset: u64, bytes: &[u8]) -> Result<(), S::Error> {
        if !bytes.is_empty() {
            let store = &mut *self;
            store.write_all_at(offset, bytes).await?;
            self.put_was(offset, bytes);
        }
        Ok(())
    }

    /// After an error of the store: checks that it still has the file of `proof`.
    ///
    /// # Errors
    /// [`Swapped`] if it does not; the store's own error.
    #[inline]
    pub(crate) async fn recognise<F: Swapped>(
        &mut self,
        proof: &impl Proof,
    ) -> Result<(), DriveError<S::Error, F>> {
        if self.is_doubted() { self.compare(proof).await } else { Ok(()) }
    }

    #[cold]
    #[inline(never)]
    async fn compare<F: Swapped>(
        &mut self,
        proof: &impl Proof,
    ) -> Result<(), DriveError<S::Error, F>> {
        let mut compared = Compared::FIRST;
        while let Some((offset, found)) = compared.next(self.data(), proof) {
            let store = Again(&self.store);
            let read = store.read_exact_at(offset, found).await;
            compared.check(read)?;
        }
        self.is_doubted.store(false, Ordering::Relaxed);
        Ok(())
    }
}

impl<S: ReadAt> ReadAt for Disk<S> {
    type Error = S::Error;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, S::Error> {
        self.note_read(buf.len(), self.store.read_at(offset, buf))
    }

    fn size(&self) -> Result<u64, S::Error> {
        self.note(self.store.size())
    }

    fn read_exact_at(
        &self,
        offset: u64,
        buf: &mut [u8],
    ) -> Result<(), ReadExactError<Self::Error>> {
        self.note(self.store.read_exact_at(offset, buf))
    }
}

impl<S: WriteAt> WriteAt for Disk<S> {
    #[cfg_attr(not(target_os = "none"), inline)]
    fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), S::Error> {
        self.forget_within(offset, offset.saturating_add(usize_to_u64(bytes.len())));
        let done = self.store.write_all_at(offset, bytes);
        self.note(done)
    }

    fn set_size(&mut self, len: u64) -> Result<(), S::Error> {
        self.forget_within(len, u64::MAX);
        let done = self.store.set_size(len);
        self.note(done)
    }

    fn order(&mut self) -> Result<(), S::Error> {
        let done = self.store.order();
        self.note(done)
    }

    #[inline(never)] // writers sync at many places: a device's code is small
    fn sync(&mut self) -> Result<(), S::Error> {
        let done = self.store.sync();
        self.note(done)?;
        self.sync_was();
        Ok(())
    }
}
