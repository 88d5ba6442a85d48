//! Classic netCDF files: the header's lists, and the data that `begin` leads to (`spec/cdf.md`).

use super::shape::{MANY, Number, Shape, Table};
use super::{Format, blob};

pub(super) const FORMAT: Format = Format { magic: b"CDF", shape, mend };

/// The header, read as far as it makes sense.
struct Header<'f> {
    file: &'f [u8],
    at: usize,
    shape: Shape,
    /// Bytes of a count, and of an offset.
    count: usize,
    offset: usize,
}

impl Header<'_> {
    fn number(&mut self, len: usize) -> Option<Number> {
        let number = Number::new(self.at, len, true, self.file.len())?;
        self.at += len;
        self.shape.add_number(Some(number));
        Some(number)
    }

    fn value(&mut self, len: usize) -> Option<usize> {
        let number = self.number(len)?;
        Some(number.index(self.file))
    }

    /// Steps over bytes that are filled up to a multiple of 4.
    fn skip(&mut self, len: usize) -> Option<()> {
        let end = self.at.checked_add(len.checked_next_multiple_of(4)?)?;
        self.at = (end <= self.file.len()).then_some(end)?;
        Some(())
    }

    fn name(&mut self) -> Option<()> {
        let len = self.value(self.count)?;
        self.skip(len)
    }

    /// A list: its tag, its count, and its items.
    fn list(&mut self, item: fn(&mut Self) -> Option<()>) -> Option<()> {
        self.number(4)?;
        let counter = self.number(self.count)?;
        let mut table = Table { entries: Vec::new(), counter: Some(counter) };
        let mut done = Some(());
        for _ in 0..counter.index(self.file).min(MANY) {
            let start = self.at;
            done = item(self);
            if done.is_none() {
                break;
            }
            table.entries.push(start..self.at);
        }
        self.shape.add_table(table);
        done
    }

    fn dimension(&mut self) -> Option<()> {
        self.name()?;
        self.number(self.count).map(drop)
    }

    fn attribute(&mut self) -> Option<()> {
        self.name()?;
        let kind = self.value(4)?;
        let values = self.value(self.count)?;
        let len = match kind {
            1 | 2 | 7 => 1,
            3 | 8 => 2,
            4 | 5 | 9 => 4,
            _ => 8,
        };
        self.skip(values.checked_mul(len)?)
    }

    fn variable(&mut self) -> Option<()> {
        self.name()?;
        let dims = self.value(self.count)?;
        for _ in 0..dims.min(MANY) {
            self.number(self.count)?;
        }
        self.list(Self::attribute)?;
        self.number(4)?;
        let len = self.value(self.count)?;
        let begin = self.number(self.offset)?;
        self.shape.offsets.push(begin);
        self.shape.add_block(begin.index(self.file), len, self.file.len());
        Some(())
    }

    fn read(&mut self) -> Option<()> {
        self.number(self.count)?;
        self.list(Self::dimension)?;
        self.list(Self::attribute)?;
        self.list(Self::variable)
    }
}

/// The header's places, and its length if all of it makes sense.
fn walk(file: &[u8]) -> (Shape, Option<usize>) {
    let version = file.get(3).copied().unwrap_or(1);
    let count = if version == 5 { 8 } else { 4 };
    let offset = if version == 1 { 4 } else { 8 };
    let mut header = Header { file, at: 4, shape: Shape::default(), count, offset };
    header.shape.add_number(Number::new(3, 1, true, file.len()));
    let read = header.read(); // of a damaged file, what came before the damage
    (header.shape, read.map(|()| header.at))
}

fn shape(file: &[u8]) -> Shape {
    let (mut shape, _) = walk(file);
    blob::add(file, &mut shape);
    shape
}

/// Makes the checksums of a seal right, if the file is a subfile of a set and has one.
fn mend(file: &mut [u8]) {
    let (_, len) = walk(file);
    blob::mend(file, 0, len);
}
