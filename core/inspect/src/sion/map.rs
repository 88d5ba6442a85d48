//! Whose bytes are where in a physical file.

use super::verify::{Fixed, find_meta2, look_behind, look_for_seal};
use crate::map::{Body, Kind, Map, Region, up_to};
use crate::subject::{self, Subject, read, read_windows};
use alloc::vec;
use alloc::vec::Vec;
use core::num::NonZeroU64;
use striae_core::endian::I64;
use striae_core::sion::layout::{Blocks, Chunks, ENTRY_LEN};
use striae_core::sion::locate::{ChunkSum, check_blockcount, check_blocksize};
use striae_core::sion::meta2::entry;
use striae_core::sion::{Error, Head, KeyvalMode, Meta1, Meta2, raw};
use striae_core::span::Span;
use striae_core::step::DriveError;
use zerocopy::FromBytes;

type Failed<S> = subject::Failed<S, Error>;

/// Sums of chunk sizes that are kept, at most, so that a task is found by where it is.
const MOST_SUMS: u32 = 1 << 16;

/// Opens a map of a physical file. The chunk sizes in META1 are read once, and a mapping that only
/// its entries tell from other bytes; all else is looked up when it is asked for. Owners are the
/// tasks of this file, from 0.
///
/// # Errors
/// What is wrong with the fixed part of META1; the store's.
pub fn map<S: Subject>(store: &S) -> Result<Map<'_, S, Error>, Failed<S>> {
    let fixed = Fixed::read(store)?;
    let first = fixed.errors.first().copied();
    let meta1 = match (fixed.meta1, first) {
        (Some(meta1), _) => meta1,
        (None, Some(error)) => return Err(DriveError::Format(error)),
        (None, None) => return Err(DriveError::Ended { offset: 0 }),
    };
    let mut damage = first;
    let mut head = Head { file_len: fixed.file_len, meta1, meta2: None };
    match find_meta2(store, &head)? {
        Ok(meta2) => head.meta2 = Some(meta2),
        Err(error) => damage = damage.or(Some(error)),
    }
    let mut parts = tables_of(&meta1);
    parts.extend(behind(store, &head)?);
    let is_placed = !fixed.is_wrong(raw::Meta1::fsblksize);
    let sums = Sums::read(store, &meta1)?;
    damage = damage.or(sums.wrong);
    let body = Tasks { head, sums, is_placed, last: None };
    Map::new(store, head.file_len, parts, body, ("task", damage)).map_err(DriveError::Store)
}

/// META1.
fn tables_of(meta1: &Meta1) -> Vec<Region> {
    let layout = meta1.layout();
    vec![
        Region::table(layout.fixed(), Kind::Header, "META1"),
        Region::table(layout.globalranks(), Kind::Index, "META1.globalrank"),
        Region::table(layout.chunksizes(), Kind::Index, "META1.chunksize"),
        Region::table(layout.commit_fields(), Kind::Header, "commit fields"),
    ]
}

/// META2, and what follows it.
fn behind<S: Subject>(store: &S, head: &Head) -> Result<Vec<Region>, Failed<S>> {
    let Some(meta2) = head.meta2 else { return Ok(Vec::new()) };
    let counts = meta2.blockcounts();
    let sizes = Span::between(counts.end(), meta2.end()).unwrap_or(Span::ZERO);
    let end = look_behind(store, head)?.end(head);
    let mapping = Span::between(meta2.end(), end).unwrap_or(Span::ZERO);
    let mut parts = vec![
        Region::table(counts, Kind::Lengths, "META2.blockcount"),
        Region::table(sizes, Kind::Lengths, "META2.blocksize"),
        Region::table(mapping, Kind::Mapping, "mapping"),
    ];
    if let Some(seal) = look_for_seal(store, head, end)? {
        if let Some((crcs, _)) = seal.table(&head.meta1) {
            parts.push(Region::table(crcs, Kind::Checksums, "seal.chunk_crc"));
        }
        let len = u64::from(raw::SealTrailer::TABLE.len);
        let trailer = Span::new(seal.trailer().offset(), len).unwrap_or(Span::ZERO);
        parts.push(Region::table(trailer, Kind::Checksums, "seal"));
    }
    Ok(parts)
}

/// Where the first chunk of every so manieth task is.
struct Sums {
    every: u32,
    sums: Vec<ChunkSum>,
    /// Bytes of a block; `None` if a chunk size is wrong.
    blocks: Option<Blocks>,
    wrong: Option<Error>,
}

impl Sums {
    fn read<S: Subject>(store: &S, meta1: &Meta1) -> Result<Self, Failed<S>> {
        let every = meta1.ntasks().div_ceil(MOST_SUMS).max(64);
        let mut sum = ChunkSum::new(*meta1.layout());
        let (mut sums, mut wrong, mut task) = (Vec::new(), None, 0u32);
        each_size(store, meta1, 0, &mut |value| {
            if task.is_multiple_of(every) {
                sums.push(sum);
            }
            wrong = sum.add(value).err();
            task = task.saturating_add(1);
            wrong.is_none()
        })?;
        let blocks = wrong.is_none().then(|| sum.blocks());
        Ok(Self { every, sums, blocks, wrong })
    }

    /// The task that has the byte at `skip` of a block, and where in the block its chunk is.
    fn find<S: Subject>(
        &self,
        store: &S,
        meta1: &Meta1,
        skip: u64,
    ) -> Result<Option<(u32, Span)>, Failed<S>> {
        let number = self.sums.partition_point(|sum| sum.sum() <= skip).saturating_sub(1);
        let Some(mut sum) = self.sums.get(number).copied() else { return Ok(None) };
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        let (mut task, mut found) = (number.saturating_mul(self.every), None);
        each_size(store, meta1, task, &mut |value| {
            let start = sum.sum();
            if sum.add(value).is_err() {
                return false;
            }
            if skip < sum.sum() {
                found = Span::between(start, sum.sum()).map(|span| (task, span));
            }
            task = task.saturating_add(1);
            found.is_none()
        })?;
        Ok(found)
    }
}

/// Hands over the chunk sizes of the tasks from `first` on, until no more are wanted.
fn each_size<S: Subject>(
    store: &S,
    meta1: &Meta1,
    first: u32,
    each: &mut dyn FnMut(i64) -> bool,
) -> Result<(), Failed<S>> {
    const SHORT: NonZeroU64 = NonZeroU64::new(1 << 12).unwrap();
    let len = if first == 0 { subject::WINDOW } else { SHORT };
    let table = meta1.layout().chunksizes();
    let rest = table.skip(u64::from(first).saturating_mul(ENTRY_LEN));
    read_windows(store, rest, len, &mut Vec::new(), |_, bytes| {
        let values = <[I64]>::ref_from_bytes(bytes).unwrap_or_default();
        Ok(values.iter().all(|value| each(value.get(meta1.order()))))
    })
}

/// The chunks of a physical file.
struct Tasks {
    head: Head,
    sums: Sums,
    /// Whether it is known where the first chunk is.
    is_placed: bool,
    /// The chunk that was looked at last.
    last: Option<Place>,
}

/// A chunk.
#[derive(Clone, Copy)]
struct Place {
    task: u32,
    span: Span,
    /// Bytes of it that are used; `None` if nothing says how many, or not rightly.
    used: Option<u64>,
}

impl Tasks {
    /// The block at `offset`, and how far that is behind the start of the block; `None` if no chunk
    /// can be there.
    fn block_at(&self, offset: u64) -> Option<(u64, u64)> {
        let skip = offset.checked_sub(self.head.meta1.layout().first_chunk())?;
        let (block, skip) = match self.sums.blocks {
            Some(blocks) => {
                let len = NonZeroU64::new(blocks.globalskip)?;
                (skip.div_euclid(len.get()), skip.rem_euclid(len.get()))
            }
            None => (0, skip), // of blocks whose length is not known, the first one
        };
        let is_used = |meta2: Meta2| block < meta2.maxchunks().into();
        self.head.meta2.is_none_or(is_used).then_some((block, skip))
    }

    /// The chunk at `skip` of a block.
    fn chunk_at<S: Subject>(
        &self,
        store: &S,
        (block, skip): (u64, u64),
    ) -> Result<Option<Place>, Failed<S>> {
        let meta1 = &self.head.meta1;
        let Some((task, chunk)) = self.sums.find(store, meta1, skip)? else { return Ok(None) };
        let start = meta1.layout().first_chunk().saturating_add(chunk.offset());
        let globalskip = self.sums.blocks.map(|blocks| blocks.globalskip);
        let chunks = Chunks { start, chunksize: chunk.len(), globalskip };
        let Some(span) = chunks.chunk(block) else { return Ok(None) };
        let mut place = Place { task, span, used: None };
        if let Some(meta2) = self.head.meta2 {
            place.used = self.used(store, &meta2, block, place)?;
        }
        Ok(Some(place))
    }

    /// How much of a chunk META2 says is used.
    fn used<S: Subject>(
        &self,
        store: &S,
        meta2: &Meta2,
        block: u64,
        Place { task, span, .. }: Place,
    ) -> Result<Option<u64>, Failed<S>> {
        let order = self.head.meta1.order();
        let value = |table| -> Result<_, Failed<S>> {
            let place = entry(table, task).unwrap_or(Span::ZERO);
            let mut bytes = [0; 8];
            read(store, place.offset(), &mut bytes)?;
            Ok((I64::read_from_bytes(&bytes).map_or(0, |value| value.get(order)), place.offset()))
        };
        let (count, at) = value(meta2.blockcounts())?;
        match check_blockcount(count, at, meta2.maxchunks()) {
            Ok(count) if block < count => {}
            Ok(_) => return Ok(Some(0)),
            Err(_) => return Ok(None),
        }
        let (size, at) = value(meta2.blocksizes(block).unwrap_or(Span::ZERO))?;
        Ok(check_blocksize(size, at, Some(span), self.head.file_len).ok())
    }
}

impl<S: Subject> Body<S, Error> for Tasks {
    fn at(&mut self, store: &S, offset: u64) -> Result<Region, Failed<S>> {
        let is_in = |place: &Place| place.span.offset() <= offset && offset < place.span.end();
        let (first, end) = (self.head.meta1.layout().first_chunk(), self.head.file_len);
        let none = |kind, end| Ok(Region::of(up_to(offset, end), kind, None));
        if !self.last.as_ref().is_some_and(is_in) {
            self.last = match self.block_at(offset) {
                _ if !self.is_placed => return none(Kind::Unknown, end),
                Some(place) => self.chunk_at(store, place)?,
                None if offset < first => return none(Kind::Unclaimed, first),
                None => return none(Kind::Unclaimed, end),
            };
        }
        let Some(Place { task, span, used }) = self.last else { return none(Kind::Unknown, end) };
        let data = match self.head.meta1.keyval() {
            KeyvalMode::Inline => Kind::Records,
            _ => Kind::Data,
        };
        let (kind, end) = match used.map(|used| span.offset().saturating_add(used)) {
            None => (Kind::Unknown, span.end()),
            Some(end) if offset < end => (data, end),
            Some(_) => (Kind::Room, span.end()),
        };
        Ok(Region::of(up_to(offset, end), kind, Some(task.into())))
    }
}
