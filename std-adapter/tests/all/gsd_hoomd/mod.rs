//! Files of the schema hoomd: what gsd's package wrote and what it reads there, damaged ones, and
//! ours.

mod damaged;
mod full;
mod golden;
mod hostile;
mod made;
mod model;
mod part;
mod recovered;
mod spec;
mod verified;
mod write;

use std::path::{Path, PathBuf};

fn golden_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/gsd")
}
