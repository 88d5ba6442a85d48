//! HDF5 files: what follows the signatures of their blocks (`spec/blob.md#hdf5`).
//!
//! A walk over all versions of all messages would be as long as the reader that is tested. Numbers
//! lie at multiples of 2 behind a signature, and those of 8 bytes that are below the file's length,
//! and not small, are taken for offsets.

use super::Format;
use super::shape::{MANY, Number, Shape};

pub(super) const FORMAT: Format = Format { magic: b"\x89HDF\r\n\x1a\n", shape, mend: |_| {} };

const SIGNATURES: [&[u8]; 6] = [b"\x89HDF", b"TREE", b"HEAP", b"SNOD", b"OHDR", b"GCOL"];
/// Bytes behind a signature whose numbers are looked at.
const NEAR: usize = 96;
/// Offsets lead behind the superblock.
const SUPERBLOCK: u64 = 48;

fn shape(file: &[u8]) -> Shape {
    let mut shape = Shape::default();
    let is_block =
        |at: &usize| SIGNATURES.iter().any(|signature| file[*at..].starts_with(signature));
    let mut starts: Vec<usize> = (0..file.len()).step_by(8).filter(is_block).take(MANY).collect();
    // Object headers of version 1 have no signature: offsets lead to them.
    let words = (0..file.len() / 8).filter_map(|word| Number::new(8 * word, 8, false, file.len()));
    for number in words {
        let value = number.get(file);
        let is_offset = value >= SUPERBLOCK && value.is_multiple_of(8);
        if let Ok(at) = usize::try_from(value)
            && is_offset
            && at < file.len()
            && shape.offsets.len() < 4 * MANY
        {
            shape.add_offset(Some(number));
            starts.push(at);
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
    shape
}
