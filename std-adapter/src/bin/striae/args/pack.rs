//! The arguments of pack: formats, and those for blob sets.

use super::options::{a_file, formats};
use super::{Flags, Layout, Made, VerbArgs};
use crate::size::some_size;
use clap::Args as ClapArgs;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use striae::Format::{self, Blob, Cdf, Ffrecord, Map, Sion};

#[derive(Debug, ClapArgs)]
#[command(
    about = "Make a SIONlib set, an ffrecord file or a decomposition map from files: one task, sample or \
    decomposition from each; or a blob set from a netCDF file"
)]
#[command(after_help = "Examples:\n  striae pack run.sion rank0.dat rank1.dat\n  \
striae extract old.sion tasks/ && striae pack --seal new.sion tasks/\n  \
striae pack train.ffr images/*.jpg\n  \
striae pack --format map case.nc piodecomp*.dat\n  \
striae pack --format blob --map case.nc --subfiles 4 --like old.nc.0000 new.nc whole.nc\n  \
striae pack --format blob --append new.nc more.nc\n\n\
Files become tasks or samples in the given order; a shell sorts rank10 before rank2. Of a folder, \
pack takes the files task_00000 and so on, or task_00000.key_1 and so on for key-value records, or \
sample_00000 and so on for samples, in the order of their numbers.\n\n\
A blob set is made of one netCDF file, OUT.0000, OUT.0001 and so on. A variable without a \
decomposition in --decomposition or --like gets the one with its dimensions.\n\n\
With --append, nothing that the set has is moved or changed: it has the new records when all of \
them are on the disk. Variables without records stay as they are.\n\n\
Global ranks count from 0. The new file or set appears when it is complete.")]
pub(crate) struct PackArgs {
    /// The format of the new file. Default: ffrecord if the name of the new file ends in .ffr, else
    /// sion.
    #[arg(long, value_parser = formats(|[pack, _]| pack))]
    format: Option<Format>,
    /// The first file of the new set, or the new file.
    #[arg(value_parser = a_file())]
    pub(crate) out: PathBuf,
    /// The input files in order, or a folder that extract made.
    #[arg(required = true, value_name = "FILE", value_parser = a_file())]
    pub(crate) sources: Vec<PathBuf>,
    /// Size of every chunk; default: the length of each task (SIONlib only).
    #[arg(long, value_name = "BYTES", value_parser = some_size)]
    pub(crate) chunksize: Option<u64>,
    /// Add checksums of everything.
    #[arg(long)]
    pub(crate) seal: bool,
    /// Identity of a sealed set instead of a random one, for equal bytes (SIONlib only).
    #[arg(long, value_name = "N", requires = "seal")]
    pub(crate) identity: Option<u32>,
    #[command(flatten)]
    pub(crate) blob: PackBlob,
    #[command(flatten)]
    pub(crate) layout: Layout,
}

impl VerbArgs for PackArgs {
    fn flags(&self) -> Flags {
        &[
            ("nfiles", &[Sion]),
            ("fsblksize", &[Sion]),
            ("order", &[Sion]),
            ("threads", &[Sion]),
            ("direct", &[Sion, Ffrecord]),
            ("chunksize", &[Sion]),
            ("seal", &[Sion, Blob]),
            ("identity", &[Sion]),
            ("map", &[Blob]),
            ("append", &[Blob]),
            ("subfiles", &[Blob]),
            ("grouping", &[Blob]),
            ("processes", &[Blob]),
            ("container", &[Blob]),
            ("unsorted", &[Blob]),
            ("decomposition", &[Blob]),
            ("like", &[Blob]),
        ]
    }

    fn path(&self) -> &Path {
        &self.out
    }

    fn makes(&self) -> Made<'_> {
        Made::File(&self.out)
    }
}

impl PackArgs {
    /// Whether the sources are maps, which are joined to one.
    pub(crate) fn is_of_maps(&self) -> bool {
        self.format == Some(Map)
    }

    /// The format of the new file.
    pub(crate) fn format(&self) -> Format {
        match self.format {
            Some(Map) => Cdf, // a map in netCDF
            Some(format) => format,
            // A name that ends in .nc does not tell a map from a set.
            None => Format::of_name(&self.out).filter(|of| *of == Ffrecord).unwrap_or(Sion),
        }
    }
}

#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Options for blob sets")]
pub(crate) struct PackBlob {
    /// The decomposition map, a netCDF file of E3SM-IO.
    #[arg(long, value_name = "MAP")]
    pub(crate) map: Option<PathBuf>,
    /// Write N subfiles. Default: 1.
    #[arg(long, value_name = "N")]
    pub(crate) subfiles: Option<NonZeroU32>,
    /// Which processes a subfile has. Default: block.
    #[arg(long)]
    pub(crate) grouping: Option<PackGrouping>,
    /// Write a blob for each of N processes; each has the elements of several ranks of the map.
    /// Default: one for each rank of the map.
    #[arg(long, value_name = "N")]
    pub(crate) processes: Option<NonZeroU32>,
    /// The container of the subfiles. Default: cdf.
    #[arg(long)]
    pub(crate) container: Option<PackContainer>,
    /// Keep requests in the order of the map; they are sorted and merged otherwise.
    #[arg(long)]
    pub(crate) unsorted: bool,
    /// Decompose variable VAR by decomposition K of the map, from 1; 0 writes it whole. May be
    /// repeated.
    #[arg(long, value_name = "VAR=K", value_parser = decomposition)]
    pub(crate) decomposition: Vec<(String, u32)>,
    /// Append the records of FILE to the existing set OUT, which has the same variables. Its map,
    /// its subfiles and its seal are those of the set.
    #[arg(long, conflicts_with_all = [
        "map", "subfiles", "grouping", "processes", "container", "unsorted", "decomposition",
        "like", "seal", "force", "max_size", "direct",
    ])]
    pub(crate) append: bool,
    /// Decompose variables as in this blob set.
    #[arg(long, value_name = "BLOB")]
    pub(crate) like: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum PackContainer {
    /// CDF-5 files, variable by variable.
    Cdf,
    /// HDF5 files, process by process.
    Hdf5,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum PackGrouping {
    /// Processes that follow each other.
    Block,
    /// Every N-th process, as if each node took the next process in turn; the attribute
    /// `world_ranks` of the subfiles says which.
    RoundRobin,
}

fn decomposition(text: &str) -> Result<(String, u32), String> {
    let (name, id) = text.rsplit_once('=').ok_or("must be VAR=K")?;
    let id = id.parse().map_err(|_| "K must be the number of a decomposition")?;
    Ok((name.to_owned(), id))
}
