//! A file in memory that cannot become much longer, and stops whoever works too much.

use core::cell::Cell;
use striae_core::store::{ReadAt, WriteAt};

/// A store that remembers what was done to it.
#[derive(Debug)]
pub struct Bounded {
    /// What it holds.
    pub bytes: Vec<u8>,
    limit: usize,
    /// All changes in their order.
    pub changes: Vec<Change>,
    /// Changes and syncs before the one that fails, once.
    pub fails: Option<usize>,
    /// The longest that it was asked to be.
    pub asked: u64,
    /// Operations and bytes that are left.
    left: Cell<(u64, u64)>,
}

/// A change of a store.
#[derive(Debug, Clone)]
pub enum Change {
    /// Bytes were written at an offset.
    Write(usize, Vec<u8>),
    /// It has this length now.
    SetSize(usize),
}

/// The file would become too long, or the operation was told to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full;

impl core::fmt::Display for Full {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the store is full")
    }
}

impl core::error::Error for Full {}

impl embedded_io::Error for Full {
    fn kind(&self) -> embedded_io::ErrorKind {
        embedded_io::ErrorKind::OutOfMemory
    }
}

impl Change {
    /// Does it to `file`.
    pub fn apply(&self, file: &mut Vec<u8>) {
        match self {
            Self::Write(offset, bytes) => {
                file.resize(file.len().max(offset + bytes.len()), 0);
                file[*offset..offset + bytes.len()].copy_from_slice(bytes);
            }
            Self::SetSize(len) => file.resize(*len, 0),
        }
    }
}

impl Bounded {
    /// `file`, which may grow by so many bytes, and work in proportion to its length.
    #[must_use]
    pub fn new(file: &[u8], growth: usize) -> Self {
        let len = u64::try_from(file.len()).unwrap();
        Self {
            bytes: file.to_vec(),
            limit: file.len() + growth,
            changes: Vec::new(),
            fails: None,
            asked: 0,
            left: Cell::new((1024 + 16 * len, (1 << 16) + 128 * len)),
        }
    }

    /// So many operations and bytes may be done to it.
    #[must_use]
    pub fn work(self, operations: u64, bytes: u64) -> Self {
        self.left.set((operations, bytes));
        self
    }

    fn spend(&self, bytes: usize) {
        let (operations, moved) = self.left.get();
        let operations = operations.checked_sub(1).expect("too many operations");
        let bytes = u64::try_from(bytes).unwrap();
        self.left.set((operations, moved.checked_sub(bytes).expect("too many bytes")));
    }

    fn room(&mut self, end: u64) -> Result<usize, Full> {
        self.asked = self.asked.max(end);
        self.fail()?;
        usize::try_from(end).ok().filter(|&end| end <= self.limit).ok_or(Full)
    }

    fn fail(&mut self) -> Result<(), Full> {
        self.fails = match self.fails {
            Some(0) => {
                self.fails = None;
                return Err(Full);
            }
            fails => fails.map(|before| before - 1),
        };
        Ok(())
    }

    fn change(&mut self, change: Change) {
        change.apply(&mut self.bytes);
        self.changes.push(change);
    }
}

impl ReadAt for Bounded {
    type Error = Full;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Full> {
        let n = self.bytes.as_slice().read_at(offset, buf).unwrap();
        self.spend(n);
        Ok(n)
    }

    fn size(&self) -> Result<u64, Full> {
        Ok(self.bytes.as_slice().size().unwrap())
    }
}

impl WriteAt for Bounded {
    fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Full> {
        self.spend(bytes.len());
        let end = self.room(offset.saturating_add(u64::try_from(bytes.len()).unwrap()))?;
        self.change(Change::Write(end - bytes.len(), bytes.to_vec()));
        Ok(())
    }

    fn set_size(&mut self, len: u64) -> Result<(), Full> {
        let len = self.room(len)?;
        self.change(Change::SetSize(len));
        Ok(())
    }

    fn sync(&mut self) -> Result<(), Full> {
        self.fail()
    }
}
