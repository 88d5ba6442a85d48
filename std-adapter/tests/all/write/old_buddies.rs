//! Buddy sets that are there already when a set is written.

use super::buddies::{copies, sibling, write};
use super::{assert_sound, names, streams};
use std::cell::Cell;
use std::fs;
use std::io::Write;
use std::num::NonZeroU32;
use std::path::Path;
use striae::Output;
use striae::copy::Copier;
use striae::error::ErrorKind;
use striae::posix::PosixFile;
use striae::sion::recover::Recover;
use striae::sion::{self, Builder, Convert, File, FileWriter, buddy_path};
use striae_core::span::Span;

/// Removes the files of a set but not those of its buddy sets.
fn remove(path: &Path, nfiles: u32) {
    for number in 0..nfiles {
        fs::remove_file(sibling(path, number)).unwrap();
    }
}

/// A folder with files of buddy set `buddy` of a set `a.sion`, which is not there.
fn only_buddy(buddy: u32) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    write(&path, 5, 4);
    remove(&path, 5);
    for other in (0..4).filter(|other| *other != buddy) {
        remove(&buddy_path(&path, other), 5);
    }
    folder
}

fn assert_old_buddy(error: &striae::Error, path: &Path, other: &Path) {
    let ErrorKind::Sion(sion::ErrorKind::OldBuddy { set }) = error.kind() else {
        panic!("{error:?}")
    };
    assert_eq!((&**set, error.path()), (path, other));
    assert!(error.to_string().ends_with("move it away or delete it"), "{error}");
}

#[test]
fn no_set_is_made_beside_an_old_buddy_set_of_any_number_however_much_it_is_wanted() {
    for buddy in 0..4 {
        let folder = only_buddy(buddy);
        let path = folder.path().join("a.sion");
        let other = buddy_path(&path, buddy);
        let before = names(folder.path());
        for overwrite in [false, true] {
            // Buddy sets below this one do not make it a copy.
            for buddies in 0..=buddy {
                let builder = Builder::new(7).nfiles(5).buddies(buddies).force(overwrite);
                assert_old_buddy(&builder.create(&path).unwrap_err(), &path, &other);
            }
        }
        let source = folder.path().join("source.sion");
        Builder::new(7).nfiles(5).create(&source).unwrap().close().unwrap();
        let output = Output::new().force(true);
        let convert = Convert::new().output(output).nfiles(NonZeroU32::new(5).unwrap());
        let error = convert.run(&File::open(&source).unwrap(), &path, &|_| {}).unwrap_err();
        assert_old_buddy(&error, &path, &other);
        let recovery = Recover::new().output(output).examine(&source).unwrap();
        assert_old_buddy(&recovery.write(&path, &|_| {}).unwrap_err(), &path, &other);
        remove(&source, 5);
        assert_eq!(names(folder.path()), before);

        // With that number it is replaced.
        let builder = Builder::new(7).nfiles(5).buddies(buddy + 1).force(true);
        builder.create(&path).unwrap().close().unwrap();
        assert!(copies(&path, buddy).iter().all(Vec::is_empty));
    }
}

#[test]
fn names_that_no_reader_takes_for_copies_are_in_nobodys_way() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    let others =
        ["_BUDDY_0", "_BUDDY_000", "_BUDDY_00.1", "_BUDDY_00.000002", "_BUDDY_", "_BUDDY_00~"];
    for other in others {
        fs::write(format!("{}{other}", path.display()), b"").unwrap();
    }
    let mut file = Builder::new(2).nfiles(2).create(&path).unwrap();
    file.close().unwrap();
    FileWriter::reopen(&path).unwrap().close().unwrap();
}

#[test]
fn all_buddy_sets_are_appended_to_also_if_one_between_them_is_gone() {
    for gone in 0..4 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sion");
        let mut expected = write(&path, 5, 4);
        remove(&buddy_path(&path, gone), 5);
        let mut file = FileWriter::reopen(&path).unwrap();
        file.task(3).unwrap().write_all(b"more").unwrap();
        file.close().unwrap();
        expected[3].extend(b"more");
        assert!(streams(&path) == expected);
        let ranks = [3, 0, 6, 1, 5, 2, 4];
        for buddy in (0..4).filter(|buddy| *buddy != gone) {
            let copies = copies(&path, buddy);
            assert!(ranks.iter().zip(&expected).all(|(rank, stream)| copies[*rank] == *stream));
            assert_sound(&buddy_path(&path, buddy), true);
        }
    }
}

#[test]
fn a_buddy_set_is_not_appended_to_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    write(&path, 3, 2);
    for buddy in 0..2 {
        for number in 0..3 {
            let copy = sibling(&buddy_path(&path, buddy), number);
            let error = FileWriter::reopen(&copy).unwrap_err();
            let ErrorKind::Sion(sion::ErrorKind::IsBuddy { main }) = error.kind() else {
                panic!("{error}")
            };
            assert_eq!((&**main, error.path()), (&*path, &*copy));
        }
    }
}

#[test]
fn a_buddy_set_with_more_tasks_is_no_copy() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    let other = folder.path().join("other.sion");
    for (path, ntasks) in [(&path, 4), (&other, 5)] {
        let builder = Builder::new(ntasks).nfiles(2).buddies(1);
        builder.create(path).unwrap().close().unwrap();
    }
    for number in 0..2 {
        let [from, to] = [&other, &path].map(|path| sibling(&buddy_path(path, 0), number));
        fs::rename(from, to).unwrap();
    }
    let error = FileWriter::reopen(&path).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Sion(sion::ErrorKind::Stale { .. })), "{error}");
}

#[test]
fn a_copied_byte_is_counted_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    let source = folder.path().join("source");
    fs::write(&source, [7; 5000]).unwrap();
    let mut file = Builder::new(3).nfiles(3).buddies(2).chunksize(999).create(&path).unwrap();
    let from = PosixFile::open(&source).unwrap();
    let counted = Cell::new(0);
    let mut copier = Copier::new();
    let progress = |len| counted.set(counted.get() + len);
    let span = Span::new(0, 5000).unwrap();
    file.task(1).unwrap().copy_from(&mut copier, (&source, &from), span, &progress).unwrap();
    file.close().unwrap();
    assert_eq!(counted.get(), 5000);
    assert_eq!(copies(&path, 1)[1], [7; 5000]);
}
