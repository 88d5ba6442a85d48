//! Sets that are written through the library: by many threads, until they are killed, on a full
//! disk.

mod apart;
mod buddies;
mod create;
mod faults;
mod kill;
mod lock;
mod lost_files;
mod model;
mod old_buddies;
mod other_set;
mod reopen;
mod semantics;
mod set_commits;
mod threads;

use std::io::Read;
use std::path::Path;
use striae::Error;
use striae::Verify;
use striae::error::ErrorKind;
use striae::sion::ErrorKind::Format;
use striae::sion::{File, OpenOptions, Opened};
use striae_core::sion::{Error as SionError, SealState};
use striae_kit::adapter::{Random, argument, bits, child, names, run, set_limit};

/// The streams of all tasks of a closed or committed set.
pub(crate) fn streams(path: &Path) -> Vec<Vec<u8>> {
    streams_of(&File::open(path).unwrap())
}

pub(crate) fn streams_of(file: &File) -> Vec<Vec<u8>> {
    let read = |task| {
        let mut bytes = Vec::new();
        file.stream(task).unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    };
    (0..file.ntasks()).map(read).collect()
}

/// Byte `i` of what task `task` writes: another one wherever it is off by little.
pub(crate) fn byte(task: u64, i: usize) -> u8 {
    (bits(task, i) >> 56) as u8
}

/// The first `len` bytes of it.
pub(crate) fn payload(task: u64, len: usize) -> Vec<u8> {
    payload_from(task, 0, len)
}

/// `len` bytes of it from position `at` on.
pub(crate) fn payload_from(task: u64, at: usize, len: usize) -> Vec<u8> {
    (at..at + len).map(|i| byte(task, i)).collect()
}

/// That a set has no damage, and that its files are sealed or not.
pub(crate) fn assert_sound(path: &Path, sealed: bool) {
    let mut findings = Vec::new();
    let summary =
        Verify::new().sion(path, &mut |finding| findings.push(finding.to_string())).unwrap();
    assert!(summary.is_sound(), "{}: {findings:?}", path.display());
    for file in File::open(path).unwrap().reader().files() {
        let state = file.seal().unwrap();
        assert_eq!(matches!(state, SealState::Sealed(_)), sealed, "{state:?}");
    }
}

/// Whether a set is there that was never closed nor committed.
pub(crate) fn is_unclosed(path: &Path) -> bool {
    matches!(OpenOptions::new().open(path), Ok(Opened::Unclosed(_)))
}

/// The format's error in an error.
pub(crate) fn sion(error: &Error) -> SionError {
    match error.kind() {
        ErrorKind::Sion(Format(error)) => *error,
        kind => panic!("{kind:?}"),
    }
}
