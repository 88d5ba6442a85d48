//! HDF5 files: what follows the signatures of their blocks (`spec/blob.md#hdf5`).
//!
//! A walk over all versions of all messages would be as long as the reader that is tested. Numbers
//! lie at multiples of 2 behind a signature, and those of 8 bytes that are below the file's length,
//! and not small, are taken for offsets.

use super::shape::{MANY, Number, Shape};
use super::{Format, blob, wide};
use std::ops::Range;
use striae_core::hdf5::lookup3::lookup3;

pub(super) const FORMAT: Format = Format { magic: b"\x89HDF\r\n\x1a\n", shape, mend };

const SIGNATURES: [[u8; 4]; 6] = [*b"\x89HDF", *b"TREE", *b"HEAP", *b"SNOD", *b"OHDR", *b"GCOL"];
/// Bytes behind a signature whose numbers are looked at.
const NEAR: usize = 96;
/// Offsets lead behind the superblock.
const SUPERBLOCK: u64 = 48;

fn shape(file: &[u8]) -> Shape {
    let mut shape = Shape::default();
    let (mut starts, mut blocks) = (Vec::new(), 0);
    for (at, word) in (0..).step_by(8).zip(file.chunks_exact(8)) {
        let Some((signature, _)) = word.split_first_chunk() else { continue };
        if blocks < MANY && SIGNATURES.contains(signature) {
            starts.push(at);
            blocks += 1;
        }
        // Object headers of version 1 have no signature: offsets lead to them.
        let value = word.try_into().map_or(0, u64::from_le_bytes);
        let is_offset = (SUPERBLOCK..wide(file.len())).contains(&value) && value % 8 == 0;
        if is_offset && shape.offsets.len() < 4 * MANY {
            shape.add_offset(Number::new(at, 8, false, file.len()));
            starts.extend(usize::try_from(value));
        }
    }
    starts.sort_unstable();
    starts.dedup();
    for (start, end) in starts.iter().zip(starts.iter().skip(1).chain([&file.len()])) {
        shape.add_block(*start, end - start, file.len());
        for at in (*start..(*end).min(start + NEAR)).step_by(2).take(MANY) {
            shape.add_number(Number::new(at, if at % 4 == 0 { 4 } else { 2 }, false, file.len()));
        }
    }
    blob::add(file, &mut shape);
    shape
}

fn value(file: &[u8], at: usize, len: usize) -> usize {
    Number::new(at, len, false, file.len()).map_or(0, |number| number.index(file))
}

/// Writes the checksum of some bytes after them.
fn sum(file: &mut [u8], bytes: Range<usize>) {
    let Some(number) = Number::new(bytes.end, 4, false, file.len()) else { return };
    if let Some(bytes) = file.get(bytes) {
        let sum = lookup3(bytes);
        number.set(file, sum.into());
    }
}

/// Makes the checksums of a superblock, of object headers of version 2, and of a seal right.
fn mend(file: &mut [u8]) {
    if matches!(file.get(8), Some(2 | 3)) {
        sum(file, 0..44);
    }
    let places = file.windows(5).enumerate();
    let headers = places.filter(|(_, bytes)| matches!(*bytes, b"OHDR\x02")).map(|(at, _)| at);
    let headers: Vec<usize> = headers.take(MANY).collect();
    let mut left = MANY;
    for start in headers {
        let flags = value(file, start + 5, 1);
        let times = if flags & 32 == 0 { 0 } else { 16 };
        let phases = if flags & 16 == 0 { 0 } else { 4 };
        let (size_at, size_len) = (start + 6 + times + phases, 1 << (flags & 3));
        let messages = size_at + size_len;
        let end = messages.saturating_add(value(file, size_at, size_len));
        mend_continued(file, messages..end, flags, &mut left);
        sum(file, start..end);
    }
    // That of a subfile: no other array starts like it.
    if let Some(start) = file.windows(4).position(|bytes| matches!(bytes, b"CDF\x05")) {
        blob::mend(file, start, None);
    }
}

/// Makes the checksums of the chunks right that continue an object header, and of those that
/// continue these: at most `left` of them, for they may continue each other.
fn mend_continued(file: &mut [u8], messages: Range<usize>, flags: usize, left: &mut usize) {
    const CONTINUATION: usize = 16;
    let start_len = if flags & 4 == 0 { 4 } else { 6 };
    let mut at = messages.start;
    while at.saturating_add(start_len) <= messages.end.min(file.len()) {
        let (kind, len) = (value(file, at, 1), value(file, at + 1, 2));
        at += start_len;
        if kind == CONTINUATION && *left > 0 {
            *left -= 1;
            let (start, len) = (value(file, at, 8), value(file, at + 8, 8));
            let end = start.saturating_add(len).saturating_sub(4);
            if file.get(start..).is_some_and(|chunk| chunk.starts_with(b"OCHK")) {
                mend_continued(file, start + 4..end, flags, left);
                sum(file, start..end);
            }
        }
        at += len;
    }
}
