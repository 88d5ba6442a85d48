//! The arguments of `dump`.

use super::{Flags, MaxSize, VerbArgs};
use clap::Args as ClapArgs;
use std::path::{Path, PathBuf};
use striae::Format::Cdf;

#[derive(Debug, ClapArgs)]
#[command(about = "Print all metadata fields of a physical file: offset, bytes, name and value")]
#[command(after_help = "Example:\n  striae dump run.sion.000001")]
#[command(mut_arg("max_size", |arg| arg.requires("cdl")))]
pub(crate) struct DumpArgs {
    /// The physical file.
    pub(crate) file: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the header and all values as text that ncgen takes back (netCDF only).
    #[arg(long, conflicts_with = "json")]
    pub(crate) cdl: bool,
    #[command(flatten)]
    pub(crate) max_size: MaxSize,
}

impl VerbArgs for DumpArgs {
    fn flags(&self) -> Flags {
        &[("cdl", &[Cdf]), ("max_size", &[Cdf])]
    }

    fn path(&self) -> &Path {
        &self.file
    }

    fn is_for_programs(&self) -> bool {
        self.json
    }
}
