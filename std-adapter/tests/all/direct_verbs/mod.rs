//! What is read past the page cache is the same as what is read through it: bytes, findings,
//! messages.

mod ffrecord;
mod gsd;
mod sion;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use striae::direct::Rung;
use tempfile::TempDir;

fn striae(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_striae")).args(args).output().unwrap()
}

/// Runs it with and without `--direct`, and expects the same. Returns what it was.
fn same(args: &[&str]) -> Output {
    let plain = striae(args);
    let direct = striae(&[args, &["--direct"]].concat());
    assert_eq!(direct.status, plain.status, "{args:?}");
    assert_eq!(text(&direct.stderr), text(&plain.stderr), "{args:?}");
    assert!(direct.stdout == plain.stdout, "{args:?}: {}", text(&direct.stdout));
    direct
}

/// Extracts with and without `--direct`, and expects the same files, or the same refusal.
fn same_files(path: &Path, more: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    let mut made = Vec::new();
    for direct in [&[][..], &["--direct"]] {
        // The name of the folder is in messages.
        let out = dir.path().join("out");
        let args = ["extract", path.to_str().unwrap(), out.to_str().unwrap()];
        let done = striae(&[&args, more, direct].concat());
        let files = if out.exists() { files(&out) } else { BTreeMap::new() };
        made.push((done.status, text(&done.stderr), files));
        let _ = fs::remove_dir_all(out);
    }
    assert!(made[0] == made[1], "{}: {made:?}", path.display());
}

fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(dir).unwrap().map(Result::unwrap);
    let file = |entry: fs::DirEntry| {
        (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())
    };
    entries.map(file).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn golden(format: &str, ending: &str, least: usize) -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden").join(format);
    let paths = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let paths: Vec<_> = paths.filter(|path| path.to_str().unwrap().ends_with(ending)).collect();
    assert!(paths.len() >= least);
    paths
}

/// Folders on a disk, and in memory if there is such a file system.
fn folders() -> Vec<TempDir> {
    let shm = Path::new("/dev/shm");
    let places = [Path::new(env!("CARGO_TARGET_TMPDIR")), shm];
    let there = places.into_iter().filter(|place| place.is_dir());
    there.map(|place| tempfile::tempdir_in(place).unwrap()).collect()
}

/// Bytes that tell their place.
fn content(seed: usize, len: usize) -> Vec<u8> {
    (0..len).map(|at| (at / 251 + at + seed * 31) as u8).collect()
}

/// The one line that `-v` prints of a file that is read directly.
fn says_how(args: &[&str], path: &Path) {
    let done = striae(&[&["-v"], args, &["--direct"]].concat());
    assert!(done.status.success());
    let said = text(&done.stderr);
    let last = said.lines().last().unwrap();
    let is_rung = |rung: &Rung| last == format!("striae: {}: read by {rung}", path.display());
    let rung = Rung::ALL.into_iter().find(is_rung).unwrap_or_else(|| panic!("{said}"));
    if rung == Rung::Registered {
        assert_eq!(said.lines().count(), 1, "{said}");
    } else {
        assert!(said.contains("not io_uring with registered buffers: "), "{said}");
    }
    assert_eq!(text(&striae(&[&["-v"], args].concat()).stderr), "");
}
