//! Frames: how they begin and end.

use super::adopt::adopt;
use super::commit::settle;
use super::index::spill;
use super::names;
use super::tail::Tail;
use super::waiting::Counts;
use super::work::{Bytes, Work};
use crate::exact::Exact;
use crate::gsd::checksums;
use crate::gsd::chunk::Chunk;
use crate::gsd::error::Error;
use crate::gsd::kind::ChunkType;
use crate::gsd::raw::ChecksumRow;
use crate::store::usize_to_u64;
use zerocopy::IntoBytes;

/// Completes an interrupted commit.
pub(super) fn begin(work: &mut Work<'_>) {
    if work.tail.is_adopted {
        work.then(&[settle])
    }
}

/// Makes the file ready for chunks, with room for one.
pub(super) fn make_ready(work: &mut Work<'_>) {
    work.then(&[adopt, make_room]);
}

/// Makes room for the current frame: the entries of ended frames go to the index.
fn make_room(work: &mut Work<'_>) {
    if work.waiting.counts.has_room() {
    } else {
        work.then(&[spill])
    }
}

/// Ends the current frame.
pub(super) fn end(work: &mut Work<'_>) {
    work.then(&[
        |work| {
            // readers do not see these slots; after an error, the entries stay in memory
            if work.waiting.counts.is_half_full() {
                work.then(&[spill])
            }
        },
        write_checksums,
        |work| {
            end_now(work.tail, work.waiting.counts);
        },
    ])
}

/// Makes the current frame an ended one.
#[inline]
pub(super) fn end_now(tail: &mut Tail, counts: &mut Counts) {
    counts.end_frame();
    tail.frame = tail.frame.saturating_add(1);
    tail.placed_from = None;
}

/// Adds the chunk of checksums to the current frame.
fn write_checksums(work: &mut Work<'_>) {
    if !work.tail.checksums || work.waiting.counts.open_len() == 0 {
        return;
    }
    let Some(id) = work.tail.checksums_id else {
        work.name = checksums::NAME;
        return work.then(&[names::add, write_checksums]);
    };
    if work.waiting.position(id).is_err() {
        return work.fail(Error::Duplicate { id, frame: work.tail.frame });
    }
    // Its room is reserved.
    let rows = usize_to_u64(work.waiting.counts.open_len()).exact_add(1);
    let chunk = work.tail.place(id, ChunkType::U32, rows, 2);
    let Some(chunk) = work.ok(chunk) else { return };
    let rows = work.waiting.rows();
    let crc = (work.checksum)(0, rows);
    (work.crc, work.sums) = (chunk.to_raw().sealed_crc(crc, work.checksum), work.tail.sums);
    work.sums.add_chunk(chunk.span.offset(), rows, work.checksum);
    work.block = chunk.span;
    work.then(&[write_own_row, add_checksums]);
    work.write(chunk.span.offset(), Bytes::Rows);
}

/// Writes the last row, that of the chunk of checksums itself.
fn write_own_row(work: &mut Work<'_>) {
    let id = work.tail.checksums_id.map_or(0, u32::from);
    let row = ChecksumRow { id: id.into(), crc: work.crc.into() };
    let len = size_of::<ChecksumRow>();
    let offset = work.block.end().exact_sub(usize_to_u64(len));
    work.put_in_hand(row.as_bytes());
    work.sums.add_chunk(offset, row.as_bytes(), work.checksum);
    work.write(offset, Bytes::Hand(len));
}

fn add_checksums(work: &mut Work<'_>) {
    let (span, tail) = (work.block, &mut *work.tail);
    let (frame, id) = (tail.frame, tail.checksums_id.unwrap_or(0));
    let n = span.len() / 8;
    let chunk = Chunk { frame, id, kind: ChunkType::U32, n, m: 2, span };
    work.waiting.insert_entry(&chunk.to_raw(), work.crc);
    tail.sums = work.sums;
    tail.use_up_to(span.end());
}
