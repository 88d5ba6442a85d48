//! `striae-mpi-lab bench blob`: sets of the shapes of E3SM's output, beside plain writes of as many
//! bytes.

use super::case::{Case, Decomposition, Part};
use super::report::Report;
use super::{Row, remove_at_root};
use clap::{Args, ValueEnum};
use serde::Serialize;
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io;
use std::num::{NonZeroU32, NonZeroU64};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use striae::blob::subfiles_of;
use striae_mpi::blob::{Builder, Container};
use striae_mpi::{Collective, Error, Failure};

/// The pieces of a plain write, in bytes.
const PIECE: usize = 1 << 18;

#[derive(Debug, Args)]
pub(crate) struct BlobArgs {
    /// The folder for the files, which are removed afterwards.
    folder: PathBuf,
    /// The variables and the maps.
    #[arg(long, value_name = "NAME", default_value = "f")]
    case: Case,
    /// A decomposition map; the ranks have even parts of its processes. Default: runs of two cells
    /// are dealt to the ranks in turn.
    #[arg(long, value_name = "FILE", conflicts_with = "cells")]
    map: Option<PathBuf>,
    /// Number of cells, if no map is given; default: a record has about 34 MB.
    #[arg(long, value_name = "N")]
    cells: Option<NonZeroU64>,
    /// Number of records.
    #[arg(long, value_name = "N", default_value = "1")]
    records: NonZeroU32,
    /// Number of subfiles.
    #[arg(long, value_name = "N", default_value = "1")]
    subfiles: NonZeroU32,
    /// Number of turns; in each, every way writes once.
    #[arg(long, value_name = "N", default_value = "5")]
    turns: NonZeroU32,
    /// Measure only this way; may be given several times. Ratios are to the first.
    #[arg(long, value_name = "NAME")]
    way: Vec<BlobWay>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum BlobWay {
    /// One file for all ranks, each writes as many bytes in pieces of 256 KiB.
    Pwrite,
    /// A variable-centric set of CDF-5 subfiles.
    Cdf,
    /// A process-centric set of HDF5 subfiles.
    Hdf5,
}

impl BlobWay {
    const fn text(self) -> &'static str {
        match self {
            Self::Pwrite => "one file, pwrite of 256 KiB",
            Self::Cdf => "set, variable-centric, CDF-5",
            Self::Hdf5 => "set, process-centric, HDF5",
        }
    }
}

/// What all ways write.
#[derive(Serialize)]
struct Heading {
    ranks: u32,
    case: String,
    bytes: u64,
    variables: usize,
    records: u32,
    subfiles: u32,
    turns: u32,
}

impl fmt::Display for Heading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ranks, case, bytes, variables, records, subfiles, turns } = self;
        write!(
            f,
            "{ranks} ranks, case {case}, {variables} variables, {records} records, {bytes} bytes of \
             values; {subfiles} subfiles; not made durable; medians of {turns} turns"
        )
    }
}

/// A rank's part of the case and its values.
struct Work<'a> {
    args: &'a BlobArgs,
    part: Part,
    names: Vec<String>,
    values: Vec<f64>,
    /// The bytes of this rank, and of all lower ranks.
    bytes: u64,
    first: u64,
}

impl<'a> Work<'a> {
    fn new<C: Collective>(comm: &C, args: &'a BlobArgs) -> Result<(Self, u64), Error> {
        let ranks = (comm.rank(), comm.size());
        let part = Part::new(args.case, (args.map.as_deref(), args.cells), ranks);
        comm.agree(part.as_ref().map(drop).map_err(Clone::clone))?;
        let part = part.unwrap_or_default(); // no rank has failed
        let of = |of: &Decomposition| of.len().saturating_mul(as_u64(of.variables));
        let whole = if comm.rank() == 0 { as_u64(part.whole) } else { 0 };
        let elements = part.decompositions.iter().map(of).fold(whole, u64::saturating_add);
        let bytes = elements.saturating_mul(8).saturating_mul(args.records.get().into());
        let first = comm.exscan(Ok([bytes]));
        let [total] = comm.total(first.as_ref().map(|_| [bytes]).map_err(Clone::clone))?;
        let [first] = first.unwrap_or_default(); // as above
        let longest = part.decompositions.iter().map(Decomposition::len).max().unwrap_or(0);
        let values = (0_u32..).map(f64::from).take(as_usize(longest)).collect();
        let names = part.names();
        Ok((Self { args, part, names, values, bytes, first }, total))
    }

    /// Opens, writes and closes; all ranks are ready when one of them returns.
    fn write<C: Collective>(&self, comm: C, way: BlobWay) -> Result<C, Error> {
        let container = match way {
            BlobWay::Pwrite => {
                let path = self.args.path();
                let made = if comm.rank() == 0 { fs::File::create(path).map(drop) } else { Ok(()) };
                comm.agree(made.map_err(|error| Failure::io("making the file", &error)))?;
                let done = self.write_plain();
                comm.agree(done.map_err(|error| Failure::io("writing the file", &error)))?;
                return Ok(comm);
            }
            BlobWay::Cdf => Container::Cdf,
            BlobWay::Hdf5 => Container::Hdf5,
        };
        self.part.define(&self.names, |definition| {
            let mut builder = Builder::new(definition)
                .container(container)
                .subfiles(self.args.subfiles)
                .records(self.args.records.get().into());
            let mut varids = 0..;
            for (number, of) in self.part.decompositions.iter().enumerate() {
                builder = builder.decomposition(&of.dimids, of.requests.clone());
                for varid in varids.by_ref().take(of.variables) {
                    builder = builder.decomposed(varid, number);
                }
            }
            let mut writer = builder.create(comm, self.args.path())?;
            for record in 0..self.args.records.get() {
                let mut names = self.names.iter();
                for of in &self.part.decompositions {
                    let values = self.values.get(..as_usize(of.len())).unwrap_or_default();
                    for name in names.by_ref().take(of.variables) {
                        let _ = writer.put(name, record.into(), values); // told by the close
                    }
                }
                let is_first = writer.is_first();
                for name in names.filter(|_| is_first) {
                    let _ = writer.put(name, record.into(), &[1.0]); // as above
                }
            }
            writer.close()
        })
    }

    fn write_plain(&self) -> io::Result<()> {
        let file = OpenOptions::new().write(true).open(self.args.path())?;
        let piece = vec![1_u8; PIECE];
        let mut at = 0;
        while at < self.bytes {
            let len = as_usize(self.bytes.saturating_sub(at)).min(PIECE);
            let bytes = piece.get(..len).unwrap_or_default();
            file.write_all_at(bytes, self.first.saturating_add(at))?;
            at = at.saturating_add(as_u64(len));
        }
        Ok(())
    }

    fn remove<C: Collective>(&self, comm: &C, way: BlobWay) -> Result<(), Error> {
        remove_at_root(comm, || match way {
            BlobWay::Pwrite => fs::remove_file(self.args.path()),
            BlobWay::Cdf | BlobWay::Hdf5 => {
                let subfiles = subfiles_of(self.args.path()).map_err(io::Error::other)?;
                subfiles.into_iter().try_for_each(fs::remove_file)
            }
        })
    }
}

impl BlobArgs {
    fn path(&self) -> PathBuf {
        self.folder.join("striae-mpi-bench.nc")
    }
}

pub(super) fn run<C: Collective>(mut comm: C, args: &BlobArgs) -> Result<(), Error> {
    let ways = if args.way.is_empty() { BlobWay::value_variants() } else { &args.way };
    let mut rows: Vec<_> = ways.iter().map(|way| Row::new(way, way.text())).collect();
    let (work, bytes) = Work::new(&comm, args)?;
    for _ in 0..args.turns.get() {
        for (way, row) in ways.iter().zip(&mut rows) {
            comm = row.measure(comm, |comm| work.write(comm, *way))?;
            work.remove(&comm, *way)?;
        }
    }
    if comm.rank() == 0 {
        let heading = Heading {
            ranks: comm.size(),
            case: format!("{:?}", args.case),
            bytes,
            variables: work.names.len(),
            records: args.records.get(),
            subfiles: args.subfiles.get(),
            turns: args.turns.get(),
        };
        Report::new(heading, bytes, &rows).print(args.json);
    }
    Ok(())
}

fn as_u64(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}

fn as_usize(len: u64) -> usize {
    usize::try_from(len).unwrap_or(usize::MAX)
}
