//! The checksums of a frame: the chunk that holds them, and the check of the other chunks.

use super::chunk::Chunk;
use crate::gsd::error::Error;
use crate::gsd::kind::ChunkType;
use crate::gsd::raw::ChecksumRow;
use crate::integrity::Checksum;
use crate::span::Span;
use zerocopy::{FromBytes, IntoBytes};

/// The name of the chunk that holds the checksums of its frame (`spec/gsd.md#checksums`).
pub const NAME: &[u8] = b"striae/crc32c";

/// The checksums of a frame, checked by their own checksum.
#[derive(Debug, Clone, Copy)]
pub struct Checksums<'r> {
    chunk: Chunk,
    rows: &'r [ChecksumRow],
}

impl<'r> Checksums<'r> {
    /// Reads the bytes of `chunk`, which has the name [`NAME`].
    ///
    /// # Errors
    /// [`Error::Checksum`] if the bytes differ from those that were written; [`Error::NoChecksums`]
    /// if such a chunk cannot hold checksums.
    pub fn parse(chunk: Chunk, bytes: &'r [u8], checksum: Checksum) -> Result<Self, Error> {
        let bad = Error::NoChecksums { frame: chunk.frame, id: chunk.id };
        let rows = <[ChecksumRow]>::ref_from_bytes(bytes).map_err(|_| bad)?;
        let (own, others) = rows.split_last().ok_or(bad)?;
        let is_right = chunk.kind == ChunkType::U32 && chunk.m == 2;
        if !is_right || own.id.get() != u32::from(chunk.id) {
            return Err(bad);
        }
        let sums = Self { chunk, rows };
        let crc = checksum(0, others.as_bytes());
        sums.compare(others.len(), own, chunk.to_raw().sealed_crc(crc, checksum))?;
        Ok(sums)
    }

    /// Compares the checksum of another chunk of the frame, whose bytes have the CRC-32C `crc`.
    ///
    /// # Errors
    /// [`Error::Checksum`] if the chunk's bytes or its entry differ from those that were written;
    /// [`Error::NoChecksums`] if the frame has no checksum of this chunk.
    pub fn check(&self, chunk: &Chunk, crc: u32, checksum: Checksum) -> Result<(), Error> {
        let id = u32::from(chunk.id);
        let none = Error::NoChecksums { frame: self.chunk.frame, id: chunk.id };
        let at = self.rows.binary_search_by(|row| row.id.get().cmp(&id));
        // The last row, the chunk's own, need not be in order.
        let at = at.or_else(|_| self.rows.iter().position(|row| row.id.get() == id).ok_or(none))?;
        let row = self.rows.get(at).ok_or(none)?;
        self.compare(at, row, chunk.to_raw().sealed_crc(crc, checksum))
    }

    /// The ids of the chunks that the frame had when it was written.
    pub fn ids(&self) -> impl Iterator<Item = u32> + use<'r> {
        self.rows.iter().map(|row| row.id.get())
    }

    fn compare(&self, at: usize, row: &ChecksumRow, computed: u32) -> Result<(), Error> {
        let stored = row.crc.get();
        if stored == computed {
            return Ok(());
        }
        let skip = crate::store::usize_to_u64(at).saturating_mul(8).saturating_add(4);
        let offset = self.chunk.span.part(skip, 4).map_or(0, Span::offset);
        Err(Error::Checksum { field: ChecksumRow::crc, offset, stored, computed })
    }
}
