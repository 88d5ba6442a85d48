//! The program on files that SIONlib wrote, and on files that it never would.

mod address;
mod advice;
mod append;
mod cat;
mod checked;
mod convert;
mod extract;
mod flags;
mod inspect;
mod kept;
mod links;
mod list;
mod map;
mod names;
mod pack;
mod parts;
mod refuse;
mod sealed;
mod select;
mod several;
mod sources;
mod words;

use crate::run::{hex_sha256, output, refused, striae};
use assert_cmd::Command;
use predicates::prelude::*;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use striae::sion::File;
use striae_kit::golden_sets::{GoldenSet, golden_dir, golden_set, golden_sets, payload};
use tempfile::TempDir;

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
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

/// A folder with nothing in it but what the test makes.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    fn names(&self) -> BTreeSet<String> {
        names(self.0.path().to_str().unwrap())
    }
}

/// The streams of a set, read by the library.
fn streams(path: &str) -> Vec<Vec<u8>> {
    let file = File::open(path).unwrap();
    (0..file.ntasks()).map(|task| stream_of(&file, task)).collect()
}

fn stream_of(file: &File, task: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    file.stream(task).unwrap().read_to_end(&mut bytes).unwrap();
    bytes
}

/// Key and value of each record of each task of a set.
fn records(path: &str) -> Vec<Vec<(u64, Vec<u8>)>> {
    let file = File::open(path).unwrap();
    let records = |task| {
        let mut stream = file.stream(task).unwrap();
        let bytes = stream_of(&file, task);
        let records: Vec<_> = stream.records().unwrap().map(Result::unwrap).collect();
        let value = |position, len| {
            let start = usize::try_from(position).unwrap();
            bytes[start..start + usize::try_from(len).unwrap()].to_vec()
        };
        records.iter().map(|record| (record.key, value(record.position, record.len))).collect()
    };
    (0..file.ntasks()).map(records).collect()
}

/// Bytes that a file takes on the disk.
fn allocated(path: &str) -> u64 {
    let file = fs::File::open(path).unwrap();
    file.sync_all().unwrap(); // blocks have a place now
    file.metadata().unwrap().blocks() * 512
}

fn names(dir: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(dir).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// The program under a limit of the shell's `ulimit`.
fn limits(limit: &str, args: &[&str]) -> Command {
    let mut command = Command::new("sh");
    let script = format!("ulimit {limit} && exec \"$0\" \"$@\"");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_striae")]).args(args);
    command
}

/// Fails under that limit, and says so in one line.
fn limited(limit: &str, args: &[&str], text: &str) {
    let one_line = predicate::function(|stderr: &str| stderr.lines().count() == 1);
    let says = predicate::str::contains(text).and(predicate::str::contains(".striae-").not());
    limits(limit, args).assert().code(2).stderr(one_line.and(says));
}

/// A file without the random identity of its set, and the checksum that covers it: bytes 28 to 31
/// and 44 to 47 of the trailer.
pub(crate) fn without_identity(path: &str) -> Vec<u8> {
    let mut bytes = fs::read(path).unwrap();
    let trailer = bytes.len() - 64;
    assert!(bytes.ends_with(b"striae SION seal"));
    bytes[trailer + 28..trailer + 32].fill(0);
    bytes[trailer + 44..trailer + 48].fill(0);
    bytes
}
