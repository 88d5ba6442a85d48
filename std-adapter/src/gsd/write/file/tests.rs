//! What real disks do too rarely for a test of the whole library.
#![allow(clippy::unwrap_used, reason = "a test: a panic fails it")]

use crate::error::ErrorKind;
use crate::gsd::{Builder, File, FileWriter};
use rustix::io::Errno;
use striae_core::gsd::ChunkType;
use striae_kit::adapter::denying::{deny, on_a_failing_disk};

fn is_lost<T>(result: Result<T, crate::Error>) -> bool {
    result.is_err_and(|error| matches!(error.kind(), ErrorKind::SyncFailed))
}

#[test]
fn nothing_is_promised_after_the_disk_failed_once() {
    for commits in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.gsd");
        let mut file = Builder::new().create(&path).unwrap();
        file.write("a", &[1_u8; 250], 1).unwrap();
        file.end_frame().unwrap();
        if commits {
            file.commit().unwrap();
        }
        let bytes = std::fs::read(&path).unwrap();
        on_a_failing_disk(|| file.writer.as_ref().unwrap().store().file().sync().unwrap_err());
        for _ in 0..2 {
            assert!(is_lost(file.write("a", &[2_u8], 1)));
            assert!(is_lost(file.write("b", &[2_u8], 1)));
            assert!(is_lost(file.begin_chunk("a", ChunkType::U8, 1).map(drop)));
            assert!(is_lost(file.end_frame()));
            assert!(is_lost(file.commit()));
            assert!(is_lost(file.truncate()));
            assert!(is_lost(file.upgrade()));
            assert!(is_lost(file.close()));
        }
        drop(file);
        assert!(std::fs::read(&path).unwrap() == bytes);
        assert_eq!(File::open(&path).unwrap().frames(), u64::from(commits));
        // Another writer asks the disk anew, and is told.
        let mut file = FileWriter::reopen(&path).unwrap();
        file.write("a", &[1_u8; 250], 1).unwrap();
        file.end_frame().unwrap();
        file.close().unwrap();
    }
}

/// A close that failed is not done: zeros that were written ahead are cut off by the next one.
#[test]
fn a_close_that_could_not_cut_is_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gsd");
    let mut file = Builder::new().create(&path).unwrap();
    for _ in 0..200 {
        file.write("a", &[1_u8; 2000], 1).unwrap();
        file.end_frame().unwrap();
        file.commit().unwrap();
    }
    let ahead = std::fs::metadata(&path).unwrap().len();
    std::thread::scope(|scope| {
        let failing = || {
            deny(libc::SYS_ftruncate, Errno::IO);
            file.close().unwrap_err()
        };
        scope.spawn(failing).join().unwrap();
    });
    file.close().unwrap();
    let len = std::fs::metadata(&path).unwrap().len();
    assert!(len < ahead, "{len} of {ahead} bytes");
    let file = File::open(&path).unwrap();
    assert_eq!((file.frames(), file.head().file_len), (200, len));
}
