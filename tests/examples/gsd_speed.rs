//! Speed of striae, for comparison with that of gsd: see `tests/bench/driver.c`, which does the
//! same things by the same names.
//!
//! `gsd_speed CASE FILE COUNT` prints how many seconds one takes, or how many KiB more there are.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a program for tests: a panic fails it"
)]

use std::path::Path;
use std::time::Instant;
use striae::gsd::{Builder, File, FileWriter};
use striae::striae_core::gsd::Version;

/// Values of a large frame: 12 MB.
const LARGE: usize = 3_000_000;

const NO_VERSION: Version = Version { major: 0, minor: 0 };

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let [_, name, path, count] = args.as_slice() else {
        panic!("usage: gsd_speed CASE FILE COUNT")
    };
    let (path, count) = (Path::new(path), count.parse().unwrap());
    match name.split_once('-').unwrap_or((name, "0")) {
        ("small", each) => small(path, count, each.parse().unwrap(), false),
        ("small_one_sync", each) => small(path, count, each.parse().unwrap(), true),
        ("large", each) => large(path, count, each.parse().unwrap()),
        ("make", kind) => make(path, count, kind == "uneven"),
        ("open", _) => time(count, |_| assert!(File::open(path).unwrap().frames() > 0)),
        ("memory", part) => memory(path, part == "find"),
        (_, "next") => find(path, count, true, false),
        ("find", _) => find(path, count, false, false),
        ("read", _) => find(path, count, false, true),
        _ => panic!("no case {name}"),
    }
}

fn time(count: u64, mut work: impl FnMut(u64)) {
    let start = Instant::now();
    (0..count).for_each(&mut work);
    println!("{:.9}", start.elapsed().as_secs_f64() / count as f64);
}

/// A file that is committed each `each` frames, or, with 0, when it is closed.
struct Written {
    file: FileWriter,
    frames: u64,
    each: u64,
}

impl Written {
    fn create(path: &Path, frames: u64, each: u64, one_sync: bool) -> Self {
        let builder =
            Builder::new().application("bench").schema("none", NO_VERSION).one_sync(one_sync);
        Self { file: builder.force(true).create(path).unwrap(), frames, each }
    }

    fn end_frame(&mut self, frame: u64) {
        self.file.end_frame().unwrap();
        if self.each != 0 && (frame + 1).is_multiple_of(self.each) {
            self.file.commit().unwrap();
        }
        if frame + 1 == self.frames {
            self.file.close().unwrap();
        }
    }
}

fn small(path: &Path, count: u64, each: u64, one_sync: bool) {
    let values: Vec<f32> = (0..30).map(|i| i as f32).collect();
    let mut written = Written::create(path, count, each, one_sync);
    time(count, |frame| {
        written.file.write("position", &values, 3).unwrap();
        written.file.write("velocity", &values, 3).unwrap();
        written.file.write("mass", values.split_at(10).0, 1).unwrap();
        written.end_frame(frame);
    });
}

fn large(path: &Path, count: u64, each: u64) {
    let values: Vec<f32> = (0..LARGE).map(|i| i as f32).collect();
    let mut written = Written::create(path, count, each, false);
    time(count, |frame| {
        written.file.write("position", &values, 3).unwrap();
        written.end_frame(frame);
    });
}

/// A file of so many frames of one chunk of 4 bytes, or of 1 to 7 of them at random.
fn make(path: &Path, count: u64, is_uneven: bool) {
    let mut written = Written::create(path, count, 100_000, false);
    let mut state = 1;
    for frame in 0..count {
        let chunks = if is_uneven { 1 + next(&mut state) % 7 } else { 1 };
        for name in ["step", "a", "b", "c", "d", "e", "f"].iter().take(chunks as usize) {
            written.file.write(name, &[frame as u32], 1).unwrap();
        }
        written.end_frame(frame);
    }
}

fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

fn find(path: &Path, count: u64, is_next: bool, reads: bool) {
    let file = File::open(path).unwrap();
    let frames = file.frames();
    let mut state = 1;
    time(count, |i| {
        let frame = if is_next { i } else { next(&mut state) } % frames;
        let chunk = file.find(frame, "step").unwrap().unwrap();
        assert_eq!(chunk.frame, frame);
        if reads {
            let mut step = [0_u32];
            file.read_into(&chunk, &mut step).unwrap();
            assert_eq!(step, [frame as u32]);
        }
    });
}

fn memory(path: &Path, finds: bool) {
    let look = |path: &Path| {
        let file = File::open(path).unwrap();
        assert!(!finds || file.find(file.frames() / 3, "step").unwrap().is_some());
        file
    };
    let _small = look(Path::new(&format!("{}.small", path.display())));
    let before = resident();
    let _file = look(path);
    println!("{}", resident() - before);
}

/// KiB of memory that this process has, counted page by page.
fn resident() -> i64 {
    let pages = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap();
    let line = pages.lines().find_map(|line| line.strip_prefix("Rss:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
