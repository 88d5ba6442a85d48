//! Buddy sets that do not end where their set does, as of a commit that failed in some of them.

use super::buddies::{copies, sibling};
use super::{Random, assert_sound, payload_from, streams};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use striae::error::ErrorKind;
use striae::sion::{self, Builder, Durability, FileWriter, buddy_path};

/// Where the older state of a file is kept.
fn before_of(file: &Path) -> PathBuf {
    format!("{}.before", file.display()).into()
}

#[test]
fn what_only_some_of_the_sets_have_of_a_commit_is_taken_back_or_made_up_for() {
    let mut cut = 0;
    for seed in 0..60 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sion");
        let mut random = Random(seed);
        let (nfiles, sealed) = (3, random.below(2) == 0);
        let builder = Builder::new(7).nfiles(nfiles).buddies(2).chunksize(60).fsblksize(8);
        let builder = builder.sealed(sealed).durability(Durability::None);
        let mut file = builder.create(&path).unwrap();
        let mut streams_of_tasks = vec![Vec::new(); 7];
        let mut add = |file: &FileWriter, streams: &mut Vec<Vec<u8>>| {
            for _ in 0..random.below(9) {
                let task = random.index(7);
                let bytes = payload_from(task as u64, streams[task].len(), random.index(150));
                file.task(task as u64).unwrap().write_all(&bytes).unwrap();
                streams[task].extend(bytes);
            }
            random.below(2) == 0
        };
        if add(&file, &mut streams_of_tasks) {
            file.commit().unwrap();
        } else {
            file.close().unwrap();
            file = FileWriter::reopen(&path).unwrap();
        }
        let before = streams_of_tasks.clone();
        for number in 0..nfiles {
            for path in [&path, &buddy_path(&path, 1)] {
                let file = sibling(path, number);
                fs::copy(&file, before_of(&file)).unwrap();
            }
        }
        match add(&file, &mut streams_of_tasks) {
            true => file.commit().unwrap(),
            false => file.close().unwrap(),
        }
        drop(file);
        // As if the commit had ended before it came to the last of these files. Sealed files of a
        // set are of one commit, or it is refused.
        let first = if sealed { 0 } else { seed as u32 % nfiles };
        for number in first..nfiles {
            let main = sibling(&path, number);
            fs::copy(before_of(&main), &main).unwrap();
        }
        // Another thread may have committed more of the set meanwhile.
        let is_before = |number: &u32| (seed >> if sealed { 0 } else { *number }) % 4 == 3;
        for number in (0..nfiles).filter(is_before) {
            let copy = sibling(&buddy_path(&path, 1), number);
            fs::copy(before_of(&copy), &copy).unwrap();
        }
        let in_file = |number: u32| {
            if number == 2 { 4..7 } else { 2 * number as usize..2 * number as usize + 2 }
        };
        for task in (first..nfiles).flat_map(in_file) {
            cut += u32::from(streams_of_tasks[task] != before[task]);
            streams_of_tasks[task].clone_from(&before[task]);
        }
        let mut file = FileWriter::reopen(&path).unwrap();
        let check = |streams_of_tasks: &Vec<Vec<u8>>| {
            assert!(streams(&path) == *streams_of_tasks, "{seed}");
            assert_sound(&path, sealed);
            for buddy in 0..2 {
                assert!(copies(&path, buddy) == *streams_of_tasks, "{seed}");
                assert_sound(&buddy_path(&path, buddy), sealed);
            }
        };
        check(&streams_of_tasks);
        add(&file, &mut streams_of_tasks);
        file.close().unwrap();
        check(&streams_of_tasks);
    }
    assert!(cut > 60, "{cut}");
}

/// The length of a record, and what all of its bytes are.
type Record = (usize, u8);

/// A set whose task 1 has these records in the set, and those in its buddy set.
fn apart(folder: &Path, main: &[Record], copy: &[Record], sealed: bool) -> PathBuf {
    let path = folder.join("a.sion");
    let other = folder.join("other.sion");
    let builder = Builder::new(2).nfiles(2).buddies(1).chunksize(100).fsblksize(100);
    for (path, records) in [(&path, copy), (&other, main)] {
        let mut file = builder.clone().sealed(sealed).create(path).unwrap();
        let mut writer = file.task(1).unwrap();
        for &(len, byte) in records {
            writer.write_record(&vec![byte; len]).unwrap();
        }
        drop(writer);
        file.close().unwrap();
    }
    for number in 0..2 {
        fs::rename(sibling(&other, number), sibling(&path, number)).unwrap();
    }
    path
}

#[test]
fn a_copy_is_mended_if_it_is_the_front_of_its_stream_or_the_other_way_round() {
    const A: Record = (60, 1);
    const B: Record = (60, 2);
    let pairs: [(&[Record], &[Record], bool); 9] = [
        (&[A, A, B], &[A], true),
        (&[A, A, B], &[A, A], true),
        (&[A, (30, 2)], &[A], true),
        (&[A], &[], true),
        (&[A, (40, 2), (100, 3), (7, 4)], &[A], true),
        (&[A, A, B], &[B], false),
        (&[A, B], &[A, A, A], false),
        (&[(50, 1), A], &[A, A, A], false),
        (&[(61, 1)], &[A, A], false),
    ];
    for sealed in [false, true] {
        for (longer, shorter, is_front) in pairs {
            for (main, copy) in [(longer, shorter), (shorter, longer)] {
                let folder = tempfile::tempdir().unwrap();
                let path = apart(folder.path(), main, copy, sealed);
                let before = [streams(&path), copies(&path, 0)];
                match FileWriter::reopen(&path) {
                    Ok(mut file) => {
                        assert!(is_front, "{main:?} {copy:?}");
                        assert!(streams(&path) == before[0] && copies(&path, 0) == before[0]);
                        file.task(1).unwrap().write_all(&[9; 150]).unwrap();
                        file.close().unwrap();
                        assert!(copies(&path, 0) == streams(&path));
                        assert_sound(&buddy_path(&path, 0), sealed);
                    }
                    Err(error) => {
                        assert!(!is_front, "{main:?} {copy:?}: {error}");
                        let is_stale = |kind: &ErrorKind| {
                            matches!(kind, ErrorKind::Sion(sion::ErrorKind::Stale { task: 1, .. }))
                        };
                        assert!(is_stale(error.kind()), "{error}");
                        assert!([streams(&path), copies(&path, 0)] == before);
                    }
                }
            }
        }
    }
}

#[test]
fn a_copy_that_is_damaged_is_not_sealed_anew_when_it_is_cut_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = apart(folder.path(), &[(30, 1)], &[(30, 1), (30, 2), (60, 3)], true);
    let copy = sibling(&buddy_path(&path, 0), 1);
    let mut bytes = fs::read(&copy).unwrap();
    let at = bytes.windows(30).position(|bytes| bytes == [2; 30]).unwrap();
    bytes[at + 3] ^= 1;
    fs::write(&copy, &bytes).unwrap();
    let error = FileWriter::reopen(&path).unwrap_err();
    assert_eq!(error.path(), copy);
    assert!(matches!(super::sion(&error), striae_core::sion::Error::Checksum { .. }), "{error}");
    assert!(fs::read(&copy).unwrap() == bytes);
}
