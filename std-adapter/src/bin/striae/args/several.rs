//! The arguments of verbs that take several files.

use super::{Direct, Rows, Set};
use clap::Args as ClapArgs;
use std::path::PathBuf;

/// Some sets, or one file of each.
#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct Sets {
    /// The files; of a set of several, the first one.
    #[arg(id = "FILE", required = true)]
    paths: Vec<PathBuf>,
    /// Of a SIONlib set: open this file alone, even if it is the first of several.
    #[arg(long)]
    alone: bool,
}

impl Sets {
    pub(super) fn each(&self) -> impl Iterator<Item = Set> {
        self.paths.iter().map(|path| Set { path: path.clone(), alone: self.alone })
    }
}

#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct InfoArgs {
    #[command(flatten)]
    pub(super) files: Sets,
    /// The one at hand.
    #[arg(skip)]
    pub(crate) file: Set,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct LsArgs {
    #[command(flatten)]
    pub(super) files: Sets,
    /// The one at hand.
    #[arg(skip)]
    pub(crate) file: Set,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Of a SIONlib set: list the key-value records of each task too.
    #[arg(long)]
    pub(crate) keys: bool,
    /// Of a GSD file: list these frames, from A to before B; either may be left out.
    #[arg(long, value_name = "A..B", conflicts_with = "keys")]
    pub(crate) frames: Option<Rows>,
    /// Of a GSD file: a line for each name, with its frames, types, shapes and bytes.
    #[arg(long, conflicts_with_all = ["addresses", "keys"])]
    pub(crate) summary: bool,
    /// Print addresses, one a line, as cat and extract take them.
    #[arg(long, conflicts_with = "json")]
    pub(crate) addresses: bool,
}

#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct VerifyArgs {
    /// The files; of a set of several, the first one.
    #[arg(value_name = "FILE", required = true)]
    pub(super) files: Vec<PathBuf>,
    /// The one at hand.
    #[arg(skip)]
    pub(crate) file: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print at most so many findings; all are counted.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(crate) limit: u64,
    #[command(flatten)]
    pub(crate) direct: Direct,
}
