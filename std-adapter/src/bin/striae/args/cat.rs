//! The arguments of `cat`.

use super::{Direct, MaxSize, Rows, Set};
use crate::size::size;
use clap::Args as ClapArgs;
use std::str::FromStr;
use striae::address::Pattern;

#[derive(Debug, ClapArgs)]
pub(crate) struct CatArgs {
    #[command(flatten)]
    pub(crate) file: Set,
    /// What to write: task/3, task/3/chunk/1, task/3/key/7, rank/42, frame/9/NAME, sample/7 or
    /// variable/NAME. To list the addresses, use ls --addresses. 'task/*' writes all tasks, one
    /// after another. Of a trajectory of HOOMD-blue, frame/9/NAME is what readers see: the chunk of
    /// the frame, or that of frame 0, or the default; patterns select only chunks that are there.
    #[arg(value_name = "ADDRESS")]
    pub(crate) address: Pattern,
    /// Skip this number of bytes at the start (SIONlib and ffrecord only).
    #[arg(long, value_name = "BYTES", default_value = "0", value_parser = size)]
    pub(crate) offset: u64,
    /// Write at most this number of bytes; default: all (SIONlib and ffrecord only).
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
    /// Do not compare what is read with the seal (blob sets only).
    #[arg(long, visible_alias = "no-checksums")]
    pub(crate) no_seal: bool,
    /// The value of elements of decomposed variables that no subfile has; default: _FillValue, or
    /// that of the type (blob sets only).
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    pub(crate) fill: Option<Box<str>>,
    #[command(flatten)]
    pub(crate) max_size: MaxSize,
    #[command(flatten)]
    pub(crate) direct: Direct,
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
