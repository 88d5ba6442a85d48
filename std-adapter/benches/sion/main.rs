//! Speed of reading and writing SIONlib files, as ratios to a named baseline measured in the same run.
//!
//! `cargo bench -p striae --bench sion`, or with `-- writing` or `-- reading` half of it; files go to
//! `STRIAE_BENCH_DIR`, or else to the folder for temporary files. Ours and the baseline take turns, so
//! that a noisy machine disturbs both; a row shows the median of the ratios of their times: below 1 is
//! faster than the baseline. Times are not shown: they would be those of this machine.
#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark: it runs by hand, on files of its own"
)]

mod reading;
mod writing;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const ROUNDS: usize = 11;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    if let ["memory", what, path] = args[..] {
        return memory_of(what, Path::new(path));
    }
    let dir = std::env::var_os("STRIAE_BENCH_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    let dir = tempfile::tempdir_in(dir).unwrap();
    println!("| what | baseline | ours / baseline, median of {ROUNDS} |");
    println!("|---|---|---|");
    if !args.contains(&"writing") {
        reading::all(dir.path());
    }
    if !args.contains(&"reading") {
        writing::all(dir.path());
    }
}

/// Prints the most memory that a process of its own has which does nothing but `what`.
fn peak_memory(label: &str, what: &str, path: &Path) {
    let me = std::env::current_exe().unwrap();
    let peak = Command::new(me).args(["memory", what]).arg(path).output().unwrap();
    let peak = String::from_utf8(peak.stdout).unwrap();
    println!("| peak memory: {label} | | {} |", peak.trim());
}

/// What runs in that process.
fn memory_of(what: &str, path: &Path) {
    match what {
        "none" => {}
        "create" => writing::create_and_close(path, writing::MANY_TASKS),
        "list" => reading::keep_list(path),
        _ => reading::open_one(path),
    }
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    println!("{}", peak.trim());
}

/// Times both in turns and prints the median of the ratios.
pub(crate) fn row(
    what: &str,
    baseline: &str,
    rounds: usize,
    ours: impl FnMut(),
    base: impl FnMut(),
) {
    row_prepared(what, baseline, rounds, || {}, ours, base);
}

/// As [`row`], with something to do before each, which is not timed.
pub(crate) fn row_prepared(
    what: &str,
    baseline: &str,
    rounds: usize,
    mut prepare: impl FnMut(),
    mut ours: impl FnMut(),
    mut base: impl FnMut(),
) {
    let mut time = |work: &mut dyn FnMut()| -> Duration {
        prepare();
        let start = Instant::now();
        work();
        start.elapsed()
    };
    time(&mut ours); // both find the file in the page cache
    time(&mut base);
    let mut ratios: Vec<f64> = (0..rounds)
        .map(|_| time(&mut ours).as_secs_f64() / time(&mut base).as_secs_f64())
        .collect();
    ratios.sort_by(f64::total_cmp);
    println!("| {what} | {baseline} | {:.2} |", ratios[rounds / 2]);
}
