//! ffrecord files by the library and by the program: those of ffrecord are read as it reads them,
//! those of striae are the same bytes, damage is told and does nothing else.

mod pack;
mod program;
mod read;
mod verify;
mod write;

use crate::run::{output, refused, striae};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use striae::ffrecord::File;
use tempfile::TempDir;

fn golden_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/ffrecord")
}

fn golden(name: &str) -> PathBuf {
    golden_dir().join(name)
}

fn expected() -> Vec<(String, Value)> {
    let text = fs::read_to_string(golden("expected.json")).unwrap();
    let Value::Object(files) = serde_json::from_str(&text).unwrap() else { panic!("no object") };
    files.into_iter().collect()
}

/// Those of which it is known what is in them.
fn valid() -> Vec<(String, Value)> {
    expected().into_iter().filter(|(_, file)| file["samples"].is_array()).collect()
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The samples of a golden file, cut out by what `expected.json` says.
fn samples_of(name: &str) -> Vec<Vec<u8>> {
    let bytes = fs::read(golden(name)).unwrap();
    let files = valid();
    let (_, file) = files.iter().find(|(found, _)| found == name).unwrap();
    let number = |value: &Value| usize::try_from(value.as_u64().unwrap()).unwrap();
    let samples = file["samples"].as_array().unwrap().iter();
    samples
        .map(|sample| {
            let bytes = bytes[number(&sample["offset"])..][..number(&sample["bytes"])].to_vec();
            assert_eq!(sample["sha256"], sha256(&bytes));
            bytes
        })
        .collect()
}

/// A folder with one file in it.
struct Made {
    dir: TempDir,
    path: PathBuf,
}

fn made(name: &str, bytes: &[u8]) -> Made {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    fs::write(&path, bytes).unwrap();
    Made { dir, path }
}

/// All names in a folder, hidden ones too.
fn names_in(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
