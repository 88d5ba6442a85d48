//! Classic netCDF files by the library and by the program: those of netCDF-C and PnetCDF are read
//! as they read them.

mod negative;
mod program;
mod read;

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

fn golden_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/cdf")
}

fn golden(name: &str) -> String {
    golden_dir().join(name).to_str().unwrap().to_owned()
}

/// Paths of the golden files, with what is in them.
fn all() -> Vec<(String, Value)> {
    let names = fs::read_dir(golden_dir()).unwrap().map(|entry| entry.unwrap().file_name());
    let names = names.map(|name| name.into_string().unwrap());
    let files = names.filter(|name| name.ends_with(".nc")).map(|name| {
        let json = fs::read_to_string(golden(&format!("{name}.json"))).unwrap();
        (golden(&name), serde_json::from_str(&json).unwrap())
    });
    let files: Vec<_> = files.collect();
    assert!(files.len() > 20);
    files
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}
