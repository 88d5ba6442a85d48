//! The arguments of `verify`.

use super::{Direct, Flags, VerbArgs};
use clap::Args as ClapArgs;
use std::path::{Path, PathBuf};
use striae::Format::Blob;

#[derive(Debug, Clone, ClapArgs)]
#[command(about = "Check everything that can be checked, and list the findings")]
#[command(after_help = "Examples:\n  striae verify run.sion && echo sound\n  \
striae verify --json *.gsd | jq -r 'select(.sound | not).path'\n\n\
Blob sets: give the name of the set, or a subfile to check it alone. Subfiles are compared with each \
other, and values with their seals.\n\n\
The last line has the verdict, and how much data was compared with checksums.\n\n\
Sound: no damage was found, and all data, if any, agrees with its checksums.\n\n\
Structure sound: no damage was found in headers and tables, but some data was not checked. It has \
no checksums, or only checksums of an older state: nothing in the file tells right data from \
wrong.\n\n\
The exit status is 0 for both.")]
pub(crate) struct VerifyArgs {
    /// The files; for a set of several files, the first one.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The file that is processed now.
    #[arg(skip)]
    pub(crate) file: PathBuf,
    /// Print JSON, one line for each file. For a file that cannot be checked, sound is null, and
    /// error says why.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the findings as values separated by commas, as spreadsheets take them.
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
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

impl VerbArgs for VerifyArgs {
    fn flags(&self) -> Flags {
        &[("map", &[Blob])]
    }

    fn path(&self) -> &Path {
        &self.file
    }

    fn is_for_programs(&self) -> bool {
        self.json || self.csv
    }

    fn each(mut self) -> Vec<Self> {
        let files = std::mem::take(&mut self.files);
        files.into_iter().map(|file| Self { file, ..self.clone() }).collect()
    }
}
