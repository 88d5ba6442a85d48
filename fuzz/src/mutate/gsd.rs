//! GSD files: header, commit record, shadows, index, names, chunks (`spec/gsd.md`).

use super::Format;
use super::shape::{Number, Shape, Table};
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

/// Makes the checksums of the commit record, and of what it counts, right.
fn mend(file: &mut [u8]) {
    if !is_committed(file) {
        return;
    }
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
