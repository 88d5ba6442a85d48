//! The arguments of `map`.

use super::Set;
use clap::Args as ClapArgs;
use std::path::PathBuf;

#[derive(Debug, ClapArgs)]
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
}
