//! GSD files are verified, recovered and converted; damage is told, and never becomes wrong data.

mod ahead;
mod certain;
mod complete;
mod convert;
mod converted;
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

use made::{Made, Shape, golden_files};
use std::fs;
use std::path::{Path, PathBuf};
use striae_kit::gsd_files::golden_dir;
use tempfile::TempDir;

/// A file with these bytes.
fn file_of(bytes: &[u8]) -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.gsd");
    fs::write(&path, bytes).unwrap();
    (dir, path)
}
