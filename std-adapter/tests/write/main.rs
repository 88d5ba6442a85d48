//! Sets that are written through the library, by many threads.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::panic,
    reason = "a test: a panic fails it"
)]

mod threads;

use std::io::Read;
use std::path::Path;
use striae::sion::File;

/// The streams of all tasks of a closed or committed set.
pub(crate) fn streams(path: &Path) -> Vec<Vec<u8>> {
    let file = File::open(path).unwrap();
    let read = |task| {
        let mut bytes = Vec::new();
        file.stream(task).unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    };
    (0..file.ntasks()).map(read).collect()
}

/// Byte `i` of what task `task` writes: another one wherever it is off by little.
pub(crate) fn byte(task: u64, i: usize) -> u8 {
    ((i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(task * 0x0101_1357) >> 56) as u8
}

/// The first `len` bytes of it.
pub(crate) fn payload(task: u64, len: usize) -> Vec<u8> {
    (0..len).map(|i| byte(task, i)).collect()
}
