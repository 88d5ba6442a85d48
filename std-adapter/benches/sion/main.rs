//! Speed of reading and writing SIONlib files, as ratios to a named baseline measured in the same
//! run.
//!
//! `cargo bench -p striae --bench sion`, or with `-- writing`, `-- reading` or `-- sealing` a part
//! of it; files go to `STRIAE_BENCH_DIR`, or else to the folder for temporary files. Ours and the
//! baseline take turns, so that a noisy machine disturbs both; a row shows the median of the ratios
//! of their times: below 1 is faster than the baseline. Times are not shown: they would be those of
//! this machine.
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
mod sealing;
#[path = "../table/mod.rs"]
mod table;
mod writing;

use std::fs;
use std::path::Path;
pub(crate) use table::{ROUNDS, row, row_prepared};

fn main() {
    let (dir, args) = table::begin();
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    if let ["memory", what, path] = args[..] {
        return memory_of(what, Path::new(path));
    }
    let is_wanted = |part| args.iter().all(|arg| *arg == part);
    table::head();
    if is_wanted("reading") {
        reading::all(dir.path());
    }
    if is_wanted("writing") {
        writing::all(dir.path());
    }
    if is_wanted("sealing") {
        sealing::all(dir.path());
    }
}

/// Prints the most memory that a process of its own has which does nothing but `what`.
pub(crate) fn peak_memory(label: &str, what: &str, path: &Path) {
    table::memory("peak memory", label, what, path);
}

/// What runs in that process, or in one whose instructions are counted.
fn memory_of(what: &str, path: &Path) {
    match what {
        "none" => {}
        "create" => writing::create_and_close(path, writing::MANY_TASKS),
        "list" => reading::keep_list(path),
        "write" => writing::write_records(path),
        "plain" => writing::write_plainly(path, false),
        "locked" => writing::write_plainly(path, true),
        "read" => reading::read_records(path),
        _ => reading::open_one(path),
    }
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    println!("{}", peak.trim());
}
