//! Asynchronous stores.

use super::{ReadAt, WriteAt, usize_to_u64};
use crate::span::Stride;
use embedded_io::ReadExactError;

/// Bytes that can be read by offset, asynchronously; see [`ReadAt`].
///
/// After a future is dropped, the store must not write to its `buf`.
///
/// Other crates may implement it; a method of a later version has a default.
#[allow(async_fn_in_trait, reason = "whether a future is Send is the store's affair")]
pub trait AsyncReadAt {
    /// The store's own error.
    type Error: embedded_io::Error + 'static;

    /// Reads bytes at `offset` into `buf` and returns how many; at most `buf.len()`. Returns 0 only
    /// if `buf` is empty or `offset` is at or after the end.
    ///
    /// # Errors
    /// The store's own error.
    async fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Self::Error>;

    /// Reads bytes from the medium; see [`ReadAt::reread_at`].
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

    /// Fills `buf` with the bytes of `spans`, one after another; see [`ReadAt::read_spans_at`].
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

    /// Says that the bytes of `spans` will probably be read next; see [`ReadAt::will_read`].
    async fn will_read(&self, spans: &[Stride]) {
        let _ = spans;
    }
}

/// Bytes that can be written by offset, asynchronously; see [`WriteAt`].
///
/// Dropping a future is a failed operation: it was done in full, in part or not at all. No part of
/// it may happen later: a store that cannot stop an operation must finish it before it begins
/// another. After a dropped sync, nothing is known to be durable; the next sync must cover the
/// earlier writes, too.
///
/// Other crates may implement it; a method of a later version has a default.
#[allow(async_fn_in_trait, reason = "whether a future is Send is the store's affair")]
pub trait AsyncWriteAt: AsyncReadAt {
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

    /// Orders writes: no reader of the stored bytes may see a later write without all earlier ones;
    /// see [`WriteAt::order`].
    ///
    /// # Errors
    /// The store's own error.
    async fn order(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Makes all earlier writes durable, and orders them as [`order`](Self::order) does.
    ///
    /// # Errors
    /// The store's own error; see [`WriteAt::sync`].
    async fn sync(&mut self) -> Result<(), Self::Error>;
}

/// An asynchronous store made of a blocking one, such as memory. Its futures are ready at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ready<S: ?Sized>(pub S);

impl<S: ReadAt + ?Sized> AsyncReadAt for Ready<S> {
    type Error = S::Error;

    async fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Self::Error> {
        self.0.read_at(offset, buf)
    }

    async fn reread_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Self::Error> {
        self.0.reread_at(offset, buf)
    }

    async fn size(&self) -> Result<u64, Self::Error> {
        self.0.size()
    }

    async fn read_spans_at(
        &self,
        spans: &[Stride],
        buf: &mut [u8],
    ) -> Result<(), ReadExactError<Self::Error>> {
        self.0.read_spans_at(spans, buf)
    }

    async fn will_read(&self, spans: &[Stride]) {
        self.0.will_read(spans);
    }
}

impl<S: WriteAt + ?Sized> AsyncWriteAt for Ready<S> {
    async fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Self::Error> {
        self.0.write_all_at(offset, bytes)
    }

    async fn set_size(&mut self, len: u64) -> Result<(), Self::Error> {
        self.0.set_size(len)
    }

    async fn order(&mut self) -> Result<(), Self::Error> {
        self.0.order()
    }

    async fn sync(&mut self) -> Result<(), Self::Error> {
        self.0.sync()
    }
}
