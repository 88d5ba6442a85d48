//! Sealed sets of several files: a file of another run in place of one of the set.

use super::streams;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use striae::error::ErrorKind;
use striae::finding::Found;
use striae::sion::recover::{OfSet, Recover};
use striae::sion::{self, Builder, ByteOrder, Convert, File, Reopen};
use striae::{Output, Verify};
use tempfile::TempDir;

fn files(path: &Path, nfiles: u32) -> Vec<PathBuf> {
    let suffix = |number| if number == 0 { String::new() } else { format!(".{number:06}") };
    (0..nfiles).map(|number| format!("{}{}", path.display(), suffix(number)).into()).collect()
}

/// A set of a run that writes `byte`: with the same shape, and as many commits, as every other run.
fn run(path: &Path, nfiles: u32, byte: u8, closes: bool, set: fn(Builder) -> Builder) {
    let builder = Builder::new(2 * u64::from(nfiles)).nfiles(nfiles).fsblksize(512).chunksize(512);
    let mut set = set(builder.sealed(true).prefix(b"run".to_vec())).create(path).unwrap();
    for round in 0..3 {
        for task in 0..set.ntasks() {
            let mut task = set.task(task).unwrap();
            task.write_all(&[byte + round; 300]).unwrap();
            task.flush().unwrap();
        }
        set.commit().unwrap();
    }
    if closes {
        set.close().unwrap();
    }
}

/// The files of which `verify` says that they belong to another set.
fn findings(path: &Path) -> Vec<u32> {
    let mut found = Vec::new();
    let sum = Verify::new().sion(path, &mut |finding| {
        if finding.what.facts().kind == "other_set" {
            found.push(
                (0..).zip(files(path, 9)).find(|(_, file)| **file == *finding.file).unwrap().0,
            );
        }
    });
    assert_eq!(sum.unwrap().is_sound(), found.is_empty());
    found
}

fn is_other(error: &striae::Error, path: &Path) -> bool {
    let is_kind = matches!(error.kind(), ErrorKind::Sion(sion::ErrorKind::OtherSet { .. }));
    is_kind && error.path() == path
}

#[test]
fn a_file_of_another_run_is_named_whoever_opens_the_set() {
    let folder = TempDir::new().unwrap();
    let [path, other, out] = ["a.sion", "b.sion", "out"].map(|name| folder.path().join(name));
    let (mut cases, all) = (0, Output::new().force(true));
    for (nfiles, closes) in [(2, true), (3, true), (3, false), (5, true)] {
        run(&path, nfiles, b'a', closes, |builder| builder.force(true));
        run(&other, nfiles, b'n', closes, |builder| builder.force(true));
        let own = streams(&path);
        for (number, (file, theirs)) in
            (0..).zip(files(&path, nfiles).into_iter().zip(files(&other, nfiles)))
        {
            assert_eq!((findings(&path), streams(&path)), (vec![], own.clone()));
            let good = fs::read(&file).unwrap();
            fs::write(&file, fs::read(theirs).unwrap()).unwrap();
            // Of two files nobody knows which is wrong: the first counts.
            let (wrong, number) = match nfiles {
                2 => (files(&path, 2).remove(1), 1),
                _ => (file.clone(), number),
            };
            assert_eq!(findings(&path), [number], "{nfiles} files");
            assert!(is_other(&File::open(&path).unwrap_err(), &wrong));
            assert!(is_other(&Reopen::new().open(&path).map(drop).unwrap_err(), &wrong));
            let recovery = Recover::new().output(all).examine(&path).unwrap();
            assert_eq!(*recovery.of_set(), OfSet::Others { files: vec![number] });
            assert!(!recovery.is_sound() && !recovery.is_exact());
            // What it writes is what there is, and does not say that it belongs together.
            recovery.write(&out, &|_| {}).unwrap();
            assert!(Verify::new().sion(&out, &mut |_| {}).unwrap().is_sound());
            assert_eq!(streams(&out).len(), own.len());
            fs::write(&file, good).unwrap();
            cases += 1;
        }
    }
    assert_eq!(cases, 2 + 3 + 3 + 5);
}

#[test]
fn an_identity_stays_when_a_set_is_appended_to_or_recovered() {
    let folder = TempDir::new().unwrap();
    let [path, other, out] = ["a.sion", "b.sion", "out"].map(|name| folder.path().join(name));
    run(&path, 3, b'a', true, |builder| builder);
    run(&other, 3, b'n', true, |builder| builder);
    Recover::new().examine(&path).unwrap().write(&out, &|_| {}).unwrap();
    // The sets have the same chunks, and so a file of the copy is one of the set.
    let [old, new] = [&path, &out].map(|path| fs::read(&files(path, 3)[1]).unwrap());
    fs::write(&files(&path, 3)[1], &new).unwrap();
    assert_eq!(findings(&path), [0; 0]);
    fs::write(&files(&path, 3)[1], &old).unwrap();

    for path in [&path, &other] {
        let mut set = Reopen::new().open(path).unwrap();
        set.task(1).unwrap().write_all(b"more").unwrap();
        set.close().unwrap();
        assert_eq!(findings(path), [0; 0]);
    }
    fs::copy(&files(&other, 3)[2], &files(&path, 3)[2]).unwrap();
    assert_eq!(findings(&path), [2]);
}

#[test]
fn a_set_that_is_sealed_later_gets_an_identity_then() {
    let folder = TempDir::new().unwrap();
    let [path, other] = ["a.sion", "b.sion"].map(|name| folder.path().join(name));
    for path in [&path, &other] {
        run(path, 3, b'a', true, |builder| builder.sealed(false));
        Reopen::new().sealed(true).open(path).unwrap().close().unwrap();
        assert_eq!(findings(path), [0; 0]);
    }
    fs::copy(&files(&other, 3)[1], &files(&path, 3)[1]).unwrap();
    assert_eq!(findings(&path), [1]);
}

#[test]
fn sets_without_identities_and_single_files_have_seals_of_version_1() {
    let folder = TempDir::new().unwrap();
    let [path, other, third] = ["a", "b", "c"].map(|name| folder.path().join(name));
    for path in [&path, &other] {
        run(path, 3, b'a', true, |builder| builder.set_identity(0));
    }
    let version = |file: &Path| {
        let bytes = fs::read(file).unwrap();
        bytes[bytes.len() - 64]
    };
    fs::copy(&files(&other, 3)[1], &files(&path, 3)[1]).unwrap();
    assert_eq!(findings(&path), [0; 0]); // nothing in the files says it
    let mut set = Reopen::new().open(&path).unwrap(); // it stays what it is
    set.task(0).unwrap().write_all(b"more").unwrap();
    set.close().unwrap();
    assert!(files(&path, 3).iter().all(|file| version(file) == 1));
    run(&third, 1, b'a', true, |builder| builder);
    assert_eq!(version(&third), 1);
    // One that does not name a set is not of a set that does.
    run(&third, 3, b'a', true, |builder| builder.force(true).set_identity(7));
    assert!(files(&third, 3).iter().all(|file| version(file) == 2));
    fs::copy(&files(&path, 3)[2], &files(&third, 3)[2]).unwrap();
    assert_eq!(findings(&third), [2]);
}

#[test]
fn a_set_with_the_same_identity_is_written_byte_for_byte_alike() {
    let folder = TempDir::new().unwrap();
    let [path, other] = ["a.sion", "b.sion"].map(|name| folder.path().join(name));
    for path in [&path, &other] {
        run(path, 3, b'a', true, |set| set.set_identity(0x1234_5678).order(ByteOrder::Little));
    }
    for (one, two) in files(&path, 3).iter().zip(files(&other, 3)) {
        let bytes = fs::read(one).unwrap();
        assert!(bytes == fs::read(two).unwrap());
        // At byte 28 of the trailer.
        let at = bytes.len() - 64 + 28;
        assert_eq!(bytes[at..at + 4], 0x1234_5678_u32.to_le_bytes());
    }
    let (set, out) = (File::open(&path).unwrap(), folder.path().join("c.sion"));
    Convert::new().run(&set, &out, &|_| {}).unwrap();
    assert_eq!((findings(&out), streams(&out)), (vec![], streams(&path)));
}
