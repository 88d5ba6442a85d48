//! Stores: bytes that are read and written by offset.
//!
//! striae needs only [`ReadAt`] and [`WriteAt`] of a file, a card or a block of memory. Byte slices
//! are stores. [`ReadAhead`] makes few requests of many reads, for a store far away. [`Section`] is
//! a part of another store. [`BlockStore`] is a store on a device of blocks, such as an SD card.
//! [`SeekStore`] turns anything with `embedded_io`'s `Read` and `Seek` into a store. The adapter
//! crates add files.
//!
//! With the feature `async` there are asynchronous stores, `AsyncReadAt` and `AsyncWriteAt`.
//! [`SeekStore`] also accepts `embedded_io_async`'s traits, [`BlockStore`] an `AsyncBlockDevice`,
//! and `Ready` turns any store or device into an asynchronous one.

mod ahead;
mod block;
#[cfg(any(feature = "cdf", feature = "gsd", feature = "sion"))]
mod disk;
#[cfg(feature = "async")]
mod ready;
mod section;
mod seek;

#[cfg(feature = "async")]
pub use {block::AsyncBlockDevice, ready::Ready};

#[cfg(any(feature = "cdf", feature = "gsd", feature = "sion"))]
pub(crate) use disk::{Disk, Proof, Swapped};

pub use ahead::ReadAhead;
pub use block::{BlockDevice, BlockStore, BlockStoreError, Cached, StoreBlocks};
pub use section::Section;
pub use seek::{SeekStore, SeekStoreError};

use crate::span::Stride;
use embedded_io::{ErrorKind, ReadExactError};
use striae_twin::twin;

/// Bytes that can be read by offset.
///
/// Reading takes `&self`, so that several readers can share a store. A store that needs a cursor
/// keeps it inside (see [`SeekStore`]). After a future of an asynchronous store is dropped, the
/// store must not write to its `buf`.
///
/// Other crates may implement it; a method of a later version has a default.
#[twin(ReadAt)]
#[allow(async_fn_in_trait, reason = "whether a future is Send is the store's affair")]
pub trait ReadAt {
    /// The store's own error.
    type Error: embedded_io::Error + 'static;

    /// Reads bytes at `offset` into `buf` and returns how many; at most `buf.len()`. Returns 0 only
    /// if `buf` is empty or `offset` is at or after the end.
    ///
    /// # Errors
    /// The store's own error.
    async fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Self::Error>;

    /// Reads bytes as [`read_at`](Self::read_at) does, but from the medium: a store with a cache
    /// must not use it, and must not write any of it. Bytes that were not synced may be old. After
    /// an error, a writer of GSD or SIONlib reads back what it has synced, to see if the medium was
    /// changed.
    ///
    /// # Errors
    /// The store's own error.
    async fn reread_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Self::Error> {
        self.read_at(offset, buf).await
    }

    /// The length of the store in bytes.
    ///
    /// # Errors
    /// The store's own error.
    async fn size(&self) -> Result<u64, Self::Error>;

    /// Fills `buf` with the bytes at `offset`.
    ///
    /// # Errors
    /// [`ReadExactError::UnexpectedEof`] if the store ends before `buf` is full; else the store's
    /// own error.
    async fn read_exact_at(
        &self,
        mut offset: u64,
        mut buf: &mut [u8],
    ) -> Result<(), ReadExactError<Self::Error>> {
        while !buf.is_empty() {
            let n = self.read_at(offset, buf).await.map_err(ReadExactError::Other)?;
            let Some((_, rest)) = buf.split_at_mut_checked(n).filter(|_| n != 0) else {
                return Err(ReadExactError::UnexpectedEof);
            };
            buf = rest;
            offset = offset.saturating_add(usize_to_u64(n));
        }
        Ok(())
    }

    /// Fills `buf` with the bytes of `spans`, one after another; `buf` is as long as all of them. A
    /// store far away should ask for all spans at once; this method asks for one after another.
    ///
    /// # Errors
    /// [`ReadExactError::UnexpectedEof`] if the store ends before the end of a span; else the
    /// store's own error.
    async fn read_spans_at(
        &self,
        spans: &[Stride],
        mut buf: &mut [u8],
    ) -> Result<(), ReadExactError<Self::Error>> {
        for span in spans.iter().flat_map(|stride| stride.spans()) {
            let len = usize::try_from(span.len()).unwrap_or(usize::MAX);
            let (front, rest) = buf.split_at_mut_checked(len).unwrap_or_default();
            self.read_exact_at(span.offset(), front).await?;
            buf = rest;
        }
        Ok(())
    }

    /// Says that the bytes of `spans` will probably be read next, the more important ones first. A
    /// store may ignore it, as this method does; [`ReadAhead`] reads them at once.
    async fn will_read(&self, spans: &[Stride]) {
        let _ = spans;
    }
}

/// Bytes that can be written by offset.
///
/// A store that can name its medium, for example by the CID of a card, should compare the name
/// before it writes, and fail for as long as the medium is another one. Writers look at the medium
/// only after an error, and know it only by the bytes that they wrote.
///
/// Dropping a future of an asynchronous store is a failed operation: it was done in full, in part
/// or not at all. No part of it may happen later: a store that cannot stop an operation must finish
/// it before it begins another. After a dropped sync, nothing is known to be durable; the next sync
/// must cover the earlier writes, too.
///
/// Other crates may implement it; a method of a later version has a default.
#[twin(ReadAt, WriteAt)]
#[allow(async_fn_in_trait, reason = "whether a future is Send is the store's affair")]
pub trait WriteAt: ReadAt {
    /// Writes all of `bytes` at `offset`. A store that can grow does so; a gap before `offset`
    /// reads as zeros.
    ///
    /// # Errors
    /// The store's own error. Some of the bytes may have been written.
    async fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Self::Error>;

    /// Cuts the store to `len` bytes, or extends it to `len` bytes with zeros.
    ///
    /// # Errors
    /// The store's own error, also if the store cannot be cut or extended.
    async fn set_size(&mut self, len: u64) -> Result<(), Self::Error>;

    /// Orders writes: no reader of the stored bytes may see a later write without all earlier ones.
    /// A store that passes on each write at once needs to do nothing; a store that buffers writes
    /// must pass them on.
    ///
    /// # Errors
    /// The store's own error.
    async fn order(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Makes all earlier writes durable, and orders them as [`order`](Self::order) does.
    ///
    /// # Errors
    /// The store's own error. What was written since the last success may or may not be durable,
    /// and the caller will call `sync` again. A store whose next success would not cover those
    /// writes (an operating system drops the pages that it failed to write) must therefore keep
    /// failing.
    async fn sync(&mut self) -> Result<(), Self::Error>;

    /// Names the cache that writes go to, if a [`sync`](Self::sync) of any store with an equal name
    /// makes durable what all of them, also those of other processes, wrote before to one file. So
    /// of the ranks of a parallel program on one node, one syncs. `None`, also without an
    /// implementation, if each store must sync what it wrote.
    fn cache(&self) -> Option<[u64; 3]> {
        None
    }
}

/// A reference to a store is a store.
macro_rules! read_through {
    ($($Reference:ty),*) => {$(
        #[twin(ReadAt)]
        impl<S: ReadAt + ?Sized> ReadAt for $Reference {
            type Error = S::Error;

            async fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Self::Error> {
                (**self).read_at(offset, buf).await
            }

            async fn reread_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Self::Error> {
                (**self).reread_at(offset, buf).await
            }

            async fn size(&self) -> Result<u64, Self::Error> {
                (**self).size().await
            }

            async fn read_spans_at(
                &self,
                spans: &[Stride],
                buf: &mut [u8],
            ) -> Result<(), ReadExactError<Self::Error>> {
                (**self).read_spans_at(spans, buf).await
            }

            async fn will_read(&self, spans: &[Stride]) {
                (**self).will_read(spans).await;
            }
        }
    )*};
}

read_through!(&S, &mut S);

#[twin(WriteAt)]
impl<S: WriteAt + ?Sized> WriteAt for &mut S {
    async fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Self::Error> {
        (**self).write_all_at(offset, bytes).await
    }

    async fn set_size(&mut self, len: u64) -> Result<(), Self::Error> {
        (**self).set_size(len).await
    }

    async fn order(&mut self) -> Result<(), Self::Error> {
        (**self).order().await
    }

    async fn sync(&mut self) -> Result<(), Self::Error> {
        (**self).sync().await
    }

    fn cache(&self) -> Option<[u64; 3]> {
        (**self).cache()
    }
}

/// The error of a byte slice, which can neither grow nor be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct FixedSize {
    /// The length of the slice in bytes.
    pub len: usize,
    /// The length that was asked for.
    pub wanted: u64,
}

impl core::fmt::Display for FixedSize {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "a slice of {} bytes cannot become one of {}", self.len, self.wanted)
    }
}

impl core::error::Error for FixedSize {}

impl embedded_io::Error for FixedSize {
    fn kind(&self) -> ErrorKind {
        ErrorKind::OutOfMemory
    }
}

/// Reads from the medium of a store: [`ReadAt::reread_at`].
pub(crate) struct Again<'s, S: ?Sized>(pub(crate) &'s S);

#[twin(ReadAt)]
impl<S: ReadAt + ?Sized> ReadAt for Again<'_, S> {
    type Error = S::Error;

    async fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, S::Error> {
        self.0.reread_at(offset, buf).await
    }

    async fn size(&self) -> Result<u64, S::Error> {
        self.0.size().await
    }
}

impl ReadAt for [u8] {
    type Error = FixedSize;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Self::Error> {
        let rest = usize::try_from(offset).ok().and_then(|offset| self.get(offset..));
        Ok(rest.map_or(0, |rest| copy_front(rest, buf)))
    }

    fn size(&self) -> Result<u64, Self::Error> {
        Ok(usize_to_u64(self.len()))
    }
}

impl WriteAt for [u8] {
    fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Self::Error> {
        let len = self.len();
        let wanted = offset.saturating_add(usize_to_u64(bytes.len()));
        let place = usize::try_from(offset)
            .ok()
            .and_then(|offset| self.get_mut(offset..))
            .and_then(|rest| rest.get_mut(..bytes.len()))
            .ok_or(FixedSize { len, wanted })?;
        copy_front(bytes, place);
        Ok(())
    }

    fn set_size(&mut self, wanted: u64) -> Result<(), Self::Error> {
        let len = self.len();
        if usize_to_u64(len) == wanted { Ok(()) } else { Err(FixedSize { len, wanted }) }
    }

    fn sync(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// Copies as many bytes as fit from the front of `from` to the front of `to`, and returns how many.
#[inline]
pub(crate) fn copy_front(from: &[u8], to: &mut [u8]) -> usize {
    let n = from.len().min(to.len());
    if let (Some(from), Some(to)) = (from.get(..n), to.get_mut(..n)) {
        to.copy_from_slice(from);
    }
    n
}

/// Converts a length in memory to a length in a store. The result is exact on every target, as
/// `usize` has at most 64 bits.
#[must_use]
#[inline]
#[allow(clippy::as_conversions, reason = "widening; From is not const")]
pub const fn usize_to_u64(n: usize) -> u64 {
    n as u64
}
