//! The command line.

use crate::convert::ConvertArgs;
use crate::set::{ExtractArgs, PackArgs};
use crate::verify::VerifyArgs;
use clap::{Parser, Subcommand};
use std::num::NonZeroU32;
use std::time::Duration;

/// striae with the ranks of a parallel program: `mpiexec -n 8 striae-mpi verify *.sion`.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true)]
pub(crate) struct Args {
    /// Run as so many threads of this process, without MPI.
    #[arg(long, value_name = "N", global = true)]
    pub(crate) threads: Option<NonZeroU32>,
    /// Seconds that a rank waits for the others before they count as lost; default: for ever.
    #[arg(long, value_name = "SECONDS", global = true)]
    deadline: Option<NonZeroU32>,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

impl Args {
    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.deadline.map(|seconds| Duration::from_secs(seconds.get().into()))
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Check many files, each by one rank.
    Verify(VerifyArgs),
    /// Write the stream of each task of a SIONlib set to a file.
    Extract(ExtractArgs),
    /// Make a SIONlib set, one task from each file.
    Pack(PackArgs),
    /// Rewrite a SIONlib set (other files, chunks, a seal); of a blob set, make the canonical
    /// file.
    Convert(ConvertArgs),
}
