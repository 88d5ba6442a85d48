//! The arguments of `convert`.

use super::options::a_file;
use super::{Fill, Flags, Layout, Made, Set, Steps, VerbArgs};
use crate::size::size;
use clap::Args as ClapArgs;
use std::path::{Path, PathBuf};
use striae::Format::{Blob, Gsd, Sion};

#[derive(Debug, ClapArgs)]
#[command(about = "Rewrite a file: packed, with or without checksums, in a new layout, or in part")]
#[command(after_help = "Examples:\n  striae convert run.sion compact.sion\n  \
striae convert --nfiles 4 --seal run.sion archive.sion\n  \
striae convert --checksums --align 4096 run.gsd archive.gsd\n  \
striae convert --frames 100..:10 run.gsd thin.gsd\n  \
striae convert set.nc whole.nc\n\n\
Without options, readers see the same contents as before. A SIONlib set becomes one file with one \
chunk for each task. A GSD file keeps its layer and its alignment; old index blocks are left out. \
Data with checksums is checked, and gets new checksums. The new file or set appears when all of it \
is written.\n\n\
If you select frames of a trajectory (schema hoomd), the new file also stores the values that they \
took from frame 0, so that they read as before.\n\n\
A blob set becomes its canonical netCDF file. Values of sealed subfiles are compared with the seal; \
what a missing or damaged subfile had is filled and named, and the exit status is 1. Of netCDF \
files, only maps are converted: to texts of PIO if OUT ends in .dat, where map.dat becomes \
map.D1.dat, map.D2.dat and so on if there are several decompositions; else to netCDF, without the \
lists raw_nreqs and raw_offsets.\n\n\
With --force, OUT may be the input. Files of an old set that the new set does not replace stay \
where they are.")]
pub(crate) struct ConvertArgs {
    #[command(flatten)]
    pub(crate) file: Set,
    /// The new file; for a set, its first file.
    #[arg(value_parser = a_file())]
    pub(crate) out: PathBuf,
    /// Add checksums of everything (SIONlib and GSD only).
    #[arg(long, visible_alias = "checksums")]
    pub(crate) seal: bool,
    /// Write no checksums, and do not check the existing ones.
    #[arg(long, conflicts_with = "seal", visible_alias = "no-checksums")]
    pub(crate) no_seal: bool,
    #[command(flatten)]
    pub(crate) fill: Fill,
    #[command(flatten)]
    pub(crate) gsd: ConvertGsd,
    #[command(flatten)]
    pub(crate) layout: Layout,
}

impl VerbArgs for ConvertArgs {
    fn flags(&self) -> Flags {
        &[
            ("alone", &[Sion]),
            ("seal", &[Sion, Gsd]),
            ("no_seal", &[Sion, Gsd, Blob]),
            ("frames", &[Gsd]),
            ("align", &[Gsd]),
            ("upgrade", &[Gsd]),
            ("nfiles", &[Sion]),
            ("fsblksize", &[Sion]),
            ("order", &[Sion]),
            ("threads", &[Sion, Blob]),
            ("fill", &[Blob]),
            ("direct", &[Sion, Gsd, Blob]),
        ]
    }

    fn path(&self) -> &Path {
        &self.file.path
    }

    fn makes(&self) -> Made<'_> {
        Made::File(&self.out)
    }
}

/// Options for a new GSD file.
#[derive(Debug, ClapArgs)]
pub(crate) struct ConvertGsd {
    /// Keep only frames A to B-1, or every STEP-th of them; A or B may be left out, -1 is the last
    /// frame (GSD only).
    #[arg(long, value_name = "A..B[:STEP]", allow_hyphen_values = true)]
    pub(crate) frames: Option<Steps>,
    /// Start chunks at multiples of BYTES, a power of two; default: as in the old file (GSD only).
    #[arg(long, value_name = "BYTES", value_parser = size)]
    pub(crate) align: Option<u64>,
    /// Upgrade a file of layer 1 to layer 2.1 (GSD only).
    #[arg(long)]
    pub(crate) upgrade: bool,
}
