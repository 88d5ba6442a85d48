//! A table of names finds what the list says, in memory that does not depend on how long names are.

use proptest::prelude::*;
use std::cell::Cell;
use striae_core::gsd::{Error, NamePlace, NameTable, Reader};
use striae_core::step::DriveError;
use striae_core::store::{FixedSize, ReadAt};
use striae_kit::gsd_files::{GoldenFile, Made, golden_files};

/// Bytes that count how often they are read.
struct Counted<'a>(&'a [u8], Cell<u64>);

impl ReadAt for Counted<'_> {
    type Error = FixedSize;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, FixedSize> {
        self.1.set(self.1.get() + 1);
        self.0.read_at(offset, buf)
    }

    fn size(&self) -> Result<u64, FixedSize> {
        self.0.size()
    }
}

fn open<S: ReadAt>(store: S) -> Reader<S> {
    match Reader::open(store, &mut [0; 4096]) {
        Ok(file) => file,
        Err(_) => panic!("a sound file was refused"),
    }
}

fn made(major: u16, names: Vec<Vec<u8>>) -> Vec<u8> {
    Made { layer: (major, 0), names, ..Made::new(vec![], 0) }.bytes()
}

fn first(names: &[Vec<u8>], name: &[u8]) -> Option<u16> {
    names.iter().position(|other| other == name).map(|id| u16::try_from(id).unwrap())
}

/// All names, and some that are not there, are found by the table as by a look at all of them.
fn check(bytes: &[u8], names: &[Vec<u8>]) {
    let file = open(bytes);
    for window in [1, 5, 64, 4096] {
        let mut memory = vec![NamePlace::EMPTY; names.len() + window % 3];
        let table = NameTable::fill(&file, &mut memory, &mut vec![0; window]).unwrap();
        assert_eq!((table.len(), table.is_empty()), (names.len(), names.is_empty()));
        let find = |name: &[u8]| table.id(&file, name, &mut vec![0; window]).unwrap();
        for name in names {
            assert_eq!(find(name), first(names, name));
            let longer = [name, b"x".as_slice()].concat();
            assert_eq!(find(&longer), first(names, &longer));
            let shorter = &name[..name.len() - 1];
            assert_eq!(find(shorter), first(names, shorter));
            assert_eq!(find(&[name, b"\0".as_slice()].concat()), None);
        }
        for name in [b"".as_slice(), b"\0", b"no such name", &[b'n'; 64], &[b'n'; 5000]] {
            assert_eq!(find(name), first(names, name));
        }
    }
}

#[test]
fn every_name_of_every_golden_file_is_found() {
    for golden in golden_files().into_iter().filter(GoldenFile::is_valid) {
        check(&golden.bytes, &golden.names());
    }
}

#[test]
fn a_file_of_all_names_is_looked_up_in_one_read_a_name() {
    for major in [1, 2] {
        let name = |id: u32| format!("log/quantity/{id}").into_bytes();
        let bytes = made(major, (0..65535).map(name).collect());
        let store = Counted(&bytes, Cell::new(0));
        let file = open(&store);
        assert_eq!(file.head().names, 65535);
        let mut memory = vec![NamePlace::EMPTY; 65535];
        let mut window = [0; 4096];
        let table = NameTable::fill(&file, &mut memory, &mut window).unwrap();
        assert_eq!(table.len(), 65535);
        for id in (0..65535).step_by(7).chain(65530..65535) {
            store.1.set(0);
            let found = table.id(&file, &name(id), &mut window).unwrap();
            assert_eq!(found.map(u32::from), Some(id));
            // others are read only if their hash is the same
            assert!(store.1.get() <= 2, "{} reads", store.1.get());
        }
        for id in 65535..70000 {
            store.1.set(0);
            assert_eq!(table.id(&file, &name(id), &mut window).unwrap(), None);
            assert!(store.1.get() <= 1, "{} reads", store.1.get());
        }
    }
}

#[test]
fn names_of_one_hash_are_told_apart() {
    // pairs of one FNV-1a of 32 bits
    let pairs: [[&[u8]; 2]; 2] = [[b"costarring", b"liquid"], [b"declinate", b"macallums"]];
    let names: Vec<Vec<u8>> = pairs.concat().into_iter().map(Vec::from).collect();
    for major in [1, 2] {
        check(&made(major, names.clone()), &names);
        check(&made(major, names[..1].to_vec()), &names[..1]);
        let reversed: Vec<_> = names.iter().rev().cloned().collect();
        check(&made(major, reversed.clone()), &reversed);
    }
}

#[test]
fn the_first_of_equal_names_is_found() {
    let names: Vec<Vec<u8>> = [b"a", b"b", b"a", b"c", b"b", b"a"].map(|name| name.to_vec()).into();
    for major in [1, 2] {
        check(&made(major, names.clone()), &names);
    }
}

#[test]
fn a_name_may_fill_its_slot() {
    let names = vec![vec![b'n'; 64], vec![b'n'; 63], vec![b'm'; 64], vec![b'n'; 1]];
    check(&made(1, names.clone()), &names);
}

#[test]
fn memory_that_is_too_small_is_refused_with_the_size_that_would_do() {
    for count in [1usize, 2, 100] {
        let bytes = made(2, (0..count).map(|id| vec![b'x'; id + 1]).collect());
        let file = open(bytes.as_slice());
        let size = size_of::<NamePlace>();
        assert_eq!(size, 12);
        let mut memory = vec![NamePlace::EMPTY; count - 1];
        let error = NameTable::fill(&file, &mut memory, &mut [0; 64]).unwrap_err();
        let (need, have) = (u64::try_from(size * count).unwrap(), size * (count - 1));
        let have = u64::try_from(have).unwrap();
        assert_eq!(error, DriveError::Format(Error::Memory { need, have }));
        let mut memory = vec![NamePlace::EMPTY; usize::try_from(need).unwrap() / size];
        assert_eq!(NameTable::fill(&file, &mut memory, &mut [0; 64]).unwrap().len(), count);
    }
}

#[test]
fn a_window_of_no_bytes_is_refused() {
    let bytes = made(2, vec![b"name".to_vec()]);
    let file = open(bytes.as_slice());
    let mut memory = [NamePlace::EMPTY; 1];
    let too_small = DriveError::BufferTooSmall { need: 1 };
    assert_eq!(NameTable::fill(&file, &mut memory, &mut []).unwrap_err(), too_small);
    let table = NameTable::fill(&file, &mut memory, &mut [0]).unwrap();
    assert_eq!(table.id(&file, b"name", &mut []).unwrap_err(), too_small);
}

proptest! {
    #![proptest_config(crate::config(60))]

    #[test]
    fn any_names_are_found(
        names in prop::collection::vec(prop::collection::vec(1..=255u8, 1..20), 0..60),
        major in 1..=2u16,
    ) {
        check(&made(major, names.clone()), &names);
    }
}

#[test]
fn no_bytes_are_no_name() {
    // An empty name ends the list; that of a commit record may go on behind one.
    let bytes = made(2, vec![b"a".to_vec(), vec![], b"b".to_vec()]);
    let file = open(bytes.as_slice());
    let mut memory = [NamePlace::EMPTY; 4];
    let table = NameTable::fill(&file, &mut memory, &mut [0; 64]).unwrap();
    assert_eq!(table.id(&file, b"", &mut [0; 64]), Ok(None));
    assert_eq!(file.name_id(b"", &mut [0; 64]), Ok(None));
}
