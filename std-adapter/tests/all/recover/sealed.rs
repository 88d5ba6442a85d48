//! Seals prove what META2 does not say any more.

use std::fs;
use std::io::Write;
use std::iter;
use std::path::Path;
use striae::Verify;
use striae::sion::recover::{Doubt, Proof, Recover, Recovered, Recovery};
use striae::sion::{Builder, File};
use striae_core::endian::ByteOrder;
use striae_core::integrity::crc32c;
use striae_core::sion::recover::Certainty;
use striae_core::sion::recover::{Remains, Scratch};
use tempfile::TempDir;

const NTASKS: u64 = 4;

/// Streams with zeros at their ends, in the middle, and nothing at all.
fn contents() -> Vec<Vec<u8>> {
    let zeros = [vec![0; 40], vec![7; 1000], vec![0; 300]].concat();
    vec![zeros, vec![], vec![0; 700], vec![1; 512]]
}

fn write(path: &Path, ends: impl FnOnce(striae::sion::FileWriter)) {
    let builder = Builder::new(NTASKS).fsblksize(512).chunksize(512).sealed(true);
    let file = builder.order(ByteOrder::Little).create(path).unwrap();
    for (task, bytes) in (0..).zip(contents()) {
        file.task(task).unwrap().write_all(&bytes).unwrap();
    }
    ends(file);
}

fn closed() -> (TempDir, Vec<u8>) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sealed.sion");
    write(&path, |mut file| file.close().unwrap());
    let bytes = fs::read(&path).unwrap();
    (dir, bytes)
}

/// Where the commit fields are, and META2.
fn places(file: &[u8]) -> (usize, usize) {
    let fields = 1076 + 16 * NTASKS as usize;
    let start = file[fields + 4..fields + 12].try_into().unwrap();
    (fields, i64::from_le_bytes(start) as usize)
}

/// All streams of a file in memory.
fn recover(file: &[u8]) -> Vec<(Recovered, Vec<u8>)> {
    let (mut tables, mut window) = ([0; 2048], [0; 2048]);
    let remains = Remains::read(&file, crc32c, &mut tables).unwrap();
    let mut scratch = Scratch::new(&mut window);
    let tasks: Vec<_> = remains.tasks(&file, &mut tables).unwrap().map(Result::unwrap).collect();
    let stream = |task: &striae_core::sion::Task| {
        let mut bytes = Vec::new();
        let recovered = remains.recover(&file, task, &mut scratch, &mut |chunk, len| {
            let start = task.chunks.chunk(chunk).unwrap().offset() as usize;
            bytes.extend_from_slice(&file[start..start + len as usize]);
            Ok(())
        });
        (recovered.unwrap(), bytes)
    };
    tasks.iter().map(|listed| &listed.task).map(stream).collect()
}

fn is_all_exact(file: &[u8], how: &str) {
    for (task, ((recovered, bytes), truth)) in recover(file).iter().zip(contents()).enumerate() {
        assert!(recovered.certainty.is_sound(), "{how}, task {task}: {}", recovered.certainty);
        assert!(*bytes == truth, "{how}, task {task}: {} bytes", bytes.len());
    }
}

#[test]
fn one_flipped_bit_of_the_metadata_costs_no_byte() {
    let (_dir, file) = closed();
    let (fields, start) = places(&file);
    let (mut flips, mut guesses) = (0, 0);
    for at in (fields..fields + 12).chain(start..file.len()) {
        for bit in 0..8 {
            let mut damaged = file.clone();
            damaged[at] ^= 1 << bit;
            flips += 1;
            let (_, led) = places(&damaged);
            if led > start && led % 512 == 0 && led <= i64::MAX as usize {
                // A commit could have been there, and what is at the end of the file be older.
                for ((recovered, bytes), truth) in recover(&damaged).iter().zip(contents()) {
                    assert_eq!(recovered.certainty, Certainty::Guess(Doubt::Meta2Lost));
                    assert_eq!(*bytes, truth);
                }
                guesses += 1;
                continue;
            }
            is_all_exact(&damaged, &format!("bit {bit} of {at}"));
        }
    }
    println!("flipped bits: {flips}, all streams right, guesses for {guesses}");
    assert!(flips > 2000 && guesses < 55);
}

#[test]
fn chunks_prove_themselves_without_meta2() {
    let (_dir, mut file) = closed();
    let (fields, start) = places(&file);
    let meta2_len = 8 * NTASKS as usize * 4;
    file[start..start + meta2_len].fill(0);
    is_all_exact(&file, "META2 zeroed");
    for (recovered, _) in recover(&file) {
        assert_eq!(recovered.certainty, Certainty::Exact);
    }
    file[fields..fields + 12].fill(0);
    is_all_exact(&file, "META2 and commit fields zeroed");

    let first = 1536;
    file[first + 100] ^= 1;
    let found = recover(&file);
    assert_eq!(found[0].0.certainty, Certainty::Guess(Doubt::NotAsSealed));
    assert!(found[1..].iter().all(|(recovered, _)| recovered.certainty.is_sound()));
}

#[test]
fn the_seal_at_the_end_leads_to_meta2() {
    let (_dir, mut file) = closed();
    let (fields, _) = places(&file);
    file[fields..fields + 12].fill(0);
    is_all_exact(&file, "commit fields zeroed");
    for (recovered, _) in recover(&file) {
        assert_eq!(recovered.certainty, Certainty::Exact);
    }
}

fn examine(path: &Path) -> Recovery {
    Recover::new().examine(path).unwrap()
}

#[test]
fn a_commit_is_exact_and_what_came_later_is_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("committed.sion");
    write(&path, |file| {
        file.commit().unwrap();
        let mut task = file.task(1).unwrap();
        task.write_all(b"never committed").unwrap();
        task.flush().unwrap();
    });
    let recovery = examine(&path);
    assert!(recovery.is_sound());
    let out = dir.path().join("out");
    recovery.write(&out, &|_| {}).unwrap();
    assert_eq!(super::streams(&out), contents());

    // Of several commits, only META1 says which one is the last.
    let mut file = fs::read(&path).unwrap();
    let (fields, _) = places(&file);
    file[fields..fields + 12].fill(0);
    for ((recovered, bytes), truth) in recover(&file).iter().zip(contents()) {
        assert_eq!(recovered.certainty, Certainty::Guess(Doubt::OldSeal));
        assert_eq!(*bytes, truth);
    }
}

#[test]
fn what_was_sealed_is_sealed_again() {
    let (dir, mut file) = closed();
    let whole = file.clone();
    let (_, start) = places(&file);
    file[start..start + 32].fill(0);
    let path = dir.path().join("damaged.sion");
    fs::write(&path, &file).unwrap();
    let recovery = examine(&path);
    assert!(recovery.is_sound());
    let out = dir.path().join("out");
    recovery.write(&out, &|_| {}).unwrap();
    assert!(fs::read(&out).unwrap() == whole, "byte for byte");
    assert_eq!(File::open(&out).unwrap().ntasks(), NTASKS);
}

#[test]
fn what_was_sealed_is_sealed_again_where_it_is_placed_anew() {
    let (dir, whole) = closed();
    let (path, out) = (dir.path().join("sealed.sion"), dir.path().join("out"));
    let most = whole.len() as u64 - 1024;
    let recovery = Recover::new().output(striae::Output::new().max_size(Some(most)));
    recovery.examine(&path).unwrap().write(&out, &|_| {}).unwrap();
    assert!(fs::metadata(&out).unwrap().len() <= most && verified(&out));
    let again = examine(&out);
    assert!(again.tasks().all(|task| task.recovered.certainty == Certainty::Exact));
    assert!(again.tasks().all(|task| task.recovered.blockcount == 1));
    assert_eq!(super::streams(&out), contents());
}

/// Whether the data of a set are as they were sealed, if it is.
fn verified(path: &Path) -> bool {
    Verify::new().sion(path, &mut |_| {}).unwrap().is_sound()
}

#[test]
fn a_copy_of_altered_data_is_sound_and_not_sealed() {
    let (dir, whole) = closed();
    let (_, start) = places(&whole);
    let (path, out) = (dir.path().join("altered.sion"), dir.path().join("out"));
    let meta2 = start..start + 8 * NTASKS as usize * 4;
    let (first, row) = (1536, 512 * NTASKS as usize);
    // Bytes of each chunk that is used, and all of one, of which nothing is left then.
    let places = [first + 40, first + row, first + row + 511, first + 2 * row, first + 3 * 512];
    let parts =
        places.map(|at| at..at + 1).into_iter().chain(iter::once(first + 1536..first + 2048));
    for (part, has_meta2) in parts.flat_map(|part| [(part.clone(), true), (part, false)]) {
        let mut file = whole.clone();
        file[part.clone()].iter_mut().for_each(|byte| *byte = byte.wrapping_sub(1));
        if !has_meta2 {
            file[meta2.clone()].fill(0);
        }
        fs::write(&path, &file).unwrap();
        let recovery =
            Recover::new().output(striae::Output::new().force(true)).examine(&path).unwrap();
        let damaged = recovery.tasks().filter(|task| !task.recovered.certainty.is_sound());
        let doubts: Vec<_> = damaged.map(|task| task.recovered.certainty).collect();
        assert_eq!(doubts, [Certainty::Guess(Doubt::NotAsSealed)], "{part:?}, META2: {has_meta2}");
        recovery.write(&out, &|_| {}).unwrap();
        assert!(verified(&out), "{part:?}, META2: {has_meta2}");
        if has_meta2 {
            let table = file.len() - 64 - 4 * NTASKS as usize * 3;
            assert!(fs::read(&out).unwrap() == file[..table], "{part:?}: all but the seal");
        }
    }
}

#[test]
fn a_copy_is_not_sealed_by_checksums_that_are_damaged() {
    let (dir, mut file) = closed();
    let table = file.len() - 64 - 4 * NTASKS as usize * 3;
    file[table] ^= 1;
    let (path, out) = (dir.path().join("damaged.sion"), dir.path().join("out"));
    fs::write(&path, &file).unwrap();
    let recovery = examine(&path);
    for task in recovery.tasks() {
        assert_eq!(task.recovered.certainty, Certainty::AsFound(Proof::SealedMeta2));
    }
    recovery.write(&out, &|_| {}).unwrap();
    assert!(verified(&out));
    assert_eq!(super::streams(&out), contents());
    assert!(fs::read(&out).unwrap() == file[..table], "all but the seal");
}

#[test]
fn checksums_of_many_tasks_find_their_chunks() {
    let dir = tempfile::tempdir().unwrap();
    let (path, out) = (dir.path().join("many.sion"), dir.path().join("out"));
    let builder = Builder::new(70_000).fsblksize(512).chunksize(8).sealed(true);
    let mut file = builder.order(ByteOrder::Big).create(&path).unwrap();
    // More checksums than are read at once: next to each other, and far apart.
    for task in (0..200).chain(65_400..65_600).chain([69_999]) {
        file.task(task).unwrap().write_all(&task.to_le_bytes().repeat(2)).unwrap();
    }
    file.close().unwrap();
    examine(&path).write(&out, &|_| {}).unwrap();
    assert!(fs::read(&out).unwrap() == fs::read(&path).unwrap(), "byte for byte");
}
