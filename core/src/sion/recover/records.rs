//! The key-value records of a stream of unknown length.
//!
//! A writer fills each chunk before it enters the next one, and writes a record from start to end.
//! So the records of an unclosed file can be walked from the first one on, and only the last one
//! may be unfinished.

use super::scan::{Room, Sparse, first_nonzero};
use crate::endian::ByteOrder;
use crate::sion::error::ReadError;
use crate::sion::layout::Chunks;
use crate::sion::position::{Lengths, Stretch};
use crate::sion::raw::RecordHeader;
use crate::sion::read::stream::Stream;
use crate::span::Span;
use zerocopy::{FromZeros, IntoBytes};

/// The result of the walk over the records of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Walked {
    /// The length of the stream: the end of the last whole record.
    pub(super) len: u64,
    pub(super) stop: Stop,
    /// Whether zeros before other records were taken for records with key 0 and no value.
    pub(super) zero_records: bool,
    /// Whether the last byte of the last record is zero, so that its end may never have been
    /// written.
    pub(super) ends_in_zero: bool,
}

/// The reason why the walk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// Only zeros follow.
    Zeros,
    /// The end of the room: the rest is too short for a header and has only zeros.
    End,
    /// The start of a record that the end of the room cuts.
    Cut,
    /// Bytes that are not a record.
    NoRecord,
}

/// The lengths of a task whose chunks are all full, except for the last.
#[derive(Debug, Clone, Copy)]
struct Full {
    chunksize: u64,
    len: u64,
}

impl Full {
    fn get(&self, chunk: u64) -> Option<Stretch> {
        let begin = chunk.checked_mul(self.chunksize).filter(|&begin| begin < self.len)?;
        let len = self.len.saturating_sub(begin).min(self.chunksize);
        Some(Stretch { chunk, begin, len })
    }
}

impl<E> Lengths<E> for Full {
    fn stretch_at(&mut self, position: u64) -> Result<Option<Stretch>, E> {
        Ok(position.checked_div(self.chunksize).and_then(|chunk| self.get(chunk)))
    }

    fn stretch(&mut self, chunk: u64) -> Result<Option<Stretch>, E> {
        Ok(self.get(chunk))
    }

    fn count(&self) -> u64 {
        let over = u64::from(self.len.checked_rem(self.chunksize).unwrap_or(0) > 0);
        self.len.checked_div(self.chunksize).unwrap_or(0).saturating_add(over)
    }

    fn total(&mut self) -> Result<u64, E> {
        Ok(self.len)
    }
}

/// Walks over the records in `room`.
pub(super) fn walk<S: Sparse>(
    store: &S,
    room: &Room,
    order: ByteOrder,
    window: &mut [u8],
) -> Result<Walked, ReadError<S>> {
    let header_len = u64::from(RecordHeader::TABLE.len);
    let total = room.len();
    let full = Full { chunksize: room.chunks.chunksize, len: total };
    let mut stream = Stream::new(store, room.chunks, full);
    let mut walked = Walked { len: 0, stop: Stop::End, zero_records: false, ends_in_zero: false };
    let (mut at, mut skipped) = (0u64, false);
    walked.stop = loop {
        let left = total.saturating_sub(at);
        let mut header = RecordHeader::new_zeroed();
        if left >= header_len {
            stream.seek_to(at);
            stream.read_all(header.as_mut_bytes())?;
        }
        let (key, len) = (header.key.get(order), header.len.get(order));
        if left < header_len || (key == 0 && len == 0) {
            let next = next_nonzero(store, room, at, window)?;
            let Some(next) = next else {
                break if left < header_len { Stop::End } else { Stop::Zeros };
            };
            if left < header_len {
                break if skipped { Stop::NoRecord } else { Stop::Cut };
            }
            // Whole headers of zeros: records with key 0 that hold nothing.
            let zeros = next.saturating_sub(at);
            let whole = zeros.saturating_sub(zeros.checked_rem(header_len).unwrap_or(0));
            if whole == 0 {
                break Stop::NoRecord; // the file changes while it is read
            }
            (at, skipped) = (at.saturating_add(whole), true);
            continue;
        }
        let whole = header_len.saturating_add(len);
        if whole > left {
            break if skipped { Stop::NoRecord } else { Stop::Cut };
        }
        at = at.saturating_add(whole);
        walked.len = at;
        walked.zero_records |= skipped;
        skipped = false;
    };
    if let Some(last) = walked.len.checked_sub(1) {
        let mut byte = [0];
        stream.seek_to(last);
        stream.read_all(&mut byte)?;
        walked.ends_in_zero = byte == [0];
    }
    Ok(walked)
}

/// Whether a stream of `len` bytes, whose chunks are full except for the last, ends at the end of a
/// record. If the last record is only zeros, the answer is no, as it may be no record.
pub(super) fn are_records<S: Sparse>(
    store: &S,
    chunks: Chunks,
    len: u64,
    order: ByteOrder,
) -> Result<bool, ReadError<S>> {
    let header_len = u64::from(RecordHeader::TABLE.len);
    let mut stream = Stream::new(store, chunks, Full { chunksize: chunks.chunksize, len });
    let (mut at, mut is_zero) = (0u64, false);
    while len.saturating_sub(at) >= header_len {
        let mut header = RecordHeader::new_zeroed();
        stream.seek_to(at);
        stream.read_all(header.as_mut_bytes())?;
        let whole = header_len.saturating_add(header.len.get(order));
        at = at.saturating_add(whole);
        is_zero = header.as_bytes().iter().all(|&byte| byte == 0);
    }
    Ok(at == len && !is_zero)
}

/// The stream position of the first byte from `position` on that is not zero.
fn next_nonzero<S: Sparse>(
    store: &S,
    room: &Room,
    position: u64,
    window: &mut [u8],
) -> Result<Option<u64>, ReadError<S>> {
    let chunksize = room.chunks.chunksize;
    let mut chunk = position.checked_div(chunksize).unwrap_or(u64::MAX);
    let mut skip = position.checked_rem(chunksize).unwrap_or(0);
    while let Some((found, place)) = room.next(store, chunk)? {
        let skip_here = if found == chunk { skip } else { 0 };
        let rest = place.part(skip_here, place.len().saturating_sub(skip_here));
        if let Some(offset) = first_nonzero(store, rest.unwrap_or(Span::ZERO), window)? {
            let into = offset.saturating_sub(place.offset());
            return Ok(Some(found.saturating_mul(chunksize).saturating_add(into)));
        }
        (chunk, skip) = (found.saturating_add(1), 0);
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "Only zeros follow" is said of a whole header of them; less is the end of the room.
    #[test]
    fn zeros_of_a_whole_header_are_more_than_an_end() {
        let mut bytes = [0; 48];
        bytes[0] = 1; // key 1 with a value of 4 bytes
        bytes[8] = 4;
        bytes[16..20].fill(7);
        let chunks = Chunks { start: 0, chunksize: 48, globalskip: Some(48) };
        for end in 20..=48 {
            let room = Room { chunks, end, limit: 1 };
            let walked = walk(&&bytes[..], &room, ByteOrder::Little, &mut [0; 64]).unwrap();
            let stop = if end < 36 { Stop::End } else { Stop::Zeros };
            let whole = Walked { len: 20, stop, zero_records: false, ends_in_zero: false };
            assert_eq!(walked, whole, "{end}");
        }
    }
}
