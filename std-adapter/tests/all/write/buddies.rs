//! Buddy sets: what SIONlib makes of the same request, and what is left when files are lost.

use super::{Random, assert_sound, payload_from, streams, streams_of};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use striae::error::ErrorKind;
use striae::sion::{self, Builder, Durability, File, FileWriter, OpenOptions, buddy_path};
use striae_core::endian::ByteOrder;
use striae_core::sion::filename::Sibling;
use striae_kit::golden_sets::golden_dir;

/// The streams in a buddy set, by the global ranks of the tasks whose copies they are.
pub(crate) fn copies(path: &Path, buddy: u32) -> Vec<Vec<u8>> {
    let file = File::open(buddy_path(path, buddy)).unwrap();
    let tasks = file.tasks().unwrap().map(|task| task.unwrap().place.globalrank);
    let mut copies: Vec<_> = tasks.zip(streams_of(&file)).collect();
    copies.retain(|(rank, stream)| *rank >= 0 || !stream.is_empty());
    copies.sort_by_key(|(rank, _)| *rank);
    copies.into_iter().map(|(_, stream)| stream).collect()
}

pub(crate) fn sibling(path: &Path, number: u32) -> PathBuf {
    format!("{}{}", path.to_str().unwrap(), Sibling(number)).into()
}

#[test]
fn the_files_are_those_that_sionlib_makes_of_the_same_request() {
    let name = "m11_np4_buddy.sion";
    let expected = streams(&golden_dir().join(name));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    let builder = Builder::new(4).nfiles(2).buddies(1).chunksize(512).fsblksize(512);
    let builder = builder.order(ByteOrder::Little).prefix(name.into());
    let mut file = builder.durability(Durability::None).create(&path).unwrap();
    for (task, bytes) in (0..).zip(&expected) {
        let mut writer = file.task(task).unwrap();
        let (first, second) = bytes.split_at(bytes.len() - 450); // as its writer did
        writer.write_record(first).unwrap();
        writer.write_record(second).unwrap();
    }
    file.close().unwrap();
    for end in ["", ".000001", "_BUDDY_00", "_BUDDY_00.000001"] {
        let name = format!("{name}{end}");
        let ours = fs::read(folder.path().join(&name)).unwrap();
        let theirs = fs::read(golden_dir().join(&name)).unwrap();
        assert!(ours == theirs, "{name}");
    }
}

/// A set of 7 tasks with some bytes, closed; the streams are the result.
pub(crate) fn write(path: &Path, nfiles: u32, buddies: u32) -> Vec<Vec<u8>> {
    let builder = Builder::new(7).nfiles(nfiles).buddies(buddies).chunksize(300).fsblksize(16);
    let ranks = vec![3, 0, 6, 1, 5, 2, 4];
    let mut file = builder.globalranks(ranks).sealed(true).create(path).unwrap();
    let written = (0..7).map(|task| {
        let bytes = payload_from(task, 0, 170 * task as usize);
        file.task(task).unwrap().write_all(&bytes).unwrap();
        bytes
    });
    let written = written.collect();
    file.close().unwrap();
    written
}

#[test]
fn whatever_file_is_lost_with_what_is_kept_beside_it_nothing_is_lost() {
    let mut lost_files = 0;
    for (nfiles, buddies) in [(2, 1), (3, 1), (3, 2), (5, 1), (5, 4), (7, 3)] {
        for lost in 0..nfiles {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a.sion");
            let expected = write(&path, nfiles, buddies);
            let ranks = |file: &File| -> Vec<_> {
                file.tasks().unwrap().map(|task| task.unwrap().place.globalrank).collect()
            };
            let whole = File::open(&path).unwrap();
            assert_eq!(whole.copies().count(), 0);
            let expected_ranks = ranks(&whole);
            assert_sound(&path, true);

            // Those of one node: file `lost`, and the copies that its tasks keep.
            fs::remove_file(sibling(&path, lost)).unwrap();
            for buddy in 0..buddies {
                assert_sound(&buddy_path(&path, buddy), true);
                let kept = (lost + buddy + 1) % nfiles;
                fs::remove_file(sibling(&buddy_path(&path, buddy), kept)).unwrap();
            }
            let file = File::open(&path).unwrap();
            let substitutes: Vec<_> = file.copies().map(|(lost, _)| lost).collect();
            assert_eq!(substitutes, [sibling(&path, lost)]);
            assert!(streams_of(&file) == expected, "{nfiles} files, {lost} is lost");
            assert_eq!((file.ntasks(), ranks(&file)), (7, expected_ranks.clone()));
            for (task, rank) in (0..).zip(expected_ranks) {
                assert_eq!(file.find_globalrank(rank).unwrap(), task);
                assert_eq!(file.task(task).unwrap().place.globalrank, rank);
            }
            assert!(file.task(7).is_err());

            // Written anew, it is the set that it was.
            let out = folder.path().join("new.sion");
            sion::Convert::new().run(&file, &out, &|_| {}).unwrap();
            assert!(streams(&out) == expected);
            lost_files += 1;
        }
    }
    assert_eq!(lost_files, 25);
}

#[test]
fn without_buddy_sets_a_lost_file_stays_lost() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    write(&path, 3, 1);
    fs::remove_file(sibling(&path, 1)).unwrap();
    let error = OpenOptions::new().buddies(false).open(&path).unwrap_err();
    assert_eq!(error.path(), sibling(&path, 1));
    fs::remove_file(sibling(&buddy_path(&path, 0), 1)).unwrap();
    assert_eq!(File::open(&path).unwrap_err().path(), sibling(&path, 1));
}

#[test]
fn what_sionlib_writes_wrongly_is_refused_and_nothing_is_made() {
    for (nfiles, buddies, refused) in
        [(1, 1, 0), (2, 2, 1), (4, 2, 1), (4, 3, 1), (6, 3, 1), (9, 3, 2)]
    {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sion");
        let error = Builder::new(12).nfiles(nfiles).buddies(buddies).create(&path).unwrap_err();
        let ErrorKind::Sion(sion::ErrorKind::Buddies { buddy, .. }) = error.kind() else {
            panic!("{error}")
        };
        assert_eq!(*buddy, refused, "{nfiles} files");
        assert_eq!(super::names(folder.path()), [""; 0]);
    }
}

#[test]
fn a_rank_that_a_keeper_could_have_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    let builder = Builder::new(2).nfiles(2).globalranks(vec![4, -5]);
    let error = builder.clone().buddies(1).create(&path).unwrap_err();
    assert!(error.to_string().contains("globalrank cannot be -5, must be from 0"), "{error}");
    assert_eq!(super::names(folder.path()), [""; 0]);
    builder.create(&path).unwrap().close().unwrap();
}

#[test]
fn a_set_that_is_appended_to_stays_equal_to_its_copies() {
    let folder = tempfile::tempdir().unwrap();
    for seed in 0..30 {
        let path = folder.path().join(format!("{seed}.sion"));
        let mut random = Random(seed);
        let nfiles = 2 + u32::try_from(random.below(3)).unwrap();
        let builder = Builder::new(6).nfiles(nfiles).buddies(1).chunksize(200).fsblksize(8);
        let buffer = random.index(200);
        let mut file = builder.buffer(buffer).durability(Durability::None).create(&path).unwrap();
        let mut expected: Vec<Vec<u8>> = vec![Vec::new(); 6];
        for step in 0..40 {
            let task = random.index(6);
            let at = expected[task].len();
            let bytes = payload_from(task as u64, at, random.index(150));
            let mut writer = file.task(task as u64).unwrap();
            match random.below(2) {
                0 => writer.write_record(&bytes).unwrap(),
                _ => writer.write_all(&bytes).unwrap(),
            }
            drop(writer);
            expected[task].extend(&bytes);
            match random.below(8) {
                0 => file.commit().unwrap(),
                1 => {
                    file.close().unwrap();
                    file = FileWriter::reopen(&path).unwrap();
                }
                _ => continue,
            }
            assert!(streams(&path) == expected, "{seed} {step}");
            assert!(copies(&path, 0) == expected, "{seed} {step}");
        }
    }
}

#[test]
fn a_set_with_a_part_of_its_copies_is_not_appended_to() {
    for lost in 0..2 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sion");
        write(&path, 2, 1);
        let copy = buddy_path(&path, 0);
        fs::remove_file(sibling(&copy, lost)).unwrap();
        let error = FileWriter::reopen(&path).unwrap_err();
        assert_eq!(error.path(), sibling(&copy, lost)); // else what is left would be no copy
        for number in 0..2 {
            fs::remove_file(sibling(&path, number)).unwrap();
        }
        let error = Builder::new(2).nfiles(2).create(&path).unwrap_err();
        assert_eq!(error.path(), sibling(&copy, 1 - lost));
    }
}
