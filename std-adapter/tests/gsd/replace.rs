//! What `convert` and `recover` replace.

use super::golden::path_of;
use super::*;
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
    // A link goes, and what it points to stays.
    let link = dir.path().join("link.gsd");
    let writer = FileWriter::reopen(&out).unwrap();
    for args in verbs(&from, link.to_str().unwrap()) {
        std::os::unix::fs::symlink(&out, &link).unwrap();
        output(&args);
        assert!(!fs::symlink_metadata(&link).unwrap().is_symlink());
        fs::remove_file(&link).unwrap();
    }
    drop(writer);
    for args in verbs(&from, out.to_str().unwrap()) {
        output(&args);
        assert_eq!(striae::gsd::File::open(&out).unwrap().frames(), 12);
    }
}
