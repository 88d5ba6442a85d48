//! The arguments of pack: formats, and those for blob sets.

use super::PackArgs;
use clap::Args as ClapArgs;
use std::num::NonZeroU32;
use std::path::PathBuf;
use striae::Format;

impl PackArgs {
    /// The format of the new file.
    pub(crate) fn format(&self) -> PackFormat {
        let of_name = || match Format::of_name(&self.out) {
            Some(Format::Ffrecord) => PackFormat::Ffrecord,
            _ => PackFormat::Sion, // a name that ends in .nc does not tell a map from a set
        };
        self.format.unwrap_or_else(of_name)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum PackFormat {
    /// A SIONlib set, one task a file.
    Sion,
    /// An ffrecord file, one sample a file.
    Ffrecord,
    /// A netCDF map of E3SM-IO, one decomposition a map file.
    Map,
    /// A blob set of E3SM-IO, of one netCDF file and a decomposition map.
    Blob,
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
        "like", "seal", "force",
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
