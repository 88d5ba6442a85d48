//! Damage that a reader can step over is told by every verb that might take something wrong for it.

use super::*;
use std::path::PathBuf;
use striae::gsd::{Builder, File};
use tempfile::TempDir;

/// A file of two frames of five names, of which `damage` changes bytes.
fn damaged(damage: impl Fn(&File, &mut Vec<u8>)) -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.gsd");
    let mut writer = Builder::new().create(&path).unwrap();
    for frame in 0..2_u32 {
        for (name, i) in ["a", "b", "c", "d", "e"].into_iter().zip(0..) {
            writer.write(name, &[frame * 10 + i], 1).unwrap();
        }
        writer.end_frame().unwrap();
    }
    writer.close().unwrap();
    let mut bytes = fs::read(&path).unwrap();
    damage(&File::open(&path).unwrap(), &mut bytes);
    fs::write(&path, bytes).unwrap();
    (dir, path)
}

#[test]
fn names_that_may_have_the_ids_of_others_are_not_believed() {
    // The NUL behind the second name: "b" and "c" are one now, "d" has the id of "c".
    let (dir, path) = damaged(|file, bytes| {
        let list = file.head().name_list().offset();
        let nul = usize::try_from(list).unwrap() + 3;
        assert_eq!(bytes[nul - 3..nul + 2], *b"a\0b\0c");
        bytes[nul] = b'x';
    });
    let (path, out) = (path.to_str().unwrap(), dir.path().join("out"));
    let out = out.to_str().unwrap();
    let names = striae_core::gsd::raw::Commit::names.offset();
    let says = format!("a.gsd: commit.names at offset {} is 5, must be at most 4", 176 + names);
    refused(&["convert", path, out], 1, &says);
    refused(&["extract", path, out], 1, &says);
    refused(&["extract", path, out, "frame/*/d"], 1, &says);
    refused(&["cat", path, "frame/1/d"], 1, &says);
    let listed = refused(&["ls", path], 1, &says);
    assert_eq!(String::from_utf8(listed).unwrap().lines().count(), 1 + 10);
    refused(&["ls", "--json", path], 1, &says);
    assert!(!std::path::Path::new(out).exists());
    output(&["info", path]);
}

#[test]
fn a_name_twice_in_a_frame_is_told_of_the_file_that_has_it() {
    // The third entry of the second frame.
    let slot = 5 + 2;
    let (dir, path) = damaged(|file, bytes| {
        let id = usize::try_from(file.head().index().offset_of(slot)).unwrap() + 28;
        assert_eq!(bytes[id..id + 2], [2, 0]);
        bytes[id] = 1;
    });
    let id = File::open(&path).unwrap().head().index().offset_of(slot) + 28;
    let out = dir.path().join("out.gsd");
    let says = format!("a.gsd: index.id at offset {id} is 1, but frame 1 has a chunk of that name");
    refused(&["convert", path.to_str().unwrap(), out.to_str().unwrap()], 1, &says);
    assert!(!out.exists());
}
