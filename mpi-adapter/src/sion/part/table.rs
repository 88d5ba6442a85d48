//! The table of chunk sizes of a new file, read and changed by rank 0 in windows.

use super::{CHECKSUM, refused};
use crate::collect::Handle;
use crate::collective::Collective;
use crate::error::{Code, Failure};
use crate::file::SharedFile;
use embedded_io::ReadExactError;
use std::cell::RefCell;
use striae_core::endian::{ByteOrder, I64};
use striae_core::integrity::Crc32cParts;
use striae_core::sion::{ChunkRule, Meta1};
use striae_core::span::Span;
use striae_core::store::{ReadAt, WriteAt, usize_to_u64};
use zerocopy::{FromBytes, IntoBytes};

/// Length in bytes of a window of entries.
pub(super) const PIECE: usize = 1 << 19;

/// A table in pieces of at most a window.
pub(super) fn pieces(table: Span) -> impl Iterator<Item = Span> {
    let mut done = 0u64;
    std::iter::from_fn(move || {
        let left = table.len().saturating_sub(done);
        let piece = table.part(done, left.min(usize_to_u64(PIECE))).filter(|_| left > 0)?;
        done = done.saturating_add(piece.len());
        Some(piece)
    })
}

pub(super) fn read<C: Collective, F: SharedFile>(
    file: &Handle<C, F>,
    piece: Span,
) -> Result<Vec<u8>, Failure> {
    let mut bytes = vec![0; usize::try_from(piece.len()).unwrap_or(0)];
    file.io().read_exact_at(piece.offset(), &mut bytes).map_err(|error| match error {
        ReadExactError::Other(error) => Failure::io("reading META1", &error),
        ReadExactError::UnexpectedEof => Failure::new(Code::Damaged, "META1 is not in the file"),
    })?;
    Ok(bytes)
}

pub(super) fn entries(bytes: &[u8]) -> &[I64] {
    <[I64]>::ref_from_bytes(bytes).unwrap_or_default()
}

/// What [`store`] finds.
pub(super) struct Stored {
    /// The checksum of all tables.
    pub(super) sums: Crc32cParts,
    /// The sum of the sizes of all chunks.
    pub(super) globalskip: u64,
    /// A bit for each task that collects the records of others, if the rule merges them.
    pub(super) collectors: Collectors,
}

/// A bit for each task that is the first of a group.
#[derive(Debug, Clone, Default)]
pub(super) struct Collectors(Vec<u8>);

impl Collectors {
    fn insert(&mut self, local: u32) {
        let index = usize::try_from(local >> 3).unwrap_or(usize::MAX);
        if self.0.len() <= index {
            self.0.resize(index.saturating_add(1), 0); // of a task, in order
        }
        self.0.get_mut(index).into_iter().for_each(|bits| *bits |= 1 << (local & 7));
    }

    pub(super) fn contains(&self, local: u32) -> bool {
        let bits = usize::try_from(local >> 3).ok().and_then(|index| self.0.get(index));
        bits.is_some_and(|bits| bits & (1 << (local & 7)) != 0)
    }
}

/// Replaces what the tasks asked for, which is in the table of chunk sizes, by what `rule` stores.
/// `sums` is the checksum of all tables before.
pub(super) fn store<C: Collective, F: SharedFile>(
    file: &Handle<C, F>,
    meta1: &Meta1,
    rule: ChunkRule,
    mut sums: Crc32cParts,
) -> Result<Stored, Failure> {
    let (layout, order, failure) = (*meta1.layout(), meta1.order(), RefCell::new(None));
    let asked = Asked::new(file, layout.chunksizes(), order, &failure);
    let (mut collectors, mut globalskip) = (Collectors::default(), 0u64);
    if let ChunkRule::Merged(grouping) = rule {
        let groups = grouping.groups(layout.fsblksize, asked.clone());
        groups.map_err(refused)?.for_each(|group| collectors.insert(group.first));
    }
    let stored = rule.stored(layout.fsblksize, asked);
    failure.take().map_or(Ok(()), Err)?;
    let mut stored = stored.map_err(refused)?;
    for piece in pieces(layout.chunksizes()) {
        let mut bytes = read(file, piece)?;
        let after = layout.commit_fields().offset().saturating_sub(piece.end());
        // A checksum is linear: added twice, what was asked for is no part of it.
        sums.add(CHECKSUM(0, &bytes), piece.len(), after);
        for entry in <[I64]>::mut_from_bytes(&mut bytes).unwrap_or_default() {
            // What follows has been read before it is overwritten: a rule looks ahead.
            let size = stored.next().unwrap_or(0);
            globalskip = globalskip.saturating_add(size); // exact: the rule has checked it
            *entry = I64::new(i64::try_from(size).unwrap_or(i64::MAX), order);
        }
        failure.take().map_or(Ok(()), Err)?;
        sums.add(CHECKSUM(0, &bytes), piece.len(), after);
        let written = file.io().write_all_at(piece.offset(), bytes.as_bytes());
        written.map_err(|error| Failure::io("writing META1", &error))?;
    }
    Ok(Stored { sums, globalskip, collectors })
}

/// What tasks asked for: entries that are read in windows. It ends at a failure.
struct Asked<'a, C, F> {
    file: &'a Handle<C, F>,
    order: ByteOrder,
    failure: &'a RefCell<Option<Failure>>,
    /// What was not read yet.
    left: Span,
    window: Vec<u8>,
    /// Number of bytes of the window that were used.
    used: usize,
}

impl<'a, C: Collective, F: SharedFile> Asked<'a, C, F> {
    const fn new(
        file: &'a Handle<C, F>,
        table: Span,
        order: ByteOrder,
        failure: &'a RefCell<Option<Failure>>,
    ) -> Self {
        Self { file, order, failure, left: table, window: Vec::new(), used: 0 }
    }
}

impl<C, F> Clone for Asked<'_, C, F> {
    fn clone(&self) -> Self {
        Self { window: self.window.clone(), ..*self }
    }
}

impl<C: Collective, F: SharedFile> Iterator for Asked<'_, C, F> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        if self.used == self.window.len() {
            let piece = pieces(self.left).next()?;
            match read(self.file, piece) {
                Ok(window) => (self.window, self.used) = (window, 0),
                Err(failure) => {
                    self.failure.replace(Some(failure));
                    return None;
                }
            }
            self.left = self.left.part(piece.len(), self.left.len().saturating_sub(piece.len()))?;
        }
        let (entry, _) = I64::read_from_prefix(self.window.get(self.used..)?).ok()?;
        self.used = self.used.saturating_add(size_of::<I64>());
        Some(u64::try_from(entry.get(self.order)).unwrap_or(0)) // of a request, never negative
    }
}
