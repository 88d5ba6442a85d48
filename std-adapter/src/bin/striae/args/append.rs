//! The arguments of `append`.

use super::VerbArgs;
use clap::Args as ClapArgs;
use std::path::{Path, PathBuf};
use striae::address::{Address, Part};

#[derive(Debug, ClapArgs)]
#[command(about = "Append bytes to a task of a SIONlib set, or append a record of a key")]
#[command(after_help = "Examples:\n  striae append run.sion task/3 more.dat\n  \
striae append run.sion task/0/key/7 value.dat\n  \
make-data | striae append run.sion rank/42 -\n\n\
The set must be closed; append closes it again. A sealed set stays sealed. All data that was in \
the set stays readable, whatever goes wrong, also after a kill or a power cut. The value of a key \
is held in memory.")]
pub(crate) struct AppendArgs {
    /// The first file of the set.
    #[arg(value_name = "SET")]
    pub(crate) file: PathBuf,
    /// Where to append: task/3, rank/42, or task/3/key/7 for a record of a key.
    #[arg(value_parser = of_task)]
    pub(crate) address: Address,
    /// The file with the bytes to append; - is standard input.
    #[arg(value_name = "FILE")]
    pub(crate) source: PathBuf,
}

/// Parses an address, which is not that of a chunk.
fn of_task(text: &str) -> Result<Address, &'static str> {
    match text.parse() {
        Err(_) | Ok(Address::Task(_, Part::Chunk(_)) | Address::Rank(_, Part::Chunk(_))) => {
            Err("must be task/N, rank/R, task/N/key/K or rank/R/key/K")
        }
        Ok(address) => Ok(address),
    }
}

impl VerbArgs for AppendArgs {
    fn path(&self) -> &Path {
        &self.file
    }
}
