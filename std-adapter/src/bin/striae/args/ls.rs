//! The arguments of `ls`.

use super::{Flags, Rows, Set, Sets, VerbArgs};
use crate::sheet::Form;
use clap::Args as ClapArgs;
use std::path::Path;
use striae::Format::{Gsd, Sion};

#[derive(Debug, Clone, ClapArgs)]
#[command(
    about = "List what is in a file: tasks, chunks of frames, samples, variables or decompositions"
)]
#[command(after_help = "Examples:\n  striae ls run.sion\n  \
                        striae ls --json --keys run.sion | jq '.tasks[].bytes'\n  \
                        striae ls --addresses run.gsd | grep position\n  \
                        striae ls --summary run.gsd\n  \
                        striae ls --csv run.gsd > chunks.csv\n  \
                        striae ls --frames 100..110 run.gsd")]
pub(crate) struct LsArgs {
    #[command(flatten)]
    files: Sets,
    /// The file that is processed now.
    #[arg(skip)]
    pub(crate) file: Set,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print values separated by commas, as spreadsheets take them; of several files, each row
    /// begins with its path.
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

impl VerbArgs for LsArgs {
    fn flags(&self) -> Flags {
        &[("alone", &[Sion]), ("keys", &[Sion]), ("frames", &[Gsd]), ("summary", &[Gsd])]
    }

    fn path(&self) -> &Path {
        &self.file.path
    }

    fn is_for_programs(&self) -> bool {
        self.json || self.csv
    }

    fn each(mut self) -> Vec<Self> {
        let files = self.files.take();
        files.into_iter().map(|file| Self { file, ..self.clone() }).collect()
    }
}

impl LsArgs {
    /// How the list is printed, if not as JSON.
    pub(crate) fn form(&self) -> Form<'_> {
        let file = Some(&*self.file.path).filter(|_| self.files.are_several);
        if self.csv { Form::Csv(file) } else { Form::Text }
    }
}
