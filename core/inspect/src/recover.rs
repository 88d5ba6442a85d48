//! What recoveries of all formats share: the new file, and what is copied to it.

use crate::subject::{Failed, read_pieces};
use alloc::vec::Vec;
use core::fmt;
use striae_core::span::Span;
use striae_core::store::{ReadAt, WriteAt, usize_to_u64};

/// The reason why a new file was not written, with the side that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unwritten<R, W> {
    /// The damaged file cannot be read.
    Read(R),
    /// The new file cannot be written.
    Write(W),
}

impl<E> Unwritten<E, E> {
    /// The error of either side, if both have the same.
    pub(crate) fn into_one(self) -> E {
        match self {
            Self::Read(error) | Self::Write(error) => error,
        }
    }
}

impl<R: fmt::Display, W: fmt::Display> fmt::Display for Unwritten<R, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => error.fmt(f),
            Self::Write(error) => error.fmt(f),
        }
    }
}

/// The result of copying from a store `S` to a store `W`, with errors of the format `F`.
pub(crate) type Copied<S, W, F> = Result<(), Unwritten<Failed<S, F>, <W as ReadAt>::Error>>;

/// Copies a span of a file to the offset `at` of another file, by way of `window`. `progress` gets
/// the length of each copied piece.
pub(crate) fn copy<S: ReadAt + ?Sized, W: WriteAt, F>(
    (from, span): (&S, Span),
    (to, mut at): (&mut W, u64),
    window: &mut Vec<u8>,
    progress: &mut dyn FnMut(u64),
) -> Copied<S, W, F> {
    let mut written = Ok(());
    let read = read_pieces(from, span, window, &mut |bytes| {
        written = to.write_all_at(at, bytes);
        at = at.saturating_add(usize_to_u64(bytes.len()));
        progress(usize_to_u64(bytes.len()));
        written.is_ok()
    });
    written.map_err(Unwritten::Write)?;
    read.map_err(Unwritten::Read)
}
