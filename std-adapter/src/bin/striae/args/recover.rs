//! The arguments of `striae recover`.

use super::options::{a_file, formats};
use super::{Flags, Made, MaxSize, VerbArgs};
use clap::Args as ClapArgs;
use std::path::{Path, PathBuf};
use striae::Format::{self, Sion};
use striae::Output;

#[derive(Debug, ClapArgs)]
#[command(about = "Save what is left of an unclosed, cut or damaged file in a new file")]
#[command(after_help = HELP)]
pub(crate) struct RecoverArgs {
    /// The file; for a set of several files, the first one.
    #[arg(id = "FILE")]
    pub(crate) path: PathBuf,
    /// The new file; for a set, its first file.
    #[arg(value_parser = a_file())]
    pub(crate) out: PathBuf,
    /// Take the file for one of this format, whatever it starts with: its first sector may be lost,
    /// of which files by striae have another copy.
    #[arg(long, value_parser = formats(|[_, recover]| recover))]
    format: Option<Format>,
    /// Recover only this file; if it is the first of several, it becomes a set of one file (SIONlib
    /// only).
    #[arg(long)]
    pub(crate) alone: bool,
    /// Replace existing files.
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) max_size: MaxSize,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

impl VerbArgs for RecoverArgs {
    fn flags(&self) -> Flags {
        &[("alone", &[Sion])]
    }

    fn path(&self) -> &Path {
        &self.path
    }

    fn is_for_programs(&self) -> bool {
        self.json
    }

    fn makes(&self) -> Made<'_> {
        Made::File(&self.out)
    }

    fn format(&self) -> Option<Format> {
        self.format
    }
}

impl RecoverArgs {
    pub(crate) fn output(&self) -> Output {
        self.max_size.output().force(self.force)
    }
}

/// What follows the options in the help.
const HELP: &str = "Examples:\n  striae recover crashed.sion closed.sion\n  \
striae recover damaged.gsd whole.gsd\n  \
striae recover cut.nc whole.nc\n  \
striae recover --json set.nc whole.nc\n\n\
SIONlib: recover makes a closed copy of a set that was never closed, or whose META2 is damaged. It \
reports for each task how certain its stream is, and why. Chunks keep their \
offsets, unless the new file would be much larger than the old one; then each stream is placed anew, \
in one chunk. Lost files are taken from buddy sets. The new file has a seal if all of it is exact.\n\n\
GSD: recover saves the complete frames; it also uses what a commit record and old index blocks \
still say. An incomplete frame is left out, because readers would take other values for the \
missing ones.\n\n\
netCDF: recover saves the variables before a damage of the header, and the whole records of which the \
file has the values, whatever number of records it says. It places the variables anew. It reports \
for each variable whether it is as found, a guess or lost, and why.\n\n\
Text maps: recover saves the ranks whose lines are whole. ffrecord files have no second copy of their \
tables: extract saves the samples that are named.\n\n\
Blob sets: recover makes the canonical netCDF file, as convert does, of the subfiles that are left; give \
the name of the set or one of its subfiles. It uses what one table proves if another is damaged. \
Values that are lost, or that are not as sealed, have the fill value of their variable, and are \
listed: for a decomposition the elements that no subfile has, for a variable the records and \
ranges of values.\n\n\
Four words say how certain a stream, a frame or a value is, and why. Exact: a checksum covers every \
byte, and all bytes were compared with it. As found: the structure is proven, and the text says by \
what, but nobody can tell whether a bit of the data has changed. Guess: it may be what was written. \
Lost: it is not in the new file. The last line says how many bytes were compared with \
checksums.\n\n\
Exit status: 0: everything is exact or as found, and nothing in the file contradicts it; 1: \
something is a guess or lost, or contradicted; 2: nothing was \
written, or this report could not be printed.";
