//! Sets of several files: their mapping, and that what is recovered is sound.

use super::Copy;
use super::library::{is_sound, places};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use striae::Verify;
use striae::sion::recover::Recover;
use striae::sion::{Builder, Durability};
use striae_core::sion::recover::Certainty;
use striae_kit::golden_sets::golden_sets;
use striae_kit::history::{Dice, seeds};
use tempfile::TempDir;

/// Ranks that are not all numbers from 0 on, each once.
const ODD_RANKS: [[i64; 6]; 6] = [
    [10, 20, 30, 40, 50, 60],
    [-1, -2, -3, -4, -5, -6],
    [3, 3, 3, 3, 3, 3],
    [5, 4, 9, 1, 1, -7],
    [i64::MAX, i64::MIN, 2, 1, 0, 5],
    [1, 2, 3, 4, 5, 6],
];

struct Set {
    dir: TempDir,
    files: Vec<PathBuf>,
}

fn set(builder: Builder, ntasks: u64, closes: bool) -> Set {
    let dir = crate::in_memory();
    let path = dir.path().join("set");
    let mut file = builder.durability(Durability::None).create(&path).unwrap();
    for task in 0..ntasks {
        let bytes = vec![task as u8 + 1; 200 * task as usize];
        let mut writer = file.task(task).unwrap();
        writer.write_all(&bytes).unwrap();
        writer.flush().unwrap();
    }
    if closes {
        file.close().unwrap();
    }
    let files = (0..3).map(|number: u32| match number {
        0 => path.clone(),
        _ => dir.path().join(format!("set.{number:06}")),
    });
    Set { files: files.filter(|file| file.exists()).collect(), dir }
}

fn recover(from: &Path, out: &Path) -> Vec<Certainty> {
    let recovery = Recover::new().output(striae::Output::new().force(true)).examine(from).unwrap();
    recovery.write(out, &|_| {}).unwrap();
    recovery.tasks().map(|task| task.recovered.certainty).collect()
}

#[test]
fn the_mapping_of_any_ranks_is_the_one_that_a_writer_makes() {
    for ranks in ODD_RANKS {
        let builder = Builder::new(6).nfiles(3).fsblksize(512).chunksize(512);
        let builder = builder.globalranks(ranks.to_vec());
        let set = set(builder, 6, true);
        let (out, main) = (set.dir.path().join("out"), &set.files[0]);
        let whole = fs::read(main).unwrap();
        let (_, start) = places(main);
        let mapping = whole.len() - 4 - 8 * 6;
        let mut damaged = whole.clone();
        damaged[mapping + 4..].fill(0xff);
        let lost = whole[..start.unwrap() as usize].to_vec();
        for (bytes, is_whole) in [(whole.clone(), true), (damaged, true), (lost, false)] {
            fs::write(main, &bytes).unwrap();
            recover(main, &out);
            assert!(is_sound(&out), "{ranks:?}");
            let written = fs::read(&out).unwrap();
            assert_eq!(written[written.len() - 52..], whole[mapping..], "{ranks:?}");
            assert!(!is_whole || written == whole, "{ranks:?}");
        }
    }
}

#[test]
fn an_empty_mapping_is_damage() {
    let set = set(Builder::new(6).nfiles(3).fsblksize(512).chunksize(512), 6, true);
    let main = &set.files[0];
    let mut bytes = fs::read(main).unwrap();
    let mapping = bytes.len() - 4 - 8 * 6;
    bytes[mapping..mapping + 4].fill(0);
    fs::write(main, &bytes).unwrap();
    let mut findings = Vec::new();
    let summary =
        Verify::new().sion(main, &mut |finding| findings.push(finding.to_string())).unwrap();
    assert!(!summary.is_sound());
    assert!(findings.iter().any(|it| it.contains("mapping_size")), "{findings:?}");
}

/// Changes some bytes of one of the files, or cuts it, or loses a sector of it.
fn damage(files: &[PathBuf], dice: &mut Dice) -> String {
    let path = &files[dice.below(files.len())];
    let mut bytes = fs::read(path).unwrap();
    let len = bytes.len();
    if len < 1100 {
        return String::from("cut already");
    }
    // Most of what matters is in META1's tables and at the end.
    let near = |dice: &mut Dice| match dice.below(4) {
        0 => dice.below(len),
        1 => dice.below(52),
        2 => 1076 + dice.below(80).min(len - 1077),
        _ => len - 1 - dice.below(200),
    };
    let at = near(dice);
    match dice.below(6) {
        0 => bytes.truncate(at),
        1 => {
            let start = at / 512 * 512;
            bytes[start..len.min(start + 512)].fill(0);
        }
        2 => bytes[at] = dice.one_of(&[0, 1, 255, 127, 128]),
        3 => bytes.extend((0..at % 700).map(|n| n as u8)),
        _ => {
            for _ in 0..dice.below(4) {
                let at = near(dice);
                bytes[at] ^= 1 << dice.below(8);
            }
        }
    }
    fs::write(path, bytes).unwrap();
    format!("{} at {at}", path.display())
}

#[test]
fn what_is_recovered_is_sound_whatever_it_was_made_of() {
    let mut dice = Dice(7);
    let mut sets: Vec<Vec<(PathBuf, Vec<u8>)>> = Vec::new();
    let dir = crate::in_memory();
    for golden in golden_sets() {
        let copy = Copy::of(&golden);
        let read =
            |path: &PathBuf| (dir.path().join(path.file_name().unwrap()), fs::read(path).unwrap());
        sets.push(copy.files.iter().map(read).collect());
    }
    for (index, ranks) in ODD_RANKS.into_iter().enumerate() {
        for (sealed, closes) in [(false, true), (true, true), (false, false)] {
            let builder = Builder::new(6).nfiles(3).fsblksize(512).chunksize(512).sealed(sealed);
            let set = set(builder.globalranks(ranks.to_vec()), 6, closes);
            let name = |path: &PathBuf| {
                let name = path.file_name().unwrap().to_str().unwrap();
                dir.path().join(name.replace("set", &format!("{index}{sealed}{closes}")))
            };
            sets.push(set.files.iter().map(|path| (name(path), fs::read(path).unwrap())).collect());
        }
    }
    let (mut recovered, mut refused) = (0, 0);
    for round in seeds(5, 300) {
        for set in &sets {
            for (path, bytes) in set {
                fs::write(path, bytes).unwrap();
            }
            let files: Vec<_> = set.iter().map(|(path, _)| path.clone()).collect();
            let mut how = damage(&files, &mut dice);
            if round % 2 == 0 {
                how = format!("{how}, {}", damage(&files, &mut dice));
            }
            let out = dir.path().join("out");
            let Ok(recovery) =
                Recover::new().output(striae::Output::new().force(true)).examine(&files[0])
            else {
                refused += 1;
                continue;
            };
            if recovery.part_of_set().is_some() {
                continue; // it is none any more, and the others are missing
            }
            recovery.write(&out, &|_| {}).unwrap(); // what was examined can be written
            recovered += 1;
            let mut findings = Vec::new();
            let summary = Verify::new()
                .sion(&out, &mut |finding| findings.push(finding.to_string()))
                .unwrap();
            assert!(summary.is_sound(), "{how}: {findings:#?}");
        }
    }
    println!("{recovered} recovered sets are sound, {refused} were refused");
    assert!(recovered > 100, "{recovered}");
}
