//! `striae-mpi-lab bench`: how fast the ranks write and read together, and how often they meet.

mod blob;
mod case;
mod commit;
mod read;
mod report;
mod way;

use blob::BlobArgs;
use clap::{Args, Subcommand, ValueEnum};
use commit::CommitArgs;
use read::ReadArgs;
use report::{Records, Report};
use std::io;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use striae_mpi::{Collective, Error, Failure, Traffic};
use way::Way;

#[derive(Debug, Subcommand)]
pub(crate) enum BenchVerb {
    /// Write records of all ranks in several ways, and print speed and messages.
    #[command(after_help = "Examples:\n  mpiexec -n 8 striae-mpi-lab bench write /scratch\n  \
mpiexec -n 8 striae-mpi-lab bench write --size 64 --bytes 4194304 --way stdio --way coll /dev/shm\n  \
striae-mpi-lab --threads 8 bench write --files 2 --commits 4 --json .\n\n\
Every way opens, writes and closes its files in each turn; the ways take turns. Times are those of \
the slowest rank, from the moment when all ranks have come.")]
    Write(WriteArgs),
    /// Read records of all ranks in several ways, and print speed and messages.
    #[command(after_help = "Examples:\n  mpiexec -n 8 striae-mpi-lab bench read /scratch\n  \
mpiexec -n 8 striae-mpi-lab bench read --size 65536 --files 2 --json /dev/shm\n\n\
The files are written first, so they are in the page cache if there is room for them. Every way \
opens, reads and closes in each turn, each rank its own task; the ways take turns. What is read is \
compared with what was written. Times are those of the slowest rank, from the moment when all \
ranks have come.")]
    Read(ReadArgs),
    /// Write blob sets like those of E3SM, and print speed and messages.
    #[command(after_help = "Examples:\n  mpiexec -n 8 striae-mpi-lab bench blob /scratch\n  \
mpiexec -n 16 striae-mpi-lab bench blob --map map_f_case_16p.nc --records 10 --subfiles 2 /scratch\n  \
striae-mpi-lab --threads 4 bench blob --case g --json .\n\n\
The cases have as many variables of each map as those of E3SM-IO; all are of doubles and have \
records. Every way opens, writes and closes its files in each turn; the ways take turns. Times are \
those of the slowest rank, from the moment when all ranks have come.")]
    Blob(BlobArgs),
    /// Commit short records of all ranks, beside the syncs alone.
    #[command(after_help = "Example:\n  mpiexec -n 64 striae-mpi-lab bench commit /scratch\n\n\
Every way opens, commits and closes its files in each turn; the ways take turns. Times are those of \
the slowest rank, from the moment when all ranks have come.")]
    Commit(CommitArgs),
}

#[derive(Debug, Args)]
pub(crate) struct WriteArgs {
    /// The folder for the files, which are removed afterwards.
    pub(crate) folder: PathBuf,
    /// Length of a record in bytes.
    #[arg(long, value_name = "BYTES", default_value = "4096")]
    pub(crate) size: NonZeroU64,
    /// Bytes that each rank writes; the last record is cut. 0: open and close only.
    #[arg(long, value_name = "BYTES", default_value = "16777216")]
    pub(crate) bytes: u64,
    /// Size of a chunk; default: all bytes of a rank.
    #[arg(long, value_name = "BYTES")]
    pub(crate) chunksize: Option<NonZeroU64>,
    /// Number of physical files of a set.
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) files: NonZeroU32,
    /// Number of commits of a set before the close, after equal parts of the records.
    #[arg(long, value_name = "N", default_value = "0")]
    pub(crate) commits: u32,
    /// Ranks that have their writer in common, in the way `coll`; default: those of a node.
    #[arg(long, value_name = "N")]
    pub(crate) ranks_per_writer: Option<NonZeroU32>,
    /// Buffer of a rank in the ways `buffer` and `coll`.
    #[arg(long, value_name = "BYTES", default_value = "262144")]
    pub(crate) buffer: usize,

    /// Let a thread of each rank that writes do so while it goes on, in the ways `buffer` and
    /// `coll`.
    #[arg(long)]
    pub(crate) behind: bool,
    /// Make the data durable, in all ways. Otherwise no way does, and sets are not safe either.
    #[arg(long)]
    pub(crate) sync: bool,
    /// Number of turns; in each, every way writes once.
    #[arg(long, value_name = "N", default_value = "5")]
    pub(crate) turns: NonZeroU32,
    /// Measure only this way; may be given several times. Ratios are to the first.
    #[arg(long, value_name = "NAME")]
    pub(crate) way: Vec<Way>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The times of a way, and what it took in the last turn at the rank that had most messages.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) way: String,
    pub(crate) name: &'static str,
    pub(crate) times: Vec<Duration>,
    pub(crate) traffic: Traffic,
}

impl Row {
    fn new(way: impl std::fmt::Debug, name: &'static str) -> Self {
        let way = format!("{way:?}").to_lowercase();
        Self { way, name, times: Vec::new(), traffic: Traffic::default() }
    }

    /// Measures a turn of all ranks.
    fn measure<C: Collective>(
        &mut self,
        comm: C,
        work: impl FnOnce(C) -> Result<C, Error>,
    ) -> Result<C, Error> {
        let before = comm.traffic();
        comm.agree(Ok(()))?;
        let start = Instant::now();
        let comm = work(comm)?;
        let took = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let now = comm.traffic();
        let part = |now: u64, before: u64| now.saturating_sub(before);
        let calls = part(now.calls, before.calls).saturating_sub(1); // the one of this bench
        let messages = part(now.messages, before.messages);
        let bytes = part(now.bytes, before.bytes);
        let [took, calls, messages, bytes] = comm.max(Ok([took, calls, messages, bytes]))?;
        self.times.push(Duration::from_nanos(took));
        self.traffic = Traffic { calls, messages, bytes };
        Ok(comm)
    }
}

pub(crate) fn run<C: Collective>(comm: C, verb: &BenchVerb) -> Result<(), Error> {
    match verb {
        BenchVerb::Write(args) => write(comm, args),
        BenchVerb::Read(args) => read::run(comm, args),
        BenchVerb::Blob(args) => blob::run(comm, args),
        BenchVerb::Commit(args) => commit::run(comm, args),
    }
}

fn write<C: Collective>(mut comm: C, args: &WriteArgs) -> Result<(), Error> {
    let ways = if args.way.is_empty() { Way::value_variants() } else { &args.way };
    let mut rows: Vec<_> = ways.iter().map(|way| Row::new(way, way.text())).collect();
    for _ in 0..args.turns.get() {
        for (way, row) in ways.iter().zip(&mut rows) {
            comm = row.measure(comm, |comm| way.write(comm, args))?;
            remove(&comm, *way, args)?;
        }
    }
    if comm.rank() == 0 {
        let records = Records::new(args, comm.size());
        let total = records.total();
        Report::new(records, total, &rows).print(args.json);
    }
    Ok(())
}

/// Removes the files of a way.
fn remove<C: Collective>(comm: &C, way: Way, args: &WriteArgs) -> Result<(), Error> {
    remove_at_root(comm, || way.remove(args, comm.size()))
}

/// Lets rank 0 remove files.
fn remove_at_root<C: Collective>(
    comm: &C,
    remove: impl FnOnce() -> io::Result<()>,
) -> Result<(), Error> {
    let removed = if comm.rank() == 0 { remove() } else { Ok(()) };
    comm.agree(removed.map_err(|error| Failure::io("removing the files", &error)))
}
