//! The arguments of `striae recover`.

use clap::Args as ClapArgs;
use std::path::PathBuf;

#[derive(Debug, ClapArgs)]
pub(crate) struct RecoverArgs {
    /// The file; for a set of several files, the first one.
    #[arg(id = "FILE")]
    pub(crate) path: PathBuf,
    /// The new file; for a set, its first file.
    pub(crate) out: PathBuf,
    /// Take the file for one of this format, whatever it starts with: its first sector may be lost.
    #[arg(long, value_enum)]
    pub(crate) format: Option<RecoverFormat>,
    /// Recover only this file; if it is the first of several, it becomes a set of one file (SIONlib
    /// only).
    #[arg(long)]
    pub(crate) alone: bool,
    /// Replace existing files.
    #[arg(long)]
    pub(crate) force: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum RecoverFormat {
    /// A GSD file.
    Gsd,
    /// A SIONlib file.
    Sion,
}

impl From<RecoverFormat> for striae::Format {
    fn from(format: RecoverFormat) -> Self {
        match format {
            RecoverFormat::Gsd => Self::Gsd,
            RecoverFormat::Sion => Self::Sion,
        }
    }
}
