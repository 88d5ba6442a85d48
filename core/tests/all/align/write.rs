//! One write: done as planned on a file in memory, it leaves what an ordinary write does.

use proptest::prelude::*;
use striae_core::align::{Edge, Error, Rules, Write};
use striae_core::span::Span;

use super::{config, rules, span};

/// A file that takes only whole blocks.
struct Device {
    bytes: Vec<u8>,
    unit: u64,
    reads: u64,
}

impl Device {
    fn put(&mut self, at: u64, block: &[u8]) {
        assert!(at.is_multiple_of(self.unit) && (block.len() as u64).is_multiple_of(self.unit));
        let (start, end) = (at as usize, at as usize + block.len());
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        self.bytes[start..end].copy_from_slice(block);
    }

    fn edge(&mut self, edge: Edge, data: &[u8]) {
        let mut block = vec![0; edge.block.len() as usize];
        let (from, read) = (edge.block.offset() as usize, edge.read as usize);
        if read > 0 {
            block[..read].copy_from_slice(&self.bytes[from..from + read]);
        }
        self.reads += edge.read;
        let (skip, at, len) = (edge.skip as usize, edge.at as usize, edge.len as usize);
        block[skip..skip + len].copy_from_slice(&data[at..at + len]);
        self.put(edge.block.offset(), &block);
    }

    fn write(&mut self, span: Span, data: &[u8], rules: &Rules) {
        let write = Write::new(span, rules).unwrap();
        write.head.into_iter().chain(write.tail).for_each(|edge| self.edge(edge, data));
        if let Some(body) = write.body {
            let at = (body.offset() - span.offset()) as usize;
            self.put(body.offset(), &data[at..at + body.len() as usize]);
        }
        if let Some(len) = write.set_len {
            assert!(self.bytes.len() as u64 > len, "the file is not too long");
            self.bytes.truncate(len as usize);
        }
    }
}

fn check(unit: u64, file_len: u64, offset: u64, len: u64) -> u64 {
    let before: Vec<u8> = (0..file_len).map(|at| 1 + (at % 100) as u8).collect();
    let data: Vec<u8> = (0..len).map(|at| 101 + (at % 100) as u8).collect();
    let mut expected = before.clone();
    if len > 0 {
        expected.resize((file_len.max(offset + len)) as usize, 0);
        expected[offset as usize..(offset + len) as usize].copy_from_slice(&data);
    }
    let mut device = Device { bytes: before, unit, reads: 0 };
    device.write(span(offset, len), &data, &rules(unit, file_len));
    assert_eq!(device.bytes, expected, "unit {unit}, {file_len} bytes, {len} at {offset}");
    device.reads
}

#[test]
fn all_small_writes() {
    for unit in [1, 2, 4, 8] {
        for file_len in 0..=24 {
            for offset in 0..=32 {
                for len in 0..=24 {
                    let read = check(unit, file_len, offset, len);
                    assert!(read <= 2 * unit);
                    let is_aligned = offset % unit == 0 && len % unit == 0;
                    let is_behind = offset % unit == 0 && offset + len >= file_len;
                    assert!(read == 0 || !is_aligned && !is_behind, "nothing had to be read");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(config(2000))]

    #[test]
    fn any_write(
        power in 0u32..=12,
        file_len in 0u64..=20_000,
        offset in 0u64..=30_000,
        len in 0u64..=20_000,
    ) {
        check(1 << power, file_len, offset, len);
    }
}

#[test]
fn a_write_behind_all_offsets_is_refused() {
    let max = i64::MAX as u64 - 511;
    let rules = rules(512, 0);
    assert!(Write::new(span(max - 1, 1), &rules).is_ok());
    let error = Error::FileTooLong { file_len: max + 1, max };
    assert_eq!(Write::new(span(max, 1), &rules), Err(error));
}
