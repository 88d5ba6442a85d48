//! Records, creating and closing, converting and packing.

use crate::reading::write_sion;
use crate::{ROUNDS, peak_memory, row_prepared};
use std::fs;
use std::io::{BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use striae::sion::{Builder, Convert, Durability, Extract, File, Pack, Sources};

/// Tasks of the largest file.
pub(crate) const MANY_TASKS: u64 = 1 << 18;

const TASKS: u64 = 16;

/// Where the data of so many tasks start with blocks of 4096 bytes.
const FIRST: u64 = 4096;

pub(crate) fn all(dir: &Path) {
    for (record, total) in [(64, 64 << 20), (4 << 10, 256 << 20), (1 << 20, 512 << 20)] {
        records(dir, record, total);
    }
    for (threads, nfiles) in [(1, 1), (2, 1), (4, 1), (2, 2), (4, 4)] {
        by_threads(dir, threads, nfiles);
    }
    creating(dir);
    converting(dir);
    packing(dir);
}

/// Records to 16 tasks by turns, against plain task files and against raw writes, none of them
/// synced.
fn records(dir: &Path, record: usize, total: u64) {
    let (path, raw_path) = (dir.join("records.sion"), dir.join("records.raw"));
    let plain = dir.join("plain");
    let bytes = vec![7; record];
    let rounds = total / TASKS / record as u64;
    let clean = || {
        let _ = fs::remove_dir_all(&plain);
        let _ = fs::remove_file(&path);
        let _ = fs::remove_file(&raw_path);
        fs::create_dir(&plain).unwrap();
        rustix::fs::sync();
    };
    let ours = || {
        let builder = Builder::new(TASKS).chunksize(total / TASKS).fsblksize(4096);
        let builder = builder.durability(Durability::None);
        let mut file = builder.create(&path).unwrap();
        let mut tasks: Vec<_> = (0..TASKS).map(|task| file.task(task).unwrap()).collect();
        for _ in 0..rounds {
            tasks.iter_mut().for_each(|task| task.write_all(&bytes).unwrap());
        }
        file.close().unwrap();
    };
    let task_files = || {
        let file = |task| fs::File::create(plain.join(format!("{task}"))).unwrap();
        let mut tasks: Vec<_> = (0..TASKS).map(|task| BufWriter::new(file(task))).collect();
        for _ in 0..rounds {
            tasks.iter_mut().for_each(|task| task.write_all(&bytes).unwrap());
        }
        tasks.iter_mut().for_each(|task| task.flush().unwrap());
    };
    let raw = || {
        let file = fs::File::create(&raw_path).unwrap();
        for round in 0..rounds {
            for task in 0..TASKS {
                // Where ours are: elsewhere large folios of the page cache may fit better or worse.
                let at = FIRST + task * (total / TASKS) + round * record as u64;
                file.write_all_at(&bytes, at).unwrap();
            }
        }
    };
    let what = format!("write records of {record} B to 16 tasks");
    row_prepared(&what, "16 files by BufWriter", 2 * ROUNDS, clean, ours, task_files);
    row_prepared(&what, "pwrite of the same bytes", 2 * ROUNDS, clean, ours, raw);
}

/// Records of 64 B to 16 tasks of `nfiles` files, of which each thread has as many, against as many
/// task files.
fn by_threads(dir: &Path, threads: usize, nfiles: u32) {
    const TOTAL: u64 = 64 << 20;
    let (set, plain) = (dir.join("set"), dir.join("plain"));
    let path = set.join("records.sion");
    let clean = || {
        for folder in [&set, &plain] {
            let _ = fs::remove_dir_all(folder);
            fs::create_dir(folder).unwrap();
        }
        rustix::fs::sync();
    };
    let ours = || {
        let builder = Builder::new(TASKS).chunksize(TOTAL / TASKS).fsblksize(4096).nfiles(nfiles);
        let mut file = builder.durability(Durability::None).create(&path).unwrap();
        let mut tasks: Vec<_> = (0..TASKS).map(|task| file.task(task).unwrap()).collect();
        share(&mut tasks, threads, TOTAL);
        file.close().unwrap();
    };
    let task_files = || {
        let file = |task| fs::File::create(plain.join(format!("{task}"))).unwrap();
        let mut tasks: Vec<_> = (0..TASKS).map(|task| BufWriter::new(file(task))).collect();
        share(&mut tasks, threads, TOTAL);
        tasks.iter_mut().for_each(|task| task.flush().unwrap());
    };
    let files = if nfiles == 1 { String::new() } else { format!(" of {nfiles} files") };
    let what = format!("write records of 64 B to 16 tasks{files} by {threads} threads");
    let baseline = format!("16 files by BufWriter, {threads} threads");
    row_prepared(&what, &baseline, 2 * ROUNDS, clean, ours, task_files);
}

/// Writes `total` bytes in records of 64 B, to tasks that threads share.
fn share<W: Write + Send>(tasks: &mut [W], threads: usize, total: u64) {
    let rounds = total / TASKS / 64;
    std::thread::scope(|scope| {
        for own in tasks.chunks_mut(tasks.len() / threads) {
            scope.spawn(move || {
                for _ in 0..rounds {
                    own.iter_mut().for_each(|task| task.write_all(&[7; 64]).unwrap());
                }
            });
        }
    });
}

/// Writes as many records of 64 B through `BufWriter`: alone, or behind a lock that each takes.
pub(crate) fn write_plainly(path: &Path, is_locked: bool) {
    let mut file = BufWriter::with_capacity(1 << 17, fs::File::create(path).unwrap());
    if !is_locked {
        (0..MANY_TASKS).for_each(|_| file.write_all(&[7; 64]).unwrap());
        return file.flush().unwrap();
    }
    let file = Mutex::new(file);
    (0..MANY_TASKS).for_each(|_| file.lock().unwrap().write_all(&[7; 64]).unwrap());
    file.lock().unwrap().flush().unwrap();
}

/// Creates a file of `ntasks` tasks, no two alike, and closes it.
pub(crate) fn create_and_close(path: &Path, ntasks: u64) {
    let sizes = (0..ntasks).map(|task| 512 + task).collect();
    let ranks = (0..ntasks).rev().map(u64::cast_signed).collect();
    let builder = Builder::new(ntasks).fsblksize(512).chunksizes(sizes).globalranks(ranks);
    let builder = builder.durability(Durability::None).force(true);
    builder.create(path).unwrap().close().unwrap();
}

/// Writes as many records of 64 B to one task as a file may have tasks.
pub(crate) fn write_records(path: &Path) {
    let builder = Builder::new(1).chunksize(64 * MANY_TASKS).durability(Durability::None);
    let mut file = builder.create(path).unwrap();
    let mut task = file.task(0).unwrap();
    for _ in 0..MANY_TASKS {
        task.write_all(&[7; 64]).unwrap();
    }
    drop(task);
    file.close().unwrap();
}

/// Create and close with many tasks, against writing the same bytes of metadata.
fn creating(dir: &Path) {
    let (path, raw_path) = (dir.join("create.sion"), dir.join("create.raw"));
    let clean = || {
        let _ = fs::remove_file(&path);
        let _ = fs::remove_file(&raw_path);
    };
    let raw = || {
        let file = fs::File::create(&raw_path).unwrap();
        let tables = vec![7; usize::try_from(1088 + 16 * MANY_TASKS).unwrap()];
        file.write_all_at(&tables, 0).unwrap();
        file.write_all_at(&tables, 1 << 40).unwrap();
    };
    let ours = || create_and_close(&path, MANY_TASKS);
    let what = format!("create and close a file of {MANY_TASKS} tasks");
    row_prepared(&what, "write of META1 and META2", 2 * ROUNDS, clean, ours, raw);
    peak_memory("start, and no file", "none", &path);
    peak_memory(&what, "create", &path);
}

/// Merges 1 GiB in 64 tasks of 4 chunks each into one chunk a task, against `cp` of the file.
fn converting(dir: &Path) {
    let (path, out, copy) = (dir.join("in.sion"), dir.join("out.sion"), dir.join("copy.sion"));
    write_sion(&path, 64, 4 << 20, 4, 4 << 20);
    let clean = || {
        let _ = fs::remove_file(&out);
        let _ = fs::remove_file(&copy);
        rustix::fs::sync();
    };
    let ours = |sealed| {
        let file = File::open(&path).unwrap();
        Convert::new().sealed(sealed).run(&file, &out, &|_| {}).unwrap();
    };
    let cp = || assert!(Command::new("cp").arg(&path).arg(&copy).status().unwrap().success());
    let what = "convert 1 GiB in 64 tasks of 4 chunks";
    row_prepared(what, "cp of the file", ROUNDS, clean, || ours(false), cp);
    let what = "the same, adding a seal";
    row_prepared(what, "cp of the file", ROUNDS, clean, || ours(true), cp);
    fs::remove_file(&path).unwrap();
}

/// Packs 1 GiB in 64 files, against `cp` of the folder.
fn packing(dir: &Path) {
    let path = dir.join("in.sion");
    write_sion(&path, 64, 4 << 20, 4, 4 << 20);
    let (folder, out, copy) = (dir.join("tasks"), dir.join("out.sion"), dir.join("copy"));
    Extract::new().run(&File::open(&path).unwrap(), &folder, &|_| {}).unwrap();
    fs::remove_file(&path).unwrap();
    let clean = || {
        let _ = fs::remove_file(&out);
        let _ = fs::remove_dir_all(&copy);
        rustix::fs::sync();
    };
    let ours = || {
        let sources = Sources::of_folder(&folder).unwrap();
        assert_eq!(Pack::new().run(&sources, &out, &|_| {}).unwrap().tasks, 64);
    };
    let cp = || {
        let status = Command::new("cp").arg("-r").arg(&folder).arg(&copy).status().unwrap();
        assert!(status.success());
    };
    row_prepared("pack 1 GiB in 64 files", "cp -r of the folder", ROUNDS, clean, ours, cp);
}
