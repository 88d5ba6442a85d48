//! GSD files that are written through the library: by one writer, until it is killed, on a full disk.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test: a panic fails it"
)]

mod create;
mod faults;
mod kill;
mod live;
mod semantics;

use std::path::Path;
use std::process::{Command, Stdio};
use striae::Error;
use striae::error::ErrorKind;
use striae::gsd::{Builder, Durability, File, FileWriter};
use striae_core::gsd::Error as GsdError;

/// A builder that does not wait for the disk.
pub(crate) fn builder() -> Builder {
    Builder::new().durability(Durability::None)
}

/// Value `i` of what frame `frame` holds: another one wherever it is off by little.
pub(crate) fn value(frame: u64, i: usize) -> u32 {
    ((i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(frame.wrapping_mul(0x0101_1357))
        >> 32) as u32
}

/// The first `len` of them.
pub(crate) fn values(frame: u64, len: usize) -> Vec<u32> {
    (0..len).map(|i| value(frame, i)).collect()
}

/// Adds frames that [`check_frames`] knows: `step`, and `values` of a length that the frame decides.
pub(crate) fn write_frame(file: &mut FileWriter) -> Result<u64, Error> {
    let frame = file.frames();
    file.write("step", &[frame], 1)?;
    file.write("values", &values(frame, length(frame)), 3)?;
    file.end_frame()
}

pub(crate) fn length(frame: u64) -> usize {
    3 * (frame as usize * 7 % 41)
}

/// That a file has just these frames.
pub(crate) fn check_frames(path: &Path, frames: u64) {
    let file = File::open(path).unwrap();
    assert_eq!(file.frames(), frames, "{}", path.display());
    check_each(&file);
}

/// That the frames that are there are whole and right.
pub(crate) fn check_each(file: &File) {
    for frame in 0..file.frames() {
        let step = file.chunk(frame, "step").unwrap();
        assert_eq!((step.n, step.m), (1, 1));
        assert_eq!(file.read::<u64>(&step).unwrap(), [frame]);
        let chunk = file.chunk(frame, "values").unwrap();
        assert_eq!((chunk.n as usize, chunk.m), (length(frame) / 3, 3));
        assert_eq!(file.read::<u32>(&chunk).unwrap(), values(frame, length(frame)));
        assert_eq!(file.chunks_of(frame).unwrap().count(), 2);
    }
}

/// The format's error in an error.
pub(crate) fn gsd(error: &Error) -> GsdError {
    match error.kind() {
        ErrorKind::Gsd(error) | ErrorKind::Chunk { error, .. } => *error,
        kind => panic!("{kind:?}"),
    }
}

/// Names in a folder.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = entries.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

/// This program once more, to run only the test `test`, which must be an ignored one, with `argument`.
pub(crate) fn child(test: &str, argument: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--ignored", "--nocapture", "--test-threads=1"]);
    command.env(ARGUMENT, argument).stdin(Stdio::null());
    command
}

/// What [`child`] was given, if this process is one.
pub(crate) fn argument() -> Option<String> {
    std::env::var(ARGUMENT).ok()
}

const ARGUMENT: &str = "STRIAE_TEST_ARGUMENT";

/// Numbers that look random, the same ones each time.
#[derive(Debug, Clone)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// One below `below`.
    pub(crate) fn below(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % below
    }

    pub(crate) fn index(&mut self, below: usize) -> usize {
        self.below(below as u64) as usize
    }
}
