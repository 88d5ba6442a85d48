//! Runs of the program that make something, and take a while.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use striae::{ffrecord, gsd, sion};
use tempfile::TempDir;

/// Tasks, frames, samples, and files of a set.
const N: u32 = 1000;

/// A run that makes something.
pub(crate) struct Work {
    pub(crate) name: &'static str,
    make_input: fn(&Path),
    /// What comes in front of input and output, and the name of the output in the folder; none if
    /// that folder is the output.
    args: &'static [&'static str],
    pub(crate) out: Option<&'static str>,
    /// Files that are there in the end.
    pub(crate) files: usize,
}

const fn work(
    name: &'static str,
    make_input: fn(&Path),
    args: &'static [&'static str],
    (out, files): (Option<&'static str>, usize),
) -> Work {
    Work { name, make_input, args, out, files }
}

const FOLDER: (Option<&str>, usize) = (None, N as usize);
const FILE: (Option<&str>, usize) = (Some("a"), 1);
const FFR: (Option<&str>, usize) = (Some("a.ffr"), 1);
const SET: (Option<&str>, usize) = (Some("a"), 200);

pub(crate) const WORKS: &[Work] = &[
    work("extract a set", make_sion, &["extract"], FOLDER),
    work("convert a set", make_sion, &["convert"], FILE),
    work("convert a set into files", make_sion, &["convert", "--nfiles", "200"], SET),
    work("recover a set", make_sion, &["recover"], FILE),
    work("pack a set", make_files, &["pack"], FILE),
    work("extract frames", make_gsd, &["extract"], FOLDER),
    work("convert frames", make_gsd, &["convert", "--checksums"], FILE),
    work("recover frames", make_gsd, &["recover"], FILE),
    work("extract samples", make_ffrecord, &["extract"], FOLDER),
    work("pack samples", make_files, &["pack", "--format", "ffrecord"], FFR),
];

impl Work {
    /// A folder with the input, `in`.
    pub(crate) fn input(&self) -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        (self.make_input)(&folder.path().join("in"));
        folder
    }

    /// The program at this work; what it makes goes into the folder `out`.
    pub(crate) fn command(&self, input: &Path, out: &Path) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_striae"));
        command.args(self.args);
        let out = match self.out {
            Some(name) => {
                fs::create_dir_all(out).unwrap();
                out.join(name)
            }
            None => out.to_owned(),
        };
        let input = input.join("in");
        match self.args {
            ["pack"] => command.args([out, input]),
            ["pack", ..] => {
                let files = fs::read_dir(input).unwrap().map(|file| file.unwrap().path());
                command.arg(out).args(files)
            }
            _ => command.args([input, out]),
        };
        command
    }
}

/// Bytes that are no hole.
fn content(number: u32) -> Vec<u8> {
    vec![number as u8 | 1; 5000]
}

fn make_sion(path: &Path) {
    let builder = sion::Builder::new(N.into()).chunksize(5000).fsblksize(512);
    let mut file = builder.durability(sion::Durability::None).create(path).unwrap();
    for number in 0..N {
        file.task(number.into()).unwrap().write_all(&content(number)).unwrap();
    }
    file.close().unwrap();
}

fn make_gsd(path: &Path) {
    let builder = gsd::Builder::new().durability(gsd::Durability::None);
    let mut file = builder.create(path).unwrap();
    for number in 0..N {
        // Each of another length, so that each becomes an array of its own.
        let mut bytes = content(number);
        bytes.resize(4000 + number as usize, 1);
        file.write("a", &bytes, 1).unwrap();
        file.end_frame().unwrap();
    }
    file.close().unwrap();
}

fn make_ffrecord(path: &Path) {
    let mut file =
        ffrecord::Builder::new().durability(ffrecord::Durability::None).create(path).unwrap();
    for number in 0..N {
        file.write(&content(number)).unwrap();
    }
    file.finish().unwrap();
}

/// A folder of files, named as `extract` names those of a set.
fn make_files(path: &Path) {
    fs::create_dir(path).unwrap();
    for number in 0..N {
        fs::write(path.join(format!("task_{number:05}")), content(number)).unwrap();
    }
}
