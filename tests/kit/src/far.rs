//! A store far away, for which each request is expensive.

use embedded_io::ReadExactError;
use std::cell::Cell;
use striae_core::span::Stride;
use striae_core::store::{FixedSize, ReadAt};

/// A store that counts what it is asked: each read of one span, each call for several spans, and
/// each question for the length is a request.
#[derive(Debug)]
pub struct Far<'a> {
    bytes: &'a [u8],
    requests: Cell<u64>,
    moved: Cell<u64>,
}

impl<'a> Far<'a> {
    /// A store of these bytes.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, requests: Cell::new(0), moved: Cell::new(0) }
    }

    /// The requests so far, and the bytes that they brought.
    #[must_use]
    pub fn asked(&self) -> (u64, u64) {
        (self.requests.get(), self.moved.get())
    }

    fn count(&self, bytes: usize) {
        self.requests.set(self.requests.get() + 1);
        self.moved.set(self.moved.get() + bytes as u64);
    }
}

impl ReadAt for Far<'_> {
    type Error = FixedSize;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, FixedSize> {
        let n = self.bytes.read_at(offset, buf)?;
        self.count(n);
        Ok(n)
    }

    fn size(&self) -> Result<u64, FixedSize> {
        self.count(0);
        self.bytes.size()
    }

    fn read_spans_at(
        &self,
        spans: &[Stride],
        buf: &mut [u8],
    ) -> Result<(), ReadExactError<FixedSize>> {
        self.count(buf.len());
        self.bytes.read_spans_at(spans, buf)
    }
}
