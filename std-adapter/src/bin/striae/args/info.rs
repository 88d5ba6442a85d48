//! The arguments of `info`.

use super::{Flags, Outcome, Set, Sets, VerbArgs};
use crate::failure::Failure;
use crate::text::{print, print_json_of};
use clap::Args as ClapArgs;
use serde::Serialize;
use std::io::Write;
use std::path::Path;
use striae::Format::Sion;

#[derive(Debug, Clone, ClapArgs)]
#[command(about = "Describe a file in words")]
#[command(after_help = "Example:\n  striae info run.sion *.gsd")]
pub(crate) struct InfoArgs {
    #[command(flatten)]
    files: Sets,
    /// The file that is processed now.
    #[arg(skip)]
    pub(crate) file: Set,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

impl VerbArgs for InfoArgs {
    fn flags(&self) -> Flags {
        &[("alone", &[Sion])]
    }

    fn path(&self) -> &Path {
        &self.file.path
    }

    fn is_for_programs(&self) -> bool {
        self.json
    }

    fn each(mut self) -> Vec<Self> {
        let files = self.files.take();
        files.into_iter().map(|file| Self { file, ..self.clone() }).collect()
    }
}

/// Properties of a file in words, with their names.
pub(crate) type Lines = Vec<(&'static str, String)>;

impl InfoArgs {
    /// Prints what is said of the file: JSON, or a line for each property.
    pub(crate) fn print(
        &self,
        info: &impl Serialize,
        lines: impl FnOnce() -> Result<Lines, Failure>,
    ) -> Outcome {
        if self.json {
            return print_json_of(&self.file.path, info);
        }
        let lines = lines()?;
        print(|out| lines.iter().try_for_each(|(name, value)| writeln!(out, "{name:<20}{value}")))
    }
}
