//! Arguments of the verb `bench`.

use super::mode::Mode;
use crate::size::size;
use clap::{Args, Subcommand};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::str::FromStr;

#[derive(Debug, Subcommand)]
pub(crate) enum BenchVerb {
    /// Read spans of a file in every possible way, and print speed and costs.
    #[command(after_help = "Examples:\n  striae bench read big.gsd\n  \
striae bench read --size 16KiB..256KiB --count 8192 big.gsd\n  \
striae bench read --sequential --size 1MiB --rung pread --rung ring big.sion\n\n\
In a turn, all ways read the same spans; the order of the ways is random. Before each way, the \
file is dropped from the page cache (posix_fadvise, DONTNEED), as far as the file system does \
that. CPU seconds are those of the process. They do not include interrupts.\n\n\
Sequential spans are read ahead: by striae, or through the page cache by the kernel. Random spans \
are read one batch at a time, unless --stream is given. The way pread4 is four threads that take \
one batch after another.")]
    Read(ReadArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ReadArgs {
    /// The file; it can have any format.
    pub(crate) file: PathBuf,
    /// Length of a span in bytes, or the shortest and the longest: 64KiB, 16KiB..256KiB.
    #[arg(long, value_name = "SIZE", default_value = "64KiB")]
    pub(crate) size: Sizes,
    /// Number of spans that each way reads in a turn.
    #[arg(long, value_name = "N", default_value = "2048")]
    pub(crate) count: NonZeroUsize,
    /// Read consecutive spans from the start of the file instead of random spans.
    #[arg(long)]
    pub(crate) sequential: bool,
    /// Start random spans at multiples of SIZE bytes; default: anywhere.
    #[arg(long, value_name = "SIZE", value_parser = size, conflicts_with = "sequential")]
    pub(crate) align: Option<u64>,
    /// Read ahead also for random spans, instead of one batch after another.
    #[arg(long)]
    pub(crate) stream: bool,
    /// Number of spans that are requested at once.
    #[arg(long, value_name = "N", default_value = "64")]
    pub(crate) batch: NonZeroUsize,
    /// Number of reads that io_uring or AIO has in progress at once.
    #[arg(long, value_name = "N", default_value = "32")]
    pub(crate) depth: NonZeroU32,
    /// Seed of the random spans and of the order of the ways; both differ between turns.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Number of turns; in each turn, every way reads once.
    #[arg(long, value_name = "N", default_value = "5")]
    pub(crate) turns: NonZeroU32,
    /// Compute the CRC-32C of the data of each way, and compare the results.
    #[arg(long)]
    pub(crate) crc: bool,
    /// Measure only this way; may be given several times.
    #[arg(long, value_name = "NAME")]
    pub(crate) rung: Vec<Mode>,
    /// Do not drop the file from the page cache.
    #[arg(long)]
    pub(crate) warm: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Lengths of spans in bytes: the shortest and the longest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sizes {
    pub(crate) min: u64,
    pub(crate) max: u64,
}

impl FromStr for Sizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (min, max) = text.split_once("..").unwrap_or((text, text));
        let sizes = Self { min: size(min)?, max: size(max)? };
        match sizes {
            Self { min: 0, .. } => Err("must be at least 1".to_owned()),
            Self { min, max } if max < min => Err("must not end before it starts".to_owned()),
            sizes => Ok(sizes),
        }
    }
}

impl std::fmt::Display for Sizes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Self { min, max } if min == max => write!(f, "{min} bytes"),
            Self { min, max } => write!(f, "{min} to {max} bytes"),
        }
    }
}
