//! The arguments of the program.

mod cat;
mod frames;
mod log;
mod map;
mod pack;
mod recover;
mod several;

pub(crate) use cat::{CatArgs, Indices, RegionArgs};
pub(crate) use frames::{Rows, Steps};
pub(crate) use log::LogArgs;
pub(crate) use map::MapArgs;
pub(crate) use pack::{PackBlob, PackContainer, PackFormat, PackGrouping};
pub(crate) use recover::RecoverArgs;
pub(crate) use several::{InfoArgs, LsArgs, VerifyArgs};

use crate::bench::BenchVerb;
use crate::flags::Word;
use crate::quick::Common;
use crate::size::{short_size, size, some_size};
use clap::{Args as ClapArgs, Parser, Subcommand};
use std::path::{Path, PathBuf};
use striae::Output;
use striae::address::{Address, Pattern};
use striae::direct::OpenOptions;

/// Make, inspect, extract, convert, check and recover SIONlib, GSD, ffrecord,
/// netCDF and E3SM-IO blob files.
#[derive(Debug, Parser)]
#[command(
    name = "striae",
    version,
    max_term_width = 100,
    after_help = "\
Exit status: 0: done and sound; 1: the file is damaged, or the answer is no or a guess; 2: usage \
or I/O error. With several files, it is the worst of all.\n\n\
The format of a file is recognized by its first bytes; that of an ffrecord file by its name, \
NAME.ffr, or by its tables. For a SIONlib set, give its first physical file: the names of the \
other files follow from it.\n\n\
New files are first written into a hidden folder, .striae-*, in the folder of the output. SIGINT, \
SIGTERM and SIGHUP remove the hidden folder. If a kill or a power cut leaves it there, it is \
reported by the next run with output there."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) verb: Verb,
    #[command(flatten)]
    pub(crate) common: Common,
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
    /// has, and what the format adds; a header that claims more is refused.
    #[arg(long, value_name = "BYTES", value_parser = size)]
    max_size: Option<u64>,
}

impl MaxSize {
    /// Options of an output with this limit.
    pub(crate) fn output(self) -> Output {
        Output::new().max_size(self.max_size)
    }
}

/// A verb that works on an existing file.
#[derive(Debug, Subcommand)]
pub(crate) enum FileVerb {
    /// Describe a file in words.
    #[command(after_help = "Example:\n  striae info run.sion *.gsd")]
    Info(InfoArgs),
    /// List the tasks and their chunks, the chunks of all frames, or the samples.
    #[command(after_help = "Examples:\n  striae ls run.sion\n  \
                            striae ls --json --keys run.sion | jq '.tasks[].bytes'\n  \
                            striae ls --addresses run.gsd | grep position\n  \
                            striae ls --summary run.gsd\n  \
                            striae ls --csv run.gsd > chunks.csv\n  \
                            striae ls --frames 100..110 run.gsd")]
    Ls(LsArgs),
    /// Print all metadata fields of a physical file: offset, bytes, name and value.
    #[command(after_help = "Example:\n  striae dump run.sion.000001")]
    Dump(DumpArgs),
    /// Write streams, chunks or samples, or a part of one, to standard output.
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
    Cat(CatArgs),
    /// Write each task or sample to a file, or the chunks of each name to an array.
    #[command(after_help = "Examples:\n  striae extract run.sion tasks/\n  \
striae extract run.gsd arrays/\n  \
striae extract run.sion tasks/ 'task/[0-9]' rank/42\n  \
striae extract run.gsd arrays/ 'frame/*/particles/*'\n  \
striae extract --frames 0..100 run.gsd arrays/ 'frame/*/log/*'\n\n\
SIONlib: the files are task_00000 and so on; with key-value records, task_00000.key_1 and so \
on.\n\n\
GSD: the files are arrays in NumPy's format. The chunks particles/position become \
particles.position.npy, an array of frames, rows and columns (no columns if there is only one). If \
some frames lack the chunk, particles.position@frames.npy has the numbers of the frames that have \
it. If the type or the shape of the chunk differs between frames, each frame gets an array of its \
own, such as particles.position@00012.npy for frame 12. In names of files, / becomes a dot; a dot \
becomes %2E, and other characters that a file name should not have are encoded likewise.\n\n\
ffrecord: the files are sample_00000 and so on.\n\n\
netCDF and blob sets: the files are arrays in NumPy's format, VARIABLE.npy; of a blob set they have \
the shapes of the canonical file.\n\n\
If the run fails, or if SIGINT, SIGTERM or SIGHUP ends it, no files are left.")]
    Extract(ExtractArgs),
    /// Rewrite a file: packed, with or without checksums, in a new layout, or in part.
    #[command(after_help = "Examples:\n  striae convert run.sion compact.sion\n  \
striae convert --nfiles 4 --seal run.sion archive.sion\n  \
striae convert --checksums --align 4096 run.gsd archive.gsd\n  \
striae convert --frames 100..:10 run.gsd thin.gsd\n  \
striae convert set.nc whole.nc\n\n\
Without options, readers see the same contents as before. A SIONlib set becomes one file with one \
chunk for each task. A GSD file keeps its layer and its alignment; old index blocks are left out. \
Data with checksums is checked, and gets new checksums. The new file or set appears when all of it \
is written.\n\n\
If you select frames of a trajectory (schema hoomd), the new file also stores the values that they \
took from frame 0, so that they read as before.\n\n\
A blob set becomes its canonical netCDF file. Values of sealed subfiles are compared with the seal; \
what a missing or damaged subfile had is filled and named, and the exit status is 1. Of netCDF \
files, only maps are converted, to texts of PIO and back.\n\n\
With --force, OUT may be the input. Files of an old set that the new set does not replace stay \
where they are.")]
    Convert(ConvertArgs),
    /// Save what is left of an unclosed, cut or damaged file in a new file.
    #[command(after_help = recover::HELP)]
    Recover(RecoverArgs),
    /// Draw what is where in a file: header, tables, data of each task, holes.
    #[command(after_help = "Examples:\n  striae map run.sion\n  \
striae map --svg run.svg --width 120 run.sion\n\n\
A letter stands for a number of bytes. It shows what most of these bytes are; a table is shown \
however short it is. For a SIONlib set, and for a blob set in CDF-5, all files are drawn. The time depends on the size of the \
picture, and for a SIONlib file on the number of tasks, not on the size of the file: numbers with a \
~ are estimates.")]
    Map(MapArgs),
    /// Print or plot logged quantities over the frames of a trajectory (GSD, schema hoomd).
    #[command(after_help = log::HELP)]
    Log(LogArgs),
    /// Check everything that can be checked, and list the findings.
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
    Verify(VerifyArgs),
    /// Append bytes to a task of a SIONlib set, or append a record of a key.
    #[command(after_help = "Examples:\n  striae append run.sion task/3 more.dat\n  \
striae append run.sion task/0/key/7 value.dat\n  \
make-data | striae append run.sion rank/42 -\n\n\
The set must be closed; append closes it again. A sealed set stays sealed. All data that was in \
the set stays readable, whatever goes wrong, also after a kill or a power cut. The value of a key \
is held in memory.")]
    Append(AppendArgs),
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    #[command(flatten)]
    File(FileVerb),
    /// Make a SIONlib set, an ffrecord file or a decomposition map from files: one task, sample or
    /// decomposition from each; or a blob set from a netCDF file.
    #[command(after_help = "Examples:\n  striae pack run.sion rank0.dat rank1.dat\n  \
striae extract old.sion tasks/ && striae pack --seal new.sion tasks/\n  \
striae pack train.ffr images/*.jpg\n  \
striae pack --format map case.nc piodecomp*.dat\n  \
striae pack --format blob --map case.nc --subfiles 4 --like old.nc.0000 new.nc whole.nc\n  \
striae pack --format blob --append new.nc more.nc\n\n\
Files become tasks or samples in the given order; a shell sorts rank10 before rank2. Of a folder, \
pack takes the files task_00000 and so on, or task_00000.key_1 and so on for key-value records, or \
sample_00000 and so on for samples, in the order of their numbers.\n\n\
A blob set is made of one netCDF file, OUT.0000, OUT.0001 and so on. A variable without a \
decomposition in --decomposition or --like gets the one with its dimensions.\n\n\
With --append, nothing that the set has is moved or changed: it has the new records when all of \
them are on the disk. Variables without records stay as they are.\n\n\
Global ranks count from 0. The new file or set appears when it is complete.")]
    Pack(PackArgs),
    /// Measure the performance of this machine.
    Bench {
        /// What to measure.
        #[command(subcommand)]
        verb: BenchVerb,
    },
    /// Print a completion script for a shell.
    #[command(after_help = "Example:\n  striae completions bash > \
                            ~/.local/share/bash-completion/completions/striae")]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page of the program or of one of its verbs.
    #[command(after_help = "Examples:\n  striae man | man -l -\n  striae man cat > striae-cat.1")]
    Man {
        /// The verb; write two words with a hyphen: bench-read.
        verb: Option<String>,
    },
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

impl FileVerb {
    /// Splits a verb with several files (info, ls, verify) into one verb for each file.
    pub(crate) fn each(self) -> Vec<Self> {
        match self {
            Self::Info(args) => {
                let of = |file| Self::Info(InfoArgs { file, ..args.clone() });
                args.files.each().map(of).collect()
            }
            Self::Ls(args) => {
                let of = |file| Self::Ls(LsArgs { file, ..args.clone() });
                args.files.each().map(of).collect()
            }
            Self::Verify(args) => {
                let of = |file: &PathBuf| VerifyArgs { file: file.clone(), ..args.clone() };
                args.files.iter().map(of).map(Self::Verify).collect()
            }
            one => vec![one],
        }
    }

    /// Whether the verb prints what programs read, without headings.
    pub(crate) const fn is_for_programs(&self) -> bool {
        match self {
            Self::Info(args) => args.json,
            Self::Ls(args) => args.json || args.csv,
            Self::Dump(args) => args.json,
            Self::Recover(args) => args.json,
            Self::Verify(args) => args.json,
            Self::Map(args) => args.json,
            Self::Log(args) => args.json,
            Self::Cat(_) | Self::Extract(_) | Self::Convert(_) | Self::Append(_) => false,
        }
    }

    /// The word of this verb.
    pub(crate) const fn word(&self) -> Word {
        match self {
            Self::Info(_) => Word::Info,
            Self::Ls(_) => Word::Ls,
            Self::Dump(_) => Word::Dump,
            Self::Cat(_) => Word::Cat,
            Self::Extract(_) => Word::Extract,
            Self::Convert(_) => Word::Convert,
            Self::Recover(_) => Word::Recover,
            Self::Verify(_) => Word::Verify,
            Self::Map(_) => Word::Map,
            Self::Log(_) => Word::Log,
            Self::Append(_) => Word::Append,
        }
    }

    /// The path of the input file.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Info(args) => &args.file.path,
            Self::Ls(args) => &args.file.path,
            Self::Dump(args) => &args.file,
            Self::Cat(args) => &args.file.path,
            Self::Extract(args) => &args.file.path,
            Self::Convert(args) => &args.file.path,
            Self::Recover(args) => &args.path,
            Self::Verify(args) => &args.file,
            Self::Map(args) => &args.file.path,
            Self::Log(args) => &args.file,
            Self::Append(args) => &args.file,
        }
    }
}

#[derive(Debug, ClapArgs)]
pub(crate) struct DumpArgs {
    /// The physical file.
    pub(crate) file: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the header and all values as text that ncgen takes back (netCDF only).
    #[arg(long, conflicts_with = "json")]
    pub(crate) cdl: bool,
    #[command(flatten)]
    pub(crate) max_size: MaxSize,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ExtractArgs {
    #[command(flatten)]
    pub(crate) file: Set,
    /// The output folder; it is created if it does not exist.
    pub(crate) dir: PathBuf,
    /// Extract only these addresses: task/3, task/3/key/7, frame/9/NAME. Patterns need quotes:
    /// 'task/[0-9]*', 'frame/*/particles/*', 'frame/-1/*'. Default: everything.
    #[arg(value_name = "ADDRESS")]
    pub(crate) addresses: Vec<Pattern>,
    /// Replace existing files.
    #[arg(long)]
    pub(crate) force: bool,
    /// Copy with N threads; default: one for each processor (SIONlib, and convert of blob sets).
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<std::num::NonZeroUsize>,
    /// Extract only frames A to B-1; A or B may be left out, -1 is the last frame (GSD only).
    #[arg(long, value_name = "A..B", allow_hyphen_values = true)]
    pub(crate) frames: Option<Rows>,
    /// Also extract what a frame has by frame 0 or by default, as readers of trajectories find it,
    /// so that the arrays have all frames (GSD files of the schema hoomd only).
    #[arg(long)]
    pub(crate) hoomd: bool,
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

impl ExtractArgs {
    pub(crate) fn output(&self) -> Output {
        let output = self.max_size.output().force(self.force).direct(self.direct.options());
        self.threads.map_or(output, |threads| output.threads(threads))
    }
}

/// The layout of a new file or set, and how it is written.
#[derive(Debug, ClapArgs)]
pub(crate) struct Layout {
    /// Spread the tasks over N files (SIONlib only).
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) nfiles: std::num::NonZeroU32,
    /// Round chunk sizes up to multiples of BYTES (SIONlib only). Default: for pack, the block size
    /// of the file system; for convert, the value of the old set.
    #[arg(long, value_name = "BYTES", value_parser = short_size)]
    pub(crate) fsblksize: Option<u32>,
    /// Byte order of the metadata and of the headers of key-value records (SIONlib only). The verb
    /// pack also states it for the data; convert keeps the stated order of the data. Default: for
    /// pack, the order of this machine; for convert, the order of the old set.
    #[arg(long)]
    pub(crate) order: Option<Order>,
    /// Replace existing files.
    #[arg(long)]
    pub(crate) force: bool,
    /// Copy with N threads; default: one for each processor (SIONlib, and convert of blob sets).
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<std::num::NonZeroUsize>,
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
        let output = self.max_size.output().force(self.force).direct(self.direct());
        self.threads.map_or(output, |threads| output.threads(threads))
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

#[derive(Debug, ClapArgs)]
pub(crate) struct PackArgs {
    /// The format of the new file. Default: ffrecord if the name of the new file ends in .ffr, else
    /// sion.
    #[arg(long, value_enum)]
    format: Option<PackFormat>,
    /// The first file of the new set, or the new file.
    pub(crate) out: PathBuf,
    /// The input files in order, or a folder that extract made.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) sources: Vec<PathBuf>,
    /// Size of every chunk; default: the length of each task (SIONlib only).
    #[arg(long, value_name = "BYTES", value_parser = some_size)]
    pub(crate) chunksize: Option<u64>,
    /// Add checksums of everything.
    #[arg(long)]
    pub(crate) seal: bool,
    /// Identity of a sealed set instead of a random one, for equal bytes (SIONlib only).
    #[arg(long, value_name = "N", requires = "seal")]
    pub(crate) identity: Option<u32>,
    #[command(flatten)]
    pub(crate) blob: PackBlob,
    #[command(flatten)]
    pub(crate) layout: Layout,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ConvertArgs {
    #[command(flatten)]
    pub(crate) file: Set,
    /// The new file; for a set, its first file.
    pub(crate) out: PathBuf,
    /// Add checksums of everything (SIONlib and GSD only).
    #[arg(long, visible_alias = "checksums")]
    pub(crate) seal: bool,
    /// Write no checksums, and do not check the existing ones.
    #[arg(long, conflicts_with = "seal", visible_alias = "no-checksums")]
    pub(crate) no_seal: bool,
    /// The value of elements of decomposed variables that no subfile has; default: _FillValue, or
    /// that of the type (blob sets only).
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    pub(crate) fill: Option<Box<str>>,
    #[command(flatten)]
    pub(crate) gsd: ConvertGsd,
    #[command(flatten)]
    pub(crate) layout: Layout,
}

/// Options for a new GSD file.
#[derive(Debug, ClapArgs)]
pub(crate) struct ConvertGsd {
    /// Keep only frames A to B-1, or every STEP-th of them; A or B may be left out, -1 is the last
    /// frame (GSD only).
    #[arg(long, value_name = "A..B[:STEP]", allow_hyphen_values = true)]
    pub(crate) frames: Option<Steps>,
    /// Start chunks at multiples of BYTES, a power of two; default: as in the old file (GSD only).
    #[arg(long, value_name = "BYTES", value_parser = size)]
    pub(crate) align: Option<u64>,
    /// Upgrade a file of layer 1 to layer 2.1 (GSD only).
    #[arg(long)]
    pub(crate) upgrade: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct AppendArgs {
    /// The first file of the set.
    #[arg(value_name = "SET")]
    pub(crate) file: PathBuf,
    /// Where to append: task/3, rank/42, or task/3/key/7 for a record of a key.
    pub(crate) address: Address,
    /// The file with the bytes to append; - is standard input.
    #[arg(value_name = "FILE")]
    pub(crate) source: PathBuf,
}
