//! GSD files through the library and the program: files that gsd wrote, and damaged ones.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test: a panic fails it"
)]

mod golden;
mod library;

use golden::{golden, name_of, valid_files};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fs;

fn hex_sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
