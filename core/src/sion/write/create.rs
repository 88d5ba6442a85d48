//! A physical file is created: META1 is written, with commit fields of zeros.
//!
//! The tables are written first. The first 512 bytes are written last: they hold the magic and the
//! lengths of the tables. So a file that starts with `sion` has a complete META1, also after a
//! power cut.

use super::tables::{WINDOW, check_window};
use crate::endian::{ByteOrder, I64};
use crate::integrity::{Checksum, Crc32cParts};
use crate::sion::disk::meta1::Meta1;
use crate::sion::error::Error;
#[twin(WriteError = AsyncError)]
use crate::sion::error::WriteError;
use crate::sion::layout::{Blocks, ENTRY_LEN, Layout, signed};
use crate::sion::raw;
use crate::sion::read::locate::ChunkSum;
use crate::span::Span;
use crate::step::DriveError;
#[twin(WriteAt)]
use crate::store::WriteAt;
use crate::store::usize_to_u64;
use core::ops::Range;
use striae_twin::twin;
use zerocopy::{FromBytes, IntoBytes};

/// The tasks of a new physical file.
///
/// Other crates may implement it; a method of a later version has a default.
pub trait TaskTable {
    /// The number of tasks.
    fn ntasks(&self) -> u64;

    /// The globalrank of task `local`; any value.
    fn globalrank(&self, local: u32) -> i64;

    /// The chunksize of task `local` as META1 stores it: already rounded.
    fn chunksize(&self, local: u32) -> u64;
}

/// Tasks as pairs of a globalrank and a chunksize.
impl TaskTable for [(i64, u64)] {
    fn ntasks(&self) -> u64 {
        usize_to_u64(self.len())
    }

    fn globalrank(&self, local: u32) -> i64 {
        task(self, local).0
    }

    fn chunksize(&self, local: u32) -> u64 {
        task(self, local).1
    }
}

/// The task with this local rank, which there is.
fn task(tasks: &[(i64, u64)], local: u32) -> (i64, u64) {
    let task = usize::try_from(local).ok().and_then(|local| tasks.get(local));
    task.copied().unwrap_or_default()
}

impl<T: TaskTable + ?Sized> TaskTable for &T {
    fn ntasks(&self) -> u64 {
        (**self).ntasks()
    }

    fn globalrank(&self, local: u32) -> i64 {
        (**self).globalrank(local)
    }

    fn chunksize(&self, local: u32) -> u64 {
        (**self).chunksize(local)
    }
}

/// The places of the blocks of a new file with these tasks.
///
/// # Errors
/// [`Error::OutOfRange`] if the number of tasks is not that of `meta1`, or for a chunksize with
/// which block 0 has no place in a file.
pub fn blocks(meta1: &Meta1, tasks: &(impl TaskTable + ?Sized)) -> Result<Blocks, Error> {
    let (value, expected) = (tasks.ntasks(), i64::from(meta1.ntasks()));
    if u64::from(meta1.ntasks()) != value {
        let (field, value) = (raw::Meta1::ntasks, signed(value));
        return Err(Error::OutOfRange { field, value, min: expected, max: expected });
    }
    let layout = meta1.layout();
    let mut sum = ChunkSum::new(*layout);
    for local in 0..meta1.ntasks() {
        sum.add(signed(tasks.chunksize(local))).map_err(blame_caller)?;
    }
    Ok(sum.blocks())
}

/// The error of a chunksize that comes from the caller and not from a file.
pub(in crate::sion) const fn blame_caller(error: Error) -> Error {
    match error {
        Error::TooLarge { field, value, max, .. } => {
            Error::OutOfRange { field, value, min: 0, max }
        }
        error => error,
    }
}

/// The commit fields of a file that was never closed.
const UNCLOSED: [u8; size_of::<raw::CommitFields>()] = [0; size_of::<raw::CommitFields>()];

/// The length of the part that is written last: the first sector.
const FRONT: usize = 512;

/// META1 of a new physical file without its tables.
#[derive(Debug)]
pub struct Front {
    meta1: Meta1,
    fixed: raw::Meta1,
}

impl Front {
    /// The front of a file with this `meta1`.
    ///
    /// # Errors
    /// [`Error::PrefixTooLong`] above 1023 bytes; [`Error::OutOfRange`] if the prefix has a NUL.
    pub fn new(meta1: &Meta1, prefix: &[u8]) -> Result<Self, Error> {
        Ok(Self { meta1: *meta1, fixed: meta1.to_raw(prefix)? })
    }

    /// The CRC-32C of META1 before the commit fields; `tables` is the checksum of all its tables.
    #[must_use]
    pub fn meta1_crc(&self, mut tables: Crc32cParts, checksum: Option<Checksum>) -> u32 {
        let Some(checksum) = checksum else { return 0 };
        let layout = self.meta1.layout();
        let (fixed, end) = (layout.fixed(), layout.commit_fields().offset());
        let crc = checksum(0, self.fixed.as_bytes());
        tables.add(crc, fixed.len(), end.saturating_sub(fixed.end()));
        tables.crc(end)
    }
}

#[twin(WriteAt)]
impl Front {
    /// Writes the rest of META1 when its tables are written: the commit fields, which are zeros,
    /// the fixed part, and last its first 512 bytes, which start with `sion`.
    ///
    /// # Errors
    /// The store's own error.
    pub async fn write<S: WriteAt>(&self, store: &mut S) -> Result<(), S::Error> {
        let place = self.meta1.layout().commit_fields();
        // Not a hole: SIONlib does not notice that a file ends before them.
        store.write_all_at(place.offset(), &UNCLOSED).await?;
        write_backwards(self.fixed.as_bytes(), store).await
    }
}

/// Writes META1 of a new, empty physical file of these `tasks`: its tables, then the `front`.
/// Returns the CRC-32C of META1 before the commit fields; without a `checksum` it is meaningless.
///
/// `window` needs 8 bytes; a larger window makes fewer and larger writes.
///
/// # Errors
/// [`Error::Window`] if `window` is too small; the store's own error.
#[twin(WriteAt, WriteError = AsyncError)]
pub async fn write_meta1<S: WriteAt, T: TaskTable + ?Sized>(
    front: &Front,
    tasks: &T,
    checksum: Option<Checksum>,
    store: &mut S,
    window: &mut [u8],
) -> Result<u32, WriteError<S>> {
    let (meta1, all) = (&front.meta1, 0..front.meta1.ntasks());
    let sums = write_tables(meta1, all, tasks, checksum, store, window).await?;
    front.write(store).await.map_err(DriveError::Store)?;
    Ok(front.meta1_crc(sums, checksum))
}

/// Writes the entries of the tasks in `range` in META1's tables. Returns their checksum, which is
/// joined with those of the other ranges; without a `checksum` it is meaningless.
///
/// # Errors
/// See [`write_meta1`].
#[twin(WriteAt, WriteError = AsyncError)]
pub async fn write_tables<S: WriteAt, T: TaskTable + ?Sized>(
    meta1: &Meta1,
    range: Range<u32>,
    tasks: &T,
    checksum: Option<Checksum>,
    store: &mut S,
    window: &mut [u8],
) -> Result<Crc32cParts, WriteError<S>> {
    check_window(window, WINDOW)?;
    let (layout, mut sums) = (meta1.layout(), Crc32cParts::NONE);
    let end = layout.commit_fields().offset();
    for column in [Column::Globalranks, Column::Chunksizes] {
        let mut left = range.clone();
        while !left.is_empty() {
            let first = left.start;
            let bytes = column.fill(tasks, &mut left, meta1.order(), window);
            let place = column.place(layout, first..left.start);
            if let Some(checksum) = checksum {
                sums.add(checksum(0, bytes), place.len(), end.saturating_sub(place.end()));
            }
            store.write_all_at(place.offset(), bytes).await.map_err(DriveError::Store)?;
        }
    }
    Ok(sums)
}

/// A table of META1.
#[derive(Debug, Clone, Copy)]
enum Column {
    Globalranks,
    Chunksizes,
}

impl Column {
    /// Fills the window with entries of the first tasks of `left`, and takes these off. Returns the
    /// bytes.
    fn fill<'w>(
        self,
        tasks: &(impl TaskTable + ?Sized),
        left: &mut Range<u32>,
        order: ByteOrder,
        window: &'w mut [u8],
    ) -> &'w [u8] {
        let count = window.len() >> 3;
        let (entries, _) =
            <[I64]>::mut_from_prefix_with_elems(window, count).unwrap_or((&mut [], &mut []));
        let mut len = 0usize;
        for (entry, local) in entries.iter_mut().zip(&mut *left) {
            let value = match self {
                Self::Globalranks => tasks.globalrank(local),
                Self::Chunksizes => signed(tasks.chunksize(local)),
            };
            *entry = I64::new(value, order);
            len = len.saturating_add(size_of::<I64>());
        }
        window.get(..len).unwrap_or_default()
    }

    /// The place of the entries of these tasks.
    fn place(self, layout: &Layout, tasks: Range<u32>) -> Span {
        let table = match self {
            Self::Globalranks => layout.globalranks(),
            Self::Chunksizes => layout.chunksizes(),
        };
        let [start, end] = [tasks.start, tasks.end].map(|n| u64::from(n).saturating_mul(ENTRY_LEN));
        let place = table.part(start, end.saturating_sub(start));
        place.unwrap_or(Span::ZERO) // inside: the range is of the file's tasks
    }
}

/// Empties a store.
#[twin(WriteAt)]
pub(in crate::sion) async fn empty<S: WriteAt>(store: &mut S) -> Result<(), S::Error> {
    store.set_size(0).await?;
    // Else a power cut could leave an old size, with old bytes and new ones. Also if the store was
    // empty already: a program that was killed may have emptied it.
    store.sync().await
}

/// Writes META1 or the start of it, the first sector last.
#[twin(WriteAt)]
pub(in crate::sion) async fn write_backwards<S: WriteAt>(
    meta1: &[u8],
    store: &mut S,
) -> Result<(), S::Error> {
    let (front, rest) = meta1.split_at_checked(FRONT).unwrap_or((meta1, &[]));
    store.write_all_at(usize_to_u64(FRONT), rest).await?;
    store.sync().await?;
    store.write_all_at(0, front).await?;
    store.sync().await
}
