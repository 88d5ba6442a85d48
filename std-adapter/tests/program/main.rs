//! The program on files that SIONlib wrote, and on files that it never would.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test: a panic fails it"
)]

#[path = "../../../core/tests/golden_sets/mod.rs"]
mod golden_sets;

mod cat;
mod extract;
mod inspect;
mod list;
mod refuse;
mod sealed;

use assert_cmd::Command;
use golden_sets::{GoldenSet, golden_dir, golden_set, golden_sets, payload};
use predicates::prelude::*;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

fn striae(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_striae"));
    command.args(args);
    command
}

fn output(args: &[&str]) -> Vec<u8> {
    let assert = striae(args).assert().success().stderr("");
    assert.get_output().stdout.clone()
}

/// Runs and expects this exit status, and one line on stderr that contains `text`.
fn refused(args: &[&str], status: i32, text: &str) {
    let one_line = predicate::function(|stderr: &str| stderr.lines().count() == 1);
    let starts = predicate::str::starts_with("striae: ");
    let says = predicate::str::contains(text);
    striae(args).assert().code(status).stderr(one_line.and(starts).and(says));
}

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

fn hex_sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn main_file(set: &GoldenSet) -> &str {
    set.paths[0].to_str().unwrap()
}

fn is_closed(set: &GoldenSet) -> bool {
    set.expected["closed"].as_bool().unwrap()
}

fn is_keyval(set: &GoldenSet) -> bool {
    set.expected["meta"]["keyvalmode"] == 51
}

fn closed_sets() -> impl Iterator<Item = GoldenSet> {
    golden_sets().into_iter().filter(is_closed)
}

/// A copy of a golden set whose files may be damaged.
struct Copy {
    dir: TempDir,
    main: PathBuf,
}

impl Copy {
    fn of(name: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let set = golden_set(name);
        for path in &set.paths {
            fs::copy(path, dir.path().join(path.file_name().unwrap())).unwrap();
        }
        let main = dir.path().join(set.paths[0].file_name().unwrap());
        Self { dir, main }
    }

    fn main(&self) -> &str {
        self.main.to_str().unwrap()
    }

    fn overwrite(&self, offset: usize, bytes: &[u8]) -> &Self {
        let mut file = fs::read(&self.main).unwrap();
        file[offset..offset + bytes.len()].copy_from_slice(bytes);
        fs::write(&self.main, file).unwrap();
        self
    }

    fn path(&self, name: &str) -> String {
        self.dir.path().join(name).to_str().unwrap().to_owned()
    }
}

fn names(dir: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(dir).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}
