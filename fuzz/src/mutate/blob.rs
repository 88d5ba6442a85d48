//! Seals of blob subfiles, in both containers (`spec/blob.md#seals`).

use super::shape::{Number, Shape};
use super::wide;
use striae_core::integrity::crc32c;

const MAGIC: [u8; 16] = *b"striae blob seal";
const HEAD: usize = 64;
const TIE: usize = 24;
/// Fields of a head.
const NBLOBS: usize = 20;
const NVARS: usize = 24;
const HEADER_CRC: usize = 28;
const HEADER_LEN: usize = 32;
const TABLE_CRC: usize = 56;
const HEAD_CRC: usize = 60;

fn number(file: &[u8], at: usize, len: usize) -> Option<Number> {
    Number::new(at, len, true, file.len())
}

/// Where the heads of both copies are: the first one in the gap, and the last one.
fn heads(file: &[u8]) -> [Option<usize>; 2] {
    let is_head = |at: &usize| file[*at..].first_chunk() == Some(&MAGIC);
    let mut starts = (0..file.len().saturating_sub(HEAD - 1)).step_by(4).filter(is_head);
    [starts.next(), starts.next_back()]
}

/// The tie and the table of a copy: after its head, or before.
fn table(file: &[u8], head: usize, is_first: bool) -> Option<std::ops::Range<usize>> {
    let [nblobs, nvars] =
        [NBLOBS, NVARS].map(|at| number(file, head + at, 4).map_or(0, |n| n.index(file)));
    let is_tied = number(file, head + 16, 4).is_some_and(|version| version.get(file) != 1);
    let rows = nblobs.checked_mul(nvars)?.checked_mul(4)?;
    let len = rows.checked_add(if is_tied { TIE } else { 0 })?;
    let start = if is_first { head + HEAD } else { head.checked_sub(len)? };
    let end = start.checked_add(len)?;
    (end <= file.len()).then_some(start..end)
}

/// Adds the fields of a seal, and its tables as blocks.
pub(super) fn add(file: &[u8], shape: &mut Shape) {
    for (head, is_first) in heads(file).into_iter().zip([true, false]) {
        let Some(head) = head else { continue };
        for at in [16, NBLOBS, NVARS, HEADER_CRC, TABLE_CRC, HEAD_CRC] {
            shape.add_number(number(file, head + at, 4));
        }
        for at in [HEADER_LEN, 40, 48] {
            shape.add_number(number(file, head + at, 8));
        }
        shape.add_block(head, HEAD, file.len());
        if let Some(table) = table(file, head, is_first) {
            shape.add_block(table.start, table.len(), file.len());
        }
    }
}

/// Makes the checksums of a seal right: of the header, which starts at `start` and has `len` bytes
/// if that is known; of the tables; of the heads. Those of values stay.
pub(super) fn mend(file: &mut [u8], start: usize, len: Option<usize>) {
    for (head, is_first) in heads(file).into_iter().zip([true, false]) {
        let Some(head) = head else { continue };
        if let (Some(len), Some(number)) = (len, number(file, head + HEADER_LEN, 8)) {
            number.set(file, wide(len));
        }
        let len = number(file, head + HEADER_LEN, 8).map_or(0, |number| number.index(file));
        let header = file.get(start.saturating_add(12)..start.saturating_add(len));
        set_crc(file, header.map(|header| crc32c(0, header)), head + HEADER_CRC);
        let table = table(file, head, is_first).map(|table| crc32c(0, &file[table]));
        set_crc(file, table, head + TABLE_CRC);
        let own = crc32c(0, &file[head..head + HEAD_CRC]);
        set_crc(file, Some(own), head + HEAD_CRC);
    }
}

fn set_crc(file: &mut [u8], crc: Option<u32>, at: usize) {
    if let (Some(crc), Some(number)) = (crc, number(file, at, 4)) {
        number.set(file, crc.into());
    }
}
