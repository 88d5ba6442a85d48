//! Each row of the tables of errors is reached: by a file with a changed byte, or in a test that
//! expects it by its name.

use super::reached::{Worn, changed, inputs};
use super::spec_tables::root;
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::path::Path;
use striae_core::error::Row;
use striae_core::hdf5::{Attributes, Dataset, Links, superblock};
use striae_core::source::Fault;
use striae_core::step::DriveError;
use striae_core::{blob, cdf, ffrecord, gsd, hdf5, sion};
use striae_inspect::blob::map::{Map, NetCdf};

/// Where tests are. In sources of a package they are at the end of a file.
const TESTS: [&str; 7] = [
    "core/src",
    "core/tests",
    "core/inspect/tests",
    "core/hoomd/tests",
    "std-adapter/tests",
    "mpi-adapter/tests",
    "tests/tests",
];

/// The texts of all tests, each after its path.
fn tests(folder: &Path, all: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            tests(&path, all);
        } else if path.extension().is_some_and(|it| it == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let is_source = folder.components().any(|part| part.as_os_str() == "src");
            let at_its_end = text.split_once("\nmod tests {").map_or("", |(_, tests)| tests);
            let tests = if is_source { at_its_end } else { &text };
            all.push(format!("{}\n{tests}", path.display()));
        }
    }
}

/// The names after `::` in a text.
fn names(text: &str) -> BTreeSet<&str> {
    let words = text.split("::").skip(1);
    words.filter_map(|rest| rest.split(|c: char| !c.is_alphanumeric()).next()).collect()
}

/// Names of rows that no test of the format names.
fn unnamed<'r>(rows: &'r [Row], format: &str, tests: &[String]) -> BTreeSet<&'r str> {
    let mut rows: BTreeSet<_> = rows.iter().map(|row| row.name).collect();
    for test in tests.iter().filter(|test| test.contains(format)) {
        let named = names(test);
        rows.retain(|row| !named.contains(row));
    }
    rows
}

#[test]
fn each_error_is_named_by_a_test() {
    let mut all = Vec::new();
    TESTS.iter().for_each(|folder| tests(&root().join(folder), &mut all));
    all.retain(|test| !test.contains("each_error_is_named_by_a_test"));
    for (format, rows) in [
        ("sion", sion::Error::ROWS),
        ("gsd", gsd::Error::ROWS),
        ("ffrecord", ffrecord::Error::ROWS),
        ("cdf", cdf::Error::ROWS),
        ("blob", blob::Error::ROWS),
    ] {
        assert_eq!(unnamed(rows, format, &all), BTreeSet::new(), "{format}");
    }
    let found = unnamed(gsd::Error::ROWS, "gsd", &["gsd Error::Cut, Error::Cuts".to_owned()]);
    assert!(!found.contains("Cut") && found.contains("ChunkCut"));
}

/// Reads all inputs until each error was found, first as they are, then with changes.
fn check(rows: &[Row], folders: &[&str], read: impl Fn(&[u8], &mut dyn FnMut(&dyn Debug))) {
    let mut missing: BTreeSet<_> = rows.iter().map(|row| row.name).collect();
    let inputs = inputs(folders);
    let mut look = |input: Worn<'_>| {
        read(input.held(), &mut |error| {
            let error = format!("{error:?}");
            missing.remove(error.split(|c: char| !c.is_alphanumeric()).next().unwrap());
        });
        missing.is_empty()
    };
    let _ = inputs.iter().any(|input| look(Worn::whole(input)))
        || inputs.iter().any(|input| changed(input, &mut look));
    assert_eq!(missing, BTreeSet::new());
}

/// Passes the errors of all arrays, links and attributes of the root group.
fn read_hdf5(file: &[u8], each: &mut dyn FnMut(&dyn Debug)) {
    let mut tell = |fault| match fault {
        Fault::Format(error) => each(&error),
        Fault::Miss(_) => {}
    };
    let root = match superblock::root(file) {
        Ok(root) => root,
        Err(fault) => return tell(fault),
    };
    let links = Links::open(file, root).and_then(|mut links| {
        while let Some(link) = links.next(file)? {
            let array = |object| Dataset::open(file, object)?.array(file);
            let _ = link.object.map(array).transpose().map_err(&mut tell);
        }
        Ok(())
    });
    let attributes = Attributes::open(file, root).and_then(|mut attributes| {
        while attributes.next(file)?.is_some() {}
        Ok(())
    });
    [links, attributes].into_iter().filter_map(Result::err).for_each(tell);
}

/// A file without checksums, in which the leaf after the last leaf of links is that leaf.
fn without_an_end(whole: &[u8]) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    let node = bytes.windows(4).position(|four| four == b"TREE").unwrap();
    bytes[node + 16..][..8].copy_from_slice(&(node as u64).to_le_bytes());
    bytes
}

/// Passes the file with one byte after the other changed.
fn each_byte_changed(whole: &[u8], each: &mut dyn FnMut(&[u8])) {
    let mut bytes = whole.to_vec();
    for at in 0..whole.len() {
        bytes[at] ^= 1;
        each(&bytes);
        bytes[at] = whole[at];
    }
}

#[test]
fn each_error_of_hdf5_is_reached() {
    let folders = ["tests/golden/hdf5", "fuzz/seeds/hdf5_open", "fuzz/seeds/hdf5_plain"];
    let whole = std::fs::read(root().join("tests/golden/hdf5/superblock0.h5")).unwrap();
    check(hdf5::Error::ROWS, &folders, |file, each| {
        read_hdf5(file, each);
        if file.is_empty() {
            read_hdf5(&without_an_end(&whole), each);
            each_byte_changed(&whole, &mut |file| read_hdf5(file, each));
        }
    });
}

#[test]
fn each_error_of_maps_is_reached() {
    let of_golden = |name| {
        let bytes = std::fs::read(root().join("tests/golden/map").join(name)).unwrap();
        Map::read(&bytes.as_slice()).unwrap()
    };
    let folders = ["tests/golden/map", "fuzz/seeds/map_text", "fuzz/seeds/map_plain"];
    check(blob::map::Error::ROWS, &folders, |file, each| {
        if let Err(DriveError::Format(error)) = Map::read(&file) {
            each(&error);
        }
        if file.is_empty() {
            each(&Map::join(Vec::new()).unwrap_err());
            let two = vec![of_golden("map_f_tiny_4p.nc"), of_golden("map_f_tiny_8p.nc")];
            each(&Map::join(two).unwrap_err());
            let large = b"version 2001 npes 4 ndims 1\n4294967296\n0 1\n4294967296\n";
            let none = b"version 2001 npes 0 ndims 1\n4\n";
            for text in [&large[..], none] {
                let map = Map::read(&text).unwrap();
                each(&NetCdf::default().write(&map).unwrap_err());
            }
        }
    });
}
