//! Sets with lost files: what is read from buddy sets, and what is not taken for a copy.

use super::buddies::{sibling, write};
use super::{names, streams, streams_of};
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use striae::error::ErrorKind;
use striae::sion::{self, Builder, Convert, Durability, File, OpenOptions, Opened, buddy_path};

/// Moves the first files of sets `from` to `to`, with those of their buddy sets.
fn rename(from: &Path, to: &Path, nfiles: u32) {
    for number in 0..nfiles {
        fs::rename(sibling(from, number), sibling(to, number)).unwrap();
    }
}

fn is_no_copy(error: &striae::Error) -> bool {
    matches!(error.kind(), ErrorKind::Sion(sion::ErrorKind::NoCopy { .. }))
}

#[test]
fn a_keeper_has_no_globalrank() {
    for lost in 0..2 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sion");
        write(&path, 2, 1);
        fs::remove_file(sibling(&path, lost)).unwrap();
        let file = File::open(&path).unwrap();
        for rank in -8..0 {
            let error = file.find_globalrank(rank).unwrap_err();
            let ErrorKind::Sion(sion::ErrorKind::NoGlobalrank { globalrank }) = error.kind() else {
                panic!("{error}")
            };
            assert_eq!(*globalrank, rank);
        }
        for rank in 0..7 {
            let task = file.find_globalrank(rank).unwrap();
            assert_eq!(file.task(task).unwrap().place.globalrank, rank);
        }
    }
}

#[test]
fn several_tasks_of_one_rank_are_told_by_their_numbers_without_the_loss() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    let builder = Builder::new(4).nfiles(2).buddies(1).globalranks(vec![7, 5, 3, 5]);
    builder.create(&path).unwrap().close().unwrap();
    for lost in 0..2 {
        let aside = folder.path().join("aside");
        fs::rename(sibling(&path, lost), &aside).unwrap();
        let file = File::open(&path).unwrap();
        let error = file.find_globalrank(5).unwrap_err();
        let ErrorKind::Sion(sion::ErrorKind::Ambiguous { tasks, .. }) = error.kind() else {
            panic!("{error}")
        };
        assert_eq!(*tasks, [1, 3]);
        assert_eq!((file.find_globalrank(7).unwrap(), file.find_globalrank(3).unwrap()), (0, 2));
        fs::rename(&aside, sibling(&path, lost)).unwrap();
    }
}

#[test]
fn a_copy_is_found_in_whatever_buddy_set_there_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    let expected = write(&path, 5, 4);
    fs::remove_file(sibling(&path, 2)).unwrap();
    for buddy in 0..3 {
        for number in 0..5 {
            fs::remove_file(sibling(&buddy_path(&path, buddy), number)).unwrap();
        }
    }
    let file = File::open(&path).unwrap();
    let copies: Vec<_> = file.copies().map(|(lost, copy)| (lost, copy.to_owned())).collect();
    assert_eq!(copies, [(sibling(&path, 2), sibling(&buddy_path(&path, 3), 2))]);
    assert!(streams_of(&file) == expected);
}

#[test]
fn the_tasks_of_an_unclosed_set_are_those_that_it_would_have_without_the_loss() {
    for lost in 0..2 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sion");
        let builder = Builder::new(5).nfiles(2).buddies(1).durability(Durability::None);
        drop(builder.create(&path).unwrap());
        let ranks = || -> Vec<_> {
            let opened = OpenOptions::new().open(&path).unwrap();
            assert!(matches!(opened, Opened::Unclosed(_)));
            assert_eq!(opened.ntasks(), 5);
            opened.tasks().unwrap().map(|task| task.unwrap().place.globalrank).collect()
        };
        assert_eq!(ranks(), [0, 1, 2, 3, 4]);
        fs::remove_file(sibling(&path, lost)).unwrap();
        assert_eq!(ranks(), [0, 1, 2, 3, 4]);
        let opened = OpenOptions::new().open(&path).unwrap();
        let copy = sibling(&buddy_path(&path, 0), lost);
        assert_eq!(opened.copies().collect::<Vec<_>>(), [(sibling(&path, lost), &*copy)]);
    }
}

#[test]
fn a_file_of_another_set_is_no_copy() {
    let other = |folder: &Path, builder: Builder| {
        let path = folder.join("other.sion");
        builder.nfiles(2).create(&path).unwrap().close().unwrap();
        path
    };
    let builder = |ntasks| Builder::new(ntasks).buddies(1).fsblksize(16);
    let others = [
        ("filenameprefix", builder(7)),
        ("fsblksize", builder(7).fsblksize(32).prefix(b"set".into())),
        ("mapping_size", builder(9).prefix(b"set".into())),
    ];
    for (field, builder) in others {
        for lost in 0..2 {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a.sion");
            let set = Builder::new(7).nfiles(2).fsblksize(16).prefix(b"set".into());
            set.create(&path).unwrap().close().unwrap();
            let other = other(folder.path(), builder.clone());
            rename(&buddy_path(&other, 0), &buddy_path(&path, 0), 2);
            fs::remove_file(sibling(&path, lost)).unwrap();
            let error = OpenOptions::new().open(&path).unwrap_err();
            assert!(is_no_copy(&error), "{error}");
            assert!(error.to_string().contains(field), "{error}");
            assert_eq!(error.path(), sibling(&buddy_path(&path, 0), lost));
        }
    }
}

#[test]
fn what_is_made_of_copies_has_their_permissions() {
    for (mode, lost) in [(0o640, 0), (0o600, 0), (0o640, 1)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sion");
        let expected = write(&path, 2, 1);
        for name in names(folder.path()) {
            let permissions = fs::Permissions::from_mode(mode);
            fs::set_permissions(folder.path().join(name), permissions).unwrap();
        }
        fs::remove_file(sibling(&path, lost)).unwrap();
        let out = folder.path().join("out.sion");
        Convert::new().run(&File::open(&path).unwrap(), &out, &|_| {}).unwrap();
        assert_eq!(fs::metadata(&out).unwrap().permissions().mode() & 0o777, mode);
        assert!(streams(&out) == expected);
    }
}

#[test]
fn a_list_counts_no_keepers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    write(&path, 2, 1);
    fs::remove_file(sibling(&path, 0)).unwrap();
    for verb in ["info", "ls"] {
        let mut command = assert_cmd::Command::cargo_bin("striae").unwrap();
        let assert = command.args([verb, "--json", path.to_str().unwrap()]).assert().success();
        let json: serde_json::Value = serde_json::from_slice(&assert.get_output().stdout).unwrap();
        assert_eq!(json["ntasks"], 7, "{verb}");
    }
}

#[test]
fn what_is_not_a_set_is_no_copy_of_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    write(&path, 2, 1);
    fs::remove_file(sibling(&path, 1)).unwrap();
    fs::File::create(sibling(&buddy_path(&path, 0), 1)).unwrap().write_all(b"text").unwrap();
    assert_eq!(File::open(&path).unwrap_err().path(), sibling(&buddy_path(&path, 0), 1));
}
