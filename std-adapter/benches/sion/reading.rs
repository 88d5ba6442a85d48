//! Opening, listing, streaming, extracting.

use crate::{ROUNDS, peak_memory, row, row_prepared};
use std::fs;
use std::hint::black_box;
use std::io::{BufReader, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use striae::sion::{Extract, File};

pub(crate) fn all(dir: &Path) {
    for ntasks in [1 << 10, 1 << 14, 1 << 18] {
        opening(dir, ntasks);
    }
    streaming(dir);
    short_records(dir);
    extracting(dir);
}

/// Open and list all tasks, or one of them, against reading the bytes of META1 and META2.
fn opening(dir: &Path, ntasks: u64) {
    let path = dir.join("open.sion");
    write_sion(&path, ntasks, 512, 1, 512);
    let size = fs::metadata(&path).unwrap().len();
    let tables = 16 * ntasks;
    // In memory that is there: new pages would take as long as the reads.
    let mut meta = vec![0; usize::try_from(1088 + 2 * tables).unwrap()];
    let mut read_tables = || {
        let file = fs::File::open(&path).unwrap();
        let (meta1, meta2) = meta.split_at_mut(usize::try_from(1088 + tables).unwrap());
        file.read_exact_at(meta1, 0).unwrap();
        file.read_exact_at(meta2, size - tables).unwrap();
        black_box((meta1, meta2));
    };
    let list = || {
        let file = File::open(&path).unwrap();
        assert_eq!(list_all(&file).len() as u64, ntasks);
    };
    let one = || {
        let file = File::open(&path).unwrap();
        assert_eq!(file.task(ntasks / 2).unwrap().bytes, 512);
    };
    let keep = || {
        let rows: Vec<(i64, u64, u64, u64)> = (0..ntasks).map(|task| (0, task, task, 1)).collect();
        black_box(rows);
    };
    let sum = || {
        let file = File::open(&path).unwrap();
        let bytes: u64 = file.tasks().unwrap().map(|task| task.unwrap().bytes).sum();
        assert_eq!(bytes, 512 * ntasks);
    };
    let baseline = "read of META1 and META2";
    row(&format!("open, list all of {ntasks} tasks"), baseline, ROUNDS, list, &mut read_tables);
    let what = format!("a list of {ntasks} rows alone");
    row(&what, baseline, ROUNDS, keep, &mut read_tables);
    let what = format!("open, add up the lengths of {ntasks} tasks");
    row(&what, baseline, ROUNDS, sum, &mut read_tables);
    let what = format!("open one of {ntasks} tasks");
    row(&what, baseline, ROUNDS, one, read_tables);
    peak_memory("start, and no file", "none", &path);
    peak_memory(&format!("list all of {ntasks} tasks"), "list", &path);
    peak_memory(&format!("open one of {ntasks} tasks"), "one", &path);
}

/// Opens the file at `path` and keeps a list of its tasks.
pub(crate) fn keep_list(path: &Path) {
    black_box(list_all(&File::open(path).unwrap()));
}

/// Opens the file at `path` and one of its tasks.
pub(crate) fn open_one(path: &Path) {
    let file = File::open(path).unwrap();
    black_box(file.task(file.ntasks() / 2).unwrap());
}

/// Reads the records of 64 B of task 0.
pub(crate) fn read_records(path: &Path) {
    let mut stream = File::open(path).unwrap().stream(0).unwrap();
    let mut record = [0; 64];
    for _ in 0..stream.len() / 64 {
        stream.read_exact(black_box(&mut record)).unwrap();
    }
}

/// What a reader of all tasks keeps of each: globalrank, offset, chunk size and bytes.
fn list_all(file: &File) -> Vec<(i64, u64, u64, u64)> {
    let mut rows = Vec::with_capacity(usize::try_from(file.ntasks()).unwrap());
    rows.extend(file.tasks().unwrap().map(Result::unwrap).map(|task| {
        let chunks = task.place.chunks;
        (task.place.globalrank, chunks.start, chunks.chunksize, task.bytes)
    }));
    rows
}

/// Read one task's stream from start to end, against pread of the same bytes.
fn streaming(dir: &Path) {
    let path = dir.join("stream.sion");
    let (ntasks, chunk, chunks) = (4, 4 << 20, 16);
    write_sion(&path, ntasks, chunk, chunks, chunk);
    let mut buf = vec![0; 1 << 20];
    let mut raw_buf = buf.clone();
    let ours = || {
        let mut stream = File::open(&path).unwrap().stream(1).unwrap();
        let mut sum = 0;
        while let n @ 1.. = stream.read(&mut buf).unwrap() {
            sum += n as u64;
        }
        assert_eq!(sum, chunk * chunks);
    };
    let first = (1088 + 16 * ntasks).next_multiple_of(512);
    let raw = || {
        let file = fs::File::open(&path).unwrap();
        for k in 0..chunks {
            let start = first + chunk + k * ntasks * chunk;
            for at in (start..start + chunk).step_by(raw_buf.len()) {
                file.read_exact_at(&mut raw_buf, at).unwrap();
            }
        }
    };
    row("read a task of 64 MiB in 1 MiB reads", "pread of the same bytes", 31, ours, raw);
}

/// Read records of 64 B of 16 tasks, one task after the other, against as many plain files.
fn short_records(dir: &Path) {
    const TASKS: u64 = 16;
    let path = dir.join("records.sion");
    let len = 4 << 20;
    write_sion(&path, TASKS, len, 1, len);
    let plain = |task| dir.join(format!("plain.{task}"));
    for task in 0..TASKS {
        fs::write(plain(task), vec![7; usize::try_from(len).unwrap()]).unwrap();
    }
    let all = |stream: &mut dyn FnMut(&mut [u8])| {
        let mut record = [0; 64];
        for _ in 0..len / 64 {
            stream(black_box(&mut record));
        }
    };
    let ours = || {
        let file = File::open(&path).unwrap();
        for task in 0..TASKS {
            let mut stream = file.stream(task).unwrap();
            all(&mut |record| stream.read_exact(record).unwrap());
        }
    };
    let files = || {
        for task in 0..TASKS {
            let mut file = BufReader::new(fs::File::open(plain(task)).unwrap());
            all(&mut |record| file.read_exact(record).unwrap());
        }
    };
    row("read records of 64 B of 16 tasks", "16 files by BufReader", ROUNDS, ours, files);
}

/// Extract 1 GiB in 64 tasks, against `cp` of the file. Each starts without its old output, and
/// without unwritten pages of the other's.
fn extracting(dir: &Path) {
    let path = dir.join("extract.sion");
    write_sion(&path, 64, 4 << 20, 4, 4 << 20);
    let (out, copy) = (dir.join("out"), dir.join("copy.sion"));
    let clean = || {
        let _ = fs::remove_dir_all(&out);
        let _ = fs::remove_file(&copy);
        rustix::fs::sync();
    };
    let ours = || {
        let file = File::open(&path).unwrap();
        assert_eq!(Extract::new().run(&file, &out, &|_| {}).unwrap().files, 64);
    };
    let cp = || {
        assert!(Command::new("cp").arg(&path).arg(&copy).status().unwrap().success());
    };
    row_prepared("extract 1 GiB in 64 tasks", "cp of the file", ROUNDS, clean, ours, cp);
}

/// A closed file of `ntasks` tasks with `chunks` chunks each, of which `used` bytes are used.
pub(crate) fn write_sion(path: &Path, ntasks: u64, chunk: u64, chunks: u64, used: u64) {
    let mut out = std::io::BufWriter::new(fs::File::create(path).unwrap());
    let mut meta = Vec::new();
    meta.extend(b"sion\0\0\0\0");
    let first = (1088 + 16 * ntasks).next_multiple_of(512);
    for field in [1007, 6, 5, 512, i32::try_from(ntasks).unwrap(), 1, 1] {
        meta.extend(field.to_le_bytes());
    }
    meta.extend((50u64 << 32).to_le_bytes());
    meta.resize(1076, 0);
    meta.extend((0..ntasks).flat_map(u64::to_le_bytes));
    meta.extend((0..ntasks).flat_map(|_| chunk.to_le_bytes()));
    meta.extend(u32::try_from(chunks).unwrap().to_le_bytes());
    meta.extend((first + chunks * ntasks * chunk).to_le_bytes());
    meta.resize(usize::try_from(first).unwrap(), 0);
    out.write_all(&meta).unwrap();
    let data = vec![7; usize::try_from(chunk).unwrap()];
    for _ in 0..ntasks * chunks {
        out.write_all(&data).unwrap();
    }
    for _ in 0..ntasks {
        out.write_all(&chunks.to_le_bytes()).unwrap();
    }
    for _ in 0..ntasks * chunks {
        out.write_all(&used.to_le_bytes()).unwrap();
    }
    out.flush().unwrap();
}
