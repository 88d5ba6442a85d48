//! Opens a file in memory again and again: `openings FILE COUNT`. The job `instructions` of
//! `tests/run` counts what opening takes; of an HDF5 file, its datasets are listed too.
#![allow(missing_docs, reason = "a program")]

use std::hint::black_box;
use striae_core::sion::Physical;
use striae_core::{cdf, ffrecord, gsd, hdf5};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, path, count] = args.as_slice() else { return Err("openings FILE COUNT".into()) };
    let (bytes, mut window) = (std::fs::read(path)?, [0; 4096]);
    let bytes = bytes.as_slice();
    for _ in 0..count.parse::<u32>()? {
        let bytes = black_box(bytes);
        match path.rsplit('.').next() {
            Some("sion") => {
                black_box(Physical::open(bytes, &mut window)?);
            }
            Some("gsd") => {
                black_box(gsd::Reader::open(bytes, &mut window)?);
            }
            Some("nc") => {
                black_box(cdf::Reader::open(bytes, &mut [0; 32], &mut window)?);
            }
            Some("ffr") => {
                black_box(ffrecord::Reader::open(bytes, &mut window)?);
            }
            Some("h5") => {
                // Opening reads the superblock alone; what is in the file is in its root group.
                let file = hdf5::Reader::open(bytes, &mut window)?;
                for link in file.links(&mut window) {
                    black_box(link?);
                }
            }
            _ => return Err("it is none of .sion, .gsd, .nc, .ffr and .h5".into()),
        }
    }
    Ok(())
}
