//! `striae-mpi-lab scale`: what a set of more ranks than there are would take, by a model.

mod report;
mod sionlib;

use crate::heap;
use clap::Args;
use report::{Line, Report};
use std::io;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::Path;
use striae_mpi::sion::Builder;
use striae_mpi::{Collect, Error};
use striae_mpi_lab::simulated::{Model, Picoseconds, Rank, Simulated, Tally};

#[derive(Debug, Args)]
#[command(
    after_help = "Example: striae-mpi-lab scale --ranks 1000,1000000 --ranks-per-file 65536\n\n\
Runs the code of the sets with a few ranks, each of which represents many equal ones, in \
simulated files. Beside it is SIONlib's pattern by arithmetic. spec/scale.md says what \
the model has and what it leaves out."
)]
pub(crate) struct ScaleArgs {
    /// Numbers of ranks.
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1000,10000,100000")]
    pub(crate) ranks: Vec<NonZeroU32>,
    /// Number of physical files of a set.
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) files: NonZeroU32,
    /// As many files as are needed for at most so many ranks in each but the last.
    #[arg(long, value_name = "N", conflicts_with = "files")]
    pub(crate) ranks_per_file: Option<NonZeroU32>,
    /// Ranks on a node.
    #[arg(long, value_name = "N", default_value = "128")]
    pub(crate) ranks_per_node: NonZeroU32,
    /// Ranks that have their writer in common; 1: every rank writes; default: those of a node.
    #[arg(long, value_name = "N")]
    pub(crate) ranks_per_writer: Option<NonZeroU32>,
    /// Number of commits before the close.
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) commits: u32,
    /// Bytes of each rank before each commit, at least one time.
    #[arg(long, value_name = "BYTES", default_value = "0")]
    pub(crate) bytes: usize,
    /// Add checksums of everything.
    #[arg(long)]
    pub(crate) sealed: bool,
    /// Run every rank, each as a thread.
    #[arg(long)]
    pub(crate) every_rank: bool,
    /// Microseconds from one node to another.
    #[arg(long, value_name = "US", default_value = "1.5")]
    pub(crate) hop: f64,
    /// Bytes a second of a link.
    #[arg(long, value_name = "N", default_value = "10000000000")]
    pub(crate) link: NonZeroU64,
    /// Bytes a second of a rank that writes.
    #[arg(long, value_name = "N", default_value = "2000000000")]
    pub(crate) writer: NonZeroU64,
    /// Files that can be opened in a second, by all ranks together.
    #[arg(long, value_name = "N", default_value = "50000")]
    pub(crate) opens: NonZeroU64,
    /// Microseconds of a sync.
    #[arg(long, value_name = "US", default_value = "1000")]
    pub(crate) sync: f64,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

const SECOND: Picoseconds = 1_000_000_000_000;

impl ScaleArgs {
    fn model(&self) -> Model {
        let each = |rate: NonZeroU64| SECOND / rate;
        let us = |us: f64| std::time::Duration::try_from_secs_f64(us / 1e6).unwrap_or_default();
        let picoseconds =
            |time| u64::try_from(us(time).as_nanos()).unwrap_or(0).saturating_mul(1000);
        Model {
            hop: picoseconds(self.hop),
            link_byte: each(self.link),
            file_byte: each(self.writer),
            open: each(self.opens),
            sync: picoseconds(self.sync),
        }
    }

    fn files(&self, ranks: NonZeroU32) -> u32 {
        self.ranks_per_file.map_or(self.files.get(), |most| ranks.get().div_ceil(most.get()))
    }
}

/// What a rank had done when the set was made, when its data were written and committed, and when
/// the set was closed; and the most bytes of memory that it had.
struct Steps {
    created: Tally,
    committed: Tally,
    closed: Tally,
    memory: usize,
}

pub(crate) fn run(args: &ScaleArgs) -> io::Result<()> {
    let mut lines = Vec::new();
    for ranks in &args.ranks {
        lines.push(line(args, *ranks)?);
    }
    Report::new(args, lines).print()
}

fn line(args: &ScaleArgs, ranks: NonZeroU32) -> io::Result<Line> {
    let files = args.files(ranks);
    let mut world = Simulated::new(ranks.get()).files(files).model(args.model());
    world = world.ranks_per_node(args.ranks_per_node.get()).aside(heap::pause);
    if args.every_rank {
        world = world.every_rank();
    }
    let done = world.run(|rank| write(rank, args, files))?;
    let mut line = Line::new(ranks.get(), files, done.len());
    for rank in done {
        let steps = rank.result.map_err(|_| io::Error::other("a rank panicked"))??;
        line.add(&steps, rank.stands_for);
    }
    line.sionlib = sionlib::arithmetic(&args.model(), ranks.get(), files);
    Ok(line)
}

fn write(rank: Rank, args: &ScaleArgs, files: u32) -> Result<Steps, Error> {
    heap::restart();
    let (disk, meter) = (rank.transport().disk(), rank.transport().disk());
    let mut collect = Collect::new().shared_memory(false);
    if let Some(ranks) = args.ranks_per_writer {
        collect = collect.ranks_per_writer(ranks.get());
    }
    let builder = Builder::new().fsblksize(4096).nfiles(files).sealed(args.sealed).collect(collect);
    let open = move |path: &Path, anew| disk.open(path, anew);
    let mut file = builder.create_in(rank, "scale.sion", open)?;
    let created = meter.tally();
    let record = vec![0; args.bytes];
    for _ in 0..args.commits {
        let _ = file.coll_write(&record); // its error is that of the commit
        file.commit()?;
    }
    if args.commits == 0 {
        let _ = file.coll_write(&record);
    }
    let committed = meter.tally();
    drop(record);
    file.close()?;
    Ok(Steps { created, committed, closed: meter.tally(), memory: heap::most() })
}
