//! Frames: what they begin with, and how they end.

use super::commit::settle;
use super::index::spill;
use super::names;
use super::tail::Tail;
use super::waiting::Counts;
use super::work::{Bytes, DONE, Io, Next, Work};
use crate::gsd::checksums;
use crate::gsd::chunk::Chunk;
use crate::gsd::error::Error;
use crate::gsd::kind::ChunkType;
use crate::gsd::raw::ChecksumRow;
use crate::store::usize_to_u64;
use zerocopy::IntoBytes;

/// Ends a commit that was cut off.
pub(super) fn begin(work: &mut Work<'_>) -> Next {
    if work.tail.is_adopted { work.then(&[settle]) } else { DONE }
}

/// Makes room for the present frame by putting ended ones where they belong.
pub(super) fn make_room(work: &mut Work<'_>) -> Next {
    if work.waiting.counts.has_room() { DONE } else { work.then(&[spill]) }
}

/// Ends the present frame.
pub(super) fn end(work: &mut Work<'_>) -> Next {
    work.then(&[
        |work| {
            // nobody looks where the entries go; if it fails, they stay here
            if work.waiting.counts.is_half_full() { work.then(&[spill]) } else { DONE }
        },
        write_checksums,
        |work| {
            end_now(work.tail, work.waiting.counts);
            DONE
        },
    ])
}

/// The present frame is one of the ended ones.
#[inline]
pub(super) fn end_now(tail: &mut Tail, counts: &mut Counts) {
    counts.end_frame();
    tail.frame = tail.frame.saturating_add(1);
    tail.placed_from = None;
}

/// Adds the chunk of checksums to the present frame.
fn write_checksums(work: &mut Work<'_>) -> Next {
    if !work.tail.checksums || work.waiting.counts.open_len() == 0 {
        return DONE;
    }
    if work.tail.checksums_id.is_none() {
        names::check(work.tail, checksums::NAME)?;
        work.name = checksums::NAME;
        return work.then(&[names::add, write_checksums]);
    }
    let chunk = checksums_chunk(work)?;
    let checksum = work.checksum;
    let rows = work.waiting.rows();
    work.crc = chunk.to_raw().sealed_crc(checksum(0, rows), checksum);
    work.sums = work.tail.sums;
    work.sums.add_chunk(chunk.span.offset(), rows, checksum);
    work.then(&[write_own_row])?;
    Ok(Io::Write { offset: chunk.span.offset(), bytes: Bytes::Rows })
}

/// The place of the checksums. There is room for them: it was kept.
fn checksums_chunk(work: &mut Work<'_>) -> Result<Chunk, Error> {
    let id = work.tail.checksums_id.unwrap_or(0);
    if work.waiting.position(id).is_err() {
        return Err(Error::Duplicate { id, frame: work.tail.frame });
    }
    let rows = usize_to_u64(work.waiting.counts.open_len()).saturating_add(1);
    work.tail.place(id, ChunkType::U32, rows, 2)
}

/// The row of the chunk of checksums itself is the last one.
fn write_own_row(work: &mut Work<'_>) -> Next {
    let chunk = checksums_chunk(work)?;
    let row = ChecksumRow { id: u32::from(chunk.id).into(), crc: work.crc.into() };
    let len = size_of::<ChecksumRow>();
    let offset = chunk.span.end().saturating_sub(usize_to_u64(len));
    work.fill_hand(row.as_bytes());
    work.sums.add_chunk(offset, row.as_bytes(), work.checksum);
    work.then(&[add_checksums])?;
    Ok(Io::Write { offset, bytes: Bytes::Hand(len) })
}

fn add_checksums(work: &mut Work<'_>) -> Next {
    let chunk = checksums_chunk(work)?;
    work.tail.sums = work.sums;
    work.waiting.insert(chunk, work.crc);
    work.tail.use_up_to(chunk.span.end());
    DONE
}
