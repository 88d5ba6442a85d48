//! ffrecord files: a checksum, the tables of the samples, the samples (`spec/ffrecord.md`).

use super::Format;
use super::shape::{MANY, Number, Shape, Table};
use striae_core::integrity::crc32;

pub(super) const FORMAT: Format = Format { magic: b"", shape, mend };

fn number(file: &[u8], at: usize, len: usize) -> Option<Number> {
    Number::new(at, len, false, file.len())
}

fn samples(file: &[u8]) -> usize {
    let count = number(file, 4, 8).map_or(0, |number| number.index(file));
    count.min(file.len().saturating_sub(12) / 12)
}

/// Where a sample is, by the table of offsets.
fn sample(file: &[u8], count: usize, which: usize) -> (usize, usize) {
    let offset = |which: usize| match which < count {
        true => number(file, 12 + 4 * count + 8 * which, 8).map_or(0, |number| number.index(file)),
        false => file.len(),
    };
    let (start, end) = (offset(which), offset(which + 1).min(file.len()));
    (start, end.saturating_sub(start))
}

fn shape(file: &[u8]) -> Shape {
    let mut shape = Shape::default();
    let (count, counter) = (samples(file), number(file, 4, 8));
    shape.add_number(counter);
    shape.add_number(number(file, 0, 4));
    let offsets = Table::new(12 + 4 * count, 8, count, counter, file.len());
    for entry in &offsets.entries {
        shape.add_offset(number(file, entry.start, 8));
    }
    for which in 0..count.min(MANY) {
        let (start, len) = sample(file, count, which);
        shape.add_block(start, len, file.len());
    }
    shape.add_table(Table::new(12, 4, count, counter, file.len()));
    shape.add_table(offsets);
    shape
}

/// Makes the checksums of samples and tables right.
fn mend(file: &mut [u8]) {
    let count = samples(file);
    for which in 0..count {
        let (start, len) = sample(file, count, which);
        let crc = file.get(start..start.saturating_add(len)).map(|bytes| crc32(0, bytes));
        if let (Some(crc), Some(number)) = (crc, number(file, 12 + 4 * which, 4)) {
            number.set(file, crc.into());
        }
    }
    if let (Some(tables), Some(number)) = (file.get(4..12 + 12 * count), number(file, 0, 4)) {
        let crc = crc32(0, tables);
        number.set(file, crc.into());
    }
}
