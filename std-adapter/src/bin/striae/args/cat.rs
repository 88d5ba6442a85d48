//! The arguments of `cat`.

use super::{Direct, Flags, MaxSize, Rows, Set, Values, VerbArgs};
use crate::size::size;
use clap::Args as ClapArgs;
use std::path::Path;
use std::str::FromStr;
use striae::Format::{Blob, Cdf, Ffrecord, Gsd, Sion};
use striae::address::Pattern;

#[derive(Debug, ClapArgs)]
#[command(
    about = "Write streams, chunks, samples or variables, or a part of one, to standard output"
)]
#[command(override_usage = "striae cat [OPTIONS] <FILE> <ADDRESS>")]
#[command(after_help = "Examples:\n  striae cat run.sion task/3 > task3\n  \
striae cat run.sion rank/42/chunk/0\n  \
striae cat run.sion task/0/key/7 --offset 100 --length 16\n  \
striae cat run.sion 'task/*' > all\n  \
striae cat run.gsd frame/0/particles/position > position.f32\n  \
striae cat run.gsd frame/-1/particles/position --rows 0..10 --text\n  \
striae cat train.ffr sample/7 > sample7\n\n\
Numbers count from 0, and negative numbers count from the end: frame/-1 is the last frame. rank/42 \
is the task with global rank 42. In the name of a chunk, write ASCII letters, ASCII digits and \
/._-+,:@= as they are, and every other byte, also % and space, as % and two hexadecimal digits.\n\n\
An address can be a pattern: * stands for any number or for any characters of a name, ? for one \
character, [0-9] for one character of a set. All matches are written, in the order of ls. 'task/*' \
stands for whole tasks, 'task/*/*' for their keys, or in a set without keys for their chunks.\n\n\
The output has the bytes of the file. In GSD files, they are little-endian, row by row.")]
pub(crate) struct CatArgs {
    #[command(flatten)]
    pub(crate) file: Set,
    /// What to write: task/3, task/3/chunk/1, task/3/key/7, rank/42, frame/9/NAME, sample/7 or
    /// variable/NAME. To list the addresses, use ls --addresses. 'task/*' writes all tasks, one
    /// after another. Of a trajectory of HOOMD-blue, frame/9/NAME is what readers see: the chunk of
    /// the frame, or that of frame 0, or the default; patterns select only chunks that are there.
    #[arg(value_name = "ADDRESS")]
    pub(crate) address: Pattern,
    /// Skip this number of bytes at the start, of each that a pattern selects (SIONlib and ffrecord
    /// only).
    #[arg(long, value_name = "BYTES", default_value = "0", value_parser = size)]
    pub(crate) offset: u64,
    /// Write at most this number of bytes, of each that a pattern selects; default: all (SIONlib
    /// and ffrecord only).
    #[arg(long, value_name = "BYTES", value_parser = size)]
    pub(crate) length: Option<u64>,
    /// Write only rows A to B-1; A or B may be left out, -1 is the last row (GSD only).
    #[arg(long, value_name = "A..B", conflicts_with_all = ["offset", "length"])]
    #[arg(allow_hyphen_values = true)]
    pub(crate) rows: Option<Rows>,
    /// Print numbers, one line for each row, or characters as text, with control characters escaped
    /// (GSD and netCDF only).
    #[arg(long, conflicts_with_all = ["offset", "length"])]
    pub(crate) text: bool,
    #[command(flatten)]
    pub(crate) region: RegionArgs,
    #[command(flatten)]
    pub(crate) values: Values,
    #[command(flatten)]
    pub(crate) max_size: MaxSize,
    #[command(flatten)]
    pub(crate) direct: Direct,
}

impl VerbArgs for CatArgs {
    fn flags(&self) -> Flags {
        &[
            ("alone", &[Sion]),
            ("rows", &[Gsd]),
            ("text", &[Gsd, Cdf, Blob]),
            ("start", &[Cdf, Blob]),
            ("count", &[Cdf, Blob]),
            ("stride", &[Cdf, Blob]),
            ("no_seal", &[Blob]),
            ("fill", &[Blob]),
            ("offset", &[Sion, Ffrecord]),
            ("length", &[Sion, Ffrecord]),
        ]
    }

    fn path(&self) -> &Path {
        &self.file.path
    }
}

/// A region of a variable.
#[derive(Debug, ClapArgs)]
pub(crate) struct RegionArgs {
    /// The first index in each dimension; records are the first dimension. Default: 0 (netCDF
    /// only).
    #[arg(long, value_name = "A,B,...")]
    #[arg(conflicts_with_all = ["offset", "length"])]
    pub(crate) start: Option<Indices>,
    /// The number of indices in each dimension. Default: all from the first one on (netCDF only).
    #[arg(long, value_name = "A,B,...")]
    #[arg(conflicts_with_all = ["offset", "length"])]
    pub(crate) count: Option<Indices>,
    /// The distance of indices in each dimension. Default: 1 (netCDF only).
    #[arg(long, value_name = "A,B,...")]
    #[arg(conflicts_with_all = ["offset", "length"])]
    pub(crate) stride: Option<Indices>,
}

/// A number for each dimension: `A,B,...`.
#[derive(Debug, Clone)]
pub(crate) struct Indices(pub(crate) Box<[u64]>);

impl FromStr for Indices {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number =
            |text: &str| text.parse().map_err(|_| format!("{text} is no number from 0 on"));
        match text {
            "" => Ok(Self(Box::default())), // those of a scalar
            text => Ok(Self(text.split(',').map(number).collect::<Result<_, _>>()?)),
        }
    }
}
