//! A store in memory, for tests of writers.

use striae_core::store::{FixedSize, ReadAt, WriteAt};

/// Memory that grows, as a file does.
#[derive(Debug, Clone, Default)]
pub struct Growing(pub Vec<u8>);

impl ReadAt for Growing {
    type Error = FixedSize;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, FixedSize> {
        self.0.as_slice().read_at(offset, buf)
    }

    fn size(&self) -> Result<u64, FixedSize> {
        self.0.as_slice().size()
    }
}

#[cfg(feature = "inspect")]
impl striae_inspect::subject::Subject for Growing {}

impl WriteAt for Growing {
    fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), FixedSize> {
        let start = usize::try_from(offset).unwrap();
        let end = start + bytes.len();
        self.0.resize(self.0.len().max(end), 0);
        self.0[start..end].copy_from_slice(bytes);
        Ok(())
    }

    fn set_size(&mut self, len: u64) -> Result<(), FixedSize> {
        self.0.resize(usize::try_from(len).unwrap(), 0);
        Ok(())
    }

    fn sync(&mut self) -> Result<(), FixedSize> {
        Ok(())
    }
}
