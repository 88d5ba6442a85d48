//! Sets of blob files: every value that E3SM-IO wrote is read, whatever the container, the number
//! of threads and the way; a lost subfile costs its own elements.
//!
//! `STRIAE_BLOB_SETS` may name a folder of more sets, as `tests/golden/blob` has them.

mod belong;
mod bounded;
mod dump;
mod golden;
mod hostile;
mod kinds;
mod laws;
mod lost;
mod made;
mod places;
mod program;
mod recover;
mod regions;
mod size;
mod verify;

use serde_json::Value;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use striae::blob::{OpenOptions, Set};

/// The folder of one run, with what was written.
struct Run {
    dir: PathBuf,
    expected: Value,
}

fn golden_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/blob")
}

/// All runs of E3SM-IO.
fn runs() -> Vec<Run> {
    let more = std::env::var_os("STRIAE_BLOB_SETS").map(PathBuf::from);
    let mut runs = Vec::new();
    for folder in [golden_dir()].into_iter().chain(more) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let dir = entry.unwrap().path();
            let Ok(expected) = std::fs::read(dir.join("expected.json")) else { continue };
            runs.push(Run { dir, expected: serde_json::from_slice(&expected).unwrap() });
        }
    }
    assert!(runs.len() >= 4);
    runs
}

impl Run {
    /// The names of both sets, without numbers.
    fn sets(&self) -> Vec<PathBuf> {
        let paths = std::fs::read_dir(&self.dir).unwrap().map(|entry| entry.unwrap().path());
        let sets: Vec<_> = paths.filter(|path| path.extension().unwrap() == "0000").collect();
        assert_eq!(sets.len(), 2);
        sets.into_iter().map(|path| path.with_extension("")).collect()
    }

    fn canonical(&self) -> PathBuf {
        let paths = std::fs::read_dir(&self.dir).unwrap().map(|entry| entry.unwrap().path());
        let is_it = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with("can");
        paths.into_iter().find(is_it).unwrap()
    }

    fn variables(&self) -> &[Value] {
        self.expected["variables"].as_array().unwrap()
    }

    fn has_holes(&self) -> bool {
        self.variables().iter().any(|one| one["covered"] != one["elements_per_record"])
    }
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn threads(n: usize) -> OpenOptions {
    OpenOptions::new().threads(n.try_into().unwrap())
}

/// All values of a variable, big-endian, with 0 where there is none.
fn all(set: &Set, name: &str) -> Vec<u8> {
    let variable = set.variable(name).unwrap();
    let start = vec![0; variable.shape().len()];
    let mut bytes = vec![0xee; variable.len() as usize];
    let whole = striae::cdf::whole(variable, &start);
    set.read_bytes_into(variable, whole, Some([0; 8]), &mut bytes).unwrap();
    bytes
}

/// A copy of a set in a folder of its own, and its name there.
fn copied(set: &Path) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    for (_, path) in Set::open(set).unwrap().subfiles() {
        std::fs::copy(&path, dir.path().join(path.file_name().unwrap())).unwrap();
    }
    let name = dir.path().join(set.file_name().unwrap());
    (dir, name)
}
