//! The file sets of `tests/golden/sion` with their expected contents.

use serde_json::Value;
use std::path::{Path, PathBuf};

/// A file set that a reference program wrote, and what it put there.
#[derive(Debug)]
pub struct GoldenSet {
    pub name: String,
    /// The JSON beside the files.
    pub expected: Value,
    /// The physical files of the set in order.
    pub files: Vec<Vec<u8>>,
    pub paths: Vec<PathBuf>,
}

pub fn golden_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/sion")
}

impl GoldenSet {
    /// The expected tasks by (file, local rank), as striae numbers them; the JSON of a mapped set
    /// has them by global rank.
    pub fn tasks(&self) -> Vec<&Value> {
        let mut tasks: Vec<_> = self.expected["tasks"].as_array().unwrap().iter().collect();
        tasks.sort_by_key(|task| (task["file"].as_u64(), task["lrank"].as_u64()));
        tasks
    }
}

/// All of them, in the order of their names.
pub fn golden_sets() -> Vec<GoldenSet> {
    let entries = std::fs::read_dir(golden_dir()).unwrap().map(|entry| entry.unwrap().path());
    let mut jsons: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|ext| ext == "json")).collect();
    jsons.sort();
    assert!(jsons.len() >= 36, "golden files are missing: {}", jsons.len());
    jsons.iter().map(|json| load(json)).collect()
}

/// The one with this name.
pub fn golden_set(name: &str) -> GoldenSet {
    load(&golden_dir().join(format!("{name}.json")))
}

fn load(json: &Path) -> GoldenSet {
    let expected: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    let main = expected["main_file"].as_str().unwrap().to_owned();
    let is_of_set =
        |name: &&str| name.strip_prefix(&main).is_some_and(|rest| !rest.contains("_BUDDY_"));
    let names = expected["files"].as_array().unwrap().iter().map(|f| f["name"].as_str().unwrap());
    let paths: Vec<_> = names.filter(is_of_set).map(|name| golden_dir().join(name)).collect();
    let files = paths.iter().map(|path| std::fs::read(path).unwrap()).collect();
    GoldenSet { name: expected["name"].as_str().unwrap().to_owned(), expected, files, paths }
}

/// Byte `i` of the stream of writer `g`, by the rule in the golden sets' README.
pub fn payload(g: i64, i: u64) -> u8 {
    let i = i64::try_from(i).unwrap();
    let parts = [i.wrapping_mul(7), (i >> 8).wrapping_mul(13), g.wrapping_mul(37), 11];
    let sum = parts.into_iter().fold(0, i64::wrapping_add);
    u8::try_from(sum & 255).unwrap()
}

/// A little-endian file as fileformat_version 2 has it, as far as anyone knows: without filenumber
/// and flags, with data where they were.
pub fn as_v2(bytes: &[u8], ntasks: usize) -> Vec<u8> {
    let commit_end = 1088 + 16 * ntasks;
    let mut file = [&bytes[..32], &bytes[52..commit_end], &[0; 20], &bytes[commit_end..]].concat();
    file[16..20].copy_from_slice(&2i32.to_le_bytes());
    file
}
