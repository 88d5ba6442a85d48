//! What a file of the schema may have: the types and shapes of chunks, the precision of a version.

use crate::error::Error;
use crate::precision::Precision;
use crate::schema::{self, Field, Rows};
use alloc::boxed::Box;
use striae_core::gsd::{Chunk, Version};

impl Field {
    /// Checks type and shape of a chunk; `n` is the number of its rows, if known.
    ///
    /// # Errors
    /// [`Error::Type`] for another type; [`Error::Shape`] for another number of rows or columns.
    pub fn check(&self, chunk: &Chunk, n: Option<u64>) -> Result<(), Error> {
        let (name, frame) = (Box::from(self.name.as_bytes()), chunk.frame);
        let want = self.kind.types();
        if !want.contains(&chunk.kind) {
            return Err(Error::Type { name, frame, found: chunk.kind, want });
        }
        let rows = n.filter(|_| matches!(self.rows, Rows::Fixed(_) | Rows::Each(_)));
        let is_right = rows.is_none_or(|n| n == chunk.n)
            && self.columns.is_none_or(|columns| columns == chunk.m);
        match is_right {
            true => Ok(()),
            false => {
                let (found, want) = ((chunk.n, chunk.m), (rows, self.columns));
                Err(Error::Shape { name, frame, found, want })
            }
        }
    }
}

impl Precision {
    /// Fails if a file with this version of the schema cannot have this precision.
    pub(crate) fn check(self, version: Version) -> Result<(), Error> {
        match self {
            Self::Double if version < schema::VERSION => {
                Err(Error::Precision { version, precision: self })
            }
            _ => Ok(()),
        }
    }
}
