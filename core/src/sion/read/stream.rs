//! [`Stream`] reads a task's bytes in order, over all of its chunks.

use crate::sion::error::Error;
#[twin(ReadError = AsyncError)]
use crate::sion::error::ReadError;
use crate::sion::layout::Chunks;
#[twin(Lengths)]
use crate::sion::position::Lengths;
use crate::sion::position::Stretch;
use crate::span::{Span, Stride};
use crate::step::DriveError;
#[twin(ReadAt)]
use crate::store::ReadAt;
use crate::store::usize_to_u64;
use embedded_io::{ErrorType, Read, Seek, SeekFrom};
use striae_twin::twin;

/// The stream of one task, from a store `S` with chunk lengths `L`.
///
/// A read never crosses the end of a chunk: one call returns at most the rest of the current chunk.
#[derive(Debug, Clone)]
pub struct Stream<S, L> {
    store: S,
    chunks: Chunks,
    lengths: L,
    position: u64,
    stretch: Option<Stretch>,
}

impl<S, L> Stream<S, L> {
    /// Makes the stream of the task with the chunks `chunks`.
    #[must_use]
    pub const fn new(store: S, chunks: Chunks, lengths: L) -> Self {
        Self { store, chunks, lengths, position: 0, stretch: None }
    }

    /// The position of the next byte to read.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// Sets the position. It may be after the end, where reads return no bytes.
    pub const fn seek_to(&mut self, position: u64) {
        self.position = position;
    }

    /// The places in the physical file of the `len` bytes at stream position `position`, or of the
    /// fewer bytes up to the end of the stream: one span for each chunk, in order. The position
    /// moves over them.
    pub const fn spans(&mut self, position: u64, len: u64) -> Spans<'_, S, L> {
        self.position = position;
        Spans { stream: self, left: len }
    }

    /// The stretch that was used last, if it contains the position.
    fn known(&self) -> Option<Stretch> {
        self.stretch.filter(|stretch| stretch.contains(self.position))
    }

    /// The place of the next bytes in `stretch`, at most `len` of them.
    fn span_in(&mut self, stretch: Option<Stretch>, len: u64) -> Option<Span> {
        let stretch = *self.stretch.insert(stretch?);
        let skip = self.position.saturating_sub(stretch.begin);
        let len = len.min(stretch.len.saturating_sub(skip));
        // The lengths were checked against the chunks when they were read.
        self.chunks.chunk(stretch.chunk).and_then(|chunk| chunk.part(skip, len))
    }

    /// Moves the position over the `n` bytes that were read from `span`.
    fn advance<E>(&mut self, span: Span, n: usize) -> Result<usize, DriveError<E, Error>> {
        if n == 0 {
            return Err(DriveError::Ended { offset: span.offset() });
        }
        self.position = self.position.saturating_add(usize_to_u64(n));
        Ok(n)
    }
}

/// The chunks that a store was told of.
#[derive(Debug, Clone, Copy, Default)]
struct Told {
    /// The number of the chunk after them.
    end: u64,
    count: u64,
}

#[twin(ReadAt, Lengths, ReadError = AsyncError)]
impl<S: ReadAt, L: Lengths<ReadError<S>>> Stream<S, L> {
    /// The length of the stream in bytes.
    ///
    /// # Errors
    /// An error of reading the chunk lengths.
    pub async fn total(&mut self) -> Result<u64, ReadError<S>> {
        self.lengths.total().await
    }

    /// Reads bytes into `buf`, at most the rest of the current chunk, and returns how many. Returns
    /// 0 only if `buf` is empty or at the end of the stream.
    ///
    /// # Errors
    /// An error of the store, or of reading the chunk lengths.
    pub async fn read(&mut self, buf: &mut [u8]) -> Result<usize, ReadError<S>> {
        if buf.is_empty() {
            return Ok(0);
        }
        let span = self.span_here(usize_to_u64(buf.len())).await?;
        let Some(span) = span else { return Ok(0) };
        self.read_in(span, buf).await
    }

    /// Fills `buf` from the stream. If it fails, or its future is dropped, the position is after
    /// the bytes that were read.
    ///
    /// # Errors
    /// [`DriveError::Ended`] if the stream ends before `buf` is full; an error of the store, or of
    /// reading the chunk lengths.
    pub async fn read_all(&mut self, mut buf: &mut [u8]) -> Result<(), ReadError<S>> {
        let mut told = Told::default();
        while !buf.is_empty() {
            let len = usize_to_u64(buf.len());
            let Some(span) = self.span_here(len).await? else {
                return Err(DriveError::Ended { offset: self.position });
            };
            if span.len() < len {
                told = self.tell(span, len, told).await;
            }
            let n = self.read_in(span, buf).await?;
            buf = buf.split_at_mut_checked(n).unwrap_or_default().1; // always: at most all
        }
        Ok(())
    }

    /// Reads bytes of `span` into `buf`, and returns how many.
    async fn read_in(&mut self, span: Span, buf: &mut [u8]) -> Result<usize, ReadError<S>> {
        let buf = span.front_of(buf);
        let read = self.store.read_at(span.offset(), buf).await;
        self.advance(span, read.map_err(DriveError::Store)?.min(buf.len()))
    }

    /// Says to the store that `len` bytes will be read, from `span` on and in the chunks after it,
    /// unless it was told before. How much of these is used is not known: a task that left much
    /// room in its chunks is told of twice as many the next time.
    #[inline(always)] // nothing is left of it where a store does not listen
    async fn tell(&self, span: Span, len: u64, told: Told) -> Told {
        let next = self.stretch.map_or(0, |stretch| stretch.chunk).saturating_add(1);
        if next < told.end {
            return told;
        }
        let Chunks { chunksize, globalskip, .. } = self.chunks;
        let left = len.saturating_sub(span.len());
        let need = left.checked_div(chunksize).unwrap_or(0).saturating_add(1);
        let count = need.max(told.count.saturating_mul(2));
        let count = count.min(self.lengths.count().saturating_sub(next));
        let first = self.chunks.chunk(next).and_then(|chunk| chunk.part(0, chunksize.min(left)));
        let others = first.and_then(|first| Stride::new(first, globalskip.unwrap_or(0), count));
        self.store.will_read(&[Stride::one(span), others.unwrap_or(Stride::NONE)]).await;
        Told { end: next.saturating_add(count), count }
    }

    async fn span_here(&mut self, len: u64) -> Result<Option<Span>, ReadError<S>> {
        let stretch = match self.known() {
            None => self.lengths.stretch_at(self.position).await?,
            known => known,
        };
        Ok(self.span_in(stretch, len))
    }

    /// The (chunk, offset) pointer of the next byte to read. At the end of the stream: the last
    /// chunk with a byte in it, and its length. `None` at the end of an empty stream.
    ///
    /// At the end of a chunk, SIONlib names that chunk and its length; this function names the next
    /// chunk and offset 0. [`Stream::position_of`] accepts both.
    ///
    /// # Errors
    /// An error of reading the chunk lengths.
    pub async fn location(&mut self) -> Result<Option<(u64, u64)>, ReadError<S>> {
        let stretch = match self.lengths.stretch_at(self.position).await? {
            None if self.position > 0 => {
                self.lengths.stretch_at(self.position.saturating_sub(1)).await?
            }
            stretch => stretch,
        };
        Ok(stretch.map(|s| (s.chunk, self.position.saturating_sub(s.begin))))
    }

    /// The stream position of a (chunk, offset) pointer. The offset may equal the chunk's length:
    /// SIONlib gives such pointers when a chunk is full.
    ///
    /// # Errors
    /// [`Error::NoChunk`] if the task did not use the chunk; [`Error::Position`] if the task used
    /// fewer bytes of it; an error of reading the chunk lengths.
    pub async fn position_of(&mut self, chunk: u64, offset: u64) -> Result<u64, ReadError<S>> {
        let stretch = self.chunk(chunk).await?;
        if offset > stretch.len {
            return Err(DriveError::Format(Error::Position));
        }
        Ok(stretch.begin.saturating_add(offset))
    }

    /// The part of the stream that lies in chunk `chunk`.
    ///
    /// # Errors
    /// [`Error::NoChunk`] if the task did not use the chunk; an error of reading the chunk lengths.
    pub async fn chunk(&mut self, chunk: u64) -> Result<Stretch, ReadError<S>> {
        if let Some(stretch) = self.lengths.stretch(chunk).await? {
            return Ok(stretch);
        }
        let blockcount = self.lengths.count();
        Err(DriveError::Format(Error::NoChunk { chunk, blockcount }))
    }

    /// The place in the physical file of the next bytes: at most `len`, and at most up to the end
    /// of their chunk. `None` at the end of the stream. The position moves over them.
    ///
    /// # Errors
    /// An error of reading the chunk lengths.
    pub async fn next_span(&mut self, len: u64) -> Result<Option<Span>, ReadError<S>> {
        let span = self.span_here(len).await?;
        self.position = self.position.saturating_add(span.map_or(0, Span::len));
        Ok(span)
    }

    /// Says to the store that all `total` bytes of the stream will be read.
    pub(super) async fn will_read(&self, total: u64) {
        let count = self.lengths.count();
        let first = Span::new(self.chunks.start, self.chunks.chunksize.min(total));
        let step = self.chunks.globalskip.unwrap_or(0);
        let chunks = first.and_then(|first| Stride::new(first, step, count));
        self.store.will_read(&[chunks.unwrap_or(Stride::NONE)]).await;
    }
}

/// The places of a range of a stream; see [`Stream::spans`].
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
        Stream::read(self, buf)
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
