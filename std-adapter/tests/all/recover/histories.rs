//! Sets that the writer for many threads left after random histories, damaged.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use striae::sion::recover::Recover;
use striae::sion::{Builder, Durability, FileWriter, Reopen};
use striae_core::endian::ByteOrder;
use striae_core::integrity::crc32c;
use striae_core::sion::recover::Certainty;
use striae_core::sion::recover::{Remains, Scratch};
use striae_core::sion::{ChunkRule, Grouping};
use striae_kit::history::{Dice, Facts, Found, History, Ledger, damages, seeds};

/// All streams of a physical file in memory.
fn found(file: &[u8]) -> Vec<Found> {
    let (mut tables, mut window) = ([0; 4096], [0; 4096]);
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
        let certainty = recovered.unwrap().certainty;
        Found { exact: certainty.is_sound(), why: certainty.to_string(), bytes }
    };
    tasks.iter().map(|listed| &listed.task).map(stream).collect()
}

/// Paths of the files of a set, and the first task of each.
fn files_of(path: &Path, nfiles: usize, ntasks: usize) -> Vec<(PathBuf, std::ops::Range<usize>)> {
    let each = ntasks / nfiles;
    let file = |number: usize| {
        let suffix = if number == 0 { String::new() } else { format!(".{number:06}") };
        let end = if number + 1 == nfiles { ntasks } else { (number + 1) * each };
        (PathBuf::from(format!("{}{suffix}", path.display())), number * each..end)
    };
    (0..nfiles).map(file).collect()
}

/// The histories of all physical files of one set.
fn histories(seed: u64, folder: &Path) -> Vec<History> {
    let mut dice = Dice(seed);
    let path = folder.join(format!("{seed}.sion"));
    let nfiles = dice.one_of(&[1, 1, 2]);
    let ntasks = nfiles * dice.one_of(&[1, 2, 3]);
    let (sealed, keyval) = (dice.below(2) == 0, dice.below(4) == 0);
    let packed = dice.below(2) == 0;
    let chunksize = dice.one_of(&[100, 512, 4096]);
    let rule = if packed { ChunkRule::Packed(Grouping::WHOLE_FILE) } else { ChunkRule::Aligned };
    let order = dice.one_of(&[ByteOrder::Little, ByteOrder::Big]);
    let builder = Builder::new(ntasks as u64).nfiles(nfiles as u32).rule(rule).keyval(keyval);
    let builder = builder.fsblksize(512).chunksize(chunksize).sealed(sealed).order(order);
    let mut writer = Some(builder.durability(Durability::None).create(&path).unwrap());
    let mut live = vec![vec![]; ntasks];
    let (mut committed, mut abandoned) = (live.clone(), vec![]);
    let parts = files_of(&path, nfiles, ntasks);
    let mut places = vec![vec![]; nfiles];
    let mut what = format!("{seed}: {ntasks} tasks in {nfiles}, {chunksize}, packed {packed}:");
    for _ in 0..dice.below(10) + 1 {
        let file = writer
            .get_or_insert_with(|| Reopen::new().durability(Durability::None).open(&path).unwrap());
        let act = dice.below(8);
        match act {
            0..=4 => write(file, &mut dice, keyval, order, &mut live, &mut what),
            5 => file.commit().unwrap(),
            6 => file.close().unwrap(),
            _ if places[0].is_empty() => continue,
            _ => abandoned.push(std::mem::replace(&mut live, committed.clone())),
        }
        if matches!(act, 5 | 6) {
            what.push_str([" commit", " close"][act - 5]);
            (committed, abandoned) = (live.clone(), vec![]);
            for ((path, _), places) in parts.iter().zip(&mut places) {
                let bytes = fs::read(path).unwrap();
                places.push((Facts::of(&bytes).start as u64, bytes.len() as u64));
            }
        }
        if act >= 6 {
            writer = None;
        }
    }
    drop(writer);
    let of =
        |streams: &Vec<Vec<u8>>, tasks: &std::ops::Range<usize>| streams[tasks.clone()].to_vec();
    parts
        .iter()
        .zip(places)
        .map(|((path, tasks), places)| History {
            what: what.clone(),
            bytes: fs::read(path).unwrap(),
            committed: of(&committed, tasks),
            live: of(&live, tasks),
            abandoned: abandoned.iter().map(|left| of(left, tasks)).collect(),
            places,
        })
        .collect()
}

fn write(
    file: &FileWriter,
    dice: &mut Dice,
    keyval: bool,
    order: ByteOrder,
    live: &mut [Vec<u8>],
    what: &mut String,
) {
    let task = dice.below(live.len());
    let len = dice.one_of(&[1, 20, 100, 300, 700, 5000]);
    let bytes = dice.bytes(len);
    what.push_str(&format!(" {task}+{len}"));
    let mut writer = file.task(task as u64).unwrap();
    match keyval {
        true => {
            let number = |n: u64| match order {
                ByteOrder::Big => n.to_be_bytes(),
                ByteOrder::Little => n.to_le_bytes(),
            };
            live[task].extend([number(7), number(len as u64)].concat());
            writer.write_key(7, &bytes).unwrap();
        }
        false => writer.write_all(&bytes).unwrap(),
    }
    live[task].extend(bytes);
    writer.flush().unwrap();
}

#[test]
fn what_is_exact_was_committed_whatever_the_history_of_a_set() {
    let (folder, mut ledger) = (tempfile::tempdir().unwrap(), Ledger::default());
    for seed in seeds(15, 1500) {
        for history in histories(seed, folder.path()) {
            ledger.histories += 1;
            let mut dice = Dice(!seed);
            damages(&history, &mut dice, &mut |damaged| {
                ledger.enter(&history, damaged, &found(&damaged.bytes));
            });
        }
    }
    ledger.close();
}

/// A closed set that was gone on with and committed, in the rows that it had: META2 of the close is
/// still where it was.
fn reopened(folder: &Path, sealed: bool) -> (PathBuf, Vec<Vec<u8>>) {
    let path = folder.join("a.sion");
    let builder = Builder::new(2).fsblksize(512).chunksize(4096).sealed(sealed).force(true);
    let mut file = builder.order(ByteOrder::Little).create(&path).unwrap();
    file.task(0).unwrap().write_all(&[1; 12_000]).unwrap();
    file.task(1).unwrap().write_all(&[2; 100]).unwrap();
    file.close().unwrap();
    let file = Reopen::new().durability(Durability::OnCommit).open(&path).unwrap();
    file.task(1).unwrap().write_all(&[3; 5000]).unwrap();
    file.commit().unwrap();
    (path, vec![vec![1; 12_000], [vec![2; 100], vec![3; 5000]].concat()])
}

#[test]
fn an_older_meta2_is_not_exact_if_that_of_the_last_commit_may_be_lost() {
    let folder = tempfile::tempdir().unwrap();
    for sealed in [false, true] {
        let (path, truth) = reopened(folder.path(), sealed);
        let whole = fs::read(&path).unwrap();
        let start = Facts::of(&whole).start;
        let changed = |at: usize, value: u8| {
            let mut bytes = whole.clone();
            bytes[at] = value;
            bytes
        };
        let fields = 1076 + 16 * 2;
        let ends_of_older = (1..whole.len()).filter(|&end| whole[..end].ends_with(b"SION seal"));
        let mut damaged = vec![
            changed(start + 5, 1),
            whole[..start + 8].to_vec(),
            changed(fields + 4 + 2, whole[fields + 4 + 2] ^ 4), // bit 18
        ];
        damaged.extend(ends_of_older.map(|end| whole[..end].to_vec()));
        for bytes in damaged {
            fs::write(&path, &bytes).unwrap();
            let recovery = Recover::new().examine(&path).unwrap();
            for (task, truth) in recovery.tasks().zip(&truth) {
                let Certainty::AsFound(proof) = task.recovered.certainty else { continue };
                assert_eq!(task.recovered.bytes, truth.len() as u64, "exact: {proof}");
            }
        }
    }
}
