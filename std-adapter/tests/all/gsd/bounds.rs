//! The size of an output is known before its first byte, and is bounded by the bytes of the input
//! that exist.

use super::*;
use std::path::{Path, PathBuf};
use striae::Output;
use striae::error::ErrorKind;
use striae::gsd::convert::Convert;
use striae::gsd::recover::Recover;
use striae::gsd::{Extract, File};
use striae_core::gsd::{ChunkType, Version};
use striae_kit::piled::{chunk, file};

/// The length of a chunk that is a hole.
const HOLE: u64 = 1 << 25;

/// A file of few bytes whose only chunk is a hole.
fn holes(dir: &Path) -> PathBuf {
    let path = dir.join("holes.gsd");
    let bytes = file("test", Version::LAYER, &["x"], &[chunk(0, 0, ChunkType::U8, HOLE, 0)], &[]);
    fs::write(&path, bytes).unwrap();
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    let len = file.metadata().unwrap().len();
    file.set_len(len + HOLE).unwrap();
    path
}

fn is_too_large(error: &striae::Error) -> bool {
    matches!(error.kind(), ErrorKind::TooLarge { size, .. } if *size >= HOLE)
}

#[test]
fn what_only_holes_have_is_not_written_unless_it_is_allowed() {
    let dir = tempfile::tempdir().unwrap();
    let path = holes(dir.path());
    let file = File::open(&path).unwrap();
    let out = dir.path().join("out");
    let recover = |output| {
        Recover::new().output(output).examine(&path).unwrap().write(&out, &|_| {}).map(drop)
    };
    let convert = |output| Convert::new().output(output).run(&file, &out, &|_| {}).map(drop);
    let extract = |output| Extract::new().output(output).run(&file, &out, &|_| {}).map(drop);
    let verbs: [&dyn Fn(Output) -> Result<(), striae::Error>; 3] = [&recover, &convert, &extract];
    for verb in verbs {
        let error = verb(Output::new()).unwrap_err();
        assert!(is_too_large(&error), "{error}");
        assert!(!out.exists() && fs::read_dir(dir.path()).unwrap().count() == 1);
        verb(Output::new().max_size(Some(2 * HOLE))).unwrap();
        if out.is_dir() {
            fs::remove_dir_all(&out).unwrap()
        } else {
            fs::remove_file(&out).unwrap()
        }
    }
    let path = path.to_str().unwrap();
    for address in ["frame/0/x", "frame/*/x"] {
        refused(&["cat", path, address], 2, "--max-size BYTES allows more");
        let written = output(&["cat", path, address, "--max-size", "64M"]);
        assert_eq!(written.len() as u64, HOLE);
        // A part is as large as it is.
        let part = output(&["cat", path, "frame/0/x", "--rows", "0..1000"]);
        assert_eq!(part, [0; 1000]);
    }
    for verb in ["recover", "convert", "extract"] {
        let says = "because N and M in its index make chunks of";
        refused(&[verb, path, out.to_str().unwrap()], 2, says);
    }
}

#[test]
fn the_room_of_the_file_system_is_looked_at_before() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("holes.gsd");
    let len = 1_u64 << 42;
    let one = [chunk(0, 0, ChunkType::U8, len, 0)];
    fs::write(&path, file("test", Version::LAYER, &["x"], &one, &[])).unwrap();
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    if file.set_len(file.metadata().unwrap().len() + len).is_err() {
        return; // the file system has no files of this length
    }
    let out = dir.path().join("out.gsd");
    let all = Output::new().max_size(Some(u64::MAX));
    let converted = Convert::new().output(all).run(&File::open(&path).unwrap(), &out, &|_| {});
    let error = converted.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::NoRoom { size, .. } if *size >= len), "{error}");
    assert!(!out.exists());
}
