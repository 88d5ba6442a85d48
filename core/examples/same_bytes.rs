//! Writes logs of all formats to a folder. Every machine must write the same bytes: the jobs
//! `firmware`, `big-endian` and `32-bit` of `tests/run` compare them. The logs are those of the
//! board in `core/firmware`.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::indexing_slicing,
    missing_docs,
    unreachable_pub,
    reason = "the board's own code, which is no library"
)]

#[path = "../firmware/src/bin/board/frames.rs"]
mod frames;
#[path = "../firmware/src/bin/board/same.rs"]
mod same;
#[path = "../firmware/src/bin/board/sample.rs"]
mod sample;
#[path = "../firmware/src/bin/board/sensors.rs"]
mod sensors;
#[path = "../firmware/src/bin/board/table.rs"]
mod table;

use same::Ram;
use std::path::PathBuf;

fn main() -> Result<(), String> {
    let folder: PathBuf = std::env::args_os().nth(1).ok_or("the folder is missing")?.into();
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let mut failed = None;
    let mut ram = Ram::<36864>::EMPTY;
    same::write_logs(&mut ram, |log, bytes| {
        let path = folder.join(["LOG.GSD", "LOG.SIO", "LOG.NC"][log]);
        failed = failed.take().or(std::fs::write(path, bytes).err());
    })?;
    failed.map_or(Ok(()), |error| Err(error.to_string()))
}
