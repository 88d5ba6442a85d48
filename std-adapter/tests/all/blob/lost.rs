//! A lost or damaged subfile costs its own elements, and is named.

use super::{all, copied, golden_dir};
use std::path::Path;
use striae::blob::{Convert, Set};

const SETS: [&str; 2] = ["f8_n8_s3rr/blob_h1.nc", "f8_n8_s3rr/blob_h1.h5"];

/// The elements of each variable that a damaged set has, compared with those of the whole one:
/// they are equal or 0.
fn covered(damaged: &Set, whole: &Set) -> Vec<(u64, u64)> {
    let mut counts = Vec::new();
    for variable in whole.header().variables() {
        let width = variable.nc_type().size() as usize;
        let (found, expected) = (all(damaged, variable.name()), all(whole, variable.name()));
        let mut same = 0;
        for (found, expected) in found.chunks(width).zip(expected.chunks(width)) {
            let is_same = found == expected;
            assert!(is_same || found.iter().all(|byte| *byte == 0), "{}", variable.name());
            same += u64::from(is_same);
        }
        counts.push((same, (expected.len() / width) as u64));
    }
    counts
}

#[test]
fn a_missing_subfile_costs_its_own_elements() {
    for name in SETS {
        let whole = Set::open(golden_dir().join(name)).unwrap();
        for lost in 0..3 {
            let (_dir, copy) = copied(whole.path());
            let path = whole.subfile_path(lost);
            std::fs::remove_file(copy.with_file_name(path.file_name().unwrap())).unwrap();
            let set = Set::open(&copy).unwrap();
            assert!(!set.is_whole());
            assert_eq!(set.missing().collect::<Vec<_>>(), [lost]);
            check_elements(&set, &whole);
            assert!(set.lost().is_empty());
        }
    }
}

/// Every subfile that is left gives all it has.
fn check_elements(set: &Set, whole: &Set) {
    let counts = covered(set, whole);
    for (variable, (found, all)) in whole.header().variables().zip(counts) {
        let Some(id) = whole.decomposition(variable) else {
            assert_eq!(found, all, "{}", variable.name());
            continue;
        };
        let records = if variable.is_record() { whole.header().numrecs() } else { 1 };
        let covered = set.decompositions().unwrap()[id - 1].covered;
        assert!(covered < whole.decompositions().unwrap()[id - 1].covered);
        assert!(found >= covered * records, "{}", variable.name());
        assert!(found <= covered * records + 2, "{}", variable.name()); // values that are 0
    }
}

#[test]
fn a_damaged_header_or_map_costs_its_own_elements_and_is_named() {
    for name in SETS {
        let whole = Set::open(golden_dir().join(name)).unwrap();
        for number in 0..3 {
            let (_dir, copy) = copied(whole.path());
            let path = copy.with_file_name(whole.subfile_path(number).file_name().unwrap());
            for damage in [cut_header, no_numbers, wrong_map] {
                let bytes = std::fs::read(whole.subfile_path(number)).unwrap();
                damage(&path, &bytes);
                let set = Set::open(&copy).unwrap();
                check_elements(&set, &whole);
                let lost = set.lost();
                assert_eq!(lost.len(), 1);
                assert_eq!((lost[0].number, lost[0].error.path()), (number, &*path));
                assert!(!set.is_whole());
            }
        }
    }
}

fn cut_header(path: &Path, bytes: &[u8]) {
    std::fs::write(path, &bytes[..9000]).unwrap();
}

fn no_numbers(path: &Path, _: &[u8]) {
    std::fs::write(path, b"").unwrap();
}

/// `D1.nreqs`, `D2.nreqs` and `D3.nreqs` of the first blob become negative: they are the first
/// numbers of the blobs, and in CDF-5 the first ones of variables.
fn wrong_map(path: &Path, bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    let header = bytes.windows(4).position(|bytes| bytes == b"CDF\x05").unwrap();
    // The header has 16236 bytes in all of these files.
    let numbers = if header == 0 { 16384 } else { header + 16236 };
    bytes[numbers..numbers + 4].fill(0xff);
    std::fs::write(path, bytes).unwrap();
}

/// A cut subfile in CDF-5 still gives the values before the cut.
#[test]
fn a_cut_subfile_gives_what_it_has() {
    let whole = Set::open(golden_dir().join(SETS[0])).unwrap();
    let (_dir, copy) = copied(whole.path());
    let path = copy.with_file_name(whole.subfile_path(1).file_name().unwrap());
    let bytes = std::fs::read(&path).unwrap();
    let mut last = 0;
    for len in [18_000, bytes.len() - 3000, bytes.len() - 1, bytes.len()] {
        std::fs::write(&path, &bytes[..len]).unwrap();
        let set = Set::open(&copy).unwrap();
        let sum = covered(&set, &whole).iter().map(|(same, _)| same).sum::<u64>();
        assert!(sum > last);
        last = sum;
        assert_eq!(set.is_whole(), len == bytes.len());
        for lost in set.lost() {
            assert_eq!(lost.number, 1);
            assert!(lost.values.is_some_and(|values| values > 0));
        }
    }
    let all = covered(&whole, &whole).iter().map(|(_, all)| all).sum::<u64>();
    assert_eq!(last, all);
}

#[test]
fn convert_fills_what_is_lost() {
    let whole = Set::open(golden_dir().join(SETS[1])).unwrap();
    let (dir, copy) = copied(whole.path());
    std::fs::remove_file(copy.with_extension("h5.0001")).unwrap();
    let set = Set::open(&copy).unwrap();
    let out = dir.path().join("out.nc");
    Convert::new().run(&set, &out, &|_| ()).unwrap();
    let file = striae::cdf::File::open(&out).unwrap();
    for variable in file.header().variables() {
        if variable.nc_type() != striae::cdf::Type::Double {
            continue;
        }
        let same = set.variable(variable.name()).unwrap();
        let (found, expected) =
            (file.read::<f64>(variable).unwrap(), set.read::<f64>(same).unwrap());
        assert_eq!(found, expected, "{}", variable.name());
    }
}

#[test]
fn a_subfile_of_another_set_is_not_taken() {
    for (name, other) in
        [(SETS[0], "f4_n4_s1/blob_h1.nc.0000"), (SETS[1], "f4_n4_s1/blob_h1.h5.0000")]
    {
        let (_dir, copy) = copied(&golden_dir().join(name));
        let mut path = copy.clone().into_os_string();
        path.push(".0002");
        std::fs::copy(golden_dir().join(other), &path).unwrap();
        let set = Set::open(&copy).unwrap();
        set.decompositions().unwrap();
        let lost = set.lost();
        assert_eq!(lost.len(), 1);
        let text = lost[0].error.to_string();
        assert!(text.contains("belongs to another set"), "{text}");
    }
}
