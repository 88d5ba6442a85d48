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
use striae::gsd::recover::{Certainty, Proof};
use striae_kit::gsd_files::golden_dir;
use tempfile::TempDir;

/// Whether a checksum covers what the frame has, or at least which chunks it has and where.
fn is_proven(certainty: &Certainty) -> bool {
    matches!(certainty, Certainty::Exact | Certainty::AsFound(Proof::Committed))
}

/// A file with these bytes.
fn file_of(bytes: &[u8]) -> (TempDir, PathBuf) {
    let dir = crate::in_memory();
    let path = dir.path().join("a.gsd");
    fs::write(&path, bytes).unwrap();
    (dir, path)
}
