//! The arguments of `cat`.

use super::{Direct, Rows, Set};
use crate::failure::Failure;
use crate::size::size;
use clap::Args as ClapArgs;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use striae::address::{Address, Index, Part, Pattern};

#[derive(Debug, ClapArgs)]
pub(crate) struct CatArgs {
    #[command(flatten)]
    pub(crate) file: Set,
    #[command(flatten)]
    which: Which,
    /// With --task or --globalrank, only this chunk of the task; with --frame, the chunk's name.
    #[arg(long, value_name = "CHUNK", conflicts_with_all = ["key", "ADDRESS"])]
    chunk: Option<OsString>,
    /// With --task or --globalrank, the value of this key.
    #[arg(long, value_name = "K", conflicts_with = "ADDRESS")]
    key: Option<u64>,
    /// Leave out so many bytes at the start.
    #[arg(long, value_name = "BYTES", default_value = "0", value_parser = size)]
    pub(crate) offset: u64,
    /// Write at most so many bytes.
    #[arg(long, value_name = "BYTES", value_parser = size)]
    pub(crate) length: Option<u64>,
    /// Only these rows of a GSD chunk, from A to before B; either may be left out.
    #[arg(long, value_name = "A..B", conflicts_with_all = ["offset", "length"])]
    pub(crate) rows: Option<Rows>,
    /// Print a GSD chunk as numbers, one row a line, or as text if that is its type, with what a
    /// terminal would obey escaped.
    #[arg(long, conflicts_with_all = ["offset", "length"])]
    pub(crate) text: bool,
    #[command(flatten)]
    pub(crate) direct: Direct,
}

#[derive(Debug, ClapArgs)]
#[group(required = true, multiple = false)]
struct Which {
    /// What is written: task/3, task/3/chunk/1, task/3/key/7, rank/42, frame/9/NAME or sample/7, as
    /// ls --addresses lists them. task/*, in quotes, is all tasks, one after another.
    #[arg(id = "ADDRESS")]
    address: Option<Pattern>,
    /// Another way to write task/N.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    task: Option<Index>,
    /// Another way to write rank/G.
    #[arg(long, value_name = "G", allow_negative_numbers = true)]
    globalrank: Option<i64>,
    /// Another way to write sample/I.
    #[arg(long, value_name = "I", allow_negative_numbers = true)]
    #[arg(conflicts_with_all = ["key", "chunk"])]
    sample: Option<Index>,
    /// Another way to write frame/I/NAME, together with --chunk NAME.
    #[arg(
        long,
        value_name = "I",
        requires = "chunk",
        conflicts_with = "key",
        allow_negative_numbers = true
    )]
    frame: Option<Index>,
}

impl CatArgs {
    /// What is written, whichever way it was said.
    pub(crate) fn pattern(&self) -> Result<Pattern, Failure> {
        let Which { address, task, globalrank, sample, frame } = &self.which;
        let part = || match (&self.chunk, self.key) {
            (_, Some(key)) => Ok(Part::Key(key)),
            (Some(chunk), None) => match chunk.to_str().and_then(|chunk| chunk.parse().ok()) {
                Some(chunk) => Ok(Part::Chunk(chunk)),
                None => Err(Failure::Usage("--chunk must be a number in a SIONlib set".to_owned())),
            },
            (None, None) => Ok(Part::All),
        };
        let name = || self.chunk.as_ref().map_or(&b""[..], |name| name.as_bytes());
        Ok(match (task, globalrank, sample, frame) {
            (Some(task), ..) => Address::Task(*task, part()?).into(),
            (_, Some(rank), ..) => Address::Rank(*rank, part()?).into(),
            (_, _, Some(sample), _) => Address::Sample(*sample).into(),
            (.., Some(frame)) => Address::Chunk(*frame, name().into()).into(),
            (None, None, None, None) => match address {
                Some(pattern) => pattern.clone(),
                None => return Err(Failure::Usage("ADDRESS is missing".to_owned())),
            },
        })
    }
}
