//! Writes frames of one chunk of 4 bytes to a GSD file. The job `instructions` of `tests/run`
//! counts what the verbs of the program do for a frame.
//!
//! `gsd_steps FILE FRAMES`
#![allow(missing_docs, reason = "a program")]

use std::error::Error;
use striae::gsd::Builder;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, path, frames] = args.as_slice() else {
        return Err("usage: gsd_steps FILE FRAMES".into());
    };
    let frames: u32 = frames.parse()?;
    let mut file = Builder::new().application("steps").force(true).create(path)?;
    for frame in 0..frames {
        file.write("step", &[frame], 1)?;
        file.end_frame()?;
    }
    file.close()?;
    Ok(())
}
