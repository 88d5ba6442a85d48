//! Sets that are gone on with: our own, and those that SIONlib wrote.

use super::{assert_sound, payload, payload_from, sion, streams};
use std::io::Write;
use std::path::{Path, PathBuf};
use striae::error::ErrorKind;
use striae::sion::ErrorKind::Sibling;
use striae::sion::{Builder, Durability, File, FileWriter, Reopen};
use striae_core::endian::ByteOrder;
use striae_core::sion::{Error as SionError, KeyvalMode, Reader, SealState};
use striae_kit::golden_sets::{GoldenSet, as_v2, golden_set, golden_sets};

/// A set that SIONlib wrote, somewhere else.
fn copy(set: &GoldenSet, folder: &Path) -> PathBuf {
    for path in &set.paths {
        std::fs::copy(path, folder.join(path.file_name().unwrap())).unwrap();
    }
    folder.join(set.paths[0].file_name().unwrap())
}

/// Appends to some tasks twice, with a commit in between, and compares all of them each time.
fn append(path: &Path, seals: Option<bool>) {
    let old = File::open(path).unwrap();
    let ranks = mapping(&old);
    let mut expected = streams(path);
    let was_sealed = old.reader().files().iter().all(|file| is_sealed(file.seal().unwrap()));
    drop(old);
    let mut reopen = Reopen::new().durability(Durability::None).buffer(100);
    if let Some(sealed) = seals {
        reopen = reopen.sealed(sealed);
    }
    let mut file = reopen.open(path).unwrap();
    for round in 0..3 {
        for (task, expected) in (0..file.ntasks()).zip(&mut expected) {
            if task % 3 == 2 || (round == 1 && task % 3 == 1) {
                continue;
            }
            let mut writer = file.task(task).unwrap();
            let bytes = payload_from(task, expected.len(), 37 + 1500 * (task as usize % 2));
            if file.keyval() == KeyvalMode::Inline {
                writer.write_key(task, &bytes).unwrap();
                let big = writer.order() == ByteOrder::Big;
                let of = |n: u64| if big { n.to_be_bytes() } else { n.to_le_bytes() };
                let header = [of(task), of(bytes.len() as u64)];
                expected.extend(header.as_flattened());
            } else if let Err(error) = writer.write_all(&bytes) {
                assert!(writer.room() == 0, "{error}"); // a task without any room
                continue;
            }
            expected.extend(&bytes);
        }
        file.commit().unwrap();
        assert!(streams(path) == expected, "{}: after commit {round}", path.display());
    }
    file.close().unwrap();
    assert!(streams(path) == expected, "{}: after the close", path.display());
    assert_sound(path, seals.unwrap_or(was_sealed));
    assert_eq!(mapping(&File::open(path).unwrap()), ranks, "{}", path.display());
}

fn is_sealed(state: SealState) -> bool {
    matches!(state, SealState::Sealed(_))
}

/// Which task the mapping names for each global rank.
fn mapping(file: &File) -> Vec<Option<u64>> {
    let reader: &Reader<_, _> = file.reader();
    (-1..20).map(|rank| reader.mapped(rank).unwrap()).collect()
}

#[test]
fn every_closed_set_of_sionlib_can_be_gone_on_with() {
    let mut closed = 0;
    for set in golden_sets() {
        let folder = tempfile::tempdir().unwrap();
        let path = copy(&set, folder.path());
        if File::open(&path).is_err() {
            let error = FileWriter::reopen(&path).unwrap_err();
            assert!(matches!(sion(&error), SionError::NotClosed { .. }), "{error:?}");
            continue;
        }
        closed += 1;
        append(&path, None);
        append(&path, Some(true)); // what it has now was never sealed
        append(&path, None);
        append(&path, Some(false));
    }
    println!("sets of SIONlib gone on with: {closed}");
    assert!(closed >= 34, "{closed}");
}

#[test]
fn a_file_of_fileformat_version_2_can_be_gone_on_with() {
    let set = golden_set("s02_three_unequal_noncontig");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v2.sion");
    std::fs::write(&path, as_v2(&set.files[0], 3)).unwrap();
    append(&path, None);
    append(&path, Some(true));
}

#[test]
fn a_set_of_which_one_file_is_not_closed_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    drop(Builder::new(4).nfiles(2).create(&path).unwrap());
    let error = FileWriter::reopen(&path).unwrap_err();
    assert!(matches!(sion(&error), SionError::NotClosed { .. }));
    std::fs::remove_file(folder.path().join("a.sion.000001")).unwrap();
    let error = FileWriter::reopen(&path).unwrap_err();
    let kind = |error: &std::io::Error| error.kind() == std::io::ErrorKind::NotFound;
    let is_lost = matches!(error.kind(), ErrorKind::Sion(Sibling { error, .. }) if kind(error));
    assert!(is_lost, "{error}");
}

#[test]
fn a_seal_is_kept_or_added_or_taken_away() {
    for (was, asked) in [false, true]
        .into_iter()
        .flat_map(|was| [None, Some(false), Some(true)].into_iter().map(move |asked| (was, asked)))
    {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sion");
        let builder = Builder::new(4).nfiles(2).chunksize(300).fsblksize(10).sealed(was);
        let mut file = builder.durability(Durability::None).create(&path).unwrap();
        for task in 0..3 {
            file.task(task).unwrap().write_all(&payload(task, 700 * task as usize)).unwrap();
        }
        file.close().unwrap();
        let mut reopen = Reopen::new();
        if let Some(asked) = asked {
            reopen = reopen.sealed(asked);
        }
        let sealed = asked.unwrap_or(was);
        // Once without anything new, once with.
        reopen.open(&path).unwrap().commit().unwrap();
        assert_sound(&path, sealed);
        reopen.open(&path).unwrap().close().unwrap();
        assert_sound(&path, sealed);
        let mut file = reopen.open(&path).unwrap();
        file.task(1).unwrap().write_all(&payload_from(1, 700, 500)).unwrap();
        file.close().unwrap();
        assert_sound(&path, sealed);
        assert_eq!(streams(&path), [vec![], payload(1, 1200), payload(2, 1400), vec![]]);
    }
}

#[test]
fn what_was_written_behind_the_last_commit_is_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    let file = Builder::new(2).chunksize(300).fsblksize(10).sealed(true).create(&path).unwrap();
    file.task(0).unwrap().write_all(&payload(0, 1000)).unwrap();
    file.commit().unwrap();
    let mut writer = file.task(0).unwrap();
    writer.write_all(&payload(9, 5000)).unwrap();
    writer.flush().unwrap();
    drop((writer, file));
    let mut file = FileWriter::reopen(&path).unwrap();
    assert_eq!(file.task(0).unwrap().location(), (3, 100));
    file.task(0).unwrap().write_all(&payload_from(0, 1000, 100)).unwrap();
    file.close().unwrap();
    assert_eq!(streams(&path), [payload(0, 1100), vec![]]);
    assert_sound(&path, true);
}

#[test]
fn a_set_that_is_closed_again_without_anything_new_is_the_same() {
    for (nfiles, sealed) in [(1, false), (3, true)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sion");
        let builder = Builder::new(6).nfiles(nfiles).sealed(sealed).chunksize(300).fsblksize(10);
        let mut file = builder.create(&path).unwrap();
        file.task(5).unwrap().write_all(&payload(5, 700)).unwrap();
        file.close().unwrap();
        let read = || {
            let names = super::names(folder.path());
            names.iter().map(|name| std::fs::read(folder.path().join(name)).unwrap()).collect()
        };
        let before: Vec<_> = read();
        FileWriter::reopen(&path).unwrap().close().unwrap();
        assert!(read() == before);
    }
}

#[test]
fn a_sealed_file_whose_metadata_are_damaged_is_not_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    let builder = Builder::new(1).chunksize(100).fsblksize(1).sealed(true);
    let builder = builder.order(ByteOrder::Little);
    let mut file = builder.create(&path).unwrap();
    file.task(0).unwrap().write_all(&payload(0, 100)).unwrap();
    file.close().unwrap();
    drop(file);

    let sound = std::fs::read(&path).unwrap();
    let blocksize = 1104 + 100 + 8; // behind META1, the chunk and the block count
    assert_eq!(sound[blocksize..blocksize + 8], 100u64.to_le_bytes());
    let mut damaged = sound.clone();
    damaged[blocksize..blocksize + 8].copy_from_slice(&50u64.to_le_bytes());
    std::fs::write(&path, &damaged).unwrap();
    let error = FileWriter::reopen(&path).unwrap_err().to_string();
    assert!(error.contains("seal.meta2_crc at offset"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), damaged);

    // The seal says what maxchunks was, although META2 seems to end elsewhere now.
    let mut longer = sound.clone();
    assert_eq!(sound[1092..1096], 1u32.to_le_bytes());
    longer[1092..1096].copy_from_slice(&2u32.to_le_bytes());
    std::fs::write(&path, &longer).unwrap();
    let error = FileWriter::reopen(&path).unwrap_err().to_string();
    assert!(error.contains("META1.maxchunks at offset 1092 is 2, must be 1 as"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), longer);
    std::fs::write(&path, &damaged).unwrap();

    // Whoever takes the seal away takes the file as it is.
    let mut file = Reopen::new().sealed(false).open(&path).unwrap();
    file.close().unwrap();
    drop(file);
    assert_eq!(streams(&path), [payload(0, 50)]);
}
