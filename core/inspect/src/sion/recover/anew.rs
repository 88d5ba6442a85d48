//! A file whose streams are placed anew: each has one chunk, directly after the one before.

use super::part::Part;
use super::write::{Bytes, CopyFailed, CopySpan, Unwritten, close};
use super::{Recovery, WINDOW};
use crate::sion::mapping::Address;
use crate::subject::read;
use alloc::vec;
use alloc::vec::Vec;
use striae_core::integrity::{Checksum, crc32c_combine};
use striae_core::sion::create::{Front, blocks, write_meta1};
use striae_core::sion::{Attributes, Blocks, Book, Error, KeyvalMode, Meta1};
use striae_core::step::DriveError;
use striae_core::store::{ReadAt, WriteAt, usize_to_u64};

/// The fsblksize of a file in which that of the old one would only make a gap.
const FSBLKSIZE: u32 = 512;

/// Attributes of the new file: those of the old one. A set of `nfiles` files.
fn attributes(part: &Part, nfiles: u32) -> Attributes {
    let head = part.remains.head();
    let meta1 = &head.meta1;
    let has_data = meta1.layout().first_chunk() <= head.file_len;
    Attributes {
        order: meta1.order(),
        data_order: meta1.data_order(),
        fsblksize: if has_data { meta1.fsblksize() } else { FSBLKSIZE },
        nfiles,
        filenumber: meta1.filenumber().unwrap_or(1),
        keyval: meta1.keyval() == KeyvalMode::Inline,
    }
}

/// Global rank and chunksize of each task.
fn tasks(part: &Part) -> Vec<(i64, u64)> {
    part.tasks.iter().map(|task| (task.globalrank, task.recovered.bytes)).collect()
}

/// META1 of the new file, and its blocks.
fn plan(part: &Part, nfiles: u32) -> Result<(Meta1, Blocks), Error> {
    let tasks = tasks(part);
    let meta1 = Meta1::new(&attributes(part, nfiles), usize_to_u64(tasks.len()))?;
    let blocks = blocks(&meta1, tasks.as_slice())?;
    Ok((meta1, blocks))
}

/// The end of the new file, or the reason why there can be none.
pub(super) fn end(part: &Part, entries: u64) -> Result<u64, Error> {
    let (meta1, blocks) = plan(part, part.remains.head().meta1.nfiles())?;
    end_of((&meta1, &blocks), (entries, part.is_sealed()), 1)
}

/// The end of a file with these chunks and so many rows of block sizes, a mapping of so many
/// entries, and perhaps a seal.
pub(super) fn end_of(
    (meta1, blocks): (&Meta1, &Blocks),
    (entries, is_sealed): (u64, bool),
    rows: u32,
) -> Result<u64, Error> {
    Ok(Book::create(meta1, blocks, entries, is_sealed)?.close(rows)?.last.span().end())
}

/// The bytes of META1, META2 with so many rows, a mapping of so many entries, and perhaps a seal,
/// whatever the chunks are.
pub(super) fn tables_len(part: &Part, behind: (u64, bool), rows: u32) -> Option<u64> {
    let meta1 = &part.remains.head().meta1;
    let no_blocks = Blocks { first: meta1.layout().meta1_end(), globalskip: 0 };
    end_of((meta1, &no_blocks), behind, rows).ok()
}

impl Recovery {
    /// Writes the new file of `part`, with its streams placed anew; sealed if there are `crcs` of
    /// the chunks that they had.
    pub(super) fn write_anew<S: ReadAt, T: WriteAt>(
        (part, mapping, crcs): (&Part, &[Address], Option<Vec<u32>>),
        from: &S,
        to: &mut T,
        checksum: Checksum,
        copy: &mut CopySpan<'_, S, T>,
    ) -> Result<(), CopyFailed<S, T>> {
        let old = part.remains.head();
        let is_alone = old.meta1.is_first_of_several() && mapping.is_empty();
        let nfiles = if is_alone { 1 } else { old.meta1.nfiles() };
        let refused = |error| Unwritten::Write(DriveError::Format(error));
        let (meta1, blocks) = plan(part, nfiles).map_err(refused)?;

        let mut front = [0; Meta1::MAX_LEN];
        let len = usize::try_from(old.file_len).unwrap_or(usize::MAX).min(front.len());
        let front = front.get_mut(..len).unwrap_or_default();
        read(from, 0, front).map_err(Unwritten::Read)?;
        let prefix = old.meta1.prefix(front);
        let prefix = prefix.get(..prefix.len().min(PREFIX)).unwrap_or_default();

        let (tasks, mut window) = (tasks(part), vec![0; WINDOW]);
        let front = Front::new(&meta1, prefix).map_err(refused)?;
        let made = write_meta1(&front, tasks.as_slice(), None, to, &mut window);
        made.map_err(Unwritten::Write)?;

        // Where each stream ends, and its checksum so far.
        let (mut next, mut streams) = (blocks.first, Vec::with_capacity(tasks.len()));
        for (_, len) in &tasks {
            streams.push((next, 0));
            next = next.saturating_add(*len);
        }
        let mut known = crcs.iter().flatten();
        for used in &part.used {
            let chunk = known.next().copied().unwrap_or(0);
            let stream = usize::try_from(used.local).ok().and_then(|local| streams.get_mut(local));
            if let (Some(place), Some((end, crc))) = (part.place(used), stream) {
                copy(to, place, *end, Bytes::Data)?;
                *end = end.saturating_add(place.len());
                *crc = crc32c_combine(*crc, chunk, place.len());
            }
        }
        let mapping = if meta1.is_first_of_several() { mapping } else { &[] };
        let gathered = part.gathered();
        let has_data = |((_, crc), (_, len)): ((u64, u32), &(i64, u64))| (*len > 0).then_some(crc);
        let crcs = crcs.map(|_| streams.into_iter().zip(&tasks).filter_map(has_data).collect());
        close(to, (&gathered, mapping, crcs), (&meta1, &blocks), checksum).map_err(Unwritten::Write)
    }
}

/// The longest name that META1 can have.
const PREFIX: usize = 1023;
