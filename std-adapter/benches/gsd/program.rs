//! Verbs of the program with a million frames, and with five.

use crate::reading::{index_of, read_bytes, write_frames};
use crate::{ROUNDS, row, row_prepared};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

const FRAMES: u64 = 1_000_000;

/// Processes of a turn with a small file.
const PROCESSES: u32 = 20;

pub(crate) fn all(dir: &Path) {
    let (path, tenth) = (dir.join("long.gsd"), dir.join("tenth.gsd"));
    let (out, copy) = (dir.join("out.gsd"), dir.join("copy.gsd"));
    write_frames(&path, FRAMES);
    write_frames(&tenth, FRAMES / 10);
    listing(&path, dir);
    let (path, tenth) = (path.to_str().unwrap(), tenth.to_str().unwrap());
    let verify = || run(&["verify", path]);
    let all = || read_bytes(Path::new(path), 0, fs::metadata(path).unwrap().len());
    row(&format!("verify {FRAMES} frames"), "pread of the file", ROUNDS, verify, all);
    row("the same", "a tenth of the frames", ROUNDS, verify, || run(&["verify", tenth]));
    let to = out.to_str().unwrap();
    for verb in ["recover", "convert"] {
        let clean = || {
            let _ = fs::remove_file(&out);
            let _ = fs::remove_file(&copy);
        };
        let ours = || run(&[verb, path, to]);
        let cp = || assert!(Command::new("cp").arg(path).arg(&copy).status().unwrap().success());
        row_prepared(&format!("{verb} {FRAMES} frames"), "cp of the file", ROUNDS, clean, ours, cp);
        let less = || run(&[verb, tenth, to]);
        row_prepared("the same", "a tenth of the frames", ROUNDS, clean, ours, less);
    }
}

/// Lists all chunks as text and as JSON, which nobody reads, against reading the index, and against
/// writing as much text.
fn listing(path: &Path, dir: &Path) {
    let (offset, len) = index_of(path);
    let path_text = path.to_str().unwrap();
    for what in ["ls", "ls --json"] {
        let mut args: Vec<_> = what.split(' ').collect();
        args.push(path_text);
        let ours = || run(&args);
        let label = format!("{what} of {FRAMES} chunks");
        row(&label, "pread of the index", ROUNDS, ours, || read_bytes(path, offset, len));
        let text = dir.join("text");
        fs::write(&text, striae(&args).output().unwrap().stdout).unwrap();
        row("the same", "cat of what it prints", ROUNDS, ours, || cat(&text));
        let dd = || {
            let mut dd = Command::new("dd");
            dd.args(["bs=64K", "of=/dev/null"]).arg(format!("if={path_text}"));
            assert!(dd.stderr(Stdio::null()).status().unwrap().success());
        };
        row("the same", "dd of the file", ROUNDS, ours, dd);
        fs::remove_file(text).unwrap();
    }
}

/// Whole processes that read a small file, mostly their start, against `cat` of it; several of each
/// in a turn, as one takes about a millisecond.
pub(crate) fn small(dir: &Path) {
    let path = dir.join("small.gsd");
    write_frames(&path, 5);
    let text = path.to_str().unwrap();
    for verb in ["ls", "info", "verify"] {
        let ours = || (0..PROCESSES).for_each(|_| run(&[verb, text]));
        let cat = || (0..PROCESSES).for_each(|_| cat(&path));
        row(&format!("{verb} of 5 frames"), "cat of the file", 2 * ROUNDS - 1, ours, cat);
    }
}

fn cat(path: &Path) {
    let status = Command::new("cat").arg(path).stdout(Stdio::null()).status();
    assert!(status.unwrap().success());
}

fn striae(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_striae"));
    command.args(args);
    command
}

fn run(args: &[&str]) {
    let output = striae(args).stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(output.unwrap().success(), "{args:?}");
}
