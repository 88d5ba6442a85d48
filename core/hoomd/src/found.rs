//! Where a frame has a value: for programs that copy values as they are in the file.

use crate::frame::Frame;
use crate::schema::{self, Field};
use crate::source::Source;
use alloc::vec::Vec;
use striae_core::gsd::{Chunk, ChunkType};
use striae_core::store::usize_to_u64;

/// Where the value of a name is that a frame has for readers of the schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// In this chunk, of the frame itself or of frame 0.
    Chunk(Chunk),
    /// Nowhere: each row has the default.
    Default {
        /// The type that is written by default.
        kind: ChunkType,
        /// Number of columns.
        m: u32,
        /// Number of rows.
        n: u64,
        /// The bytes of each row; of a chunk with a fixed number of rows, of all rows.
        row: Vec<u8>,
    },
}

impl<F: Source> Frame<'_, F> {
    /// Where the value of this name is; `None` if the frame has none. Names that the schema does
    /// not define are only looked for in the frame itself, as readers do.
    ///
    /// # Errors
    /// See [`Frame`].
    pub fn find_named(&self, name: impl AsRef<[u8]>) -> Result<Option<Found>, F::Error> {
        let name = name.as_ref();
        if name.starts_with(b"log/") {
            return Ok(self.logged(name)?.copied().map(Found::Chunk));
        }
        match schema::by_name(name).filter(|field| field.until.is_none()) {
            Some(field) => self.find_field(field),
            None => Ok(self.own(name)?.copied().map(Found::Chunk)),
        }
    }

    fn find_field(&self, field: &Field) -> Result<Option<Found>, F::Error> {
        let (n, chunk) = self.find(field)?;
        if let Some(chunk) = chunk {
            return Ok(Some(Found::Chunk(chunk)));
        }
        let Some((kind, m, row)) = field.default_row() else { return Ok(None) };
        let size = kind.size().get().saturating_mul(m.into());
        let rows = usize_to_u64(row.len()).checked_div(size).unwrap_or(0);
        let n = if field.rows.group().is_some() { n } else { rows };
        Ok(Some(Found::Default { kind, m, n, row }))
    }
}
