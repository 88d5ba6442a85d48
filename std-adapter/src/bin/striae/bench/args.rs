//! The arguments of `bench`.

use super::mode::Mode;
use crate::size::size;
use clap::{Args, Subcommand};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::str::FromStr;

#[derive(Debug, Subcommand)]
pub(crate) enum BenchVerb {
    /// Read spans of a file in each way that there is, and print how fast that is and what it
    /// costs.
    #[command(after_help = "Examples:\n  striae bench read big.gsd\n  \
                            striae bench read --size 16KiB..256KiB --count 8192 big.gsd\n  \
                            striae bench read --sequential --size 1MiB --rung pread --rung ring big.sion\n\n\
                            All ways read the same spans in a turn, in an order of their own, each with \
                            the file dropped from the page cache before (posix_fadvise, DONTNEED), as \
                            far as the file system does that. CPU seconds are those of the process: \
                            what the kernel does in interrupts is nobody's.\n\n\
                            Sequential spans are read ahead by striae, and by the kernel through the \
                            page cache; random ones a batch at a time, unless \
                            --stream is given. pread4 is four threads that take \
                            one batch after another.")]
    Read(ReadArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ReadArgs {
    /// The file, of any format.
    pub(crate) file: PathBuf,
    /// Bytes of a span, or the least and the most: 64KiB, 16KiB..256KiB.
    #[arg(long, value_name = "SIZE", default_value = "64KiB")]
    pub(crate) size: Sizes,
    /// Spans that each way reads in a turn.
    #[arg(long, value_name = "N", default_value = "2048")]
    pub(crate) count: NonZeroUsize,
    /// Read one span behind the other, from the file's start, in place of random ones.
    #[arg(long)]
    pub(crate) sequential: bool,
    /// Let random spans begin at multiples of so many bytes; anywhere unless told.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) align: Option<u64>,
    /// Read random spans ahead, too, in place of one batch after another.
    #[arg(long)]
    pub(crate) stream: bool,
    /// Spans that are asked for at once.
    #[arg(long, value_name = "N", default_value = "64")]
    pub(crate) batch: NonZeroUsize,
    /// Reads of io_uring, or of AIO, that are under way at once.
    #[arg(long, value_name = "N", default_value = "32")]
    pub(crate) depth: NonZeroU32,
    /// Where random spans and the order of the ways come from; each turn has another.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// How often each way is gone.
    #[arg(long, value_name = "N", default_value = "5")]
    pub(crate) turns: NonZeroU32,
    /// Compute the CRC-32C of what was read, and compare it with that of the other ways.
    #[arg(long)]
    pub(crate) crc: bool,
    /// Only this way; may be given several times.
    #[arg(long, value_name = "NAME")]
    pub(crate) rung: Vec<Mode>,
    /// Leave in the page cache what is there.
    #[arg(long)]
    pub(crate) warm: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Lengths of spans in bytes, from the least to the most.
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
