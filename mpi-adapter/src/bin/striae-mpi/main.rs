//! `striae-mpi`: what striae does with the ranks of a parallel program, from the command line.

mod args;
mod blob;
mod convert;
mod set;
mod text;
mod verify;

use args::{Args, Verb};
use clap::Parser;
use convert::ConvertArgs;
use std::process::ExitCode;
use striae::format::{Format, Recognized};
use striae_mpi::{Code, Collective, Error, Failure, Mpi, Threads};

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return refuse(&error),
    };
    match args.threads {
        Some(ranks) => run_as_threads(&args, ranks.get()),
        None => run_as_process(&args),
    }
}

/// Every rank gets the same wrong arguments; the first says so.
fn refuse(error: &clap::Error) -> ExitCode {
    let rank =
        ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"].map(|name| std::env::var(name).ok());
    if rank.into_iter().flatten().next().is_none_or(|rank| rank == "0") {
        let _ = error.print();
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

fn run_as_threads(args: &Args, ranks: u32) -> ExitCode {
    let mut world = Threads::new(ranks);
    if let Some(deadline) = args.deadline() {
        world = world.deadline(deadline);
    }
    let done = world.run(|rank| run(rank, args));
    let mut status = 0;
    let failed = done.into_iter().find_map(|done| match done {
        Ok(Ok(of_rank)) => {
            status = of_rank; // all ranks have one
            None
        }
        Ok(Err(error)) => Some(error.to_string()),
        Err(_) => Some("a rank panicked".to_owned()),
    });
    match failed {
        None => ExitCode::from(status),
        Some(failed) => report(&failed),
    }
}

fn run_as_process(args: &Args) -> ExitCode {
    let Some(universe) = mpi::initialize() else { return report(&"MPI is initialized already") };
    let mut settings = Mpi::new();
    if let Some(deadline) = args.deadline() {
        settings = settings.deadline(deadline);
    }
    match settings.duplicate(&universe.world()) {
        Ok(comm) => {
            let is_first = comm.rank() == 0;
            match run(comm, args) {
                Ok(status) => ExitCode::from(status),
                Err(error) => {
                    let status = if is_first { report(&error) } else { ExitCode::from(2) };
                    if matches!(error.code(), Code::Lost | Code::Carrier(_) | Code::Aborted(_)) {
                        std::mem::forget(universe); // MPI_Finalize would wait for a lost rank
                    }
                    status // else all ranks are in MPI_Finalize before one of them exits
                }
            }
        }
        Err(error) => report(&error),
    }
}

fn report(error: &impl std::fmt::Display) -> ExitCode {
    text::warn(error);
    ExitCode::from(2)
}

/// Runs a verb; returns the exit status, which is equal at all ranks.
fn run<C: Collective>(comm: C, args: &Args) -> Result<u8, Error> {
    match &args.verb {
        Verb::Verify(args) => verify::run(comm, args),
        Verb::Extract(args) => set::extract(comm, args).map(|()| 0),
        Verb::Pack(args) => set::pack(comm, args).map(|()| 0),
        Verb::Convert(args) => convert(comm, args),
    }
}

/// Converts a set, of the format that the first rank finds.
fn convert<C: Collective>(comm: C, args: &ConvertArgs) -> Result<u8, Error> {
    let find = || {
        let format = Recognized::new(&args.set)?.format();
        match (format, args.options.of_sion(), args.blob.of_blob()) {
            (Format::Blob, None, _) => Ok([1]),
            (Format::Sion, _, None) => Ok([0]),
            (Format::Blob, Some(option), _) | (Format::Sion, _, Some(option)) => {
                let text = format_args!("{option} is not for {format}");
                Err(Failure::new(Code::Refused, text))
            }
            _ => {
                let text = format_args!("{format}: use `striae convert`");
                Err(Failure::new(Code::Refused, text))
            }
        }
    };
    let found = if comm.rank() == 0 { find() } else { Ok([0]) };
    match comm.max(found)? {
        [0] => set::convert(comm, args).map(|()| 0),
        _ => blob::convert(comm, args),
    }
}
