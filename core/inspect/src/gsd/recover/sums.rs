//! Compares a frame with its checksums.

use super::{Loss, names::Names};
use crate::gsd::{Failed, together};
use crate::subject::{Subject, Sum};
use alloc::vec::Vec;
use striae_core::gsd::raw::ChecksumRow;
use striae_core::gsd::{Checksums, Chunk, ChunkType, Error};
use striae_core::step::DriveError;
use striae_core::store::usize_to_u64;
use striae_hoomd::room::Room;
use zerocopy::FromBytes;

/// The most bytes of a chunk with checksums: one row for each possible name.
const MAX_LEN: u64 = 8 << 16;

/// The result of comparing a frame with its checksums.
pub(super) enum SumVerdict {
    /// The frame has no checksums.
    Nothing,
    /// All chunks are right, and none is missing.
    Right,
    /// The checksums are damaged, but all chunks agree with the undamaged rows.
    Damaged,
    /// Another error.
    Wrong(Loss),
}

/// Checks the frame with these chunks; the one whose name is `id` has the checksums.
pub(super) fn check<S: Subject>(
    subject: &S,
    chunks: &[Chunk],
    id: Option<u16>,
) -> Result<SumVerdict, Failed<S>> {
    let own = chunks.iter().find(|chunk| Some(chunk.id) == id);
    match own.map_or(Ok(SumVerdict::Nothing), |own| check_by(subject, chunks, own)) {
        Err(DriveError::Store(_)) => Ok(SumVerdict::Wrong(Loss::Unreadable)),
        checked => checked,
    }
}

/// Learns the name of checksums from the frame with these chunks, all of which are inside the file:
/// the bytes of such a chunk prove what it is. `room` limits the bytes that are read.
pub(super) fn learn<S: Subject>(
    subject: &S,
    chunks: &[Chunk],
    names: &mut Names,
    room: &mut Room,
) -> Result<(), Failed<S>> {
    let rows = usize_to_u64(chunks.len());
    let may_be = |chunk: &&Chunk| chunk.kind == ChunkType::U32 && chunk.m == 2 && chunk.n == rows;
    for own in chunks.iter().filter(may_be) {
        match is_right(subject, chunks, own, room) {
            Ok(true) => names.sums = Some(own.id),
            Ok(false) | Err(DriveError::Store(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Whether `own` has the checksums of these chunks.
fn is_right<S: Subject>(
    subject: &S,
    chunks: &[Chunk],
    own: &Chunk,
    room: &mut Room,
) -> Result<bool, Failed<S>> {
    if room.take(own).is_err() {
        return Ok(false);
    }
    let bytes = read_rows(subject, own)?;
    // Its own checksum, and whose rows it has, are known before any data are read.
    let is_whole = Checksums::parse(*own, &bytes, subject.checksum(Sum::Crc32c)).is_ok();
    let may_be = is_whole && are_of(&bytes, own, chunks);
    let has_room = may_be && chunks.iter().all(|chunk| room.take(chunk).is_ok());
    Ok(has_room && matches!(check_by(subject, chunks, own)?, SumVerdict::Right))
}

/// The bytes of the chunk `own`, which holds checksums.
fn read_rows<S: Subject>(subject: &S, own: &Chunk) -> Result<Vec<u8>, Failed<S>> {
    let span = own.span.part(0, own.span.len().min(MAX_LEN)).unwrap_or(own.span);
    let mut bytes = Vec::with_capacity(usize::try_from(span.len()).unwrap_or(0));
    subject
        .data(span, &mut |piece| bytes.extend_from_slice(piece))
        .map_err(DriveError::infallible)?;
    Ok(bytes)
}

/// Whether the rows are for exactly these chunks.
fn are_of(rows: &[u8], own: &Chunk, chunks: &[Chunk]) -> bool {
    let rows = <[ChecksumRow]>::ref_from_bytes(rows).unwrap_or_default();
    let others = rows.split_last().map_or(rows, |(_, others)| others);
    let mut ids: Vec<u32> = chunks.iter().map(|chunk| chunk.id.into()).collect();
    ids.retain(|&id| id != u32::from(own.id));
    ids.sort_unstable();
    others.iter().map(|row| row.id.get()).eq(ids.iter().copied())
}

fn check_by<S: Subject>(
    subject: &S,
    chunks: &[Chunk],
    own: &Chunk,
) -> Result<SumVerdict, Failed<S>> {
    const DAMAGED: SumVerdict = SumVerdict::Wrong(Loss::Checksums);
    if own.span.len() > MAX_LEN {
        return Ok(DAMAGED);
    }
    if let Some(whole) = together(chunks) {
        subject.bring(whole); // the checksums are after what they are of
    }
    let bytes = read_rows(subject, own)?;
    let Ok(sums) = Checksums::parse(*own, &bytes, subject.checksum(Sum::Crc32c)) else {
        return match are_nearly_right(subject, chunks, own, &bytes)? {
            true => Ok(SumVerdict::Damaged),
            false => Ok(DAMAGED),
        };
    };
    if !are_of(&bytes, own, chunks) {
        return Ok(SumVerdict::Wrong(Loss::Chunks));
    }
    for chunk in chunks.iter().filter(|chunk| chunk.id != own.id) {
        let crc = crc_of(subject, chunk)?;
        match sums.check(chunk, crc, subject.checksum(Sum::Crc32c)) {
            Ok(()) => {}
            Err(Error::Checksum { .. }) => {
                return Ok(SumVerdict::Wrong(Loss::Checksum { id: chunk.id }));
            }
            Err(_) => return Ok(SumVerdict::Wrong(Loss::Chunks)),
        }
    }
    Ok(SumVerdict::Right)
}

/// The chunks of a frame that have their checksums, if the checksums are sound and of these chunks.
pub(super) fn right<S: Subject>(
    subject: &S,
    chunks: &[Chunk],
    id: Option<u16>,
) -> Result<Option<Vec<Chunk>>, Failed<S>> {
    let own = chunks.iter().find(|chunk| Some(chunk.id) == id);
    let Some(own) = own.filter(|own| own.span.len() <= MAX_LEN) else { return Ok(None) };
    let bytes = read_rows(subject, own)?;
    let sums = Checksums::parse(*own, &bytes, subject.checksum(Sum::Crc32c));
    let Some(sums) = sums.ok().filter(|_| are_of(&bytes, own, chunks)) else { return Ok(None) };
    let mut right = Vec::new();
    for chunk in chunks.iter().filter(|chunk| chunk.id != own.id) {
        let crc = crc_of(subject, chunk)?;
        if sums.check(chunk, crc, subject.checksum(Sum::Crc32c)).is_ok() {
            right.push(*chunk);
        }
    }
    Ok(Some(right))
}

fn crc_of<S: Subject>(subject: &S, chunk: &Chunk) -> Result<u32, Failed<S>> {
    let (mut crc, checksum) = (0, subject.checksum(Sum::Crc32c));
    let read = subject.data(chunk.span, &mut |piece| crc = checksum(crc, piece));
    read.map_err(DriveError::infallible)?;
    Ok(crc)
}

/// Whether all chunks have their checksums in these rows, except for one bit.
fn are_nearly_right<S: Subject>(
    subject: &S,
    chunks: &[Chunk],
    own: &Chunk,
    bytes: &[u8],
) -> Result<bool, Failed<S>> {
    let rows = <[ChecksumRow]>::ref_from_bytes(bytes).unwrap_or_default();
    let mut others: Vec<&Chunk> = chunks.iter().filter(|chunk| chunk.id != own.id).collect();
    others.sort_unstable_by_key(|chunk| chunk.id);
    if rows.len() != others.len().saturating_add(1) {
        return Ok(false);
    }
    let mut wrong_bits = 0_u32;
    for (row, chunk) in rows.iter().zip(others) {
        let crc = crc_of(subject, chunk)?;
        let right = chunk.to_raw().sealed_crc(crc, subject.checksum(Sum::Crc32c));
        wrong_bits = wrong_bits.saturating_add((right ^ row.crc.get()).count_ones());
        if wrong_bits > 1 {
            return Ok(false);
        }
    }
    Ok(true)
}
