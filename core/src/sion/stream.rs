//! A task's bytes, one after another over all of its chunks.

use super::ReadError;
use super::error::Error;
use super::layout::Chunks;
use super::position::{Lengths, Stretch};
use crate::span::Span;
use crate::step::DriveError;
use crate::store::{ReadAt, usize_to_u64};
use embedded_io::{ErrorType, Read, Seek, SeekFrom};
#[cfg(feature = "async")]
use {super::AsyncError, super::lengths::Walk, crate::store::AsyncReadAt};

/// The stream of one task, from a store `S` with chunk lengths `L`.
///
/// Reading never crosses a chunk, so one call returns at most what is left of the current one.
#[derive(Debug, Clone)]
pub struct Stream<S, L> {
    store: S,
    chunks: Chunks,
    lengths: L,
    position: u64,
    stretch: Option<Stretch>,
}

impl<S, L> Stream<S, L> {
    /// The stream of the task whose chunks these are.
    #[must_use]
    pub const fn new(store: S, chunks: Chunks, lengths: L) -> Self {
        Self { store, chunks, lengths, position: 0, stretch: None }
    }

    /// Position of the next byte that is read.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// Goes to `position`, which may be behind the end, where nothing is read.
    pub const fn seek_to(&mut self, position: u64) {
        self.position = position;
    }

    /// The chunk of the position, if it is the one that was asked for last.
    fn known(&self) -> Option<Stretch> {
        self.stretch.filter(|stretch| stretch.contains(self.position))
    }

    /// Where the next bytes are, at most `len` of them, if they are in `stretch`.
    fn span_in(&mut self, stretch: Option<Stretch>, len: u64) -> Option<Span> {
        let stretch = *self.stretch.insert(stretch?);
        let skip = self.position.saturating_sub(stretch.begin);
        let len = len.min(stretch.len.saturating_sub(skip));
        // The lengths were checked against the chunks when they were read.
        self.chunks.chunk(stretch.chunk).and_then(|chunk| chunk.part(skip, len))
    }

    /// Goes behind the `n` bytes that were read from `span`.
    fn advance<E>(&mut self, span: Span, n: usize) -> Result<usize, DriveError<E, Error>> {
        if n == 0 {
            return Err(DriveError::Ended { offset: span.offset() });
        }
        self.position = self.position.saturating_add(usize_to_u64(n));
        Ok(n)
    }
}

impl<S: ReadAt, L: Lengths<ReadError<S>>> Stream<S, L> {
    /// Bytes of the stream.
    ///
    /// # Errors
    /// The chunk lengths cannot be read.
    pub fn total(&mut self) -> Result<u64, ReadError<S>> {
        self.lengths.total()
    }

    /// The (chunk, offset) pointer of the next byte that is read; at the end of the stream, the
    /// last chunk with a byte in it and its length. `None` at the end of an empty stream.
    ///
    /// At the end of a chunk, SIONlib names that chunk and its length; this names the next chunk
    /// and
    /// 0. [`Stream::position_of`] takes both for the same place.
    ///
    /// # Errors
    /// The chunk lengths cannot be read.
    pub fn location(&mut self) -> Result<Option<(u64, u64)>, ReadError<S>> {
        let stretch = match self.lengths.stretch_at(self.position)? {
            None if self.position > 0 => {
                self.lengths.stretch_at(self.position.saturating_sub(1))?
            }
            stretch => stretch,
        };
        Ok(stretch.map(|s| (s.chunk, self.position.saturating_sub(s.begin))))
    }

    /// The stream position of a (chunk, offset) pointer. The offset may be the chunk's length:
    /// SIONlib gives such pointers when a chunk is just full.
    ///
    /// # Errors
    /// [`Error::NoChunk`] if the task did not use the chunk, [`Error::Position`] if it used less of
    /// it; else the chunk lengths cannot be read.
    pub fn position_of(&mut self, chunk: u64, offset: u64) -> Result<u64, ReadError<S>> {
        let stretch = self.chunk(chunk)?;
        if offset > stretch.len {
            return Err(DriveError::Format(Error::Position));
        }
        Ok(stretch.begin.saturating_add(offset))
    }

    /// The part of the stream that lies in chunk `chunk`.
    ///
    /// # Errors
    /// [`Error::NoChunk`] if the task did not use the chunk; else the chunk lengths cannot be read.
    pub fn chunk(&mut self, chunk: u64) -> Result<Stretch, ReadError<S>> {
        if let Some(stretch) = self.lengths.stretch(chunk)? {
            return Ok(stretch);
        }
        let blockcount = self.lengths.count();
        Err(DriveError::Format(Error::NoChunk { chunk, blockcount }))
    }

    /// Where in the physical file the next bytes are, at most `len` of them and at most to the end
    /// of their chunk; `None` at the end of the stream. The position moves behind them.
    ///
    /// # Errors
    /// The chunk lengths cannot be read.
    pub fn next_span(&mut self, len: u64) -> Result<Option<Span>, ReadError<S>> {
        let span = self.span_here(len)?;
        self.position = self.position.saturating_add(span.map_or(0, Span::len));
        Ok(span)
    }

    /// Where in the physical file the `len` bytes from stream position `position` are, or as many
    /// of them as there are: one span for each chunk, in order. The position moves behind them.
    pub const fn spans(&mut self, position: u64, len: u64) -> Spans<'_, S, L> {
        self.position = position;
        Spans { stream: self, left: len }
    }

    fn span_here(&mut self, len: u64) -> Result<Option<Span>, ReadError<S>> {
        let stretch = match self.known() {
            None => self.lengths.stretch_at(self.position)?,
            known => known,
        };
        Ok(self.span_in(stretch, len))
    }

    /// Fills `buf` from the stream.
    ///
    /// # Errors
    /// [`DriveError::Ended`] if the stream ends before; else the store or the lengths cannot be
    /// read.
    pub fn read_all(&mut self, mut buf: &mut [u8]) -> Result<(), ReadError<S>> {
        while !buf.is_empty() {
            let n = self.read(buf)?;
            let Some((_, rest)) = buf.split_at_mut_checked(n).filter(|_| n != 0) else {
                return Err(DriveError::Ended { offset: self.position });
            };
            buf = rest;
        }
        Ok(())
    }
}

/// The places of a range of a stream's bytes: see [`Stream::spans`].
#[derive(Debug)]
pub struct Spans<'s, S, L> {
    stream: &'s mut Stream<S, L>,
    left: u64,
}

impl<S: ReadAt, L: Lengths<ReadError<S>>> Iterator for Spans<'_, S, L> {
    type Item = Result<Span, ReadError<S>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        let span = self.stream.next_span(self.left);
        self.left = match span {
            Ok(Some(span)) => self.left.saturating_sub(span.len()),
            _ => 0,
        };
        span.transpose()
    }
}

impl<S: ReadAt, L> ErrorType for Stream<S, L> {
    type Error = ReadError<S>;
}

impl<S: ReadAt, L: Lengths<ReadError<S>>> Read for Stream<S, L> {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize, Self::Error> {
        if buf.is_empty() {
            return Ok(0);
        }
        let Some(span) = self.span_here(usize_to_u64(buf.len()))? else { return Ok(0) };
        let buf = span.front_of(buf);
        let n = self.store.read_at(span.offset(), buf).map_err(DriveError::Store)?.min(buf.len());
        self.advance(span, n)
    }
}

#[cfg(feature = "async")]
impl<S: AsyncReadAt> Stream<&S, Walk<'_, S>> {
    /// Bytes of the stream.
    ///
    /// # Errors
    /// The chunk lengths cannot be read.
    pub async fn total_async(&mut self) -> Result<u64, AsyncError<S>> {
        self.lengths.total_async().await
    }

    /// Reads some bytes into `buf`, at most what is left of the present chunk, and returns how
    /// many; 0 only if `buf` is empty, or at the end.
    ///
    /// # Errors
    /// The store or the chunk lengths cannot be read.
    pub async fn read_async(&mut self, buf: &mut [u8]) -> Result<usize, AsyncError<S>> {
        if buf.is_empty() {
            return Ok(0);
        }
        let stretch = match self.known() {
            None => self.lengths.stretch_at_async(self.position).await?,
            known => known,
        };
        let Some(span) = self.span_in(stretch, usize_to_u64(buf.len())) else { return Ok(0) };
        let buf = span.front_of(buf);
        let read = self.store.read_at(span.offset(), buf).await;
        self.advance(span, read.map_err(DriveError::Store)?.min(buf.len()))
    }

    /// Fills `buf` from the stream. If the future is dropped, the position is behind what was read.
    ///
    /// # Errors
    /// [`DriveError::Ended`] if the stream ends before; else as [`Stream::read_async`].
    pub async fn read_all_async(&mut self, mut buf: &mut [u8]) -> Result<(), AsyncError<S>> {
        while !buf.is_empty() {
            let n = self.read_async(buf).await?;
            let Some((_, rest)) = buf.split_at_mut_checked(n).filter(|_| n != 0) else {
                return Err(DriveError::Ended { offset: self.position });
            };
            buf = rest;
        }
        Ok(())
    }
}

impl<S: ReadAt, L: Lengths<ReadError<S>>> Seek for Stream<S, L> {
    fn seek(&mut self, to: SeekFrom) -> Result<u64, Self::Error> {
        let (base, by) = match to {
            SeekFrom::Start(position) => (position, 0),
            SeekFrom::Current(by) => (self.position, by),
            SeekFrom::End(by) => (self.total()?, by),
        };
        self.position = base.checked_add_signed(by).ok_or(DriveError::Format(Error::Position))?;
        Ok(self.position)
    }
}
