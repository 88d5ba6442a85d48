//! What real disks do too rarely for a test of the whole library.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test: a panic fails it")]

use super::lock;
use crate::error::ErrorKind;
use crate::sion::{Builder, Durability, File, FileWriter};
use std::io::{Read, Write};
use std::path::Path;
use striae_core::sion::visible::Outcome;
use striae_kit::adapter::denying::on_a_failing_disk;

fn builder() -> Builder {
    Builder::new(2).chunksize(100).fsblksize(10).buffer(50).sealed(true)
}

fn stream(path: &Path, task: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    File::open(path).unwrap().stream(task).unwrap().read_to_end(&mut bytes).unwrap();
    bytes
}

fn is_lost(result: Result<(), crate::Error>) -> bool {
    result.is_err_and(|error| matches!(error.kind(), ErrorKind::SyncFailed))
}

#[test]
fn nothing_is_promised_nor_written_after_the_disk_failed_once() {
    for commits in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mut file = builder().create(&path).unwrap();
        let mut writer = file.task(0).unwrap();
        writer.write_all(&[1; 250]).unwrap();
        if commits {
            file.commit().unwrap();
        }
        let bytes = std::fs::read(&path).unwrap();
        on_a_failing_disk(|| file.parts()[0].file().sync().unwrap_err());

        assert!(is_lost(file.commit()) && is_lost(file.close()));
        assert!(is_lost(writer.write_record(&[2; 90])));
        assert!(is_lost(writer.ensure_free_space(90)));
        let mut accepted = 0;
        while accepted < 1000 && writer.write(&[2; 10]).is_ok() {
            accepted += 10;
        }
        assert!(accepted <= 50, "more than the buffer");
        assert_eq!(writer.flush().is_err(), accepted > 0);
        drop(writer);
        assert!(is_lost(file.task(1).map(|_| ())));
        assert!(is_lost(file.close()));
        drop(file);
        assert!(std::fs::read(&path).unwrap() == bytes);
        if commits {
            assert_eq!(stream(&path, 0), [1; 250]);
        }
    }
}

/// The file shows the last commit, but its writer cannot know: the write of the commit fields
/// failed.
fn forget_the_last_commit(file: &FileWriter, commit: impl FnOnce()) {
    let part = &file.parts()[0];
    let before = *lock(&part.book);
    commit();
    let mut book = lock(&part.book);
    let new = *book.published().unwrap();
    *book = before;
    book.conclude(Outcome::Unknown(new));
}

#[test]
fn a_commit_of_which_nobody_knows_whether_it_is_there_is_finished_before_the_next() {
    for next in 0..4 {
        for commits in [0, 1, 3] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a");
            let mut file = builder().durability(Durability::None).create(&path).unwrap();
            let mut writer = file.task(0).unwrap();
            let mut expected = Vec::new();
            for round in 0..commits {
                writer.write_all(&[round; 130]).unwrap();
                expected.extend([round; 130]);
                file.commit().unwrap();
            }
            writer.write_all(&[10; 70]).unwrap();
            expected.extend([10; 70]);
            forget_the_last_commit(&file, || file.commit().unwrap());
            match next {
                0 => file.commit().unwrap(),
                1 => file.close().unwrap(),
                2 => {
                    // Far enough that META2 has to be moved, whichever it is.
                    writer.write_all(&[11; 5000]).unwrap();
                    assert_eq!(stream(&path, 0), expected);
                    expected.extend([11; 5000]);
                    file.commit().unwrap();
                }
                _ => {
                    file.task(1).unwrap().write_all(b"x").unwrap(); // where there is room already
                    assert_eq!(stream(&path, 0), expected);
                    file.commit().unwrap();
                    assert_eq!(stream(&path, 1), b"x");
                }
            }
            assert_eq!(lock(&file.parts()[0].book).unsettled(), None);
            assert_eq!(stream(&path, 0), expected);
        }
    }
}
