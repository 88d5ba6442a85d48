//! Arguments of the verbs that take several files.

use super::{Direct, Rows, Set};
use crate::sheet::Form;
use clap::Args as ClapArgs;
use std::path::PathBuf;

/// Several input files: sets, or one file of each set.
#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct Sets {
    /// The files; for a set of several files, the first one.
    #[arg(id = "FILE", required = true)]
    paths: Vec<PathBuf>,
    /// Open only this file, even if it is the first of several (SIONlib only).
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
    /// The file that is processed now.
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
    /// The file that is processed now.
    #[arg(skip)]
    pub(crate) file: Set,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print values separated by commas, as spreadsheets take them.
    #[arg(long, conflicts_with_all = ["json", "keys", "addresses"])]
    pub(crate) csv: bool,
    /// Also list the key-value records of each task (SIONlib only).
    #[arg(long)]
    pub(crate) keys: bool,
    /// List only frames A to B-1; A or B may be left out, -1 is the last frame (GSD only).
    #[arg(long, value_name = "A..B", conflicts_with = "keys", allow_hyphen_values = true)]
    pub(crate) frames: Option<Rows>,
    /// Print one line for each name: its frames, types, shapes and bytes (GSD only).
    #[arg(long, conflicts_with_all = ["addresses", "keys"])]
    pub(crate) summary: bool,
    /// Print only addresses, one on each line, in the form that cat and extract take.
    #[arg(long, conflicts_with = "json")]
    pub(crate) addresses: bool,
}

impl LsArgs {
    /// How the list is printed, if not as JSON.
    pub(crate) const fn form(&self) -> Form {
        if self.csv { Form::Csv } else { Form::Text }
    }
}

#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct VerifyArgs {
    /// The files; for a set of several files, the first one.
    #[arg(value_name = "FILE", required = true)]
    pub(super) files: Vec<PathBuf>,
    /// The file that is processed now.
    #[arg(skip)]
    pub(crate) file: PathBuf,
    /// Print JSON, one line for each file. For a file that cannot be checked, sound is null, and
    /// error says why.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print at most N findings; all findings are counted.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(crate) limit: u64,
    /// Compare the elements with this decomposition map, and say by which rule the set was written
    /// (blob sets only).
    #[arg(long, value_name = "MAP")]
    pub(crate) map: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) direct: Direct,
}
