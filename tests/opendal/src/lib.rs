//! Files of striae's formats in any store of OpenDAL: S3, a web server, a folder, memory. This is
//! all that a library in its clothes has to write.
#![forbid(unsafe_code)]

use opendal::{Operator, Reader};
use std::io;
use striae_core::embedded_io::ReadExactError;
use striae_core::span::Stride;
use striae_core::store::AsyncReadAt;

/// An object, read by ranges. Around it belongs a [`ReadAhead`](striae_core::store::ReadAhead):
/// then any file is opened in three requests, and each list of it read in one.
pub struct Object {
    reader: Reader,
    len: u64,
}

impl Object {
    /// The object at `path`. Asks for its length.
    ///
    /// # Errors
    /// The operator's own error.
    pub async fn open(operator: &Operator, path: &str) -> opendal::Result<Self> {
        let len = operator.stat(path).await?.content_length();
        // Ranges that are less than 4 KiB apart are one request, others are made at the same time.
        let reader = operator.reader_with(path).gap(4096).concurrent(8).await?;
        Ok(Self { reader, len })
    }
}

impl AsyncReadAt for Object {
    type Error = io::Error;

    async fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let end = offset.saturating_add(buf.len() as u64).min(self.len);
        if offset >= end {
            return Ok(0);
        }
        Ok(self.reader.read_into(&mut &mut *buf, offset..end).await?)
    }

    async fn size(&self) -> io::Result<u64> {
        Ok(self.len)
    }

    async fn read_spans_at(
        &self,
        spans: &[Stride],
        mut buf: &mut [u8],
    ) -> Result<(), ReadExactError<io::Error>> {
        let spans = spans.iter().flat_map(|stride| stride.spans());
        let ranges: Vec<_> = spans.map(|span| span.offset()..span.end()).collect();
        if ranges.iter().any(|range| range.end > self.len) {
            return Err(ReadExactError::UnexpectedEof);
        }
        let parts = self.reader.fetch(ranges).await;
        for part in parts.map_err(|error| ReadExactError::Other(error.into()))? {
            let (front, rest) = buf.split_at_mut(part.len());
            front.copy_from_slice(&part.to_vec());
            buf = rest;
        }
        Ok(())
    }
}
