//! The tables of a file that is being written, row by row, in a small constant amount of memory.

use crate::posix::PosixFile;
use crate::store::Run;
use std::io;
use striae_core::ffrecord::Layout;
use striae_core::ffrecord::raw::Header;
use zerocopy::IntoBytes;

/// Bytes of a table that are written at once.
const PIECE: usize = 1 << 16;

/// A table whose entries are added in order.
#[derive(Debug)]
struct Table {
    waiting: Run,
    /// The checksum of all entries.
    sum: crc32fast::Hasher,
}

impl Table {
    fn new(at: u64) -> Self {
        Self { waiting: Run::at(at), sum: crc32fast::Hasher::new() }
    }

    /// Writes the waiting bytes if there are at least `least`. After a failure it can be tried
    /// again.
    fn flush(&mut self, file: &PosixFile, least: usize) -> io::Result<()> {
        if self.waiting.len() >= least { self.waiting.write(file) } else { Ok(()) }
    }

    fn push(&mut self, entry: &[u8]) {
        self.waiting.push(entry);
        self.sum.update(entry);
    }
}

/// Both tables, and the header with their checksum.
#[derive(Debug)]
pub(super) struct Tables {
    layout: Layout,
    rows: u64,
    checksums: Table,
    offsets: Table,
}

impl Tables {
    pub(super) fn new(layout: Layout) -> Self {
        let checksums = Table::new(layout.checksums().offset());
        Self { layout, rows: 0, checksums, offsets: Table::new(layout.offsets().offset()) }
    }

    pub(super) const fn layout(&self) -> Layout {
        self.layout
    }

    /// Number of rows so far.
    pub(super) const fn rows(&self) -> u64 {
        self.rows
    }

    /// Makes room for a row, so that [`push`](Self::push) cannot fail.
    pub(super) fn reserve(&mut self, file: &PosixFile) -> io::Result<()> {
        self.checksums.flush(file, PIECE)?;
        self.offsets.flush(file, PIECE)
    }

    /// Adds a row; the caller has checked that it may follow.
    pub(super) fn push(&mut self, crc: u32, offset: i64) {
        self.checksums.push(&crc.to_le_bytes());
        self.offsets.push(&offset.to_le_bytes());
        self.rows = self.rows.saturating_add(1);
    }

    /// Writes the remaining rows and the header.
    pub(super) fn finish(mut self, file: &PosixFile) -> io::Result<()> {
        self.checksums.flush(file, 1)?;
        self.offsets.flush(file, 1)?;
        let n = i64::try_from(self.layout.n()).unwrap_or(i64::MAX);
        let mut sum = crc32fast::Hasher::new();
        sum.update(&n.to_le_bytes());
        sum.combine(&self.checksums.sum);
        sum.combine(&self.offsets.sum);
        let header = Header { checksum_meta: sum.finalize().into(), n: n.into() };
        file.write_all_at(0, header.as_bytes())
    }
}
