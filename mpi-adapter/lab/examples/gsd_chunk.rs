//! Writes a chunk of particles by several ranks, and as many bytes by one `pwrite` a rank, and
//! compares the times: `gsd_chunk PATH [RANKS [PARTICLES [RUNS]]]`. The ranks are threads. Nothing
//! is synced. The file at PATH stays: a trajectory of the schema hoomd with a frame for each run.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program that measures"
)]

use std::fs::{File, remove_file};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;
use striae::gsd::{Durability, Version};
use striae_mpi::gsd::{Builder, FileWriter, Rows};
use striae_mpi::threads::Rank;
use striae_mpi::{Collective, Error, Threads};
use zerocopy::IntoBytes;

/// How many seconds all ranks take for `work`, as rank 0 sees it.
fn timed(comm: &Rank, work: impl FnOnce()) -> Result<f64, Error> {
    let start = Instant::now();
    comm.agree(Ok(()))?;
    work();
    comm.agree(Ok(()))?;
    Ok(start.elapsed().as_secs_f64())
}

/// Writes a frame, and returns how many seconds it took.
fn frame(
    file: &mut FileWriter<Rank>,
    step: u64,
    position: &[[f32; 3]],
    count: u32,
) -> Result<f64, Error> {
    let of_first = usize::from(file.comm().rank() == 0);
    let (step, count) = ([step], [count]);
    let whole = Rows::new().chunk("configuration/step", &step[..of_first], 1);
    let whole = whole.chunk("particles/N", &count[..of_first], 1);
    let particles = Rows::new().chunk("particles/position", position.as_flattened(), 3);
    let start = Instant::now();
    file.comm().agree(Ok(()))?;
    file.write(&[whole, particles])?;
    file.end_frame();
    file.commit()?;
    file.comm().agree(Ok(()))?;
    Ok(start.elapsed().as_secs_f64())
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default| arguments.get(at).map_or(default, |n| n.parse().unwrap());
    let path = Path::new(arguments.first().expect("a path"));
    let (ranks, particles, runs) = (number(1, 4), number(2, 8_000_000), number(3, 7));
    let raw = path.with_extension("raw");
    let times = Threads::new(ranks as u32).run(|rank| -> Result<Vec<[f64; 2]>, Error> {
        let (number, size) = (rank.rank() as usize, rank.size() as usize);
        let (start, end) = (number * particles / size, (number + 1) * particles / size);
        let position: Vec<[f32; 3]> = (start..end).map(|i| [i as f32, 0.5, 1.5]).collect();
        let builder = Builder::new().schema("hoomd", Version { major: 1, minor: 4 });
        let builder = builder.force(true).durability(Durability::None);
        let mut file = builder.create(rank, path)?;
        let plain = File::options().write(true).create(true).truncate(false).open(&raw).unwrap();
        let mut times = Vec::new();
        for step in 0..runs {
            let ours = frame(&mut file, step as u64, &position, particles as u32)?;
            let offset = 12 * (step * particles + start) as u64;
            let write = || plain.write_all_at(position.as_bytes(), offset).unwrap();
            times.push([ours, timed(file.comm(), write)?]);
        }
        file.close().map(|_| times)
    });
    let times = times.into_iter().next().unwrap().unwrap().unwrap();
    let _ = remove_file(&raw);
    let of = |which: usize| {
        let mut all: Vec<f64> = times.iter().map(|both| both[which]).collect();
        all.sort_by(f64::total_cmp);
        (all[0], all[all.len() / 2])
    };
    let ((ours_min, ours), (plain_min, plain)) = (of(0), of(1));
    println!("{ranks} ranks, {} bytes of positions, {runs} runs", 12 * particles);
    println!("chunk of all ranks: median {ours:.4} s, minimum {ours_min:.4} s");
    println!("one pwrite a rank:  median {plain:.4} s, minimum {plain_min:.4} s");
    println!("ratio: median {:.2}, minimum {:.2}", plain / ours, plain_min / ours_min);
}
