//! Files of the schema hoomd: what gsd's package wrote and what it reads there, damaged ones, and
//! ours.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test: a panic fails it"
)]

#[path = "../common/mod.rs"]
mod common;
mod damaged;
mod full;
mod golden;
mod hostile;
mod made;
mod model;
mod part;
#[path = "../common/piled.rs"]
mod piled;
mod recovered;
mod spec;
mod verified;
#[path = "../../../core/hoomd/tests/wanted/mod.rs"]
mod wanted;
mod write;

use std::path::{Path, PathBuf};

fn golden_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/gsd")
}
