//! What a rank knows of the tables of the last commit: the entries that it wrote itself.
//!
//! Without it, every rank that commits again reads its old entries, and opens the file for that,
//! also if another rank writes for it.

use super::WINDOW;
use std::io;
use striae_core::sion::tables::Publication;
use striae_core::store::{ReadAt, WriteAt, usize_to_u64};

/// The pieces of META2 that a rank wrote, by their distance from its start. A META2 that was moved
/// since, of the same length, has the same pieces at the same distances.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// Length in bytes of that META2 with all of its tables.
    meta2: u64,
    pieces: Vec<(u64, Vec<u8>)>,
    len: usize,
    /// The most bytes that are kept.
    most: usize,
}

impl Known {
    /// Nothing.
    pub(super) const fn new() -> Self {
        Self { meta2: 0, pieces: Vec::new(), len: 0, most: WINDOW }
    }

    /// Keeps a piece, unless a rank that has as much would better read it.
    fn keep(&mut self, at: u64, bytes: &[u8]) {
        self.len = self.len.saturating_add(bytes.len());
        if self.len <= self.most {
            self.pieces.push((at, bytes.to_vec()));
        }
    }

    fn get(&self, at: u64, len: usize) -> Option<&[u8]> {
        let (start, bytes) = self.pieces.iter().find(|(start, bytes)| {
            at.checked_sub(*start).is_some_and(|skip| skip < usize_to_u64(bytes.len()))
        })?;
        let skip = usize::try_from(at.checked_sub(*start)?).ok()?;
        bytes.get(skip..skip.checked_add(len)?)
    }
}

/// A file whose reads are answered from what is known of the last commit, and whose writes are kept
/// for the next one.
#[derive(Debug)]
pub(super) struct Recalled<'k, S> {
    file: S,
    known: &'k Known,
    /// Where the META2 of the last commit starts, if `known` is about it.
    old: Option<u64>,
    new: u64,
    written: Known,
}

impl<'k, S> Recalled<'k, S> {
    /// A rank that cannot read the file keeps all that it writes.
    pub(super) fn new(
        file: S,
        known: &'k Known,
        publication: &Publication,
        can_read: bool,
    ) -> Self {
        let Publication { old, new, .. } = publication;
        let old = old.filter(|old| old.span().len() == known.meta2).map(|old| old.start());
        let most = if can_read { WINDOW } else { usize::MAX };
        let written = Known { meta2: new.span().len(), most, ..Known::default() };
        Self { file, known, old, new: new.start(), written }
    }

    /// What is known after the commit.
    pub(super) fn into_known(self) -> Known {
        self.written
    }
}

impl<S: ReadAt<Error = io::Error>> ReadAt for Recalled<'_, S> {
    type Error = io::Error;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let at = self.old.and_then(|old| offset.checked_sub(old));
        match at.and_then(|at| self.known.get(at, buf.len())) {
            Some(bytes) => {
                buf.copy_from_slice(bytes); // as long
                Ok(buf.len())
            }
            None => self.file.read_at(offset, buf),
        }
    }

    fn size(&self) -> io::Result<u64> {
        self.file.size()
    }
}

impl<S: WriteAt<Error = io::Error>> WriteAt for Recalled<'_, S> {
    fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if let Some(at) = offset.checked_sub(self.new) {
            self.written.keep(at, bytes);
        }
        self.file.write_all_at(offset, bytes)
    }

    fn set_size(&mut self, len: u64) -> io::Result<()> {
        self.file.set_size(len)
    }

    fn order(&mut self) -> io::Result<()> {
        self.file.order()
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync()
    }
}
