//! One writer at a time.

use super::{names, streams};
use crate::run::{refused, striae};
use std::io::Write;
use std::path::Path;
use striae::Output;
use striae::error::ErrorKind;
use striae::lock::lock_replaced;
use striae::sion::{Builder, Convert, File, FileWriter, Reopen};

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

fn two_files() -> Builder {
    Builder::new(4).nfiles(2).chunksize(64).fsblksize(16)
}

/// What a writer has added would be lost.
#[test]
fn verbs_replace_nothing_that_another_writer_has() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (set, other, tasks) = (path("a.sion"), path("b.sion"), path("tasks"));
    two_files().create(&set).unwrap().close().unwrap();
    two_files().create(&other).unwrap().close().unwrap();
    striae(&["extract", &set, &tasks]).assert().success();
    let says = "is being written by another program";
    for held in [&set, &path("a.sion.000001")] {
        let writer = FileWriter::reopen(held).unwrap();
        for verb in [
            &["convert", "--nfiles", "2", "--force", &other, &set][..],
            &["convert", "--nfiles", "2", "--force", &set, &set],
            &["recover", "--force", &other, &set],
            &["pack", "--nfiles", "2", "--force", &set, &tasks],
        ] {
            refused(verb, 2, says);
        }
        drop(writer);
    }
    let map = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden/map/z1.dat");
    let maps = path("maps.nc");
    striae(&["convert", map, &maps]).assert().success();
    striae(&["extract", "--force", &set, &tasks]).assert().success();
    let task = Path::new(&tasks).join("task_00002");
    let locks = [Path::new(&maps), &task].map(lock_replaced);
    refused(&["convert", "--force", map, &maps], 2, says);
    refused(&["extract", "--force", &set, &tasks], 2, says);
    drop(locks);
    let named = path("a.ffr");
    let writer = Builder::new(1).create(&named).unwrap();
    refused(&["pack", "--force", &named, &path("tasks/task_00000")], 2, says);
    refused(&["map", "--svg", &named, "--force", &other], 2, says);
    drop(writer);
    striae(&["convert", "--force", &set, &set]).assert().success();
}

/// Between the look at a set and its lock, another writer may have added something.
#[test]
fn a_set_that_has_changed_since_it_was_opened_does_not_replace_itself() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    two_files().create(&path).unwrap().close().unwrap();
    let old = File::open(&path).unwrap();
    let mut writer = FileWriter::reopen(&path).unwrap();
    writer.task(3).unwrap().write_all(&[b'l'; 100]).unwrap();
    writer.close().unwrap();
    let convert = Convert::new().output(Output::new().force(true));
    let error = convert.run(&old, &path, &|_| ()).unwrap_err();
    assert_eq!(std::io::Error::from(error).kind(), std::io::ErrorKind::ResourceBusy);
    assert_eq!(streams(&path)[3], [b'l'; 100]);
    // Another file may have the older state.
    convert.run(&old, &folder.path().join("b.sion"), &|_| ()).unwrap();
}

/// Whoever was refused leaves the file of who was not.
#[test]
fn of_several_creators_those_that_are_not_refused_have_what_they_wrote() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    let mut done = 0;
    for _ in 0..300 {
        let all = std::thread::scope(|scope| {
            let create = || {
                let mut set = Builder::new(1).force(true).create(&path).ok()?;
                set.task(0).unwrap().write_all(b"bytes").unwrap();
                Some(set.close().map_err(|error| error.to_string()))
            };
            let threads = [0; 3].map(|_| scope.spawn(create));
            threads.map(|thread| thread.join().unwrap())
        });
        for closed in all.into_iter().flatten() {
            closed.unwrap();
            done += 1;
        }
        assert_eq!(streams(&path), [b"bytes"]);
        std::fs::remove_file(&path).unwrap();
    }
    assert!(done >= 300, "{done}");
}
