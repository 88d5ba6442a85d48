//! SIONlib files: META1, META2, mapping, seal, chunks (`spec/sion.md`).

use super::shape::{MANY, Number, Shape, Table};
use super::{Format, wide};
use striae_core::integrity::crc32c;

pub(super) const FORMAT: Format = Format { magic: b"sion", shape, mend };

const SEAL: &[u8] = b"striae SION seal";
const TRAILER: usize = 64;

/// Where things are, by the numbers of META1.
struct Places {
    is_big: bool,
    len: usize,
    tables: usize,
    ntasks: Option<Number>,
    tasks: usize,
    maxchunks: usize,
    meta2: usize,
}

impl Places {
    fn of(file: &[u8]) -> Self {
        let is_big = file.get(4).is_some_and(|byte| byte & 1 == 1);
        let len = file.len();
        let word = |at| Number::new(at, 4, is_big, len);
        let version = word(16).map_or(0, |number| number.get(file));
        let tables = if version >= 3 { 1076 } else { 1056 };
        let ntasks = word(24);
        let tasks = ntasks.map_or(0, |number| number.index(file)).min(len / 16);
        let mut places = Self { is_big, len, tables, ntasks, tasks, maxchunks: 0, meta2: len };
        let commit = places.commit();
        places.maxchunks = word(commit).map_or(0, |number| number.index(file)).min(len / 8);
        let meta2 = places.number(commit + 4, 8).map_or(0, |number| number.index(file));
        places.meta2 = if meta2 == 0 { len } else { meta2.min(len) };
        places
    }

    fn number(&self, at: usize, len: usize) -> Option<Number> {
        Number::new(at, len, self.is_big, self.len)
    }

    /// Where the commit fields are.
    fn commit(&self) -> usize {
        self.tables + 16 * self.tasks
    }

    /// Where the mapping is.
    fn mapping(&self) -> usize {
        let counts = self.tasks.saturating_mul(self.maxchunks.saturating_add(1));
        self.meta2.saturating_add(counts.saturating_mul(8)).min(self.len)
    }

    fn has_seal(&self, file: &[u8]) -> bool {
        file.ends_with(SEAL) && self.len >= TRAILER
    }
}

fn shape(file: &[u8]) -> Shape {
    let places = Places::of(file);
    let mut shape = Shape::default();
    for at in [8, 12, 16, 20, 24, 28, 32] {
        shape.add_number(places.number(at, 4));
    }
    for at in [36, 44] {
        shape.add_number(places.number(at, 8));
    }
    let (commit, mapping) = (places.commit(), places.mapping());
    shape.add_number(places.number(commit, 4));
    shape.add_offset(places.number(commit + 4, 8));
    shape.add_number(places.number(mapping, 4));
    let rows = places.maxchunks.saturating_add(1).min(MANY);
    let tables = [places.tables, places.tables + 8 * places.tasks];
    let rows = (0..rows).map(|row| places.meta2.saturating_add(8 * places.tasks * row));
    for start in tables.into_iter().chain(rows) {
        let table = Table::new(start, 8, places.tasks, places.ntasks, places.len);
        for entry in table.entries.iter().take(16) {
            shape.add_number(places.number(entry.start, 8));
        }
        shape.add_table(table);
    }
    let counter = places.number(mapping, 4);
    let entries = counter.map_or(0, |counter| counter.index(file));
    let table = Table::new(mapping.saturating_add(4), 8, entries, counter, places.len);
    for entry in table.entries.iter().take(16) {
        shape.add_number(places.number(entry.start, 4));
        shape.add_number(places.number(entry.start + 4, 4));
    }
    shape.add_table(table);
    if places.has_seal(file) {
        for at in [0, 4, 8, 24, 28, 40] {
            shape.add_number(places.number(places.len - TRAILER + at, 4));
        }
        shape.add_offset(places.number(places.len - TRAILER + 16, 8));
    }
    add_chunks(file, &places, &mut shape);
    shape
}

/// Chunks of the first block, and of the next ones as far as they are alike.
fn add_chunks(file: &[u8], places: &Places, shape: &mut Shape) {
    let sizes = places.tables + 8 * places.tasks;
    let block = places.number(20, 4).map_or(1, |number| number.index(file)).max(1);
    let mut at = (places.commit() + 12).next_multiple_of(block.min(1 << 30));
    for task in 0..places.tasks.min(MANY) {
        let size = places.number(sizes + 8 * task, 8).map_or(0, |number| number.index(file));
        shape.add_block(at, size, places.len);
        at = at.saturating_add(size).min(1 << 40).next_multiple_of(block.min(1 << 30));
    }
}

/// Makes the checksums of a seal right.
fn mend(file: &mut [u8]) {
    let places = Places::of(file);
    if !places.has_seal(file) {
        return;
    }
    let trailer = places.len - TRAILER;
    let table = 4 * places.tasks.saturating_mul(places.maxchunks).min(trailer / 4);
    let seal = (trailer - table).max(places.meta2.min(trailer));
    let set = |file: &mut [u8], at: usize, crc: u32| {
        if let Some(number) = places.number(trailer + at, 4) {
            number.set(file, crc.into());
        }
    };
    let meta1 = file.get(..places.commit() + 12).unwrap_or_default();
    let (meta1, meta2) =
        (crc32c(0, meta1), crc32c(0, file.get(places.meta2..seal).unwrap_or_default()));
    let chunks = crc32c(0, &file[seal..trailer]);
    if let (Some(ntasks), Some(at)) = (places.ntasks, places.number(trailer + 4, 4)) {
        at.set(file, ntasks.get(file));
    }
    if let Some(at) = places.number(trailer + 8, 4) {
        at.set(file, wide(places.maxchunks));
    }
    if let Some(at) = places.number(trailer + 16, 8) {
        at.set(file, wide(places.meta2));
    }
    set(file, 12, meta1);
    set(file, 32, meta2);
    set(file, 36, chunks);
    let crc = crc32c(0, &file[trailer..trailer + 44]);
    set(file, 44, crc);
}
