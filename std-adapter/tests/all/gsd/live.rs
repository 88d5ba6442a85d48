//! A file that is read while somebody writes to it.

use super::*;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use striae::gsd::{Builder, Durability, File, OpenOptions};

fn check_frames(file: &File, frames: std::ops::Range<u64>) {
    for frame in frames {
        let chunk = file.chunk(frame, "step").unwrap();
        assert_eq!(file.read::<u64>(&chunk).unwrap(), [frame]);
        let chunk = file.chunk(frame, format!("name of {}", frame / 50)).unwrap();
        assert_eq!(file.read::<u32>(&chunk).unwrap(), vec![7; 30]);
        assert_eq!(file.chunks_of(frame).unwrap().count(), 2);
    }
}

#[test]
fn a_reader_sees_every_commit_and_nothing_else() {
    const FRAMES: u64 = 1000;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("live.gsd");
    let mut writer = Builder::new().durability(Durability::None).create(&path).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let mut file = File::open(&path).unwrap();
            scope.spawn(move || {
                let mut seen = 0;
                while seen < FRAMES {
                    let is_new = file.refresh().unwrap();
                    assert!(file.frames() >= seen && file.frames().is_multiple_of(5));
                    assert!(is_new || file.frames() == seen);
                    check_frames(&file, seen..file.frames());
                    seen = file.frames();
                }
                check_frames(&file, 0..FRAMES);
            });
        }
        for frame in 0..FRAMES {
            writer.write("step", &[frame], 1).unwrap();
            writer.write(format!("name of {}", frame / 50), &[7u32; 30], 3).unwrap();
            writer.end_frame().unwrap();
            if frame % 5 == 4 {
                writer.commit().unwrap();
            }
        }
        writer.close().unwrap();
    });
}

#[test]
fn a_clone_stays_at_what_it_saw() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.gsd");
    let mut writer = Builder::new().durability(Durability::None).create(&path).unwrap();
    let mut file = File::open(&path).unwrap();
    let mut write = |frame: u64| {
        writer.write(format!("name {frame}"), &[frame], 1).unwrap();
        writer.end_frame().unwrap();
        writer.commit().unwrap();
    };
    assert_eq!((file.frames(), file.names().unwrap().len()), (0, 0));
    write(0);
    assert!(file.refresh().unwrap());
    assert!(!file.refresh().unwrap());
    let old = file.clone();
    assert_eq!(old.names().unwrap().len(), 1);
    write(1);
    assert!(file.refresh().unwrap());
    assert_eq!((file.frames(), file.names().unwrap().len()), (2, 2));
    assert_eq!((old.frames(), old.names().unwrap().len()), (1, 1));
    assert!(file.find(1, "name 1").unwrap().is_some());
    assert!(old.find(1, "name 1").unwrap().is_none());
}

/// gsd moves its index and then writes the header, which a reader may see half written.
#[test]
fn a_header_that_is_being_written_is_read_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("moved.gsd");
    let mut bytes = fs::read(golden("v21_sparse_chunks").path).unwrap();
    let moved = u64::try_from(bytes.len()).unwrap();
    let mut index = bytes[256..4352].to_vec();
    index.resize(2 * index.len(), 0);
    bytes.extend(index);
    fs::write(&path, &bytes).unwrap();
    let frames = File::open(&path).unwrap().frames();
    let (before, mut behind) = (bytes[..256].to_vec(), bytes[..256].to_vec());
    behind[8..16].copy_from_slice(&moved.to_le_bytes());
    behind[16..24].copy_from_slice(&256u64.to_le_bytes());

    let writer = fs::OpenOptions::new().write(true).open(&path).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                writer.write_all_at(&behind, 0).unwrap();
                writer.write_all_at(&before, 0).unwrap();
            }
        });
        // As often as it takes: this writer never rests.
        let mut file = OpenOptions::new().attempts(u32::MAX).open(&path).unwrap();
        for _ in 0..2000 {
            file.refresh().unwrap();
            assert_eq!(file.frames(), frames);
        }
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_file_that_shrinks_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.gsd");
    fs::copy(golden("v21_sparse_chunks").path, &path).unwrap();
    let mut file = File::open(&path).unwrap();
    let chunk = file.chunks().last().unwrap().unwrap();
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(300).unwrap();
    let error: std::io::Error = file.read_bytes(&chunk).unwrap_err().into();
    assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof);
    let refused = file.refresh().unwrap_err().to_string();
    assert!(refused.contains("namelist_location at offset 24 is 4352"), "{refused}");
    assert_eq!(file.frames(), 12); // as before
}
