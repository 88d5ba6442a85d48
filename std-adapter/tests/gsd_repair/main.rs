//! GSD files are verified, recovered and converted; damage is told, and never becomes wrong data.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test: a panic fails it"
)]

mod ahead;
mod certain;
#[path = "../common/mod.rs"]
mod common;
mod complete;
mod convert;
mod converted;
#[path = "../../../core/tests/growing/mod.rs"]
mod growing;
#[path = "../../../core/tests/gsd_files/mod.rs"]
mod gsd_files;
#[path = "../../../core/tests/gsd_stock/stock.rs"]
mod gsd_stock;
mod histories;
mod made;
mod output;
#[cfg(feature = "cli")]
mod program;
mod recover;
mod regions;
mod stale;
mod torn;
mod verify;
mod work;

use gsd_files::golden_dir;
use made::{Made, Shape, golden_files};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A file with these bytes.
fn file_of(bytes: &[u8]) -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.gsd");
    fs::write(&path, bytes).unwrap();
    (dir, path)
}
