//! GSD files: header, commit record, shadows, index, names, chunks (`spec/gsd.md`).

use super::shape::{MANY, Number, Shape, Table};
use super::{Format, wide};
use crate::gsd_linear::{seal, value_len};
use striae_core::integrity::crc32c;

pub(super) const FORMAT: Format =
    Format { magic: b"\xdf\x65\xdf\x65\xdf\x65\xdf\x65", shape, mend };

const ENTRY: usize = 32;
const NAMES_UNIT: usize = 64;
/// Fields of the commit record, from the start of the file.
const ENTRIES: usize = 184;
const NAMES_LEN: usize = 228;
const INDEX_CRC: usize = 236;
const NAMES_CRC: usize = 240;

fn number(file: &[u8], at: usize, len: usize) -> Option<Number> {
    Number::new(at, len, false, file.len())
}

fn value(file: &[u8], at: usize, len: usize) -> usize {
    number(file, at, len).map_or(0, |number| number.index(file))
}

fn is_committed(file: &[u8]) -> bool {
    file.get(176..).is_some_and(|record| record.starts_with(b"striae\0\x01"))
}

fn shape(file: &[u8]) -> Shape {
    let mut shape = Shape::default();
    for at in [8, 24] {
        shape.add_offset(number(file, at, 8));
    }
    for at in [16, 32] {
        shape.add_number(number(file, at, 8));
    }
    for at in [40, 44] {
        shape.add_number(number(file, at, 4));
    }
    shape.add_block(48, 128, file.len());
    let mut counter = number(file, 16, 8);
    if is_committed(file) {
        for at in [ENTRIES, 192] {
            shape.add_number(number(file, at, 8));
        }
        for at in [200, 208, 216] {
            shape.add_offset(number(file, at, 8));
        }
        for at in [224, NAMES_LEN, 232, INDEX_CRC, NAMES_CRC, 244] {
            shape.add_number(number(file, at, 4));
        }
        for at in 248..252 {
            shape.add_number(number(file, at, 1));
        }
        shape.add_block(value(file, 208, 8), 512, file.len());
        counter = number(file, ENTRIES, 8).filter(|_| value(file, ENTRIES, 8) > 0);
    }
    let (index, slots) = (value(file, 8, 8), value(file, 16, 8));
    let table = Table::new(index, ENTRY, slots, counter, file.len());
    for entry in &table.entries {
        let at = entry.start;
        shape.add_number(number(file, at, 8));
        shape.add_number(number(file, at + 8, 8));
        shape.add_offset(number(file, at + 16, 8));
        shape.add_number(number(file, at + 24, 4));
        shape.add_number(number(file, at + 28, 2));
        shape.add_number(number(file, at + 30, 1));
        let kind = u8::try_from(value(file, at + 30, 1)).unwrap_or(0);
        let values = value(file, at + 8, 8).saturating_mul(value(file, at + 24, 4));
        let len = usize::try_from(value_len(kind).unwrap_or(1)).unwrap_or(1);
        shape.add_block(value(file, at + 16, 8), values.saturating_mul(len), file.len());
    }
    shape.add_table(table);
    let (names, units) = (value(file, 24, 8), value(file, 32, 8));
    shape.add_table(Table::new(names, NAMES_UNIT, units, number(file, 32, 8), file.len()));
    shape
}

/// An entry of the index, by its place.
#[derive(Clone, Copy)]
struct Entry {
    at: usize,
    frame: usize,
    id: usize,
    start: usize,
    end: usize,
}

impl Entry {
    fn of(file: &[u8], at: usize) -> Self {
        let kind = u8::try_from(value(file, at + 30, 1)).unwrap_or(0);
        let size = value_len(kind).and_then(|len| usize::try_from(len).ok()).unwrap_or(0);
        let values = value(file, at + 8, 8).saturating_mul(value(file, at + 24, 4));
        let start = value(file, at + 16, 8);
        let end = start.saturating_add(values.saturating_mul(size));
        Self { at, frame: value(file, at, 8), id: value(file, at + 28, 2), start, end }
    }

    /// The checksum goes on over the entry with location 0.
    fn finish(self, file: &[u8], crc: u32) -> Option<u32> {
        let mut entry: [u8; ENTRY] = file.get(self.at..self.at + ENTRY)?.try_into().ok()?;
        entry[16..24].fill(0);
        Some(crc32c(crc, &entry))
    }

    fn crc(self, file: &[u8]) -> Option<u32> {
        self.finish(file, crc32c(0, file.get(self.start..self.end)?))
    }
}

/// The number of the name of chunks of checksums.
fn checksums_id(file: &[u8]) -> Option<usize> {
    let names = file.get(value(file, 24, 8)..)?;
    let names = names.get(..value(file, NAMES_LEN, 4).min(names.len()))?;
    names.split(|byte| *byte == 0).position(|name| name == b"striae/crc32c")
}

/// Makes the rows of chunks of checksums right (`spec/gsd.md#checksums`). If a chunk has as many as
/// its frame has chunks, their numbers, too.
fn mend_checksums(file: &mut [u8]) {
    const ROW: usize = 8;
    let Some(id) = checksums_id(file) else { return };
    let (index, entries) = (value(file, 8, 8), value(file, ENTRIES, 8));
    let table = Table::new(index, ENTRY, entries, None, file.len());
    let all: Vec<_> = table.entries.iter().map(|entry| Entry::of(file, entry.start)).collect();
    let len = file.len();
    for own in all.iter().filter(|entry| entry.id == id && entry.end <= len) {
        let rows = own.end.saturating_sub(own.start) / ROW;
        let mut of_frame: Vec<_> =
            all.iter().filter(|entry| entry.frame == own.frame && entry.id != id).collect();
        of_frame.sort_by_key(|entry| entry.id);
        of_frame.dedup_by_key(|entry| entry.id); // padding
        for row in 0..rows.saturating_sub(1).min(MANY) {
            let at = own.start + ROW * row;
            if let Some(entry) = of_frame.get(row).filter(|_| of_frame.len() + 1 == rows) {
                set(file, at, wide(entry.id));
            }
            let id = value(file, at, 4);
            let found = of_frame.iter().find(|entry| entry.id == id);
            if let Some(crc) = found.and_then(|entry| entry.crc(file)) {
                set(file, at + 4, crc.into());
            }
        }
        if rows > 0 {
            let last = own.end - ROW;
            let before = crc32c(0, &file[own.start..last]);
            if let Some(crc) = own.finish(file, before) {
                set(file, last + 4, crc.into());
            }
        }
    }
}

fn set(file: &mut [u8], at: usize, value: u64) {
    if let Some(number) = number(file, at, 4) {
        number.set(file, value);
    }
}

/// Makes the checksums of frames, of the commit record, and of what it counts, right.
fn mend(file: &mut [u8]) {
    if !is_committed(file) {
        return;
    }
    mend_checksums(file);
    let sums = [
        (value(file, 8, 8), value(file, ENTRIES, 8).saturating_mul(ENTRY), INDEX_CRC),
        (value(file, 24, 8), value(file, NAMES_LEN, 4), NAMES_CRC),
    ];
    for (start, len, place) in sums {
        let end = start.saturating_add(len);
        if let (Some(bytes), Some(number)) = (file.get(start..end), number(file, place, 4)) {
            let crc = crc32c(0, bytes);
            number.set(file, crc.into());
        }
    }
    seal(file);
}
