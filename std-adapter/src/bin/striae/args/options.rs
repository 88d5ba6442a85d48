//! Options that several verbs have.

use crate::size::{short_size, size};
use clap::Args as ClapArgs;
use clap::builder::{PathBufValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use striae::direct::OpenOptions;
use striae::{Format, Output};

/// The help of a value of `--format`; none if the format is no value.
type Help = Option<&'static str>;

/// Each format as a value of `--format`: of pack, and of recover.
const FORMATS: [(Format, [Help; 2]); Format::ALL.len()] = [
    (Format::Gsd, [None, Some("A GSD file that striae wrote or continued")]),
    (Format::Sion, [Some("A SIONlib set, one task a file"), None]),
    (Format::Ffrecord, [Some("An ffrecord file, one sample a file"), None]),
    (Format::Cdf, [None, None]),
    (Format::Map, [Some("A netCDF map of E3SM-IO, one decomposition a map file"), None]),
    (
        Format::Blob,
        [Some("A blob set of E3SM-IO, of one netCDF file and a decomposition map"), None],
    ),
];

/// Parses the value of `--format` of the verb whose help this is.
pub(super) fn formats(of: fn([Help; 2]) -> Help) -> impl TypedValueParser<Value = Format> {
    let value = |(format, help)| Some(PossibleValue::new(Format::name(format)).help(of(help)?));
    let values: Vec<_> = FORMATS.into_iter().filter_map(value).collect();
    let named = |name| Format::ALL.into_iter().find(|format| format.name() == name);
    PossibleValuesParser::new(values).try_map(move |name| named(name).ok_or("is no format"))
}

/// Parses the name of a file that is not standard input or output: it is read or written at
/// offsets.
pub(super) fn a_file() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| match path == Path::new("-") {
        true => Err("files are read and written at offsets: give a name, which is ./- if it is -"),
        false => Ok(path),
    })
}

/// An input file: a set, or one file of a set.
#[derive(Debug, Clone, Default, ClapArgs)]
pub(crate) struct Set {
    /// The file; for a set of several files, the first one.
    #[arg(id = "FILE")]
    pub(crate) path: PathBuf,
    /// Open only this file, even if it is the first of several (SIONlib only).
    #[arg(long)]
    pub(crate) alone: bool,
}

/// Several input files: sets, or one file of each set.
#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct Sets {
    /// The files; for a set of several files, the first one.
    #[arg(id = "FILE", required = true)]
    paths: Vec<PathBuf>,
    /// Open only this file, even if it is the first of several (SIONlib only).
    #[arg(long)]
    alone: bool,
    #[arg(skip)]
    pub(super) are_several: bool,
}

impl Sets {
    /// Takes each of the files: what is left is copied for each of them.
    pub(super) fn take(&mut self) -> Vec<Set> {
        let (paths, alone) = (std::mem::take(&mut self.paths), self.alone);
        self.are_several = paths.len() > 1;
        paths.into_iter().map(|path| Set { path, alone }).collect()
    }
}

/// Whether data bypasses the page cache.
#[derive(Debug, Clone, Copy, Default, ClapArgs)]
pub(crate) struct Direct {
    /// Read data past the page cache where the system allows it, so that the cache keeps its
    /// contents. The verb extract also writes past it, except for arrays.
    #[arg(long)]
    direct: bool,
}

impl Direct {
    /// Options for direct reading, if it was requested.
    pub(crate) fn options(self) -> Option<OpenOptions> {
        self.direct.then(|| OpenOptions::new().dontcache(true))
    }
}

/// How large an output may be.
#[derive(Debug, Clone, Copy, Default, ClapArgs)]
pub(crate) struct MaxSize {
    /// Write up to BYTES, however small the input is. Default: 16 times the bytes that the input
    /// has, what the format adds, and 1 MiB; a header that claims more is refused.
    #[arg(long, value_name = "BYTES", value_parser = size)]
    max_size: Option<u64>,
}

impl MaxSize {
    /// Options of an output with this limit.
    pub(crate) fn output(self) -> Output {
        Output::new().max_size(self.max_size)
    }
}

/// How files are copied.
#[derive(Debug, Clone, Copy, ClapArgs)]
pub(crate) struct Copying {
    /// Replace existing files.
    #[arg(long)]
    force: bool,
    /// Copy with N threads; default: one for each processor (SIONlib, and convert of blob sets).
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
}

impl Copying {
    /// Options of an output that is copied so.
    pub(crate) fn output(self, max_size: MaxSize, direct: Option<OpenOptions>) -> Output {
        let output = max_size.output().force(self.force).direct(direct);
        self.threads.map_or(output, |threads| output.threads(threads))
    }
}

/// The value of what a blob set lacks.
#[derive(Debug, ClapArgs)]
pub(crate) struct Fill {
    /// The value of elements of decomposed variables that no subfile has; default: _FillValue, or
    /// that of the type (blob sets only).
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    fill: Option<Box<str>>,
}

impl Fill {
    /// The value as it was given.
    pub(crate) fn text(&self) -> Option<&str> {
        self.fill.as_deref()
    }
}

/// How the values of a blob set are read.
#[derive(Debug, ClapArgs)]
pub(crate) struct Values {
    /// Do not compare what is read with the seal (blob sets only).
    #[arg(long, visible_alias = "no-checksums")]
    pub(crate) no_seal: bool,
    #[command(flatten)]
    pub(crate) fill: Fill,
}

/// The layout of a new file or set, and how it is written.
#[derive(Debug, ClapArgs)]
pub(crate) struct Layout {
    /// Spread the tasks over N files (SIONlib only).
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) nfiles: NonZeroU32,
    /// Round chunk sizes up to multiples of BYTES (SIONlib only). Default: for pack, the block size
    /// of the file system; for convert, the value of the old set.
    #[arg(long, value_name = "BYTES", value_parser = short_size)]
    pub(crate) fsblksize: Option<u32>,
    /// Byte order of the metadata and of the headers of key-value records (SIONlib only). The verb
    /// pack also states it for the data; convert keeps the stated order of the data. Default: for
    /// pack, the order of this machine; for convert, the order of the old set.
    #[arg(long)]
    pub(crate) order: Option<Order>,
    #[command(flatten)]
    pub(crate) copying: Copying,
    /// Read and write past the page cache where the system allows it. A blob set is read past it,
    /// and the file that it is converted to is written through it.
    #[arg(long)]
    pub(crate) direct: bool,
    #[command(flatten)]
    pub(crate) max_size: MaxSize,
}

impl Layout {
    /// Options for direct reading and writing, if they were requested.
    pub(crate) fn direct(&self) -> Option<OpenOptions> {
        self.direct.then(OpenOptions::new)
    }

    pub(crate) fn output(&self) -> Output {
        self.copying.output(self.max_size, self.direct())
    }
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum Order {
    Little,
    Big,
}

impl From<Order> for striae_core::endian::ByteOrder {
    fn from(order: Order) -> Self {
        match order {
            Order::Little => Self::Little,
            Order::Big => Self::Big,
        }
    }
}
