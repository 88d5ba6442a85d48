//! Decomposition maps: text and netCDF, E3SM-IO's rules, and what is wrong with maps.
//!
//! The files are described in `tests/golden/map/README.md`.

mod check;
mod table;
mod text;

use std::path::{Path, PathBuf};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn golden_file(name: &str) -> Vec<u8> {
    std::fs::read(repository().join("tests/golden/map").join(name)).unwrap()
}

/// A file that is not part of the repository; says so if it is absent.
fn shared_file(name: &str) -> Option<Vec<u8>> {
    let path = repository().join("../shared/corpus/blob/maps").join(name);
    let bytes = std::fs::read(&path).ok();
    if bytes.is_none() {
        println!("skipped: {} is absent", path.display());
    }
    bytes
}
