//! The identity of a new set, which tells its files from those of any other set
//! (`spec/sion.md#seal`).

use std::hash::{BuildHasher, RandomState};
use std::time::SystemTime;

/// A random identity for a set of several sealed files.
#[must_use]
pub fn new_identity() -> u32 {
    // Keys from the operating system, each used once in a process. A fork copies them, so the
    // process and the time are hashed. 0 says that there is none.
    let own = (std::process::id(), SystemTime::now());
    let [a, b, c, d, ..] = RandomState::new().hash_one(own).to_le_bytes();
    u32::from_le_bytes([a, b, c, d]).max(1)
}
