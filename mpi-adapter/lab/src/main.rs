//! `striae-mpi-lab`: how fast the ranks of a parallel program write and read, and what more ranks
//! than there are would take.

mod bench;
mod heap;
mod scale;

use bench::BenchVerb;
use clap::{Parser, Subcommand};
use scale::ScaleArgs;
use std::fmt::Display;
use std::io::{self, Write};
use std::num::NonZeroU32;
use std::process::ExitCode;
use striae_mpi::{Error, Mpi, Threads};

/// Measures striae-mpi: `mpiexec -n 8 striae-mpi-lab bench write /scratch`.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true)]
struct Args {
    /// Run as so many threads of this process, without MPI.
    #[arg(long, value_name = "N", global = true)]
    threads: Option<NonZeroU32>,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Measure how fast the ranks write and read.
    #[command(subcommand)]
    Bench(BenchVerb),
    /// Print what more ranks than there are would take, by a model.
    Scale(ScaleArgs),
}

fn main() -> ExitCode {
    let Args { threads, verb } = Args::parse();
    let done = match (&verb, threads) {
        (Verb::Scale(args), _) => scale::run(args).map_err(|error| error.to_string()),
        (Verb::Bench(verb), Some(ranks)) => as_threads(verb, ranks.get()),
        (Verb::Bench(verb), None) => as_process(verb),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => report(error),
    }
}

fn as_threads(verb: &BenchVerb, ranks: u32) -> Result<(), String> {
    let done = Threads::new(ranks).run(|rank| bench::run(rank, verb));
    let result = |done: std::thread::Result<Result<(), Error>>| match done {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(_) => Err("a rank panicked".to_owned()),
    };
    done.into_iter().try_for_each(result) // an error of one rank is that of all
}

fn as_process(verb: &BenchVerb) -> Result<(), String> {
    let universe = mpi::initialize().ok_or("MPI is initialized already")?;
    let comm = Mpi::new().duplicate(&universe.world());
    let done = comm.and_then(|comm| bench::run(comm, verb));
    done.map_err(|error| error.to_string())
}

fn report(error: impl Display) -> ExitCode {
    // In one piece, between those of other ranks; nobody may be there to read it.
    let _ = io::stderr().write_all(format!("striae-mpi-lab: {error}\n").as_bytes());
    ExitCode::from(2)
}
