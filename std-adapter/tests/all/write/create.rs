//! Sets that are created where something is already, or that cannot be created.

use super::{argument, child, is_unclosed, names, payload, set_limit, sion, streams};
use std::io::Write;
use std::path::Path;
use striae::Verify;
use striae::error::ErrorKind;
use striae::sion::{Builder, Durability, File};
use striae_core::sion::Error as SionError;

fn make(path: &Path, nfiles: u32, ntasks: u64, len: usize) {
    let builder = Builder::new(ntasks).nfiles(nfiles).chunksize(700).fsblksize(64);
    let builder = builder.durability(Durability::None).force(true).sealed(true);
    let mut file = builder.create(path).unwrap();
    for task in 0..ntasks {
        file.task(task).unwrap().write_all(&payload(50 + task, len)).unwrap();
    }
    file.close().unwrap();
}

#[test]
fn a_file_that_exists_is_refused_and_nothing_is_left_of_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    for taken in ["a.sion", "a.sion.000001", "a.sion.000002"] {
        let taken = folder.path().join(taken);
        std::fs::write(&taken, "something else").unwrap();
        let error = Builder::new(3).nfiles(3).create(&path).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Exists), "{error}");
        assert_eq!(error.path(), taken);
        assert_eq!(names(folder.path()).len(), 1);
        assert_eq!(std::fs::read(&taken).unwrap(), b"something else");
        std::fs::remove_file(&taken).unwrap();
    }
}

#[test]
fn a_link_to_nothing_and_a_folder_are_no_files_to_overwrite() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(folder.path().join("nowhere"), &link).unwrap();
    let error = Builder::new(1).force(true).create(&link).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Exists), "{error}");
    let error = Builder::new(1).force(true).create(folder.path()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Io(_)), "{error}");
    assert_eq!(names(folder.path()), ["link"]);
}

#[test]
fn wrong_arguments_are_refused_before_anything_is_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    make(&path, 2, 4, 2000);
    let old = streams(&path);
    let new = || Builder::new(4).nfiles(2).force(true).fsblksize(64);
    let wrong = [
        new().prefix(vec![b'x'; 1024]),
        new().chunksizes(vec![1; 3]),
        new().globalranks(vec![1; 5]),
        new().chunksizes(vec![1, 1, 1, u64::MAX]), // of the second file
        new().chunksize(1 << 62),
        new().nfiles(5),
        new().nfiles(0),
        new().nfiles(u32::MAX), // without as many names in memory
        new().fsblksize(0),
        new().fsblksize(1 << 31),
    ];
    for builder in wrong {
        let error = builder.clone().create(&path).unwrap_err();
        let kind = sion(&error);
        let is_typed = matches!(
            kind,
            SionError::PrefixTooLong { .. }
                | SionError::OutOfRange { .. }
                | SionError::FileFull { .. }
        );
        assert!(is_typed, "{error:?}");
        assert!(streams(&path) == old, "{error}");
        let elsewhere = folder.path().join("b.sion");
        assert!(builder.create(&elsewhere).is_err());
        assert_eq!(names(folder.path()), ["a.sion", "a.sion.000001"], "{error}");
    }
}

#[test]
fn a_failed_overwrite_leaves_the_other_files_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    make(&path, 1, 4, 2000);
    let old = streams(&path);
    std::fs::create_dir(folder.path().join("a.sion.000002")).unwrap();
    let error = Builder::new(4).nfiles(3).force(true).create(&path).unwrap_err();
    assert_eq!(error.path(), folder.path().join("a.sion.000002"));
    assert!(streams(&path) == old);
    assert_eq!(names(folder.path()), ["a.sion", "a.sion.000002"]);
}

/// Each write of the new set fails once, at the limit of the file's size; the kills of the other
/// tests come in between.
#[test]
#[ignore = "a process of its own, whose files are limited"]
fn limited() {
    let Some(_) = argument() else { return };
    let mut failed = 0;
    for (nfiles, limit) in
        [1, 3].into_iter().flat_map(|n| (0..2600).step_by(53).map(move |l| (n, l)))
    {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sion");
        set_limit(u64::MAX);
        make(&path, nfiles, 60, 300);
        let old = streams(&path);
        set_limit(limit);
        let builder = Builder::new(60).nfiles(nfiles).chunksize(100).fsblksize(64);
        match builder.force(true).durability(Durability::None).create(&path) {
            Ok(_) => assert!(is_unclosed(&path)),
            Err(error) => {
                failed += 1;
                assert!(matches!(error.kind(), ErrorKind::Io(_)), "{error:?}");
                assert!(File::open(&path).is_err(), "{limit}: looks valid");
            }
        }
        for number in 1..nfiles {
            let sibling = folder.path().join(format!("a.sion.{number:06}"));
            assert!(File::open(sibling).is_err(), "{limit}: {number} looks valid");
        }
        set_limit(u64::MAX);
        make(&path, nfiles, 60, 300);
        assert!(streams(&path) == old);
    }
    println!("overwritten on a full disk: {failed} times");
}

#[test]
fn an_overwritten_set_never_looks_valid_with_old_contents() {
    let output = child("write::create::limited", "1").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && text.contains("on a full disk"), "{text}\n{errors}");
}

#[test]
fn a_new_set_is_unclosed_until_its_first_commit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    let file = Builder::new(2).create(&path).unwrap();
    assert!(is_unclosed(&path));
    drop(file);
    assert!(is_unclosed(&path));
    let path = folder.path().join("b.sion");
    let file = Builder::new(2).durability(Durability::EveryRecord).nfiles(2).create(&path);
    assert_eq!(streams(&path), [b"", b""]);
    drop(file);
}

#[test]
fn every_task_has_an_entry_in_the_mapping_whatever_its_global_rank() {
    let folder = tempfile::tempdir().unwrap();
    let cases = [
        ([3, 2, 1, 0], [(1, 1), (1, 0), (0, 1), (0, 0)]),
        ([10, 7, 42, 8], [(0, 0), (0, 1), (1, 0), (1, 1)]),
        ([9, 0, -1, 2], [(0, 1), (0, 0), (1, 1), (1, 0)]),
        ([1, 1, 1, 1], [(0, 1), (0, 0), (1, 0), (1, 1)]),
    ];
    for (ranks, expected) in cases {
        let path = folder.path().join("a.sion");
        let builder = Builder::new(4).nfiles(2).globalranks(ranks.to_vec()).force(true);
        builder.durability(Durability::None).create(&path).unwrap().close().unwrap();
        let file = File::open(&path).unwrap();
        let first = &file.reader().files()[0];
        let mapping = first.mapping().unwrap().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let entry = |index| {
            let at = mapping.entry(index).unwrap().offset() as usize;
            mapping.address(&bytes[at..at + 8]).unwrap()
        };
        assert_eq!((0..4).map(entry).collect::<Vec<_>>(), expected, "{ranks:?}");
        assert!(Verify::new().sion(&path, &mut |_| {}).unwrap().is_sound(), "{ranks:?}");
    }
}
