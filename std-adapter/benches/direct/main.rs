//! Speed of planning and of reading past the page cache, as ratios to a named baseline measured in
//! the same run.
//!
//! `cargo bench -p striae --bench direct`; files go to `STRIAE_BENCH_DIR`, which must be on a disk,
//! or else to the folder for temporary files. How fast a disk is read, by each rung, is what
//! `striae bench read` says.
#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::cast_precision_loss,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark: it runs by hand, on files of its own"
)]

#[path = "../table/mod.rs"]
mod table;

use rustix::fs::{Advice, fadvise};
use std::fs::File;
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;
use striae::direct::{DirectFile, OpenOptions, Order};
use striae_core::align::{Alignment, Plan, Rules, Run};
use striae_core::span::Span;
use table::{ROUNDS, row_prepared};

/// Marsaglia's xorshift64.
struct Xorshift(u64);

impl Xorshift {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// Samples of 16 to 256 KiB at random places of a file.
fn samples(count: usize, file_len: u64, seed: u64) -> Vec<Span> {
    let mut random = Xorshift(seed | 1);
    let mut sample = || {
        let len = (16 << 10) + random.below(240 << 10);
        Span::new(random.below(file_len - len), len).unwrap()
    };
    (0..count).map(|_| sample()).collect()
}

/// Planning batches of 64 samples, against sorting them.
fn planning() {
    const BATCHES: usize = 1000;
    let file_len = 2 << 30;
    let all = samples(64 * BATCHES, file_len, 0x9E37_79B9_7F4A_7C15);
    let rules = Rules::new(Alignment::of(512), file_len).unwrap().with_max_io(1 << 20).unwrap();
    let mut runs = vec![Run::EMPTY; 64];
    let mut plan = || {
        for batch in all.chunks(64) {
            let plan = Plan::new(batch, rules, &mut runs).unwrap();
            for read in plan.reads() {
                black_box(read);
            }
            for &span in batch {
                black_box(plan.place(span));
            }
        }
    };
    let mut sorted = Vec::new();
    let sort = || {
        for batch in all.chunks(64) {
            sorted.clear();
            sorted.extend_from_slice(batch);
            sorted.sort_unstable_by_key(|span| (span.offset(), span.len()));
            black_box(&sorted);
        }
    };
    let mut times: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            plan();
            start.elapsed().as_nanos() as f64 / (64 * BATCHES) as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    row_prepared("plan 64 samples", "sorting them", ROUNDS, || {}, plan, sort);
    println!("| plan a sample | | {:.0} ns |", times[ROUNDS / 2]);
}

/// A file of 1 GiB, on a disk.
fn made(dir: &Path) -> std::path::PathBuf {
    let path = dir.join("samples");
    let file = File::create(&path).unwrap();
    let mut random = Xorshift(88_172_645_463_325_252);
    let block: Vec<u8> = (0..1 << 20).map(|_| random.below(256).to_le_bytes()[0]).collect();
    (0..1024).for_each(|at| file.write_all_at(&block, at << 20).unwrap());
    file.sync_all().unwrap();
    path
}

/// What is made of a sample.
type Sum = fn(&[u8]) -> u32;

/// Samples by a stream, against four threads that pread them.
fn reading(dir: &Path) {
    let path = made(dir);
    let (file_len, plain) = (1 << 30, File::open(&path).unwrap());
    let all = samples(2048, file_len, 0xDEAD_BEEF);
    let cold = || fadvise(&plain, 0, None, Advice::DontNeed).unwrap();
    let direct = DirectFile::open(&path).unwrap();
    println!("| the file is read by | {} | |", direct.rung());
    let stream = |sum: Sum| {
        let mut stream = direct.stream(all.iter().copied(), Order::Completed).unwrap();
        while let Some(piece) = stream.next_piece().unwrap() {
            black_box(sum(piece.bytes));
        }
    };
    let threads = |sum: Sum| {
        std::thread::scope(|scope| {
            for part in all.chunks(all.len() / 4) {
                let plain = &plain;
                scope.spawn(move || {
                    let mut buf = vec![0; 256 << 10];
                    for span in part {
                        let buf = &mut buf[..usize::try_from(span.len()).unwrap()];
                        plain.read_exact_at(buf, span.offset()).unwrap();
                        black_box(sum(buf));
                    }
                });
            }
        });
    };
    let (unseen, summed): (Sum, Sum) = (|_| 0, crc32c::crc32c);
    let name = "4 threads, `pread`";
    row_prepared("samples, cold", name, ROUNDS, cold, || stream(unseen), || threads(unseen));
    row_prepared(
        "samples and CRC-32C, cold",
        name,
        ROUNDS,
        cold,
        || stream(summed),
        || {
            threads(summed);
        },
    );
    let name = "without";
    row_prepared("with CRC-32C", name, ROUNDS, cold, || stream(summed), || stream(unseen));
    let shallow = OpenOptions::new().depth(1).open(&path).unwrap();
    let one = || {
        let mut stream = shallow.stream(all.iter().copied(), Order::Asked).unwrap();
        while stream.next_piece().unwrap().is_some() {}
    };
    row_prepared("32 reads at once", "one at a time", ROUNDS, cold, || stream(unseen), one);
}

fn main() {
    let (dir, args) = table::begin();
    table::head();
    if args.iter().all(|arg| arg == "planning") {
        planning();
    }
    if args.iter().all(|arg| arg == "reading") {
        reading(dir.path());
    }
}
