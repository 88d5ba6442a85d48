//! The identity of a new set, which tells its files from those of any other set
//! (`spec/sion.md#seal`).

use std::hash::{BuildHasher, RandomState};

/// A random identity for a set of several sealed files.
#[must_use]
pub fn new_identity() -> u32 {
    // Its keys come from the operating system, and each is used once. 0 says that there is none.
    let [a, b, c, d, ..] = RandomState::new().hash_one(0u8).to_le_bytes();
    u32::from_le_bytes([a, b, c, d]).max(1)
}
