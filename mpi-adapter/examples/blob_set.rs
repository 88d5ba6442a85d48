//! Writes a variable-centric blob set by several ranks, and as many bytes by one `pwrite` of each
//! rank for each variable, and compares the times: `blob_set PATH [RANKS [CELLS [RUNS]]]`. The
//! ranks are threads. Nothing is synced. The set at PATH stays.
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
use striae::striae_core::cdf::{Definition, DimDef, Type, VarDef};
use striae_mpi::blob::{Builder, Request};
use striae_mpi::threads::Rank;
use striae_mpi::{Collective, Error, Threads};
use zerocopy::IntoBytes;

/// Variables of doubles.
const VARIABLES: usize = 20;

/// How many seconds all ranks take for `work`, as rank 0 sees it.
fn timed<T>(
    comm: Rank,
    work: impl FnOnce(Rank) -> Result<(Rank, T), Error>,
) -> Result<(Rank, f64), Error> {
    let start = Instant::now();
    comm.agree(Ok(()))?;
    let (comm, _) = work(comm)?;
    comm.agree(Ok(()))?;
    Ok((comm, start.elapsed().as_secs_f64()))
}

/// Writes a set, also its maps and its names.
fn set(comm: Rank, path: &Path, cells: u64, values: &[f64]) -> Result<(Rank, f64), Error> {
    let names: Vec<String> = (0..VARIABLES).map(|number| format!("variable_{number}")).collect();
    let var = |name| (VarDef { name, nc_type: Type::Double, dimids: &[0] }, &[][..]);
    let vars: Vec<_> = names.iter().map(|name| var(name.as_str())).collect();
    let dims = [DimDef { name: "cell", length: cells }];
    let canonical = Definition { dims: &dims, attrs: &[], vars: &vars };
    let (rank, size) = (u64::from(comm.rank()), u64::from(comm.size()));
    let (start, end) = (rank * cells / size, (rank + 1) * cells / size);
    let requests = vec![Request { offset: start, len: end - start }];
    let mut builder = Builder::new(&canonical).decomposition(&[0], requests);
    for varid in 0..VARIABLES {
        builder = builder.decomposed(varid as u64, 0);
    }
    timed(comm, |comm| {
        let mut writer = builder.create(comm, path)?;
        for name in &names {
            writer.put(name, 0, values).expect("the set has the variable");
        }
        writer.close().map(|comm| (comm, ()))
    })
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default| arguments.get(at).map_or(default, |n| n.parse().unwrap());
    let path = Path::new(arguments.first().expect("a path"));
    let (ranks, cells, runs) = (number(1, 4), number(2, 212_500), number(3, 7));
    let raw = path.with_extension("raw");
    let times = Threads::new(ranks as u32).run(|rank| -> Result<Vec<[f64; 2]>, Error> {
        let (first, size) = (rank.rank() as usize, rank.size() as usize);
        let (start, end) = (first * cells / size, (first + 1) * cells / size);
        let values: Vec<f64> = (start..end).map(|cell| cell as f64).collect();
        let (mut comm, mut times) = (rank, Vec::new());
        for _ in 0..runs {
            if first == 0 {
                let _ = remove_file(path.with_extension("0000"));
                let _ = remove_file(&raw);
                File::create(&raw).unwrap();
            }
            let ours;
            (comm, ours) = set(comm, &path.with_extension(""), cells as u64, &values)?;
            let plain;
            (comm, plain) = timed(comm, |comm| {
                let file = File::options().write(true).open(&raw).unwrap();
                for variable in 0..VARIABLES {
                    let offset = 8 * (variable * cells + start) as u64;
                    file.write_all_at(values.as_bytes(), offset).unwrap();
                }
                Ok((comm, ()))
            })?;
            times.push([ours, plain]);
        }
        Ok(times)
    });
    let times = times.into_iter().next().unwrap().unwrap().unwrap();
    let _ = remove_file(&raw);
    let of = |which: usize| {
        let mut all: Vec<f64> = times.iter().map(|both| both[which]).collect();
        all.sort_by(f64::total_cmp);
        (all[0], all[all.len() / 2])
    };
    let ((ours_min, ours), (plain_min, plain)) = (of(0), of(1));
    println!("{ranks} ranks, {} bytes of values, {runs} runs", 8 * VARIABLES * cells);
    println!("set of all ranks: median {ours:.4} s, minimum {ours_min:.4} s");
    println!("plain writes:     median {plain:.4} s, minimum {plain_min:.4} s");
    println!("ratio: median {:.2}, minimum {:.2}", ours / plain, ours_min / plain_min);
}
