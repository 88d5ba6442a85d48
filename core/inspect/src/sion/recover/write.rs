//! Writes a recovered set.

use super::part::{Part, TaskPart};
use super::records::Used;
use super::{Recovery, WINDOW};
use crate::recover;
pub use crate::recover::Unwritten;
use crate::sion::mapping::{Address, are_all_ranks, mapping_of};
use crate::subject::{self, read};
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;
use striae_core::endian::I32;
use striae_core::integrity::Checksum;
use striae_core::sion::publish::{Desk, Terms};
use striae_core::sion::seal::checksum_of;
use striae_core::sion::tables::{Column, Entries, Tables, Written};
use striae_core::sion::{Blocks, Book, Error, Meta1, raw};
use striae_core::span::Span;
use striae_core::step::DriveError;
use striae_core::store::{ReadAt, WriteAt, usize_to_u64};
use zerocopy::IntoBytes;

/// The error of copying from a store `S` to a store `T`.
pub type CopyFailed<S, T> = Unwritten<subject::Failed<S, Error>, subject::Failed<T, Error>>;

/// Copies a span of `S` to this offset of `T`.
pub type CopySpan<'c, S, T> =
    dyn FnMut(&mut T, Span, u64, Bytes) -> Result<(), CopyFailed<S, T>> + 'c;

/// The kind of bytes that are copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bytes {
    /// Tables of META1.
    Tables,
    /// Bytes of streams.
    Data,
}

/// Copies a span of a file to the offset `at` of another file.
///
/// # Errors
/// The errors of both stores.
pub fn copy<S: ReadAt, T: WriteAt>(
    from: &S,
    to: &mut T,
    span: Span,
    at: u64,
) -> Result<(), CopyFailed<S, T>> {
    let copied = recover::copy((from, span), (to, at), &mut Vec::new(), &mut |_| {});
    copied.map_err(|failed| match failed {
        Unwritten::Read(error) => Unwritten::Read(error),
        Unwritten::Write(error) => Unwritten::Write(DriveError::Store(error)),
    })
}

impl Recovery {
    /// The mapping of the new set, for all calls of [`write`](Self::write): the file and local rank
    /// of each global rank. Collectors of a buddy set have negative global ranks, no data and no
    /// entry.
    #[must_use]
    pub fn mapping(&self) -> Vec<Address> {
        if self.parts.len() < 2 {
            return Vec::new();
        }
        let tasks = (0..).zip(&self.parts).flat_map(|(file, part)| {
            let tasks = (0..).zip(&part.tasks);
            tasks.map(move |(local, task)| (task, (file, local)))
        });
        let is_collector = |task: &TaskPart| task.globalrank < 0 && task.recovered.bytes == 0;
        let all: Vec<_> = tasks.clone().map(|(task, at)| (task.globalrank, at)).collect();
        let others = tasks.filter(|(task, _)| !is_collector(task));
        let others: Vec<_> = others.map(|(task, at)| (task.globalrank, at)).collect();
        let is_buddy = !others.is_empty() && are_all_ranks(others.iter().map(|(rank, _)| *rank));
        mapping_of(if is_buddy { &others } else { &all })
    }

    /// Writes file `number` of a closed set from the old file `from` to the empty file `to`. `copy`
    /// copies a span to the same offset; the function [`copy`] does this.
    ///
    /// META1, chunks and data keep their offsets, unless they are
    /// [placed anew](Self::is_placed_anew); bytes that are in no stream are not copied. If all
    /// streams are exact, and no file contradicts another, the new file is sealed with the
    /// checksums of the old one; otherwise it has no seal, because checksums of the present bytes
    /// would hide what is wrong with them.
    ///
    /// # Errors
    /// [`Unwritten`], with the side that failed.
    pub fn write<S: ReadAt, T: WriteAt>(
        &self,
        (number, mapping): (usize, &[Address]),
        from: &S,
        to: &mut T,
        checksum: Checksum,
        copy: &mut CopySpan<'_, S, T>,
    ) -> Result<(), CopyFailed<S, T>> {
        let Some(part) = self.parts.get(number) else { return Ok(()) };
        let is_sealed = part.is_sealed() && !self.of_set().is_contradiction();
        let crcs = is_sealed.then(|| part.sealed_crcs(from)).transpose();
        let crcs = crcs.map_err(Unwritten::Read)?;
        if self.is_placed_anew(number) {
            return Self::write_anew((part, mapping, crcs), from, to, checksum, copy);
        }
        let meta1 = part.remains.head().meta1;
        let tables = Span::new(0, meta1.layout().commit_fields().offset()).unwrap_or(Span::ZERO);
        copy(to, tables, 0, Bytes::Tables)?;
        let meta1 = match meta1.is_first_of_several() && mapping.is_empty() {
            true => without_others(to, &meta1).map_err(Unwritten::Write)?,
            false => meta1,
        };
        let mapping = if meta1.is_first_of_several() { mapping } else { &[] };
        each_run(part, |span| copy(to, span, span.offset(), Bytes::Data))?;
        let places = (&meta1, part.remains.blocks());
        close(to, (part, mapping, crcs), places, checksum).map_err(Unwritten::Write)
    }
}

/// Writes META2, the mapping, and the seal with the checksums `crcs`; without them, no seal.
pub(super) fn close<T: WriteAt>(
    to: &mut T,
    (part, mapping, crcs): (&Part, &[Address], Option<Vec<u32>>),
    (meta1, blocks): (&Meta1, &Blocks),
    checksum: Checksum,
) -> Result<(), subject::Failed<T, Error>> {
    let sealed = crcs.is_some();
    let (lengths, entries) =
        (Lengths { part, crcs: crcs.unwrap_or_default(), mapping }, usize_to_u64(mapping.len()));
    let maxchunks = u32::try_from(lengths.part.maxchunks()).unwrap_or(u32::MAX); // see `examine`
    let mut window = vec![0; WINDOW];
    let front = Span::new(0, meta1.layout().commit_fields().offset()).unwrap_or(Span::ZERO);
    let meta1_crc = match sealed {
        true => checksum_of(to, front, 0, checksum, &mut window)?,
        false => 0,
    };
    let book = Book::create(meta1, blocks, entries, sealed);
    let set_identity = part.remains.set_identity().filter(|_| sealed).unwrap_or(0);
    let book = book.map_err(DriveError::Format)?.with_meta1_crc(meta1_crc);
    let mut book = book.with_set_identity(set_identity);
    let set_number = if sealed { part.set_number() } else { 0 };
    let terms = Terms { checksum, set_number, ..Terms::default() };
    let mut desk = Desk::new(&mut book, to, terms, &mut window)?;
    desk.close(maxchunks, &mut Tables::all(lengths))
}

/// Calls `each` with the used bytes of all chunks; adjacent full chunks are joined.
fn each_run<E>(part: &Part, mut each: impl FnMut(Span) -> Result<(), E>) -> Result<(), E> {
    let mut next = Span::ZERO;
    for place in part.used.iter().filter_map(|used| part.place(used)) {
        next = match next.joined(place) {
            Some(together) => together,
            None => {
                each(next)?;
                place
            }
        };
    }
    each(next)
}

/// Turns the first file of a set that was recovered alone into a set of one file, because its other
/// files will not be next to it. Returns its META1.
fn without_others<T: WriteAt>(
    to: &mut T,
    meta1: &Meta1,
) -> Result<Meta1, subject::Failed<T, Error>> {
    let (nfiles, mut fixed) = (I32::new(1, meta1.order()), [0; Meta1::MAX_LEN]);
    to.write_all_at(raw::Meta1::nfiles.offset().into(), nfiles.as_bytes())
        .map_err(DriveError::Store)?;
    let len = to.size().map_err(DriveError::Store)?;
    let front = usize::try_from(len).unwrap_or(usize::MAX).min(fixed.len());
    let fixed = fixed.get_mut(..front).unwrap_or_default();
    read(to, 0, fixed)?;
    Meta1::parse(fixed, len).map_err(DriveError::Format)
}

/// The block sizes for the new META2.
struct Lengths<'a> {
    part: &'a Part,
    /// The old sealed checksum of each used chunk, if the file is sealed.
    crcs: Vec<u32>,
    mapping: &'a [Address],
}

impl Written for Lengths<'_> {
    fn lay_over(&self, entries: &mut Entries<'_>) {
        let range = entries.range();
        match entries.column() {
            Column::Blockcounts => {
                let first = usize::try_from(range.start).unwrap_or(usize::MAX);
                let tasks = self.part.tasks.get(first..).unwrap_or_default();
                for (local, task) in range.zip(tasks) {
                    entries.set(local, task.recovered.blockcount);
                }
            }
            Column::Blocksizes { chunk } => {
                self.each(chunk, range, |used, _| entries.set(used.local, used.len));
            }
            Column::Crcs { chunk } => {
                self.each(chunk, range, |used, crc| entries.set(used.local, crc.into()));
            }
            Column::Mapping => {
                for globalrank in range {
                    let address = usize::try_from(globalrank).ok();
                    let address = address.and_then(|index| self.mapping.get(index));
                    if let Some((file, local)) = address {
                        entries.set_address(globalrank, *file, *local);
                    }
                }
            }
        }
    }
}

impl Lengths<'_> {
    /// Calls `each` with the used chunks of these tasks in this block and their checksums.
    fn each(&self, chunk: u32, tasks: Range<u32>, mut each: impl FnMut(&Used, u32)) {
        let used = &self.part.used;
        let place = |local: u32| used.partition_point(|u| (u.chunk, u.local) < (chunk, local));
        for index in place(tasks.start)..place(tasks.end) {
            if let Some(used) = used.get(index) {
                each(used, self.crcs.get(index).copied().unwrap_or(0));
            }
        }
    }
}
