//! HDF5 files with plain arrays in the root group: those that the HDF5 library wrote read as it
//! reads them; any bytes are read right, or the answer is an error that names what is wrong.
//!
//! The files are described in `tests/golden/hdf5/README.md`.

mod forms;
mod golden;
mod hostile;
mod written;

use std::path::{Path, PathBuf};

fn golden_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/hdf5")
}

fn golden_file(name: &str) -> Vec<u8> {
    std::fs::read(golden_dir().join(name)).unwrap()
}

/// Files that have all kinds of structures that are read.
const READ: [&str; 4] = ["superblock0.h5", "superblock2.h5", "superblock3.h5", "es_h1.h5.0001"];
