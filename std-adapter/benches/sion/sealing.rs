//! The checksums of sealed sets: made while records are written, and checked.

use crate::reading::write_sion;
use crate::{ROUNDS, row, row_prepared};
use std::fs;
use std::hint::black_box;
use std::io::Write;
use std::num::NonZeroUsize;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread;
use striae::Verify;
use striae::sion::{Builder, Convert, Durability, File};

/// Bytes of a record, and of a piece that is read at once.
const RECORD: usize = 1 << 20;

/// Records of a set.
const RECORDS: usize = 256;

pub(crate) fn all(dir: &Path) {
    writing(dir);
    checking(dir);
}

/// Records of 1 MiB with a seal, against the same without; and the limit of this: a `pwrite` and
/// the checksum of the same bytes, against the `pwrite`.
fn writing(dir: &Path) {
    let (path, raw_path) = (dir.join("sealed.sion"), dir.join("sealed.raw"));
    let record = vec![7; RECORD];
    let clean = || {
        let _ = fs::remove_file(&path);
        let _ = fs::remove_file(&raw_path);
    };
    let ours = |sealed| {
        let builder = Builder::new(1).chunksize((RECORD * RECORDS) as u64).sealed(sealed);
        let mut file = builder.durability(Durability::None).create(&path).unwrap();
        let mut task = file.task(0).unwrap();
        (0..RECORDS).for_each(|_| task.write_all(&record).unwrap());
        drop(task);
        file.close().unwrap();
    };
    let raw = |with_sum: bool| {
        let (file, mut crc) = (fs::File::create(&raw_path).unwrap(), 0);
        for at in 0..RECORDS {
            file.write_all_at(&record, (at * RECORD) as u64).unwrap();
            if with_sum {
                crc = crc32c::crc32c_append(crc, &record);
            }
        }
        black_box(crc);
    };
    let what = "write sealed records of 1 MiB";
    row_prepared(what, "the same without a seal", 2 * ROUNDS, clean, || ours(true), || ours(false));
    let what = "its limit: `pwrite` and CRC-32C of them";
    row_prepared(what, "`pwrite` of them", 2 * ROUNDS, clean, || raw(true), || raw(false));
}

/// Verifies a sealed set, against the checksum of as many bytes in memory and against reading them,
/// by as many threads.
fn checking(dir: &Path) {
    let (plain, path) = (dir.join("plain.sion"), dir.join("sealed.sion"));
    write_sion(&plain, 16, 16 << 20, 1, 16 << 20);
    Convert::new().sealed(true).run(&File::open(&plain).unwrap(), &path, &|_| {}).unwrap();
    fs::remove_file(&plain).unwrap();
    let memory = vec![7; RECORD * RECORDS];
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let share = RECORD * RECORDS.div_ceil(threads);
    let ours = || {
        let summary = Verify::new().sion(&path, &mut |_| {}).unwrap();
        assert_eq!(summary.data.checked, (RECORD * RECORDS) as u64);
    };
    let in_memory = || {
        thread::scope(|scope| {
            for part in memory.chunks(share) {
                scope.spawn(move || black_box(crc32c::crc32c(part)));
            }
        });
    };
    let reading = |with_sum: bool| {
        let (file, end) = (&fs::File::open(&path).unwrap(), memory.len());
        thread::scope(|scope| {
            for start in (0..threads).map(|thread| thread * share) {
                scope.spawn(move || {
                    let (mut piece, mut crc) = (vec![0; RECORD], 0);
                    for at in (start..end.min(start + share)).step_by(RECORD) {
                        file.read_exact_at(&mut piece, at as u64).unwrap();
                        if with_sum {
                            crc = crc32c::crc32c_append(crc, &piece);
                        }
                    }
                    black_box(crc);
                });
            }
        });
    };
    let what = "verify a sealed set of 256 MiB";
    row(what, "CRC-32C of as many bytes in memory", ROUNDS, ours, in_memory);
    row(what, "`pread` and CRC-32C of them", ROUNDS, ours, || reading(true));
    let what = "its limit: `pread` and CRC-32C of them";
    row(what, "CRC-32C of as many bytes in memory", ROUNDS, || reading(true), in_memory);
    fs::remove_file(&path).unwrap();
}
