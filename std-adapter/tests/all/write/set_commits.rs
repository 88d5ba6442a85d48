//! Sealed sets of several files: which commit of the whole set each file is of.

use super::streams;
use crate::run::striae;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use striae::error::ErrorKind;
use striae::finding::Found;
use striae::sion::recover::{OfSet, Recover};
use striae::sion::{self, Builder, Convert, File, FileWriter, Pack, Reopen, Sources};
use striae::{Output, Verify};
use striae_core::sion::raw::SealTrailer;
use tempfile::TempDir;

const NFILES: u32 = 3;

fn files(path: &Path) -> Vec<PathBuf> {
    let suffix = |number| if number == 0 { String::new() } else { format!(".{number:06}") };
    (0..NFILES).map(|number| format!("{}{}", path.display(), suffix(number)).into()).collect()
}

fn contents(path: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    files(path).into_iter().map(|file| (file.clone(), fs::read(file).unwrap())).collect()
}

fn builder() -> Builder {
    Builder::new(6).nfiles(NFILES).fsblksize(512).chunksize(512).sealed(true)
}

fn put(set: &FileWriter, round: u8) {
    for task in 0..6 {
        let mut task = set.task(task).unwrap();
        task.write_all(&[b'a' + round; 200]).unwrap();
        task.flush().unwrap();
    }
}

/// A set after rounds that each ended with a commit, as they left its files.
fn rounds(path: &Path, number: u8) -> Vec<BTreeMap<PathBuf, Vec<u8>>> {
    let set = builder().create(path).unwrap();
    let mut states = Vec::new();
    for round in 0..number {
        put(&set, round);
        set.commit().unwrap();
        states.push(contents(path));
    }
    let mut set = set;
    set.close().unwrap();
    states.push(contents(path));
    states
}

fn is_apart(error: &striae::Error) -> bool {
    matches!(error.kind(), ErrorKind::Sion(sion::ErrorKind::Apart { .. }))
}

/// What `verify` says of the commits of files.
fn findings(path: &Path) -> Vec<String> {
    let mut found = Vec::new();
    Verify::new()
        .sion(path, &mut |finding| {
            if finding.what.facts().kind == "set_commit" {
                found.push(finding.what.to_string());
            }
        })
        .unwrap();
    found
}

#[test]
fn a_file_of_an_older_commit_is_named_with_its_age_whoever_opens_the_set() {
    let folder = TempDir::new().unwrap();
    let (path, out) = (folder.path().join("a.sion"), folder.path().join("out"));
    let states = rounds(&path, 4);
    let newest = states.last().unwrap();
    let mut cases = 0;
    for (age, state) in states.iter().rev().enumerate().skip(1) {
        for stale in files(&path) {
            newest.iter().for_each(|(file, bytes)| fs::write(file, bytes).unwrap());
            assert_eq!(findings(&path), Vec::<String>::new());
            assert!(File::open(&path).unwrap().older().unwrap().is_empty());
            fs::write(&stale, &state[&stale]).unwrap();

            let file = File::open(&path).unwrap(); // it can be read
            let older = file.older().unwrap();
            let [older] = older.as_slice() else { panic!("{older:?}") };
            assert_eq!((older.path, older.commits() as usize), (&*stale, age));
            let found = findings(&path);
            let words = if age == 1 { "1 commit" } else { &format!("{age} commits") };
            assert!(
                !found.is_empty() && found.iter().all(|text| text.contains(words)),
                "{found:?}"
            );
            assert!(is_apart(&Convert::new().run(&file, &out, &|_| {}).unwrap_err()));
            assert!(is_apart(&Reopen::new().open(&path).map(drop).unwrap_err()));
            let recovery = Recover::new().examine(&path).unwrap();
            let is_apart = matches!(recovery.of_set(), OfSet::Apart { .. });
            assert!(is_apart && !recovery.is_sound(), "{}", recovery.of_set());
            assert!(recovery.of_set().to_string().contains(words), "{}", recovery.of_set());
            for verb in ["info", "ls"] {
                let done = striae(&[verb, path.to_str().unwrap()]).output().unwrap();
                let said = String::from_utf8(done.stderr).unwrap();
                assert!(done.status.success() && said.contains(words), "{verb}: {said}");
                assert!(said.contains(stale.to_str().unwrap()), "{verb}: {said}");
            }
            cases += 1;
        }
    }
    assert_eq!(cases, 12);
}

#[test]
fn every_writer_numbers_its_commits() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.sion");
    rounds(&path, 2);
    let number = |path: &Path| {
        let verified = Verify::new().sion(path, &mut |_| {}).unwrap();
        assert!(verified.is_sound());
        verified.set_commit
    };
    assert_eq!(number(&path), Some(3));
    let mut set = Reopen::new().open(&path).unwrap();
    put(&set, 9);
    set.commit().unwrap();
    assert_eq!(number(&path), Some(4));
    set.close().unwrap();
    assert_eq!(number(&path), Some(5));
    drop(set);

    let (to, three) = (folder.path().join("b.sion"), std::num::NonZeroU32::new(NFILES).unwrap());
    Convert::new().nfiles(three).run(&File::open(&path).unwrap(), &to, &|_| {}).unwrap();
    assert_eq!(number(&to), Some(1));
    let sources = Sources::of_files(files(&path)).unwrap();
    let pack = Pack::new().nfiles(three).sealed(true).output(Output::new().force(true));
    pack.run(&sources, &to, &|_| {}).unwrap();
    assert_eq!(number(&to), Some(1));
    let recovery = Recover::new().output(Output::new().force(true)).examine(&path).unwrap();
    assert!(recovery.is_exact());
    recovery.write(&to, &|_| {}).unwrap();
    assert_eq!(number(&to), Some(5)); // the copy is of the commit that it is a copy of

    let buddies = folder.path().join("c.sion");
    let mut set = builder().nfiles(2).buddies(1).create(&buddies).unwrap();
    put(&set, 0);
    set.close().unwrap();
    assert_eq!(number(&buddies), number(&sion::buddy_path(&buddies, 0)));
}

/// The files right before and after each of some commits.
fn commits(path: &Path, number: u8) -> Vec<[BTreeMap<PathBuf, Vec<u8>>; 2]> {
    let set = builder().create(path).unwrap();
    let mut states = Vec::new();
    for round in 0..number {
        put(&set, round);
        let before = contents(path);
        set.commit().unwrap();
        states.push([before, contents(path)]);
    }
    states
}

/// The files between two commits: the first `shown` files show the new one, and all have both.
fn between(old: &BTreeMap<PathBuf, Vec<u8>>, new: &BTreeMap<PathBuf, Vec<u8>>, shown: usize) {
    for (number, (file, bytes)) in new.iter().enumerate() {
        let mut bytes = bytes.clone();
        if number >= shown {
            let fields = 1076 + 16 * 2; // of 2 tasks
            bytes[fields..fields + 12].copy_from_slice(&old[file][fields..fields + 12]);
        }
        fs::write(file, bytes).unwrap();
    }
}

#[test]
fn a_commit_that_a_crash_ended_between_files_is_brought_to_all_of_them() {
    let folder = TempDir::new().unwrap();
    let (path, out) = (folder.path().join("a.sion"), folder.path().join("out"));
    let mut cases = 0;
    for [old, new] in &commits(&path, 6)[1..] {
        between(old, new, NFILES as usize);
        let truth = streams(&path);
        for shown in 1..NFILES as usize {
            between(old, new, shown);
            assert_eq!(File::open(&path).unwrap().older().unwrap().len(), NFILES as usize - shown);
            let recovery = Recover::new().output(Output::new().force(true)).examine(&path).unwrap();
            // A file may show by itself that the newer one is whole; then it is not brought there.
            let is_same = matches!(recovery.of_set(), OfSet::Same { .. });
            assert!(is_same && recovery.is_exact(), "{}", recovery.of_set());
            recovery.write(&out, &|_| {}).unwrap();
            assert_eq!(streams(&out), truth);
            // A writer that goes on does it in place.
            let mut set = Reopen::new().open(&path).unwrap();
            assert!(File::open(&path).unwrap().older().unwrap().is_empty());
            assert_eq!(streams(&path), truth);
            put(&set, 7);
            set.close().unwrap();
            assert!(Verify::new().sion(&path, &mut |_| {}).unwrap().is_sound());
            cases += 1;
        }
    }
    assert_eq!(cases, 10);
}

/// The files of a set after its first and its second commit, and with file `own` after a commit of
/// its own, which has no number, and without its seal.
fn with_own(path: &Path, own: usize) -> [BTreeMap<PathBuf, Vec<u8>>; 4] {
    let set = builder().create(path).unwrap();
    let [first, second] = [0, 1].map(|round| {
        put(&set, round);
        set.commit().unwrap();
        contents(path)
    });
    let mut task = set.task(2 * own as u64).unwrap();
    task.write_all(b"alone").unwrap();
    task.commit().unwrap();
    let alone = contents(path);
    let mut unsealed = alone.clone();
    let bytes = unsealed.get_mut(&files(path)[own]).unwrap();
    let magics: Vec<_> =
        (0..bytes.len()).filter(|&at| bytes[at..].starts_with(&SealTrailer::MAGIC)).collect();
    assert!(!magics.is_empty());
    magics.iter().for_each(|&at| bytes[at..at + 16].fill(0));
    [first, second, alone, unsealed]
}

#[test]
fn files_of_two_commits_are_apart_whichever_file_is_of_none() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("out");
    let mut cases = 0;
    for own in 0..NFILES as usize {
        let path = folder.path().join(format!("{own}.sion"));
        let [first, second, alone, unsealed] = with_own(&path, own);
        let all = files(&path);
        let [newer, older] = [1, 2].map(|by| &all[(own + by) % NFILES as usize]);
        for state in [&alone, &unsealed] {
            // The others are of one commit: nothing contradicts it.
            let others = [(newer, &second), (older, &second)];
            for (file, state) in others.into_iter().chain([(&all[own], state)]) {
                fs::write(file, &state[file]).unwrap();
            }
            assert_eq!(findings(&path), [""; 0], "{own}");
            assert_eq!(*Recover::new().examine(&path).unwrap().of_set(), OfSet::EachOwn);
            assert!(File::open(&path).unwrap().older().unwrap().is_empty());

            fs::write(older, &first[older]).unwrap();
            let found = findings(&path);
            let [text] = found.as_slice() else { panic!("{own}: {found:?}") };
            assert!(text.contains("is 1, but 2") && text.contains("1 commit older"), "{text}");
            assert!(!Verify::new().sion(&path, &mut |_| {}).unwrap().is_sound());
            let recovery = Recover::new().examine(&path).unwrap();
            let number = |file: &PathBuf| u32::from(file == older);
            let without = (0..).zip(&all).filter(|(_, file)| *file != newer);
            let without = without.map(|(at, file)| (at, number(file))).collect();
            assert_eq!(*recovery.of_set(), OfSet::Apart { newest: 2, without });
            assert!(!recovery.is_exact() && !recovery.is_sound());
            let file = File::open(&path).unwrap();
            let told = file.older().unwrap();
            let told: Vec<_> = told.iter().map(|it| (it.path, it.number, it.newest)).collect();
            assert_eq!(told, [(older.as_path(), 1, 2)]);
            assert!(is_apart(&Convert::new().run(&file, &out, &|_| {}).unwrap_err()));
            let refused = Reopen::new().open(&path).map(drop).unwrap_err();
            // A seal that is gone is refused first.
            assert!(is_apart(&refused) || *state == unsealed, "{own}: {refused}");
            cases += 1;
        }
    }
    assert_eq!(cases, 6);
}
