//! Rows of a table of ratios: ours and a named baseline take turns, so that a noisy machine
//! disturbs both, and a row shows the median of the ratios of their times. Below 1 is faster than
//! the baseline. Times are not shown: they would be those of this machine.
#![allow(dead_code, reason = "shared by several benchmarks; each uses a part")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// How often both take their turns.
pub(crate) const ROUNDS: usize = 11;

/// A folder for files, which goes with what this returns, and the words that say what to measure.
pub(crate) fn begin() -> (tempfile::TempDir, Vec<String>) {
    let args = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let dir = std::env::var_os("STRIAE_BENCH_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    (tempfile::tempdir_in(dir).unwrap(), args)
}

/// Prints the head of the table.
pub(crate) fn head() {
    println!("| what | baseline | ours / baseline, median | range |");
    println!("|---|---|---|---|");
}

/// Prints what a process of its own says that is started with `memory WHAT PATH`.
pub(crate) fn memory(kind: &str, label: &str, what: &str, path: &Path) {
    let me = std::env::current_exe().unwrap();
    let said = Command::new(me).args(["memory", what]).arg(path).output().unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    println!("| {kind}: {label} | | {} | |", said.trim());
}

/// Times both in turns and prints the median of the ratios, and the range of their middle half.
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
    let [low, median, high] = [1, 2, 3].map(|quarter| ratios[(rounds - 1) * quarter / 4]);
    println!("| {what} | {baseline} | {median:.2} | {low:.2} to {high:.2} |");
}
