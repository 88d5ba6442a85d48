//! A gatherer against plain bytes.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    reason = "a test: a panic fails it"
)]

use super::*;
use proptest::collection::vec;
use proptest::prelude::*;
use std::fs;

#[derive(Debug, Clone)]
enum Operation {
    /// How far behind the last write, length, and the byte.
    Follow(u64, usize, u8),
    Write(u64, usize, u8),
    Size(u64),
    Order,
    Sync,
    Read(u64, usize),
}

fn operation() -> impl Strategy<Value = Operation> {
    let len = prop_oneof![8 => 0..300_usize, 1 => 60_000..200_000_usize];
    let offset = || prop_oneof![0..3000_u64, 0..400_000_u64];
    prop_oneof![
        6 => (prop_oneof![Just(0), 0..6000_u64], len.clone(), 1..=255_u8)
            .prop_map(|(gap, len, byte)| Operation::Follow(gap, len, byte)),
        3 => (offset(), len, 1..=255_u8)
            .prop_map(|(offset, len, byte)| Operation::Write(offset, len, byte)),
        1 => offset().prop_map(Operation::Size),
        1 => Just(Operation::Order),
        2 => Just(Operation::Sync),
        3 => (offset(), 0..5000_usize).prop_map(|(offset, len)| Operation::Read(offset, len)),
    ]
}

fn write(
    gatherer: &mut Gatherer<&PosixFile>,
    model: &mut Vec<u8>,
    offset: u64,
    len: usize,
    byte: u8,
) {
    let bytes: Vec<u8> = (0..len).map(|i| byte.wrapping_add((i % 251) as u8)).collect();
    gatherer.write_all_at(offset, &bytes).unwrap();
    if !bytes.is_empty() {
        let (start, end) = (offset as usize, offset as usize + len);
        model.resize(model.len().max(end), 0);
        model[start..end].copy_from_slice(&bytes);
    }
}

fn run(capacity: usize, operations: &[Operation]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let file = PosixFile::create(&path, false).unwrap();
    let mut gatherer = Gatherer::new(&file, capacity).unwrap();
    let (mut model, mut next) = (Vec::new(), 0);
    for operation in operations {
        match *operation {
            Operation::Follow(gap, len, byte) => {
                let offset = (next + gap).min(1 << 21);
                write(&mut gatherer, &mut model, offset, len, byte);
                next = offset + len as u64;
            }
            Operation::Write(offset, len, byte) => {
                write(&mut gatherer, &mut model, offset, len, byte);
                next = offset + len as u64;
            }
            Operation::Size(len) => {
                gatherer.set_size(len).unwrap();
                model.resize(len as usize, 0);
            }
            Operation::Order | Operation::Sync => {
                match operation {
                    Operation::Order => gatherer.order().unwrap(),
                    _ => gatherer.sync().unwrap(),
                }
                let bytes = fs::read(&path).unwrap();
                assert!(bytes[..model.len()] == model, "something was left");
                assert!(bytes[model.len()..].iter().all(|&byte| byte == 0));
            }
            Operation::Read(offset, len) => {
                let have = (offset as usize).min(model.len())..model.len();
                let expected = &model[have.start..have.end.min(have.start + len)];
                let mut bytes = vec![0x55; expected.len()];
                gatherer.read_exact_at(offset, &mut bytes).unwrap();
                assert!(bytes == expected, "{len} bytes at {offset}");
                let mut more = [0x55; 3];
                assert_eq!(gatherer.read_at(model.len() as u64, &mut more).unwrap(), 0);
            }
        }
        assert_eq!(gatherer.size().unwrap(), model.len() as u64);
    }
    gatherer.sync().unwrap();
    gatherer.trim().unwrap();
    assert!(fs::read(&path).unwrap() == model);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64, failure_persistence: None, ..Default::default()
    })]

    #[test]
    fn a_gatherer_is_like_bytes(
        capacity in prop_oneof![Just(0), 1..500_usize, Just(1 << 17), Just(1 << 20)],
        operations in vec(operation(), 1..60),
    ) {
        run(capacity, &operations);
    }
}

#[test]
fn a_front_that_fills_the_buffer_is_there_all_the_same() {
    for capacity in 1..300 {
        run(capacity, &[Operation::Write(0, 15, 1), Operation::Follow(0, 241, 7), Operation::Sync]);
    }
}

#[test]
fn short_commits_let_the_file_grow_in_steps_and_trimming_takes_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let file = PosixFile::create(&path, false).unwrap();
    let mut gatherer = Gatherer::new(&file, 1 << 20).unwrap();
    let mut lengths = std::collections::BTreeSet::new();
    for i in 0..300_u64 {
        gatherer.write_all_at(i * 280, &[7; 280]).unwrap();
        gatherer.sync().unwrap();
        let len = fs::metadata(&path).unwrap().len();
        assert!(len >= (i + 1) * 280);
        lengths.insert(len);
    }
    assert!(lengths.len() < 8, "{lengths:?}");
    gatherer.trim().unwrap();
    assert!(fs::read(&path).unwrap() == [7; 300 * 280]);
}

#[test]
fn changes_of_the_front_are_one_write_with_what_is_between_them_and_seen_when_ordered() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    fs::write(&path, [1; 700]).unwrap();
    let file = PosixFile::open_rw(&path).unwrap();
    let mut gatherer = Gatherer::new(&file, 1 << 20).unwrap();
    gatherer.write_all_at(100, &[2; 4]).unwrap();
    gatherer.write_all_at(8, &[3; 40]).unwrap();
    gatherer.write_all_at(176, &[4; 80]).unwrap();
    gatherer.order().unwrap();
    let mut expected = [1; 700];
    expected[100..104].fill(2);
    expected[8..48].fill(3);
    expected[176..256].fill(4);
    assert!(fs::read(&path).unwrap() == expected, "there was no sync");
}
