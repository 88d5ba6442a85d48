//! An output is as large as the subfiles justify, and no larger because a header says so.

use super::made::Made;
use crate::run::striae;
use std::path::{Path, PathBuf};
use striae::Output;
use striae::blob::{Convert, Extract, Set};
use striae::cdf::{Builder, Definition, DimDef, File, Type, VarDef, Version};
use striae_inspect::size::{FACTOR, ROOM};

/// A set whose header claims this length of a dimension, or this number of records.
fn claiming(dir: &Path, dimension: &str, length: u64) -> PathBuf {
    let subfiles = vec![vec![vec![(0, 8)]], vec![vec![(8, 4)], vec![(12, 4)]]];
    Made { rows: 2, columns: 8, numrecs: 2, subfiles }.write(dir);
    let path = dir.join("set.nc");
    for number in 0..2 {
        let path = path.with_extension(format!("nc.{number:04}"));
        let mut bytes = std::fs::read(&path).unwrap();
        let at = match dimension {
            "numrecs" => 4,
            name => {
                let at = bytes.windows(name.len()).position(|part| part == name.as_bytes());
                at.unwrap() + name.len().next_multiple_of(4)
            }
        };
        bytes[at..at + 8].copy_from_slice(&length.to_be_bytes());
        std::fs::write(&path, &bytes).unwrap();
        if dimension == "numrecs" {
            // A hole that could have the records.
            let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
            file.set_len(bytes.len() as u64 + length * 68).unwrap();
        }
    }
    path
}

/// The bytes of a folder's files that are no holes, and the names of all entries.
fn stored(dir: &Path) -> (u64, Vec<String>) {
    use std::os::unix::fs::MetadataExt;
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    let (mut bytes, mut names) = (0, Vec::new());
    for entry in entries {
        bytes += entry.metadata().unwrap().blocks() * 512;
        names.push(entry.file_name().into_string().unwrap());
    }
    names.sort();
    (bytes, names)
}

/// Claims of 14 sizes, from those that are justified to those that no file system has.
#[test]
fn no_claim_of_a_header_makes_an_output_large() {
    for exponent in [4, 12, 16, 20, 24, 32, 40, 50] {
        for dimension in ["row", "numrecs"] {
            if dimension == "numrecs" && exponent > 32 {
                continue; // no file is as long
            }
            let dir = tempfile::tempdir().unwrap();
            let set = claiming(dir.path(), dimension, 1 << exponent);
            let (input, before) = stored(dir.path());
            let (set, out) = (set.to_str().unwrap(), dir.path().join("out.nc"));
            for verb in ["convert", "recover"] {
                let run = striae(&[verb, set, out.to_str().unwrap()]).assert();
                let error = String::from_utf8(run.get_output().stderr.clone()).unwrap();
                match out.metadata() {
                    Ok(made) => {
                        assert!(made.len() <= FACTOR * input + ROOM + (1 << 16), "{}", made.len());
                        std::fs::remove_file(&out).unwrap();
                    }
                    Err(_) => {
                        assert_eq!(run.get_output().status.code(), Some(2), "{error}");
                        assert!(error.contains("--max-size"), "{error}");
                        let (name, value) = (dimension, (1_u64 << exponent).to_string());
                        assert!(error.contains(name) && error.contains(&value), "{error}");
                        assert!(error.contains("at offset"), "{error}");
                        assert_eq!(stored(dir.path()).1, before);
                    }
                }
                assert_eq!(exponent > 12, error.contains("--max-size"), "{exponent}: {error}");
            }
            let cat = striae(&["cat", set, "variable/record"]).assert();
            let bytes = cat.get_output().stdout.len() as u64;
            assert!(bytes <= FACTOR * input + ROOM, "{bytes}");
            assert_eq!(bytes == 0, exponent > 12);
            let error = Extract::new().run(&Set::open(set).unwrap(), &out, &|_| ());
            assert_eq!(error.is_err(), exponent > 12, "{error:?}");
        }
    }
}

/// What was asked for is written; zeros stay holes.
#[test]
fn a_larger_output_is_made_if_the_caller_asks_for_it() {
    let dir = tempfile::tempdir().unwrap();
    let set = claiming(dir.path(), "numrecs", 1 << 17);
    let out = dir.path().join("out.nc");
    let set = Set::open(&set).unwrap();
    let size = set.header().variables().map(|variable| variable.len()).sum::<u64>() + (1 << 16);
    let few = Output::new().max_size(Some(size / 2));
    assert!(Convert::new().output(few).run(&set, &out, &|_| ()).is_err());
    let enough = Output::new().max_size(Some(size));
    let convert = Convert::new().output(enough);
    // The steps are as many as the bytes justify.
    assert!(convert.pieces(&set, &out).unwrap().count() <= size / (1 << 13) + 2);
    let made = convert.run(&set, &out, &|_| ()).unwrap();
    assert_eq!(out.metadata().unwrap().len(), made.bytes);
    let (stored, _) = stored(dir.path());
    assert!(stored < 1 << 20, "{stored}"); // of 17 MB
}

/// One rank has every second of 10 000 cells, and each of the others one cell.
#[test]
fn tables_of_one_rank_with_many_requests_are_holes_and_count() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (map, input) = (path("map.dat"), path("input.nc"));
    let (set, out) = (path("set.nc"), path("out.nc"));
    let many: Vec<_> = (0..5000).map(|cell| (2 * cell + 1).to_string()).collect();
    let ones = (1..RANKS).map(|rank| format!("{rank} 1\n{}\n", 2 * rank)).collect::<String>();
    let of_many = format!("0 5000\n{}\n", many.join(" "));
    let text = format!("version 2001 npes {RANKS} ndims 1\n10000\n{of_many}{ones}");
    std::fs::write(&map, text).unwrap();
    let heat = VarDef { name: "heat", nc_type: Type::Double, dimids: &[1] };
    let definition = Definition {
        dims: &[DimDef::record("time"), DimDef { name: "cell", length: 10_000 }],
        attrs: &[],
        vars: &[(heat, &[])],
    };
    let mut file = Builder::new(Version::Cdf5).create(&input, &definition).unwrap();
    let values: Vec<_> = (0..10_000).map(f64::from).collect();
    file.put(0, &*values).unwrap();
    file.close().unwrap();

    let pack = ["pack", "--format", "blob", "--seal", "--map", &map, "--decomposition", "heat=1"];
    let refused = striae(&[&pack[..], &[&set, &input]].concat()).assert().code(2);
    let says = String::from_utf8(refused.get_output().stderr.clone()).unwrap();
    assert!(says.contains("the tables of all blobs have room for the most requests"), "{says}");
    assert_eq!(stored(dir.path()).1, ["input.nc", "map.dat"]);

    let before = stored(dir.path()).0;
    striae(&[&pack[..], &["--max-size", "20000000", &set, &input]].concat()).assert().success();
    let tables = u64::from(RANKS) * 5000 * 8;
    assert!(std::fs::metadata(path("set.nc.0000")).unwrap().len() > tables);
    let made = stored(dir.path()).0 - before;
    assert!(made < tables / 4, "{made} bytes are no holes");
    striae(&["verify", &set]).assert().success();
    striae(&["convert", &set, &out]).assert().success();
    let values: Vec<f64> =
        File::open(&out).and_then(|file| file.read(file.variable("heat")?)).unwrap();
    let has_rank = |cell: usize| cell.is_multiple_of(2) || cell.div_ceil(2) < RANKS as usize;
    for (cell, &value) in values.iter().enumerate().filter(|&(cell, _)| has_rank(cell)) {
        assert_eq!(value, cell as f64);
    }
}

const RANKS: u32 = 300;
