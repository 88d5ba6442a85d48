//! The arguments of `log`.

use super::{Made, Rows, VerbArgs};
use clap::Args as ClapArgs;
use std::path::{Path, PathBuf};

const HELP: &str = "Examples:\n  striae log run.gsd\n  \
striae log --csv run.gsd 'md/*' > log.csv\n  \
striae log --frames -100.. run.gsd md/compute/ThermodynamicQuantities/potential_energy\n  \
striae log --plot energy.svg run.gsd '*energy'\n\n\
There is a row for each frame: the step, then the quantities that frame 0 has. A quantity of several \
values has a column for each, NAME[0] and so on. A frame without a quantity has the value of frame 0, \
as gsd reads it.\n\n\
NAME is written without log/. In a pattern, * stands for any characters, ? for one, [0-9] for one of a \
set.";

#[derive(Debug, ClapArgs)]
#[command(about = "Print or plot logged quantities over the frames of a trajectory (GSD, schema \
    hoomd)")]
#[command(after_help = HELP)]
pub(crate) struct LogArgs {
    /// The trajectory.
    pub(crate) file: PathBuf,
    /// Print only these quantities; patterns need quotes. Default: all.
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Print values separated by commas, as spreadsheets take them.
    #[arg(long, conflicts_with_all = ["json", "plot"])]
    pub(crate) csv: bool,
    /// Print JSON, in which infinities and NaN are null.
    #[arg(long, conflicts_with = "plot")]
    pub(crate) json: bool,
    /// Write an SVG picture with a plot of each quantity of one number; - is standard output.
    #[arg(long, value_name = "OUT")]
    pub(crate) plot: Option<PathBuf>,
    /// Replace an existing SVG file.
    #[arg(long, requires = "plot")]
    pub(crate) force: bool,
    /// Only frames A to B-1; A or B may be left out, -1 is the last frame.
    #[arg(long, value_name = "A..B", allow_hyphen_values = true)]
    pub(crate) frames: Option<Rows>,
}

impl VerbArgs for LogArgs {
    fn path(&self) -> &Path {
        &self.file
    }

    fn is_for_programs(&self) -> bool {
        self.json
    }

    fn makes(&self) -> Made<'_> {
        self.plot.as_deref().map_or(Made::Nothing, Made::Picture)
    }
}
