//! One writer at a time.

use super::{names, streams};
use std::io::Write;
use std::path::Path;
use striae::error::ErrorKind;
use striae::sion::{Builder, FileWriter, Reopen};

fn builder() -> Builder {
    Builder::new(4).nfiles(2).buddies(1).chunksize(64).fsblksize(16)
}

fn is_locked<T>(made: Result<T, striae::Error>) -> bool {
    made.is_err_and(|error| matches!(error.kind(), ErrorKind::Locked))
}

/// Tries all that would write to a file of the set.
fn nobody_else_writes(path: &Path) {
    assert!(is_locked(FileWriter::reopen(path)));
    let second = path.with_extension("sion.000001");
    assert!(is_locked(FileWriter::reopen(&second)));
    assert!(is_locked(Builder::new(1).force(true).create(second)));
    assert!(is_locked(builder().force(true).create(path)));
}

#[test]
fn two_writers_never_have_one_file_of_a_set() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    let mut new = builder().create(&path).unwrap();
    nobody_else_writes(&path);
    new.task(3).unwrap().write_all(b"one").unwrap();
    new.close().unwrap();

    // A set that is closed is free, also while its writer lives.
    let mut appended = Reopen::new().open(&path).unwrap();
    appended.task(3).unwrap().write_all(b", two").unwrap();
    nobody_else_writes(&path);
    let writer = appended.task(0).unwrap();
    appended.close().unwrap();

    let dropped = FileWriter::reopen(&path).unwrap();
    let other = dropped.task(1).unwrap();
    nobody_else_writes(&path);
    drop(dropped); // its writer of a task cannot write any more
    let last = FileWriter::reopen(&path).unwrap();
    drop((writer, other));
    nobody_else_writes(&path);
    drop(last);

    assert_eq!(streams(&path)[3], b"one, two");
    assert_eq!(names(folder.path()).len(), 4);
}

#[test]
fn a_set_of_which_a_file_is_written_by_itself_is_not_opened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    builder().create(&path).unwrap().close().unwrap();
    let alone = FileWriter::reopen(path.with_extension("sion.000001")).unwrap();
    assert!(is_locked(FileWriter::reopen(&path)));
    drop(alone);
    FileWriter::reopen(&path).unwrap();
}
