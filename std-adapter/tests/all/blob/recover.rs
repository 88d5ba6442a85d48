//! Recover of sets: what is there is saved, and what is not is listed.

use super::made::Made;
use super::{copied, golden_dir};
use crate::run::striae;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use striae::blob::Set;
use striae::blob::recover::Recover;
use striae::cdf::{File, Type};
use striae_inspect::blob::subfile::{Head, Subfile};

/// A set of 4 x 6 elements in three subfiles, one with two blobs.
fn made(dir: &Path) -> Made {
    let subfiles = vec![
        vec![vec![(0, 6)], vec![(6, 2), (10, 2)]],
        vec![vec![(8, 2), (12, 4)]],
        vec![vec![(16, 3)], vec![(20, 4)]],
    ];
    let made = Made { rows: 4, columns: 6, numrecs: 2, subfiles };
    made.write(dir);
    made
}

/// The values of both variables of a canonical file: 24 of `fixed`, then 48 of `record`.
fn values(path: &Path) -> Vec<i64> {
    let file = File::open(path).unwrap();
    let read = |name| file.read::<i64>(file.variable(name).unwrap()).unwrap();
    [read("fixed"), read("record")].concat()
}

/// The places of values that the report lists, as [`values`] numbers them.
fn listed(report: &Value) -> BTreeSet<usize> {
    let mut all = BTreeSet::new();
    let ranges = |row: &Value| -> Vec<usize> {
        let ranges = row["ranges"].as_array().unwrap().iter();
        let pair = |range: &Value| {
            let [first, len] = [0, 1].map(|at| range[at].as_u64().unwrap() as usize);
            first..first + len
        };
        ranges.flat_map(pair).collect()
    };
    for row in report["uncovered"].as_array().unwrap() {
        for place in ranges(row) {
            all.extend([place, place + 24, place + 48]);
        }
    }
    for row in report["lost"].as_array().unwrap() {
        let records = row.get("records").map(|records| {
            let [first, count] = [0, 1].map(|at| records[at].as_u64().unwrap() as usize);
            first..first + count
        });
        let skips: Vec<_> = match (row["variable"].as_str().unwrap(), records) {
            ("fixed", None) => vec![0],
            ("record", Some(records)) => records.map(|record| 24 + 24 * record).collect(),
            ("time", Some(_)) => continue,
            other => panic!("{other:?}"),
        };
        let ranges = ranges(row);
        assert_eq!(row["values"], ranges.len() * skips.len(), "{row}");
        let places = |skip| ranges.iter().map(move |place| place + skip);
        all.extend(skips.into_iter().flat_map(places));
    }
    all
}

/// Recovers a damaged copy, and checks it against the values of the whole set: those that are not
/// listed are right, the others have the fill value.
fn check(set: &Path, whole: &[i64]) -> (Value, usize) {
    let out = set.with_file_name("out.nc");
    let args = ["recover", "--force", "--json", set.to_str().unwrap(), out.to_str().unwrap()];
    let assert = striae(&args).assert().code(1).stderr("");
    let report: Value = serde_json::from_slice(&assert.get_output().stdout).unwrap();
    assert_eq!(report["sound"], false);
    let (found, listed) = (values(&out), listed(&report));
    assert_eq!(found.len(), whole.len());
    for (place, (found, whole)) in found.iter().zip(whole).enumerate() {
        let expected = if listed.contains(&place) { -9_223_372_036_854_775_806 } else { *whole };
        assert_eq!(*found, expected, "value {place}: {report}");
    }
    (report, listed.len())
}

/// The values of the sound set as they are read of it; its hole at element 19 has the fill value.
fn whole(set: &Path) -> Vec<i64> {
    let out = set.with_file_name("whole.nc");
    Recover::new().examine(set).unwrap().write(&out, &|_| {}).unwrap();
    let set = Set::open(set).unwrap();
    let read = |name| set.read::<i64>(set.variable(name).unwrap()).unwrap();
    assert_eq!(values(&out), [read("fixed"), read("record")].concat());
    values(&out)
}

#[test]
fn a_lost_subfile_costs_its_own_elements_and_they_are_listed() {
    let dir = crate::in_memory();
    let (set, out) = (dir.path().join("set.nc"), dir.path().join("first.nc"));
    made(dir.path());
    striae(&["recover", set.to_str().unwrap(), out.to_str().unwrap()]).assert().code(0);
    let whole = whole(&set);
    for (number, elements) in [(0, 10), (1, 6), (2, 7)] {
        let path = set.with_extension(format!("nc.{number:04}"));
        let bytes = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let (report, lost) = check(&set, &whole);
        assert_eq!(report["missing"], serde_json::json!([[number, 1]]));
        assert_eq!(lost, 3 * (elements + 1)); // and the hole, which the lost subfile may have had
        assert_eq!(report["uncovered"][0]["hole"], false);
        std::fs::write(&path, bytes).unwrap();
    }
}

#[test]
fn of_a_cut_subfile_all_before_the_cut_is_saved() {
    let dir = crate::in_memory();
    made(dir.path());
    let set = dir.path().join("set.nc");
    let whole = whole(&set);
    let path = set.with_extension("nc.0002");
    let bytes = std::fs::read(&path).unwrap();
    let mut last = usize::MAX;
    for len in (0..bytes.len()).step_by(23).chain([bytes.len() - 5]) {
        std::fs::write(&path, &bytes[..len]).unwrap();
        let (_, lost) = check(&set, &whole);
        assert!(lost <= last, "{len}: {lost}");
        last = lost;
    }
    assert_eq!(last, 1 + 3); // the last element, and the hole of three records
    let cut = Recover::new().examine(&set).unwrap();
    assert!(cut.uncovered()[0].is_hole, "all maps are there");
}

/// A table that another one proves is mended.
#[test]
fn a_wrong_table_costs_nothing_if_the_others_prove_it() {
    let dir = crate::in_memory();
    made(dir.path());
    let set = dir.path().join("set.nc");
    let whole = whole(&set);
    let path = set.with_extension("nc.0002");
    let bytes = std::fs::read(&path).unwrap();
    for (table, value) in [("D1.blob_start", 1_i64), ("D1.blob_count", 6), ("D1.blob_start", -1)] {
        let file = File::open(&path).unwrap();
        let at = file.variable(table).unwrap().begin() as usize + 8; // of the second blob
        let mut damaged = bytes.clone();
        damaged[at..at + 8].copy_from_slice(&value.to_be_bytes());
        std::fs::write(&path, &damaged).unwrap();
        let (report, lost) = check(&set, &whole);
        assert!(report["damaged"][0]["error"].as_str().unwrap().contains(table), "{report}");
        assert_eq!(lost, 3); // only the hole, as a list might have been lost
        std::fs::write(&path, &bytes).unwrap();
    }
    // The list of one blob: the other blobs are saved.
    let at = File::open(&path).unwrap().variable("D1.lengths").unwrap().begin() as usize;
    let mut damaged = bytes.clone();
    damaged[at + 4..at + 8].copy_from_slice(&9_u32.to_be_bytes()); // of the second blob
    std::fs::write(&path, &damaged).unwrap();
    assert_eq!(check(&set, &whole).1, 3 * 5);
}

/// Elements that two blobs have, or that are outside of the array: verify calls it damage, so the
/// file is not called complete, although each element has a value.
#[test]
fn what_the_maps_name_twice_or_outside_is_no_complete_set() {
    let dir = crate::in_memory();
    let (set, out) = (dir.path().join("set.nc"), dir.path().join("out.nc"));
    for (second, surplus) in [((6, 6), 2), ((8, 16), 0), ((8, 20), 4), ((8, 18), 2)] {
        let subfiles = vec![vec![vec![(0, 8)]], vec![vec![second]]];
        Made { rows: 4, columns: 6, numrecs: 2, subfiles }.write(dir.path());
        let args = ["recover", "--force", "--json", set.to_str().unwrap(), out.to_str().unwrap()];
        let assert = striae(&args).assert().code(i32::from(surplus > 0)).stderr("");
        let report: Value = serde_json::from_slice(&assert.get_output().stdout).unwrap();
        assert_eq!(report["sound"], surplus == 0, "{second:?}");
        match surplus {
            0 => assert_eq!(report["uncovered"], serde_json::json!([])),
            _ => assert_eq!(report["uncovered"][0]["surplus"], surplus, "{second:?}"),
        }
        striae(&["verify", set.to_str().unwrap()]).assert().code(i32::from(surplus > 0));
    }
}

/// Numbers of subfiles that no set has, and a subfile beyond those of the set.
#[test]
fn a_wrong_number_of_subfiles_is_damage() {
    let dir = crate::in_memory();
    made(dir.path());
    let set = dir.path().join("set.nc");
    let paths: Vec<_> = (0..3).map(|n| set.with_extension(format!("nc.{n:04}"))).collect();
    let sound: Vec<_> = paths.iter().map(|path| std::fs::read(path).unwrap()).collect();
    let write = |number: u32| {
        for (path, bytes) in paths.iter().zip(&sound) {
            let name = b"num_subfiles";
            let at = bytes.windows(name.len()).position(|bytes| bytes == name).unwrap();
            let at = at + name.len() + 4 + 8; // its type and its length
            let mut bytes = bytes.clone();
            assert_eq!(bytes[at..at + 4], 3_u32.to_be_bytes());
            bytes[at..at + 4].copy_from_slice(&number.to_be_bytes());
            std::fs::write(path, bytes).unwrap();
        }
    };
    let nprocs = 5;
    for number in [0, nprocs + 1, 1 << 30, u32::MAX] {
        write(number);
        let error = Recover::new().examine(&set).unwrap_err().to_string();
        assert!(error.contains("no subfile"), "{error}");
    }
    write(2);
    for verb in ["info", "verify"] {
        striae(&[verb, set.to_str().unwrap()]).assert().code(1);
    }
    let set = Set::open(&set).unwrap();
    let lost = set.lost();
    assert_eq!(lost.iter().map(|lost| lost.number).collect::<Vec<_>>(), [2]);
    assert!(lost[0].error.to_string().contains("numbers of subfiles"));
}

/// The canonical file is no subfile of its set, under whatever name.
#[test]
fn no_subfile_of_the_set_is_replaced_by_its_canonical_file() {
    let dir = crate::in_memory();
    made(dir.path());
    let set = dir.path().join("set.nc");
    let link = dir.path().join("link.nc");
    std::os::unix::fs::symlink(dir.path().join("set.nc.0001"), &link).unwrap();
    let read = || [0, 1, 2].map(|n| std::fs::read(set.with_extension(format!("nc.{n:04}"))).ok());
    let before = read();
    let twin = dir.path().join(".").join("set.nc.0002");
    for out in [set.with_extension("nc.0001"), twin, set.with_extension("nc.0007"), link] {
        for verb in ["recover", "convert"] {
            let args = [verb, "--force", set.to_str().unwrap(), out.to_str().unwrap()];
            let output = striae(&args).assert().failure().get_output().stderr.clone();
            let text = String::from_utf8(output).unwrap();
            assert!(text.contains("is a source, and would be replaced"), "{verb}: {text}");
        }
    }
    assert!(read() == before);
    assert!(!set.with_extension("nc.0007").exists());
}

/// A file of some kB that counts 2^62 records: there is nothing to fill so many values with.
#[test]
fn records_that_no_file_has_are_not_made() {
    let dir = crate::in_memory();
    made(dir.path());
    let set = dir.path().join("set.nc");
    for (subfiles, records) in [(1, 2), (3, 2)] {
        for number in 0..subfiles {
            let path = set.with_extension(format!("nc.{number:04}"));
            let mut bytes = std::fs::read(&path).unwrap();
            bytes[4..12].copy_from_slice(&(1_u64 << 62).to_be_bytes());
            std::fs::write(path, bytes).unwrap();
        }
        let found = Set::open(&set).unwrap();
        assert_eq!(found.header().numrecs(), records);
        let error = found.lost()[0].error.to_string();
        assert!(error.contains("is 4611686018427387904, must be at most 2"), "{error}");
        striae(&["cat", set.to_str().unwrap(), "variable/record"]).assert().code(1);
    }
}

#[test]
fn of_a_cut_hdf5_subfile_the_whole_blobs_are_saved() {
    let (_dir, copy) = copied(&golden_dir().join("f8_n8_s3rr/blob_h1.h5"));
    let sound = Recover::new().examine(&copy).unwrap();
    let path = copy.with_extension("h5.0000");
    let len = std::fs::metadata(&path).unwrap().len();
    let none = sound.uncovered()[0].elements;
    assert!(sound.is_complete());
    // The CDF-5 form of the same data says how many elements each blob has.
    let twin = File::open(golden_dir().join("f8_n8_s3rr/blob_h1.nc.0000")).unwrap();
    let counts = twin.read::<i64>(twin.variable("D1.blob_count").unwrap()).unwrap();
    let canonical = File::open(golden_dir().join("f8_n8_s3rr/can_h1.nc")).unwrap();
    let doubles = |file: &File| file.read::<f64>(file.variable("U").unwrap()).unwrap();
    let (right, fill) = (doubles(&canonical), f64::from_be_bytes(Type::Double.fill()));
    for (cut, kept) in [(100, 2), (3000, 1), (9000, 0)] {
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(len - cut).unwrap();
        let recovery = Recover::new().examine(&copy).unwrap();
        assert!(!recovery.is_complete());
        assert_eq!(recovery.damaged().len(), 1);
        let lost = recovery.uncovered()[0].elements - none;
        assert_eq!(lost, counts[kept..].iter().sum::<i64>().cast_unsigned(), "{cut}");
        let out = copy.with_file_name("out.nc");
        recovery.write(&out, &|_| {}).unwrap();
        let found = doubles(&File::open(&out).unwrap());
        assert_eq!(found.len(), right.len());
        assert!(found.iter().zip(&right).all(|(found, right)| found == right || *found == fill));
        let is_kept = found.iter().filter(|found| **found != fill).count();
        assert!(is_kept < right.len(), "{cut}");
        std::fs::remove_file(&out).unwrap();
    }
}

/// A sealed set of two subfiles in which nobody has element 4, and its canonical file.
fn sealed_with_hole(dir: &Path, container: &str) -> (PathBuf, PathBuf) {
    let (plain, map, set) = (dir.join("plain.nc"), dir.join("map.dat"), dir.join("sealed.nc"));
    Made { rows: 4, columns: 6, numrecs: 2, subfiles: vec![vec![vec![(0, 24)]]] }.write(dir);
    Recover::new().examine(dir.join("set.nc")).unwrap().write(&plain, &|_| {}).unwrap();
    let lists = "0 12\n1 2 3 4 0 6 7 8 9 10 11 12\n1 12\n13 14 15 16 17 18 19 20 21 22 23 24";
    std::fs::write(&map, format!("version 2001 npes 2 ndims 2\n6 4\n{lists}\n")).unwrap();
    let [out, from, by] = [&set, &plain, &map].map(|path| path.to_str().unwrap());
    let args = ["pack", "--format", "blob", "--seal", "--subfiles", "2", "--container", container];
    striae(&[&args[..], &["--map", by, out, from]].concat()).assert().code(0);
    (set, plain)
}

/// What nobody wrote is not called lost because a value elsewhere is: the maps say it.
#[test]
fn a_damaged_value_makes_no_hole_of_other_variables_a_loss() {
    for container in ["cdf", "hdf5"] {
        let dir = crate::in_memory();
        let (set, _) = sealed_with_hole(dir.path(), container);
        let sound = Recover::new().examine(&set).unwrap();
        assert!(sound.is_complete() && sound.tally().exact == 3);
        assert_eq!((sound.uncovered()[0].elements, sound.uncovered()[0].is_hole), (1, true));

        let path = set.with_extension("nc.0001");
        let mut bytes = std::fs::read(&path).unwrap();
        let value = Made::value(1, 1, 0, 0, 12); // the first element of this subfile, in record 1
        let places = [value.to_be_bytes(), value.to_le_bytes()];
        let at = bytes.windows(8).position(|bytes| places.iter().any(|place| bytes == place));
        bytes[at.unwrap()] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        let recovery = Recover::new().examine(&set).unwrap();
        assert!(recovery.uncovered()[0].is_hole, "{container}");
        assert_eq!((recovery.tally().exact, recovery.tally().lost), (2, 1), "{container}");
        assert!(!recovery.is_complete());
        let out = dir.path().join("out.nc");
        let args = ["recover", "--json", set.to_str().unwrap(), out.to_str().unwrap()];
        let assert = striae(&args).assert().code(1);
        let report: Value = serde_json::from_slice(&assert.get_output().stdout).unwrap();
        let variables = report["variables"].as_array().unwrap();
        let rows: Vec<_> = variables.iter().map(|row| (&row["name"], &row["word"])).collect();
        let row = |at: usize, name, word| assert_eq!(rows[at], (&json!(name), &json!(word)));
        row(0, "fixed", "exact");
        row(1, "record", "lost");
        row(2, "time", "exact");
        assert_eq!(variables[1]["why"], "values are lost");
        assert_eq!(rows.len(), 3);

        // A map that is not as sealed may have had the element.
        bytes[at.unwrap()] ^= 1;
        let head = Head::read(&&bytes[..]).unwrap();
        let canonical = &head.grammar.canonical;
        let subfile = Subfile::open(&&bytes[..], canonical, head.container()).unwrap();
        let [(offsets, _), _] = subfile.requests(0, 0).unwrap();
        let last = offsets.end() as usize - 1;
        let low = if container == "cdf" { last } else { offsets.offset() as usize };
        bytes[low] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        let recovery = Recover::new().examine(&set).unwrap();
        assert!(!recovery.uncovered()[0].is_hole, "{container}");
        assert_eq!(recovery.tally().lost, 2, "{container}");
    }
}

/// A set of which no subfile can be read is there: the first one and its damage are named.
#[test]
fn a_set_without_a_readable_subfile_is_damaged_and_not_missing() {
    let dir = crate::in_memory();
    Made { rows: 4, columns: 6, numrecs: 2, subfiles: vec![vec![vec![(0, 24)]]] }.write(dir.path());
    let (set, out) = (dir.path().join("set.nc"), dir.path().join("out.nc"));
    let path = set.with_extension("nc.0000");
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..100]).unwrap();
    let [name, new] = [&set, &out].map(|path| path.to_str().unwrap());
    let says = format!("damage {name}.0000: ");
    let verify = striae(&["verify", name]).assert().code(1).stderr("");
    assert!(String::from_utf8_lossy(&verify.get_output().stdout).starts_with(&says));
    for (args, status) in [
        (&["info", name][..], 1),
        (&["ls", name], 1),
        (&["convert", name, new], 1),
        (&["recover", name, new], 2),
    ] {
        let output = striae(args).assert().code(status);
        let error = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
        assert!(error.starts_with(&format!("striae: {name}.0000: ")), "{args:?}: {error}");
        assert!(!error.contains("No such file"), "{args:?}: {error}");
    }
    assert!(!out.exists());
}

/// An argument that names nothing is wrong, whatever the files are: status 2.
#[test]
fn pack_says_which_variable_or_subfile_is_not_there() {
    let dir = crate::in_memory();
    let (_, plain) = sealed_with_hole(dir.path(), "cdf");
    let (none, map) = (dir.path().join("none.nc"), dir.path().join("map.dat"));
    let [none, plain, map] = [&none, &plain, &map].map(|path| path.to_str().unwrap());
    let pack = ["pack", "--format", "blob"];
    let of = ["--map", map, "--decomposition", "zz=1", none, plain];
    let text = format!("striae: {plain}: there is no variable zz\n");
    striae(&[&pack[..], &of].concat()).assert().code(2).stderr(text);
    let text =
        format!("striae: {none}: there is no subfile {none}.0000, nor one of another number\n");
    striae(&[&pack[..], &["--append", none, plain]].concat()).assert().code(2).stderr(text);
}
