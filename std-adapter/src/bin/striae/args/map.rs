//! The arguments of `map`.

use super::{Flags, Made, Set, VerbArgs};
use clap::Args as ClapArgs;
use std::path::{Path, PathBuf};
use striae::Format::Sion;

#[derive(Debug, ClapArgs)]
#[command(about = "Draw what is where in a file: header, tables, data of each task, holes")]
#[command(after_help = "Examples:\n  striae map run.sion\n  \
striae map --svg run.svg --width 120 run.sion\n\n\
A letter is a number of bytes. It shows what most of these bytes are; a table is shown \
however short it is. For a SIONlib set, and for a blob set in CDF-5, all files are drawn. The \
time depends on the size of the picture, and for a SIONlib file on the number of tasks, not on the size of the file: numbers with a \
~ are estimates.")]
pub(crate) struct MapArgs {
    #[command(flatten)]
    pub(crate) file: Set,
    /// Write an SVG picture to this file; - is standard output.
    #[arg(long, value_name = "OUT", conflicts_with = "json")]
    pub(crate) svg: Option<PathBuf>,
    /// Replace an existing SVG file.
    #[arg(long, requires = "svg")]
    pub(crate) force: bool,
    /// Number of columns; default: 96 for SVG, 80 for JSON, else those of the terminal or 80.
    #[arg(long, value_name = "N")]
    pub(crate) width: Option<std::num::NonZeroU16>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print only where the tables are, as values separated by commas.
    #[arg(long, conflicts_with_all = ["json", "svg", "width"])]
    pub(crate) csv: bool,
}

impl VerbArgs for MapArgs {
    fn flags(&self) -> Flags {
        &[("alone", &[Sion])]
    }

    fn path(&self) -> &Path {
        &self.file.path
    }

    fn is_for_programs(&self) -> bool {
        self.json || self.csv
    }

    fn makes(&self) -> Made<'_> {
        self.svg.as_deref().map_or(Made::Nothing, Made::Picture)
    }
}
