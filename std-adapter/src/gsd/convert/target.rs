//! Where frames are copied to: a file, or nowhere.

use super::part::write_default;
use crate::error::Error;
use crate::gsd::hoomd::schema::Field;
use crate::gsd::write::{FileWriter, Source};
use striae_core::gsd::Chunk;
use striae_hoomd::fallback::Need;

/// What frames are copied to.
pub(super) trait Target {
    /// Adds a copy of a chunk to the frame, under this name.
    fn copy(&mut self, name: &[u8], chunk: &Chunk, from: &mut Source<'_>) -> Result<(), Error>;

    /// Adds a chunk of rows with the field's default, and returns its length in bytes.
    fn add_default(&mut self, field: &'static Field, rows: u64) -> Result<u64, Error>;

    /// Ends the frame.
    fn end(&mut self) -> Result<(), Error>;
}

impl Target for FileWriter {
    fn copy(&mut self, name: &[u8], chunk: &Chunk, from: &mut Source<'_>) -> Result<(), Error> {
        self.copy_chunk(name, chunk, from)
    }

    fn add_default(&mut self, field: &'static Field, rows: u64) -> Result<u64, Error> {
        write_default(self, field, rows)
    }

    fn end(&mut self) -> Result<(), Error> {
        self.end_frame().map(drop)
    }
}

/// The number of chunks and their bytes.
#[derive(Debug, Default)]
pub(super) struct Counted {
    pub(super) chunks: u64,
    pub(super) bytes: u64,
}

impl Counted {
    const fn add(&mut self, bytes: u64) {
        self.chunks = self.chunks.saturating_add(1);
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

impl Target for Counted {
    fn copy(&mut self, _: &[u8], chunk: &Chunk, from: &mut Source<'_>) -> Result<(), Error> {
        from.take(chunk)?;
        self.add(chunk.span.len());
        Ok(())
    }

    fn add_default(&mut self, field: &'static Field, rows: u64) -> Result<u64, Error> {
        let bytes = Need::Default(field, rows).bytes();
        self.add(bytes);
        Ok(bytes)
    }

    fn end(&mut self) -> Result<(), Error> {
        Ok(())
    }
}
