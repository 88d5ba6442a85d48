//! Speed of reading and writing GSD files, as ratios to a named baseline measured in the same run.
//!
//! `cargo bench -p striae --bench gsd`, or with `-- writing`, `-- reading`, `-- program` or
//! `-- small` a part of it; files go to `STRIAE_BENCH_DIR`, or else to the folder for temporary
//! files. Against the gsd library, see `STRIAE_BENCHES=peer tests/run bench`.
#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark: it runs by hand, on files of its own"
)]

mod program;
mod reading;
#[path = "../table/mod.rs"]
mod table;
mod writing;

use std::path::Path;
pub(crate) use table::{ROUNDS, row, row_prepared};

fn main() {
    let (dir, args) = table::begin();
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    if let ["memory", what, path] = args[..] {
        return reading::memory_of(what, Path::new(path));
    }
    let is_wanted = |part| args.iter().all(|arg| *arg == part);
    table::head();
    if is_wanted("reading") {
        reading::all(dir.path());
    }
    if is_wanted("program") {
        program::all(dir.path());
    }
    if is_wanted("small") {
        program::small(dir.path());
    }
    if is_wanted("writing") {
        writing::all(dir.path());
    }
}
