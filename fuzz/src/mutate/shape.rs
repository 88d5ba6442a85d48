//! What a format finds in a file: places, and nothing about whether they are right.

use std::ops::Range;

/// Most entries of a table, and blocks, that are looked at: mutations must be cheap.
pub(super) const MANY: usize = 128;

/// A field that is an integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Number {
    at: usize,
    len: usize,
    is_big: bool,
}

impl Number {
    /// An integer of `len` bytes, at most 8, if a file of `file_len` bytes has them.
    pub(super) fn new(at: usize, len: usize, is_big: bool, file_len: usize) -> Option<Self> {
        let is_there = at.checked_add(len).is_some_and(|end| end <= file_len);
        is_there.then_some(Self { at, len, is_big })
    }

    /// Its value; signs are lost.
    pub(super) fn get(&self, file: &[u8]) -> u64 {
        let mut bytes = [0; 8];
        let Some(found) = file.get(self.at..self.at + self.len) else { return 0 };
        if self.is_big {
            bytes[8 - self.len..].copy_from_slice(found);
            return u64::from_be_bytes(bytes);
        }
        bytes[..self.len].copy_from_slice(found);
        u64::from_le_bytes(bytes)
    }

    pub(super) fn index(&self, file: &[u8]) -> usize {
        usize::try_from(self.get(file)).unwrap_or(usize::MAX)
    }

    pub(super) fn set(&self, file: &mut [u8], value: u64) {
        let Some(place) = file.get_mut(self.at..self.at + self.len) else { return };
        match self.is_big {
            true => place.copy_from_slice(&value.to_be_bytes()[8 - self.len..]),
            false => place.copy_from_slice(&value.to_le_bytes()[..self.len]),
        }
    }
}

/// Entries that follow one another.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// Their places, in order.
    pub(super) entries: Vec<Range<usize>>,
    /// The field that says how many there are.
    pub(super) counter: Option<Number>,
}

impl Table {
    /// The first of `count` entries of `len` bytes, as many as are in a file of `file_len` bytes.
    pub(super) fn new(
        start: usize,
        len: usize,
        count: usize,
        counter: Option<Number>,
        file_len: usize,
    ) -> Self {
        let there = file_len.saturating_sub(start) / len;
        let entry = |number: usize| start + number * len..start + (number + 1) * len;
        let entries = (0..count.min(there).min(MANY)).map(entry).collect();
        Self { entries, counter }
    }
}

/// The places in a file.
#[derive(Debug, Clone, Default)]
pub struct Shape {
    /// All fields that are integers.
    pub(super) numbers: Vec<Number>,
    /// Those of them that are offsets of the file.
    pub(super) offsets: Vec<Number>,
    /// Tables.
    pub(super) tables: Vec<Table>,
    /// Blocks: tables, lists, chunks.
    pub(super) blocks: Vec<Range<usize>>,
}

impl Shape {
    pub(super) fn add_number(&mut self, number: Option<Number>) {
        self.numbers.extend(number);
    }

    pub(super) fn add_offset(&mut self, number: Option<Number>) {
        self.numbers.extend(number);
        self.offsets.extend(number);
    }

    /// Adds the part of a block that is in a file of `file_len` bytes.
    pub(super) fn add_block(&mut self, start: usize, len: usize, file_len: usize) {
        let end = start.saturating_add(len).min(file_len);
        if start < end && self.blocks.len() < MANY {
            self.blocks.push(start..end);
        }
    }

    /// Adds a table, and the block that it is.
    pub(super) fn add_table(&mut self, table: Table) {
        if let (Some(first), Some(last)) = (table.entries.first(), table.entries.last()) {
            self.blocks.push(first.start..last.end);
            self.tables.push(table);
        }
    }

    /// Replaces bytes by others, and makes offsets lead to where the bytes are that they led to.
    pub(super) fn replace(&self, file: &mut Vec<u8>, place: Range<usize>, bytes: &[u8]) {
        let end = u64::try_from(place.end).unwrap_or(u64::MAX);
        let (old, new) = (place.len(), bytes.len());
        let [old, new] = [old, new].map(|len| u64::try_from(len).unwrap_or(u64::MAX));
        for offset in &self.offsets {
            let value = offset.get(file);
            if value >= end && value != 0 {
                offset.set(file, value.wrapping_sub(old).wrapping_add(new));
            }
        }
        file.splice(place, bytes.iter().copied());
    }
}
