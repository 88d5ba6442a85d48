//! The files of `tests/golden/gsd` with their expected contents.

use super::*;
use std::path::{Path, PathBuf};

/// A file that gsd wrote, and what it put there.
#[derive(Debug)]
pub(crate) struct Golden {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) expected: Value,
}

impl Golden {
    pub(crate) fn path(&self) -> &str {
        self.path.to_str().unwrap()
    }

    /// Bytes of the names in the order of their ids.
    pub(crate) fn names(&self) -> Vec<Vec<u8>> {
        self.expected["names"].as_array().unwrap().iter().map(name_of).collect()
    }

    pub(crate) fn chunks(&self) -> &Vec<Value> {
        self.expected["chunks"].as_array().unwrap()
    }
}

pub(crate) fn golden_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/gsd")
}

/// The one with this name, without `.gsd`.
pub(crate) fn golden(name: &str) -> Golden {
    all().into_iter().find(|file| file.name == name).unwrap()
}

/// All that gsd wrote and nobody changed.
pub(crate) fn valid_files() -> Vec<Golden> {
    let files: Vec<_> = all().into_iter().filter(|file| file.expected["kind"] == "valid").collect();
    assert!(files.len() >= 24, "golden files are missing: {}", files.len());
    files
}

fn all() -> Vec<Golden> {
    let json = fs::read(golden_dir().join("expected.json")).unwrap();
    let expected: Value = serde_json::from_slice(&json).unwrap();
    let files = expected.as_object().unwrap().iter();
    let files = files.map(|(name, expected)| Golden {
        name: name.strip_suffix(".gsd").unwrap().to_owned(),
        path: golden_dir().join(name),
        expected: expected.clone(),
    });
    files.collect()
}

/// The path of any file, also of a damaged one, without `.gsd`.
pub(crate) fn path_of(name: &str) -> String {
    golden_dir().join(format!("{name}.gsd")).to_str().unwrap().to_owned()
}

/// The bytes of a name, which is `{"hex": ".."}` if it is not UTF-8.
pub(crate) fn name_of(value: &Value) -> Vec<u8> {
    if let Some(text) = value.as_str() {
        return text.as_bytes().to_vec();
    }
    let hex = value["hex"].as_str().unwrap().as_bytes();
    let byte = |pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    hex.chunks(2).map(byte).collect()
}
