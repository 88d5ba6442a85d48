//! Writes frames of three small chunks to a GSD file, and commits each `EACH` frames, or at the
//! close if `EACH` is 0. The job `instructions` of `tests/run` counts what a frame takes.
//!
//! `gsd_frames FILE FRAMES EACH`
#![allow(missing_docs, reason = "a program")]

use std::error::Error;
use striae::gsd::Builder;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, path, frames, each] = args.as_slice() else {
        return Err("usage: gsd_frames FILE FRAMES EACH".into());
    };
    let (frames, each): (u64, u64) = (frames.parse()?, each.parse()?);
    let values: Vec<f32> = (0..30_u8).map(f32::from).collect();
    let masses = values.get(..10).ok_or("there are 30 values")?;
    let builder = Builder::new().application("frames").force(true);
    let mut file = builder.create(path)?;
    for frame in 1..=frames {
        file.write("position", &values, 3)?;
        file.write("velocity", &values, 3)?;
        file.write("mass", masses, 1)?;
        file.end_frame()?;
        if each != 0 && frame.is_multiple_of(each) {
            file.commit()?;
        }
    }
    file.close()?;
    Ok(())
}
