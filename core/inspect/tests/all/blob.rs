//! What the header of a subfile says of the canonical file.

use crate::requests::golden;
use std::convert::Infallible;
use striae_core::store::ReadAt;
use striae_inspect::blob::subfile::{Head, Subfile};
use striae_kit::hosts::stride;

/// Bytes that no name has, that begin or end none, that are allowed, and those of large numbers.
const BYTES: [u8; 6] = [b'/', b' ', b'-', b'D', 0x7f, 0x80];

/// A step that 3 does not divide, so that a slow host tries all of them, too.
const STRIDE: usize = stride(20);

#[test]
fn there_can_be_a_canonical_file_where_there_is_a_plan_of_it() {
    let (mut allowed, mut refused) = (0, 0);
    // Other subfiles of a set have the same names.
    for (path, mut bytes) in golden("blob", "blob_h1.nc.0000") {
        if !bytes.starts_with(b"CDF") {
            continue;
        }
        let header_len = Head::read(&&bytes[..]).unwrap().header.head().header_len;
        for at in (12..usize::try_from(header_len).unwrap()).step_by(STRIDE) {
            let old = bytes[at];
            for &byte in BYTES.iter().skip(at % 3).step_by(3) {
                bytes[at] = byte;
                let Ok(head) = Head::read(&&bytes[..]) else { continue };
                let definition = head.definition();
                let (plan, check) = (definition.plan().map(drop), definition.check(1));
                assert_eq!(check, plan, "{path:?}: {byte} at {at}");
                if check.is_ok() { allowed += 1 } else { refused += 1 }
            }
            bytes[at] = old;
        }
        let head = Head::read(&&bytes[..]).unwrap();
        assert!(head.definition().check(u64::MAX >> 1).is_ok());
        assert!(head.definition().check(u64::MAX - 1).is_err(), "more records than a file has");
    }
    let least = 1000 / STRIDE;
    assert!(allowed > least && refused > least, "{allowed}, {refused}");
}

/// The header of a subfile with so many decompositions, each with tables for so many blobs.
fn claiming(decompositions: u32, nblobs: u32) -> Vec<u8> {
    let (word, long) = (|word: u32| word.to_be_bytes(), |long: u64| long.to_be_bytes());
    let name = |name: &str| {
        let len = name.len().next_multiple_of(4);
        let mut bytes = [&long(name.len() as u64)[..], name.as_bytes()].concat();
        bytes.resize(8 + len, 0);
        bytes
    };
    let list = |tag: u32, count: u32| [&word(tag)[..], &long(count.into())].concat();
    let int = |of: &str, value: u32| [name(of), list(4, 1), word(value).to_vec()].concat();
    let dim = |of: &str, length: u32| [name(of), long(length.into()).to_vec()].concat();
    let header = |header_len: u64| {
        let mut bytes = [b"CDF\x05".to_vec(), long(0).to_vec()].concat();
        bytes.extend(list(10, 2 + 2 * decompositions));
        bytes.extend([dim("nblobs", nblobs), dim("x", 1)].concat());
        for id in 1..=decompositions {
            bytes.extend(dim(&format!("D{id}.nelems"), 1));
            bytes.extend(dim(&format!("D{id}.max_nreqs"), 1));
        }
        bytes.extend(list(12, 3));
        bytes.extend(int("global_nprocs", nblobs));
        bytes.extend(int("num_decompositions", decompositions));
        bytes.extend(int("num_subfiles", 1));
        bytes.extend(list(11, 5 * decompositions));
        let mut begin = header_len;
        for id in 1..=decompositions {
            for part in ["nreqs", "blob_start", "blob_count", "offsets", "lengths"] {
                bytes.extend(name(&format!("D{id}.{part}")));
                let dims: &[u32] = if part.len() == 7 { &[0, 2 * id + 1] } else { &[0] };
                bytes.extend(long(dims.len() as u64));
                dims.iter().for_each(|&dim| bytes.extend(long(dim.into())));
                match part {
                    "nreqs" => bytes.extend([list(12, 1), int("global_dimids", 1)].concat()),
                    _ => bytes.extend(list(0, 0)),
                }
                bytes.extend([&word(4)[..], &long(4 * u64::from(nblobs)), &long(begin)].concat());
                begin += 4 * u64::from(nblobs);
            }
        }
        bytes
    };
    header(header(0).len() as u64)
}

/// A file of so many bytes that has only these.
struct Long(Vec<u8>, u64);

impl ReadAt for Long {
    type Error = Infallible;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Infallible> {
        buf.fill(0);
        let held = usize::try_from(offset).ok().and_then(|offset| self.0.get(offset..));
        held.unwrap_or_default().iter().zip(&mut *buf).for_each(|(&byte, to)| *to = byte);
        let left = usize::try_from(self.1.saturating_sub(offset)).unwrap_or(usize::MAX);
        Ok(buf.len().min(left))
    }

    fn size(&self) -> Result<u64, Infallible> {
        Ok(self.1)
    }
}

/// 100 tables of 2^31 numbers, of which the file could have one: 5 TB of memory, or an error.
#[test]
fn blobs_whose_tables_are_not_in_the_file_take_no_memory() {
    let file = Long(claiming(100, i32::MAX.cast_unsigned()), 1 << 33);
    let head = Head::read(&file).unwrap();
    let error = Subfile::examine(&file, &head, &mut Err).unwrap_err();
    assert!(format!("{error:?}").contains("OutOfFile"), "{error:?}");
    let sound = claiming(2, 3);
    let len = sound.len() as u64 + 2 * 5 * 4 * 3;
    let file = Long(sound, len);
    let head = Head::read(&file).unwrap();
    assert_eq!(Subfile::examine(&file, &head, &mut |_| Ok(())).unwrap().nblobs, 3);
}
