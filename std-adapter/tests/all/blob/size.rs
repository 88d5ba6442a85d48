//! An output is as large as the subfiles justify, and no larger because a header says so.

use super::made::Made;
use crate::run::striae;
use std::path::{Path, PathBuf};
use striae::Output;
use striae::blob::{Convert, Extract, Set};
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
