//! The arguments.

mod cat;
mod frames;
mod several;

pub(crate) use cat::CatArgs;
pub(crate) use frames::{Rows, Steps};
pub(crate) use several::{InfoArgs, LsArgs, VerifyArgs};

use crate::bench::BenchVerb;
use crate::size::{short_size, size, some_size};
use clap::{Args as ClapArgs, Parser, Subcommand};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use striae::Output;
use striae::address::{Address, Pattern};
use striae::direct::OpenOptions;
use striae::format;

/// Make files of many streams, look into them, take them apart, check and recover them: SIONlib
/// sets, GSD files, and ffrecord files.
#[derive(Debug, Parser)]
#[command(
    name = "striae",
    version,
    max_term_width = 100,
    after_help = "Exit status: 0 done and sound, 1 the file is damaged or the answer is no or a \
                  guess, 2 usage or I/O error; of several files the worst.\nThe format of a file \
                  is found from its first bytes, \
                  that of an ffrecord file from its name, NAME.ffr, or its tables. \
                  Of a SIONlib set, the file is the first physical one; the others are found from \
                  its name.\nOutput is made out of sight, in a folder .striae-* where it will be. \
                  SIGINT, SIGTERM and SIGHUP remove it; what a kill or a power cut leaves is named \
                  by the next run there."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) verb: Verb,
    /// Say on standard error how files are read directly, and what is not done as it should be.
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
}

/// Whether data go past the page cache.
#[derive(Debug, Clone, Copy, ClapArgs)]
pub(crate) struct Direct {
    /// Read data past the page cache, as far as the system lets it be done, so that what is in
    /// there stays; extract writes past it, too.
    #[arg(long)]
    direct: bool,
}

impl Direct {
    /// How they are read past it, if they are.
    pub(crate) fn options(self) -> Option<OpenOptions> {
        self.direct.then(|| OpenOptions::new().dontcache(true))
    }
}

/// What is done with a file that is there.
#[derive(Debug, Subcommand)]
pub(crate) enum FileVerb {
    /// Say in words what a file is.
    #[command(after_help = "Example:\n  striae info run.sion *.gsd")]
    Info(InfoArgs),
    /// List the tasks and their chunks, the chunks of all frames, or the samples.
    #[command(after_help = "Examples:\n  striae ls run.sion\n  \
                            striae ls --json --keys run.sion | jq '.tasks[].bytes'\n  \
                            striae ls --addresses run.gsd | grep position\n  \
                            striae ls --summary run.gsd\n  \
                            striae ls --frames 100..110 run.gsd")]
    Ls(LsArgs),
    /// Print every metadata field of a physical file with offset, bytes, name and value.
    #[command(after_help = "Example:\n  striae dump run.sion.000001")]
    Dump(DumpArgs),
    /// Write a task's stream, a frame's chunk, or a sample, or a part of these, to standard output.
    #[command(override_usage = "striae cat [OPTIONS] <FILE> <ADDRESS>")]
    #[command(after_help = "Examples:\n  striae cat run.sion task/3 > task3\n  \
                      striae cat run.sion rank/42/chunk/0\n  \
                      striae cat run.sion task/0/key/7 --offset 100 --length 16\n  \
                      striae cat run.sion 'task/*' > all\n  \
                      striae cat run.gsd frame/0/particles/position > position.f32\n  \
                      striae cat run.gsd frame/-1/particles/position --rows 0..10 --text\n  \
                      striae cat train.ffr sample/7 > sample7\n\n\
                      Numbers count from 0, and negative ones from the end: frame/-1 is the last \
                      frame. rank/42 is the task with global rank 42. In a chunk's name, %, space \
                      and what is not a letter or digit of ASCII or one of /._-+,:@= is written \
                      as % and two hexadecimal digits.\n\n\
                      In an address, * stands for any number or any characters of a name, ? for \
                      one \
                      character, [0-9] for one of some: all that it stands for is written, in the \
                      order of ls.\n\n\
                      Bytes are written as they stand in the file: those of GSD files are \
                      little-endian, row by row.")]
    Cat(CatArgs),
    /// Write every task's stream, or every sample, into a file of its own, or every name's chunks
    /// into an array.
    #[command(after_help = "Examples:\n  striae extract run.sion tasks/\n  \
                      striae extract run.gsd arrays/\n  \
                      striae extract run.sion tasks/ 'task/[0-9]' rank/42\n  \
                      striae extract run.gsd arrays/ 'frame/*/particles/*'\n  \
                      striae extract --frames 0..100 --chunk log/ run.gsd arrays/\n\n\
                      Of a SIONlib set: task_00000 and so on; if it has key-value records, \
                      task_00000.key_1 and so on.\n\n\
                      Of a GSD file, in NumPy's format: particles.position.npy for \
                      particles/position, an array of frames, rows and columns (no columns if \
                      there \
                      is but one). If some of the frames lack the chunk, \
                      particles.position@frames.npy says which ones have it. If its type or its \
                      shape differs between frames, each frame's chunk becomes an array of its \
                      own, \
                      particles.position@00012.npy in frame 12. In names, / becomes a dot, and \
                      what \
                      a file's name should not have becomes %2E, as a dot does.\n\n\
                      Of an ffrecord file: sample_00000 and so on.\n\n\
                      Nothing is left behind if anything fails or ends the program.")]
    Extract(ExtractArgs),
    /// Write a file anew: packed, with or without checksums, laid out otherwise, or a part of it.
    #[command(after_help = "Examples:\n  striae convert run.sion compact.sion\n  \
                      striae convert --nfiles 4 --seal run.sion archive.sion\n  \
                      striae convert --checksums --align 4096 run.gsd archive.gsd\n  \
                      striae convert --frames 100..:10 run.gsd thin.gsd\n\n\
                      Without options: all that readers see is as it was. Of a SIONlib set, one \
                      file with one chunk a task; of a GSD file, one without index blocks of \
                      before, of the same layer and alignment. Data with checksums are checked, \
                      and \
                      get new ones. The new file or set appears when it is whole.\n\n\
                      Some frames of a trajectory of the schema hoomd get the values that they \
                      took \
                      from frame 0, so that they are read as they were.\n\n\
                      With --force, OUT may be the old one; of the files of a set, those that the \
                      new one does not have stay where they are.")]
    Convert(ConvertArgs),
    /// Save in a new file what is left of one that was never closed, cut off or damaged.
    #[command(after_help = "Examples:\n  striae recover crashed.sion closed.sion\n  \
                      striae recover damaged.gsd whole.gsd\n\n\
                      Of a SIONlib set that was never closed, or whose META2 is damaged, it makes \
                      a \
                      closed copy, and says of each task whether its stream is exact or a guess, \
                      and why. Chunks stay where they are.\n\n\
                      Of a GSD file it saves the frames that are whole, with the help of what a \
                      commit and index blocks of before still say, and says which are certain, \
                      which are as found, which are a guess, which are lost, and why. A frame that \
                      lacks anything is left out, since readers would take something else for what \
                      is missing. Frames are as found if header and index are whole and all their \
                      chunks are there, but nothing has checksums of them, as in all files of gsd: \
                      they are what every reader sees, and whether a bit of them changed nobody \
                      can \
                      say.\n\n\
                      Exit status: 0 all is saved, and certain or as found, 1 some is a guess or \
                      lost, 2 nothing was written.")]
    Recover(RecoverArgs),
    /// Draw whose bytes are where in a file: header, tables, data of each task, holes.
    #[command(after_help = "Examples:\n  striae map run.sion\n  \
                      striae map --svg run.svg --width 120 run.sion\n\n\
                      A letter stands for some bytes, and says what most of them are, or which \
                      table is there, however short. Of a SIONlib set, all files are drawn. It \
                      takes as long as the picture is large, not the file; what is not looked at \
                      for that is estimated, and has a ~.")]
    Map(MapArgs),
    /// Check all that can be checked, and list what is found.
    #[command(after_help = "Examples:\n  striae verify run.sion && echo sound\n  \
                      striae verify --json *.gsd | jq -r 'select(.sound | not).path'\n\n\
                      What it came to is said last. Sound: no damage was found, and all data, if \
                      there \
                      are any, agree with their checksums. Structure sound: no damage was found in \
                      headers and tables, but data that have no checksums, or only those of an \
                      older \
                      state, were not checked: nothing in the file tells right ones from wrong. \
                      How \
                      many bytes of data were compared with checksums is said, too. The exit \
                      status is 0 for both.")]
    Verify(VerifyArgs),
    /// Add bytes at the end of a task of a SIONlib set, or a record of a key.
    #[command(after_help = "Examples:\n  striae append run.sion task/3 more.dat\n  \
                      striae append run.sion task/0/key/7 value.dat\n  \
                      make-data | striae append run.sion rank/42 -\n\n\
                      The set must have been closed, and is closed again. A sealed one stays \
                      sealed. \
                      Whatever goes wrong, also a kill or a power cut, all that was in the set \
                      stays \
                      readable. A value of a key is held in memory.")]
    Append(AppendArgs),
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    #[command(flatten)]
    File(FileVerb),
    /// Make a set of task files: one task a file, or what extract made of a set; or an ffrecord
    /// file, one sample a file.
    #[command(after_help = "Examples:\n  striae pack run.sion rank0.dat rank1.dat\n  \
                      striae extract old.sion tasks/ && striae pack --seal new.sion tasks/\n  \
                      striae pack --format ffrecord train.ffr images/*.jpg\n\n\
                      Files become tasks, or samples, in the order in which they are given: a \
                      shell sorts rank10 \
                      before rank2. Of a folder, the files task_00000 and so on are taken, or \
                      task_00000.key_1 and so on for key-value records, in the order of their \
                      numbers. Global ranks are counted from 0. What is made appears when it is \
                      whole.")]
    Pack(PackArgs),
    /// Measure what this machine does.
    Bench {
        /// What is measured.
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
    /// Print the manual page, of the program or of one of its verbs.
    #[command(after_help = "Examples:\n  striae man | man -l -\n  striae man cat > striae-cat.1")]
    Man {
        /// The verb; bench-read for one of two words.
        verb: Option<String>,
    },
}

/// A set, or one file of it.
#[derive(Debug, Clone, Default, ClapArgs)]
pub(crate) struct Set {
    /// The file; of a set of several, the first one.
    #[arg(id = "FILE")]
    pub(crate) path: PathBuf,
    /// Of a SIONlib set: open this file alone, even if it is the first of several.
    #[arg(long)]
    pub(crate) alone: bool,
}

impl FileVerb {
    /// A verb for each file: info, ls and verify take several.
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

    /// Whether it prints JSON.
    pub(crate) const fn is_json(&self) -> bool {
        match self {
            Self::Info(args) => args.json,
            Self::Ls(args) => args.json,
            Self::Dump(args) => args.json,
            Self::Recover(args) => args.json,
            Self::Verify(args) => args.json,
            Self::Map(args) => args.json,
            Self::Cat(_) | Self::Extract(_) | Self::Convert(_) | Self::Append(_) => false,
        }
    }

    /// Its word.
    pub(crate) const fn word(&self) -> format::Verb {
        match self {
            Self::Info(_) => format::Verb::Info,
            Self::Ls(_) => format::Verb::Ls,
            Self::Dump(_) => format::Verb::Dump,
            Self::Cat(_) => format::Verb::Cat,
            Self::Extract(_) => format::Verb::Extract,
            Self::Convert(_) => format::Verb::Convert,
            Self::Recover(_) => format::Verb::Recover,
            Self::Verify(_) => format::Verb::Verify,
            Self::Map(_) => format::Verb::Map,
            Self::Append(_) => format::Verb::Append,
        }
    }

    /// The file.
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
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ExtractArgs {
    #[command(flatten)]
    pub(crate) file: Set,
    /// The folder; it is made if it is not there.
    pub(crate) dir: PathBuf,
    /// Only what has these addresses: task/3, task/3/key/7, frame/9/NAME, or, in quotes, patterns
    /// of them: task/[0-9]*, frame/*/particles/*, frame/-1/*.
    #[arg(value_name = "ADDRESS")]
    pub(crate) addresses: Vec<Pattern>,
    /// Replace files that exist already.
    #[arg(long)]
    pub(crate) force: bool,
    /// Copy the tasks of a set with so many threads; all processors unless told.
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<std::num::NonZeroUsize>,
    /// Of a GSD file: only these frames, from A to before B; either may be left out.
    #[arg(long, value_name = "A..B")]
    pub(crate) frames: Option<Rows>,
    /// Of a GSD file: only this name, or all that start with it if it ends in a slash. May be given
    /// several times.
    #[arg(long, value_name = "NAME")]
    pub(crate) chunk: Vec<OsString>,
    #[command(flatten)]
    pub(crate) direct: Direct,
}

impl ExtractArgs {
    pub(crate) fn output(&self) -> Output {
        let output = Output::new().force(self.force).direct(self.direct.options());
        self.threads.map_or(output, |threads| output.threads(threads))
    }
}

/// How a new set is laid out.
#[derive(Debug, ClapArgs)]
pub(crate) struct Layout {
    /// Spread the tasks over so many files.
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) nfiles: std::num::NonZeroU32,
    /// Round chunks up to multiples of so many bytes.
    #[arg(long, value_name = "BYTES", value_parser = short_size)]
    pub(crate) fsblksize: Option<u32>,
    /// Byte order of the metadata, and of the headers of key-value records; pack states it for the
    /// data, too, and convert keeps what is stated for them.
    #[arg(long)]
    pub(crate) order: Option<Order>,
    /// Replace files that exist already.
    #[arg(long)]
    pub(crate) force: bool,
    /// Copy with so many threads; all processors unless told.
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<std::num::NonZeroUsize>,
    /// Read and write past the page cache, as far as the system lets it be done.
    #[arg(long)]
    pub(crate) direct: bool,
}

impl Layout {
    /// How to read and write past the page cache, if that is wanted.
    pub(crate) fn direct(&self) -> Option<OpenOptions> {
        self.direct.then(OpenOptions::new)
    }

    pub(crate) fn output(&self) -> Output {
        let output = Output::new().force(self.force).direct(self.direct());
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
    /// The format of what is made.
    #[arg(long, value_enum, default_value_t = PackFormat::Sion)]
    pub(crate) format: PackFormat,
    /// The first file of the new set, or the new file.
    pub(crate) out: PathBuf,
    /// The task files in order, or a folder that extract made.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) sources: Vec<PathBuf>,
    /// Make every chunk so many bytes long, in place of the length of each task.
    #[arg(long, value_name = "BYTES", value_parser = some_size)]
    pub(crate) chunksize: Option<u64>,
    /// Add checksums of everything.
    #[arg(long)]
    pub(crate) seal: bool,
    #[command(flatten)]
    pub(crate) layout: Layout,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum PackFormat {
    /// A SIONlib set, one task a file.
    Sion,
    /// An ffrecord file, one sample a file.
    Ffrecord,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ConvertArgs {
    #[command(flatten)]
    pub(crate) file: Set,
    /// The first file of the new set.
    pub(crate) out: PathBuf,
    /// Add checksums of everything.
    #[arg(long, visible_alias = "checksums")]
    pub(crate) seal: bool,
    /// Leave checksums out, and do not check those that there are.
    #[arg(long, conflicts_with = "seal", visible_alias = "no-checksums")]
    pub(crate) no_seal: bool,
    #[command(flatten)]
    pub(crate) gsd: ConvertGsd,
    #[command(flatten)]
    pub(crate) layout: Layout,
}

/// How a new GSD file is made.
#[derive(Debug, ClapArgs)]
pub(crate) struct ConvertGsd {
    /// Of a GSD file: only these frames, from A to before B, or every STEP-th of them; A and B may
    /// be left out.
    #[arg(long, value_name = "A..B[:STEP]")]
    pub(crate) frames: Option<Steps>,
    /// Of a GSD file: let chunks start at multiples of so many bytes, a power of two.
    #[arg(long, value_name = "BYTES", value_parser = size)]
    pub(crate) align: Option<u64>,
    /// Of a GSD file: make it one of layer 2.1 if it is of layer 1.
    #[arg(long)]
    pub(crate) upgrade: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RecoverArgs {
    /// The file; of a set of several, the first one.
    #[arg(id = "FILE")]
    pub(crate) path: PathBuf,
    /// The first file of the new set.
    pub(crate) out: PathBuf,
    /// Of a SIONlib set: recover this file alone, as a set of one file if it is the first of
    /// several.
    #[arg(long)]
    pub(crate) alone: bool,
    /// Replace files that exist already.
    #[arg(long)]
    pub(crate) force: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct AppendArgs {
    /// The set: its first file.
    #[arg(value_name = "SET")]
    pub(crate) file: PathBuf,
    /// What is added to: task/3, rank/42, or task/3/key/7 for a record of a key.
    pub(crate) address: Address,
    /// The file whose bytes are added; - is standard input.
    #[arg(value_name = "FILE")]
    pub(crate) source: PathBuf,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct MapArgs {
    #[command(flatten)]
    pub(crate) file: Set,
    /// Draw it as SVG into this file; - for standard output.
    #[arg(long, value_name = "OUT", conflicts_with = "json")]
    pub(crate) svg: Option<PathBuf>,
    /// Replace the file that --svg names, if there is one.
    #[arg(long, requires = "svg")]
    pub(crate) force: bool,
    /// Columns; of the terminal unless told, or 80, or 96 in SVG.
    #[arg(long, value_name = "N")]
    pub(crate) width: Option<std::num::NonZeroU16>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
