//! `striae-mpi-lab bench commit`: what a commit of all ranks takes, beside its syncs alone.

use super::report::Report;
use super::{Row, remove_at_root};
use clap::{Args, ValueEnum};
use serde::Serialize;
use std::fmt;
use std::fs;
use std::io;
use std::num::NonZeroU32;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use striae_mpi::sion::Builder;
use striae_mpi::{Collect, Collective, Error, Failure};

#[derive(Debug, Args)]
pub(crate) struct CommitArgs {
    /// The folder for the files, which are removed afterwards.
    folder: PathBuf,
    /// Length of the record that each rank writes before a commit, in bytes.
    #[arg(long, value_name = "BYTES", default_value = "64")]
    size: NonZeroU32,
    /// Number of commits in a turn.
    #[arg(long, value_name = "N", default_value = "100")]
    commits: NonZeroU32,
    /// Number of turns; in each, every way commits as often.
    #[arg(long, value_name = "N", default_value = "5")]
    turns: NonZeroU32,
    /// Measure only this way; may be given several times. Ratios are to the first.
    #[arg(long, value_name = "NAME")]
    way: Vec<CommitWay>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CommitWay {
    /// Rank 0 writes the records of all ranks to one file, and syncs it once.
    Once,
    /// As a commit must: rank 0 writes the records and syncs, writes 8 bytes more and syncs.
    Twice,
    /// As `Twice`, with the record of each rank in a chunk of its own.
    Chunks,
    /// As `Chunks`, by the ranks, which have to meet before rank 0 syncs, and after it.
    Meet,
    /// A SIONlib set; every rank writes its record.
    Set,
    /// A SIONlib set; records are written by `coll_write`, and few ranks write for all.
    Coll,
}

impl CommitWay {
    const fn text(self) -> &'static str {
        match self {
            Self::Once => "one write, one sync",
            Self::Twice => "two writes, two syncs",
            Self::Chunks => "a write a chunk, two syncs",
            Self::Meet => "a write a rank, two syncs, ranks meet twice",
            Self::Set => "set, a write a rank",
            Self::Coll => "set, coll_write, few writers",
        }
    }

    /// Opens, writes, commits and closes; all ranks are ready when one of them returns.
    fn write<C: Collective>(self, comm: C, args: &CommitArgs) -> Result<C, Error> {
        let plain = |comm: C, place| {
            let done = if comm.rank() == 0 { args.write(comm.size(), place) } else { Ok(()) };
            comm.agree(done.map_err(|error| Failure::io("writing the file", &error)))?;
            Ok(comm)
        };
        match self {
            Self::Once => plain(comm, Place::Together { is_shown: false }),
            Self::Twice => plain(comm, Place::Together { is_shown: true }),
            Self::Chunks => plain(comm, Place::Chunks),
            Self::Meet => args.write_and_meet(comm),
            Self::Set => args.write_set(comm, None),
            Self::Coll => args.write_set(comm, Some(Collect::new())),
        }
    }
}

/// Where rank 0 writes the records of all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// One after another, by one write. Then it may write and sync that they are there.
    Together {
        is_shown: bool,
    },
    Chunks,
}

/// What all ways write.
#[derive(Serialize)]
struct Heading {
    ranks: u32,
    size: u32,
    commits: u32,
    turns: u32,
}

impl fmt::Display for Heading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ranks, size, commits, turns } = self;
        write!(
            f,
            "{ranks} ranks, {commits} commits of a record of {size} bytes each; durable; medians of \
             {turns} turns"
        )
    }
}

impl CommitArgs {
    fn path(&self) -> PathBuf {
        self.folder.join("striae-mpi-bench.commits")
    }

    /// The bytes of a rank.
    fn bytes(&self) -> u64 {
        u64::from(self.size.get()).saturating_mul(self.commits.get().into())
    }

    /// Writes the records of all ranks after 8 bytes, which say that they are there.
    fn write(&self, ranks: u32, place: Place) -> io::Result<()> {
        let file = fs::File::create(self.path())?;
        let record = u64::from(self.size.get());
        let all = record.saturating_mul(ranks.into());
        let records = vec![1; usize::try_from(all).unwrap_or(0)];
        let chunk = self.bytes().next_multiple_of(4096);
        for number in 0..u64::from(self.commits.get()) {
            match place {
                Place::Together { .. } => {
                    file.write_all_at(&records, number.saturating_mul(all).saturating_add(8))?;
                }
                Place::Chunks => {
                    let at = number.saturating_mul(record).saturating_add(4096);
                    let starts = (0..u64::from(ranks)).map(|rank| rank.saturating_mul(chunk));
                    let one = records.get(..usize::try_from(record).unwrap_or(0));
                    for start in starts {
                        file.write_all_at(one.unwrap_or_default(), at.saturating_add(start))?;
                    }
                }
            }
            file.sync_data()?;
            if place != (Place::Together { is_shown: false }) {
                file.write_all_at(&number.to_le_bytes(), 0)?;
                file.sync_data()?;
            }
        }
        Ok(())
    }

    /// The least of a commit of ranks that learn of each other's errors.
    fn write_and_meet<C: Collective>(&self, comm: C) -> Result<C, Error> {
        let failed = |error| Failure::io("writing the file", &error);
        let created = match comm.rank() {
            0 => fs::File::create(self.path()).map(drop),
            _ => Ok(()),
        };
        comm.agree(created.map_err(failed))?;
        let file = fs::File::options().write(true).open(self.path());
        let file = comm.agree(file.map_err(failed))?;
        let record = vec![1; usize::try_from(self.size.get()).unwrap_or(0)];
        let chunk = self.bytes().next_multiple_of(4096).saturating_mul(comm.rank().into());
        for number in 0..u64::from(self.commits.get()) {
            let at = number.saturating_mul(self.size.get().into()).saturating_add(4096);
            let written = file.write_all_at(&record, chunk.saturating_add(at));
            comm.agree(written.map_err(failed))?;
            let show = || {
                file.sync_data()?;
                file.write_all_at(&number.to_le_bytes(), 0)?;
                file.sync_data()
            };
            let shown = if comm.rank() == 0 { show() } else { Ok(()) };
            comm.agree(shown.map_err(failed))?;
        }
        Ok(comm)
    }

    fn write_set<C: Collective>(&self, comm: C, collect: Option<Collect>) -> Result<C, Error> {
        let mut builder = Builder::new().chunksize(self.bytes()).force(true);
        if let Some(collect) = collect {
            builder = builder.collect(collect);
        }
        let record = vec![1; usize::try_from(self.size.get()).unwrap_or(0)];
        let mut file = builder.create(comm, self.path())?;
        for _ in 0..self.commits.get() {
            match collect {
                Some(_) => file.coll_write(&record)?,
                None => drop(file.write(&record)), // an error is that of the commit
            }
            file.commit()?;
        }
        file.close()
    }
}

pub(super) fn run<C: Collective>(mut comm: C, args: &CommitArgs) -> Result<(), Error> {
    let ways = if args.way.is_empty() { CommitWay::value_variants() } else { &args.way };
    let mut rows: Vec<_> = ways.iter().map(|way| Row::new(way, way.text())).collect();
    for _ in 0..args.turns.get() {
        for (way, row) in ways.iter().zip(&mut rows) {
            comm = row.measure(comm, |comm| way.write(comm, args))?;
            remove_at_root(&comm, || fs::remove_file(args.path()))?;
        }
    }
    if comm.rank() == 0 {
        let (ranks, bytes) = (comm.size(), args.bytes());
        let (size, commits, turns) = (args.size.get(), args.commits.get(), args.turns.get());
        let heading = Heading { ranks, size, commits, turns };
        Report::new(heading, bytes.saturating_mul(ranks.into()), &rows).print(args.json);
    }
    Ok(())
}
