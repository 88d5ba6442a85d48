//! Patterns of chunks: `cat` and `extract` select the same ones.

use super::*;
use std::path::Path;
use striae_kit::gsd_files::{Entry, committed_file, golden_dir};

/// The exit statuses and the bytes of `cat` and `extract` of a pattern.
fn statuses(path: &str, out: &Path, pattern: &str) -> [Option<i32>; 2] {
    let cat = striae(&["cat", path, pattern]).output().unwrap();
    let extract = striae(&["extract", path, out.to_str().unwrap(), pattern]).output().unwrap();
    let _ = fs::remove_dir_all(out);
    assert_eq!(cat.stderr, extract.stderr, "{path} {pattern}");
    [cat.status.code(), extract.status.code()]
}

#[test]
fn cat_refuses_of_a_damaged_file_what_extract_refuses() {
    let dir = tempfile::tempdir().unwrap();
    let mut damaged = 0;
    for entry in fs::read_dir(golden_dir()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "gsd") {
            continue;
        }
        for pattern in ["*", "frame/0/*", "frame/?/[a-z]*"] {
            let [cat, extract] = statuses(path.to_str().unwrap(), &dir.path().join("x"), pattern);
            assert_eq!(cat, extract, "{} {pattern}", path.display());
            damaged += usize::from(cat == Some(1));
        }
    }
    assert!(damaged > 20, "{damaged}");
}

#[test]
fn of_several_chunks_of_a_name_in_a_frame_a_pattern_selects_the_one_that_an_address_selects() {
    let dir = tempfile::tempdir().unwrap();
    let chunk = |frame, id, location, n| Entry { n, location, ..Entry::empty(frame, id) };
    let entries = [
        chunk(0, 0, 1280, 2),
        chunk(0, 0, 1282, 3),
        chunk(0, 1, 1285, 4),
        chunk(1, 1, 1289, 2),
        chunk(1, 1, 1291, 1),
        chunk(1, 2, 1292, 5),
        chunk(2, 1, 1297, 1),
    ];
    for major in [1, 2] {
        let path = dir.path().join("a.gsd");
        fs::write(&path, committed_file(major, &entries)).unwrap();
        let path = path.to_str().unwrap();
        let cat = |address: &str| output(&["cat", path, address]);
        let all = |addresses: &[&str]| addresses.iter().flat_map(|one| cat(one)).collect();
        let n1: Vec<u8> = all(&["frame/0/n1", "frame/1/n1", "frame/2/n1"]);
        assert_eq!(cat("frame/*/n1"), n1, "layer {major}");
        assert_eq!(cat("frame/[0]/*"), all(&["frame/0/n0", "frame/0/n1"]), "layer {major}");
        assert_eq!(n1[4..], if major == 1 { [12, 18].to_vec() } else { [10, 11, 18].to_vec() });

        let out = dir.path().join("out");
        output(&["extract", path, out.to_str().unwrap(), "frame/*/n0"]);
        assert!(fs::read(out.join("n0.npy")).unwrap().ends_with(&cat("frame/0/n0")));
        fs::remove_dir_all(out).unwrap();
    }
}
