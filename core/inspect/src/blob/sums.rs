//! Checksums of blobs, many at once.

use crate::subject::{Subject, Sum};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use striae_core::integrity::crc32c_combine;
use striae_core::span::Span;

/// What is known of a row of the table.
#[derive(Debug, Default)]
pub(super) struct Known {
    is_known: AtomicBool,
    /// The checksum of the bytes, if it is known.
    crc: AtomicU32,
}

impl Known {
    pub(super) fn get(&self) -> Option<u32> {
        self.is_known.load(Ordering::Acquire).then(|| self.crc.load(Ordering::Relaxed))
    }

    pub(super) fn set(&self, crc: u32) {
        self.crc.store(crc, Ordering::Relaxed);
        self.is_known.store(true, Ordering::Release);
    }
}

/// Bytes of a blob that follow each other.
pub(super) struct Piece {
    pub(super) row: usize,
    pub(super) span: Span,
    /// Whether they are the last ones of the blob.
    pub(super) is_last: bool,
}

/// Checksums of blobs, of which several are computed at once.
pub(super) struct Sums<'a> {
    known: &'a [Known],
    pieces: Vec<Piece>,
    /// The row at hand, and the checksum so far; `None` if not all of it could be read.
    now: (usize, Option<u32>),
}

impl<'a> Sums<'a> {
    /// The most pieces that are summed up at once.
    const MOST: usize = 1 << 14;

    /// The checksums of rows, which are stored to `known`.
    pub(super) const fn new(known: &'a [Known]) -> Self {
        Self { known, pieces: Vec::new(), now: (usize::MAX, None) }
    }

    /// Adds bytes; those of a row come one after another.
    pub(super) fn add<S: Subject>(&mut self, store: &S, piece: Piece) {
        let before = self.pieces.last_mut();
        let joins = |before: &&mut Piece| {
            before.row == piece.row && before.span.end() == piece.span.offset()
        };
        if let Some(before) = before.filter(joins) {
            if let Some(span) = Span::between(before.span.offset(), piece.span.end()) {
                *before = Piece { span, ..piece };
            }
            return;
        }
        if self.pieces.len() >= Self::MOST {
            self.run(store);
        }
        self.pieces.push(piece);
    }

    /// Computes the checksums that were added.
    pub(super) fn run<S: Subject>(&mut self, store: &S) {
        let spans: Vec<_> = self.pieces.iter().map(|piece| piece.span).collect();
        let mut pieces = self.pieces.drain(..);
        store.sums(Sum::Crc32c, &spans, &mut |crc| {
            let Some(Piece { row, span, is_last }) = pieces.next() else { return };
            let before = if self.now.0 == row { self.now.1 } else { Some(0) };
            let crc = before.zip(crc.ok()).map(|(before, crc)| match before {
                0 => crc,
                _ => crc32c_combine(before, crc, span.len()),
            });
            self.now = (row, crc);
            if let (Some(crc), Some(known)) = (crc.filter(|_| is_last), self.known.get(row)) {
                known.set(crc);
            }
        });
    }
}
