//! The search for bytes that are not zero.

use crate::sion::error::ReadError;
use crate::sion::layout::Chunks;
use crate::span::Span;
use crate::step::{DriveError, read_exact};
use crate::store::{ReadAt, SeekStore, usize_to_u64};

/// A store that may know its holes: parts that were never written and read as zeros.
///
/// The default methods are right for any store. The methods of a sparse file on a file system save
/// reads of its holes.
///
/// Other crates may implement it; a method of a later version has a default.
pub trait Sparse: ReadAt {
    /// The first part of `span` that may have a byte other than zero; all bytes of `span` before it
    /// are zero. `None` if all bytes are zero.
    ///
    /// # Errors
    /// The store's own error.
    fn first_data(&self, span: Span) -> Result<Option<Span>, Self::Error> {
        Ok(Some(span).filter(|span| !span.is_empty()))
    }

    /// The last part of `span` that may have a byte other than zero; all bytes of `span` after it
    /// are zero. `None` if all bytes are zero.
    ///
    /// # Errors
    /// The store's own error.
    fn last_data(&self, span: Span) -> Result<Option<Span>, Self::Error> {
        Ok(Some(span).filter(|span| !span.is_empty()))
    }
}

impl Sparse for [u8] {}

impl<T> Sparse for SeekStore<T> where Self: ReadAt {}

impl<S: Sparse + ?Sized> Sparse for &S {
    fn first_data(&self, span: Span) -> Result<Option<Span>, Self::Error> {
        (**self).first_data(span)
    }

    fn last_data(&self, span: Span) -> Result<Option<Span>, Self::Error> {
        (**self).last_data(span)
    }
}

/// The length of the first read: most chunks have data at their ends.
const FIRST_READ: usize = 512;

/// The number of bytes of `span` up to its last byte that is not zero.
///
/// # Errors
/// The store's own; [`DriveError::BufferTooSmall`] for an empty window.
pub fn used_len<S: Sparse + ?Sized>(
    store: &S,
    span: Span,
    window: &mut [u8],
) -> Result<u64, ReadError<S>> {
    let mut left = span;
    while let Some(data) = store.last_data(left).map_err(DriveError::Store)? {
        let mut end = data.end();
        let mut most = FIRST_READ;
        while end > data.offset() {
            let bytes = front(window, end.saturating_sub(data.offset()), most)?;
            let start = end.saturating_sub(usize_to_u64(bytes.len()));
            read_exact(store, start, bytes)?;
            if let Some(index) = last_nonzero(bytes) {
                let last = start.saturating_add(usize_to_u64(index));
                return Ok(last.saturating_sub(span.offset()).saturating_add(1));
            }
            end = start;
            most = most.saturating_mul(2);
        }
        let Some(rest) = span.part(0, data.offset().saturating_sub(span.offset())) else { break };
        left = rest;
    }
    Ok(0)
}

/// The offset of the first byte in `span` that is not zero, or `None` if all bytes are zero.
///
/// # Errors
/// The store's own; [`DriveError::BufferTooSmall`] for an empty window.
pub fn first_nonzero<S: Sparse + ?Sized>(
    store: &S,
    span: Span,
    window: &mut [u8],
) -> Result<Option<u64>, ReadError<S>> {
    let mut left = span;
    while let Some(data) = store.first_data(left).map_err(DriveError::Store)? {
        let mut at = data.offset();
        let mut most = FIRST_READ;
        while at < data.end() {
            let bytes = front(window, data.end().saturating_sub(at), most)?;
            read_exact(store, at, bytes)?;
            let len = usize_to_u64(bytes.len());
            if let Some(index) = bytes.iter().position(|&byte| byte != 0) {
                return Ok(Some(at.saturating_add(usize_to_u64(index))));
            }
            at = at.saturating_add(len);
            most = most.saturating_mul(2);
        }
        let skip = data.end().saturating_sub(span.offset());
        let Some(rest) = span.part(skip, span.len().saturating_sub(skip)) else { break };
        left = rest;
    }
    Ok(None)
}

/// The front of the window: at most `left` bytes and at most `most`.
fn front<E, F>(window: &mut [u8], left: u64, most: usize) -> Result<&mut [u8], DriveError<E, F>> {
    let len = usize::try_from(left).unwrap_or(usize::MAX).min(most).min(window.len());
    let bytes = window.get_mut(..len).filter(|bytes| !bytes.is_empty());
    bytes.ok_or(DriveError::BufferTooSmall { need: 1 })
}

fn last_nonzero(bytes: &[u8]) -> Option<usize> {
    const STEP: usize = 64; // as many as are looked at in one go
    let mut end = bytes.len();
    for piece in bytes.rchunks(STEP) {
        end = end.saturating_sub(piece.len());
        if piece.iter().fold(0, |any, byte| any | byte) != 0 {
            let index = piece.iter().rposition(|&byte| byte != 0)?;
            return Some(end.saturating_add(index));
        }
    }
    None
}

/// The chunks of a task up to an offset.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    pub(super) chunks: Chunks,
    /// The offset from which on there is no data.
    pub(super) end: u64,
    /// The most chunks that the task can have used.
    pub(super) limit: u64,
}

impl Room {
    /// The place of a chunk up to the end of the data; `None` if none of it is before the end.
    pub(super) fn place(&self, chunk: u64) -> Option<Span> {
        let place = self.chunks.chunk(chunk).filter(|_| chunk < self.limit)?;
        let len = self.end.saturating_sub(place.offset()).min(place.len());
        place.part(0, len).filter(|place| !place.is_empty())
    }

    /// The number of chunks that begin before the end of the data.
    pub(super) fn count(&self) -> u64 {
        let behind = self.end.saturating_sub(self.chunks.start);
        let skip = self.chunks.globalskip.unwrap_or(0);
        let over = behind.checked_rem(skip).unwrap_or(0);
        let whole = behind.checked_div(skip).unwrap_or(0);
        whole.saturating_add(u64::from(over > 0)).min(self.limit)
    }

    /// The bytes of all chunks up to the end of the data.
    pub(super) fn len(&self) -> u64 {
        let Some(last) = self.count().checked_sub(1) else { return 0 };
        let before = last.saturating_mul(self.chunks.chunksize);
        before.saturating_add(self.place(last).map_or(0, Span::len))
    }

    /// The first chunk from `chunk` on that may have data, and its place.
    pub(super) fn next<S: Sparse + ?Sized>(
        &self,
        store: &S,
        mut chunk: u64,
    ) -> Result<Option<(u64, Span)>, ReadError<S>> {
        while let Some(place) = self.place(chunk) {
            let rest = self.end.saturating_sub(place.offset());
            let rest = Span::new(place.offset(), rest).unwrap_or(Span::ZERO);
            let data = store.first_data(rest).map_err(DriveError::Store)?;
            let Some(data) = data else { return Ok(None) };
            if data.offset() < place.end() {
                return Ok(Some((chunk, place)));
            }
            // Holes may be longer than many chunks.
            let behind = data.offset().saturating_sub(self.chunks.start);
            let skip = self.chunks.globalskip.unwrap_or(0);
            let there = behind.checked_div(skip).unwrap_or(0);
            chunk = there.max(chunk.saturating_add(1));
        }
        Ok(None)
    }
}
