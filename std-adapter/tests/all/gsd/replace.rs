//! What `convert` and `recover` replace.

use super::golden::path_of;
use super::*;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use striae::gsd::FileWriter;

/// Each of the two verbs, with `--force`.
fn verbs<'a>(from: &'a str, out: &'a str) -> [[&'a str; 4]; 2] {
    ["convert", "recover"].map(|verb| [verb, "--force", from, out])
}

#[test]
fn a_file_that_is_being_written_is_not_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let (from, out) = (path_of("v21_sparse_chunks"), dir.path().join("out.gsd"));
    let mut writer = striae::gsd::Builder::new().create(&out).unwrap();
    writer.write("step", &[1_u64], 1).unwrap();
    writer.end_frame().unwrap();
    writer.commit().unwrap();
    for args in verbs(&from, out.to_str().unwrap()) {
        refused(&args, 2, "is being written");
    }
    writer.write("step", &[2_u64], 1).unwrap();
    writer.end_frame().unwrap();
    writer.close().unwrap();
    assert_eq!(striae::gsd::File::open(&out).unwrap().frames(), 2);
    // By a link it is what the link points to.
    let link = dir.path().join("link.gsd");
    std::os::unix::fs::symlink(&out, &link).unwrap();
    let writer = FileWriter::reopen(&out).unwrap();
    for args in verbs(&from, link.to_str().unwrap()) {
        refused(&args, 2, "is being written");
    }
    drop(writer);
    for args in verbs(&from, link.to_str().unwrap()) {
        output(&args);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }
    for args in verbs(&from, out.to_str().unwrap()) {
        output(&args);
        assert_eq!(striae::gsd::File::open(&out).unwrap().frames(), 12);
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_new_file_is_for_those_who_may_read_the_old_one_or_what_it_replaces() {
    let dir = tempfile::tempdir().unwrap();
    let (from, out) = (dir.path().join("from.gsd"), dir.path().join("out.gsd"));
    fs::copy(path_of("v21_sparse_chunks"), &from).unwrap();
    for args in verbs(from.to_str().unwrap(), out.to_str().unwrap()) {
        set_mode(&from, 0o600);
        output(&args);
        assert_eq!(mode(&out), 0o600, "{args:?}");
        set_mode(&from, 0o644);
        output(&args);
        assert_eq!(mode(&out), 0o600, "{args:?}");
        set_mode(&out, 0o666);
        output(&args);
        assert_eq!(mode(&out), 0o666, "{args:?}");
        fs::remove_file(&out).unwrap();
    }
    set_mode(&from, 0o600);
    let from = from.to_str().unwrap();
    output(&["convert", "--force", from, from]);
    assert_eq!(mode(Path::new(from)), 0o600);
}

#[test]
fn an_array_that_is_replaced_keeps_its_permissions() {
    let dir = tempfile::tempdir().unwrap();
    let args = ["extract", "--force", &path_of("v21_sparse_chunks"), dir.path().to_str().unwrap()];
    output(&args);
    let array = dir.path().join("every.npy");
    set_mode(&array, 0o600);
    output(&args);
    assert_eq!(mode(&array), 0o600);
}
