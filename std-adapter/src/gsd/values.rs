//! The values of a chunk.

use super::ErrorKind;
use super::file::File;
use crate::error::Error;
use std::io;
use std::ops::Range;
use striae_core::gsd::{self as core_gsd, Chunk, ChunkType};
use striae_core::span::Span;
use striae_core::store::usize_to_u64;
use striae_hoomd::element::{Element, to_host};
use striae_hoomd::source;
use striae_inspect::gsd::together;
use zerocopy::IntoBytes;

/// The longest span in bytes that is read at once for several short chunks.
const TOGETHER: u64 = 1 << 16;

/// Whether a chunk is read together with others.
fn is_short(chunk: &Chunk) -> bool {
    chunk.span.len() < 1 << 12
}

impl File {
    /// Reads all values of a chunk, row by row.
    ///
    /// # Errors
    /// - [`ErrorKind::NotOfType`] if the values have another type.
    /// - [`Ended`](crate::error::ErrorKind::Ended) if the file has become shorter.
    /// - [`ErrorKind::Chunk`] if the bytes do not match their checksum, in a file that is
    ///   [checked](super::OpenOptions::checked).
    /// - An error of the operating system, also if there is no memory for the values.
    pub fn read<T: Element>(&self, chunk: &Chunk) -> Result<Vec<T>, Error> {
        self.read_rows(chunk, 0..chunk.n)
    }

    /// Reads the values of some rows of a chunk.
    ///
    /// # Errors
    /// [`core_gsd::Error::NoRows`] if the chunk does not have all of the rows; as
    /// [`read`](Self::read).
    pub fn read_rows<T: Element>(&self, chunk: &Chunk, rows: Range<u64>) -> Result<Vec<T>, Error> {
        let span = self.rows_of::<T>(chunk, rows)?;
        let count = span.len().checked_div(T::KIND.size().get()).unwrap_or(0);
        let mut values = self.zeroed(count)?;
        self.fill(chunk, span, values.as_mut_bytes())?;
        to_host(&mut values);
        Ok(values)
    }

    /// Reads all values of a chunk into `values`, which must have exactly their number.
    ///
    /// # Errors
    /// [`core_gsd::Error::Rows`] if `values` has another length; as [`read`](Self::read).
    pub fn read_into<T: Element>(&self, chunk: &Chunk, values: &mut [T]) -> Result<(), Error> {
        self.read_rows_into(chunk, 0..chunk.n, values)
    }

    /// Reads the values of some rows into `values`, which must have exactly their number.
    ///
    /// # Errors
    /// [`core_gsd::Error::Rows`] if `values` has another length; as [`read_rows`](Self::read_rows).
    pub fn read_rows_into<T: Element>(
        &self,
        chunk: &Chunk,
        rows: Range<u64>,
        values: &mut [T],
    ) -> Result<(), Error> {
        let span = self.rows_of::<T>(chunk, rows)?;
        let len = usize_to_u64(size_of_val(values));
        if len != span.len() {
            let rows = core_gsd::Error::Rows { len, want: span.len() };
            return Err(self.error(self.in_chunk(chunk.frame, chunk.id, rows)));
        }
        self.fill(chunk, span, values.as_mut_bytes())?;
        to_host(values);
        Ok(())
    }

    /// Reads all bytes of a chunk as they are in the file: little-endian, row by row.
    ///
    /// # Errors
    /// As [`read`](Self::read), except `NotOfType`.
    pub fn read_bytes(&self, chunk: &Chunk) -> Result<Vec<u8>, Error> {
        let mut bytes = self.zeroed(chunk.span.len())?;
        self.fill(chunk, chunk.span, &mut bytes)?;
        Ok(bytes)
    }

    /// Reads all bytes of a chunk as they are in the file into `bytes`, which must have exactly
    /// their number.
    ///
    /// # Errors
    /// [`core_gsd::Error::Rows`] if `bytes` has another length; as
    /// [`read_bytes`](Self::read_bytes).
    pub fn read_bytes_into(&self, chunk: &Chunk, bytes: &mut [u8]) -> Result<(), Error> {
        self.check_len(chunk, bytes)?;
        self.fill(chunk, chunk.span, bytes)
    }

    /// Checks that a buffer has exactly as many bytes as a chunk.
    fn check_len(&self, chunk: &Chunk, bytes: &[u8]) -> Result<(), Error> {
        let (len, want) = (usize_to_u64(bytes.len()), chunk.span.len());
        if len == want {
            return Ok(());
        }
        let rows = core_gsd::Error::Rows { len, want };
        Err(self.error(self.in_chunk(chunk.frame, chunk.id, rows)))
    }

    /// Reads all bytes of several chunks, each into a buffer of exactly its length, as they are in
    /// the file. Short chunks that are close together, like those of a small frame, are read at
    /// once.
    ///
    /// # Errors
    /// [`core_gsd::Error::Rows`] if a buffer has another length than its chunk; as
    /// [`read_bytes`](Self::read_bytes).
    pub fn read_chunks(&self, parts: &mut [(Chunk, &mut [u8])]) -> Result<(), Error> {
        for (chunk, bytes) in &*parts {
            self.check_len(chunk, bytes)?;
        }
        let short = parts.iter().map(|(chunk, _)| *chunk).filter(is_short).collect::<Vec<_>>();
        let whole = together(&short).filter(|whole| short.len() > 1 && whole.len() <= TOGETHER);
        let mut all = self.zeroed(whole.map_or(0, Span::len))?;
        if let Some(whole) = whole {
            self.read_span(whole, &mut all)?;
        }
        for (chunk, bytes) in parts {
            let start = whole.filter(|_| is_short(chunk)).and_then(|whole| {
                usize::try_from(chunk.span.offset().checked_sub(whole.offset())?).ok()
            });
            let Some(start) = start else {
                self.fill(chunk, chunk.span, bytes)?;
                continue;
            };
            let part = start..start.saturating_add(bytes.len());
            if let Some(from) = all.get(part) {
                bytes.copy_from_slice(from); // as long, as was checked above
            }
            if self.is_checked() {
                self.check_crc(chunk, crc32c::crc32c(bytes))?;
            }
        }
        Ok(())
    }

    /// Reads the text of a chunk of type [`ChunkType::Character`], without NULs at its end.
    ///
    /// # Errors
    /// [`ErrorKind::NotOfType`] if it has another type; [`ErrorKind::NotText`] if it is not UTF-8;
    /// as [`read`](Self::read).
    pub fn read_text(&self, chunk: &Chunk) -> Result<String, Error> {
        self.check_type(chunk, ChunkType::Character)?;
        source::read_text(self, chunk)
    }

    fn rows_of<T: Element>(&self, chunk: &Chunk, rows: Range<u64>) -> Result<Span, Error> {
        self.check_type(chunk, T::KIND)?;
        self.rows(chunk, rows)
    }

    fn check_type(&self, chunk: &Chunk, asked: ChunkType) -> Result<(), Error> {
        let Chunk { frame, kind, id, .. } = *chunk;
        if kind == asked {
            return Ok(());
        }
        Err(self.error(ErrorKind::NotOfType { frame, name: self.name_of(id), kind, asked }))
    }

    /// Memory for `count` values, or an error if there is not enough memory.
    fn zeroed<T: Element>(&self, count: u64) -> Result<Vec<T>, Error> {
        let values = usize::try_from(count).ok().and_then(|count| T::new_vec_zeroed(count).ok());
        values.ok_or_else(|| self.error(io::Error::from(io::ErrorKind::OutOfMemory)))
    }

    /// Fills `bytes` with a span of a chunk. In a checked file, a whole chunk is compared with its
    /// checksum.
    pub(super) fn fill(&self, chunk: &Chunk, span: Span, bytes: &mut [u8]) -> Result<(), Error> {
        self.read_span(span, bytes)?;
        if self.is_checked() && span == chunk.span {
            self.check_crc(chunk, crc32c::crc32c(bytes))?;
        }
        Ok(())
    }
}
