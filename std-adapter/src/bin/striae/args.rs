//! The arguments of the program: a file for each verb.

mod append;
mod cat;
mod convert;
mod dump;
mod extract;
mod frames;
mod info;
mod log;
mod ls;
mod map;
mod options;
mod pack;
mod recover;
mod verify;

pub(crate) use append::AppendArgs;
pub(crate) use cat::{CatArgs, Indices, RegionArgs};
pub(crate) use convert::ConvertArgs;
pub(crate) use dump::DumpArgs;
pub(crate) use extract::ExtractArgs;
pub(crate) use frames::{Rows, Steps};
pub(crate) use info::{InfoArgs, Lines};
pub(crate) use log::LogArgs;
pub(crate) use ls::LsArgs;
pub(crate) use map::MapArgs;
pub(crate) use options::{Copying, Direct, Fill, Layout, MaxSize, Set, Sets, Values};
pub(crate) use pack::{PackArgs, PackContainer, PackGrouping};
pub(crate) use recover::RecoverArgs;
pub(crate) use verify::VerifyArgs;

use crate::bench::BenchVerb;
use crate::failure::{Failure, Sound};
use clap::{Parser, Subcommand};
use std::path::Path;
use striae::Format;

/// Make, inspect, extract, convert, check and recover SIONlib, GSD, ffrecord,
/// netCDF and E3SM-IO blob files.
#[derive(Debug, Parser)]
#[command(
    name = "striae",
    version,
    max_term_width = 100,
    after_help = "\
Exit status: 0: done, and sound as far as it was looked at; 1: the file is damaged or of a kind \
that striae does not read, such as an HDF5 file of another program, or the answer is no or a \
guess; 2: usage or I/O error, or a file of no format that is known. With several files, it is the \
worst of all. cat, extract and log do not compare the checksums of SIONlib and GSD files; verify \
does.\n\n\
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

/// The flags of all verbs.
#[derive(Debug, clap::Args)]
pub(crate) struct Common {
    /// Log to standard error: how files are read directly, and warnings.
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
}

/// The flags of a verb that only some formats have, with these formats.
pub(crate) type Flags = &'static [(&'static str, &'static [Format])];

/// What a verb makes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Made<'a> {
    Nothing,
    /// Files in this folder.
    Folder(&'a Path),
    /// A file or set of the format of the input.
    File(&'a Path),
    /// A file of another kind.
    Picture(&'a Path),
}

/// What the program has to know of the arguments of each verb.
pub(crate) trait VerbArgs {
    /// The flags that only some formats have. All formats have the others.
    fn flags(&self) -> Flags {
        &[]
    }

    /// The file whose format selects what is done: the input, or what pack makes.
    fn path(&self) -> &Path;

    /// Whether the verb prints what programs read, without headings.
    fn is_for_programs(&self) -> bool {
        false
    }

    /// What the verb makes.
    fn makes(&self) -> Made<'_> {
        Made::Nothing
    }

    /// The format that the file is taken for, whatever its bytes are.
    fn format(&self) -> Option<Format> {
        None
    }

    /// The arguments for each of several files.
    fn each(self) -> Vec<Self>
    where
        Self: Sized,
    {
        vec![self]
    }
}

/// How a verb ends.
pub(crate) type Outcome = Result<Sound, Failure>;

/// A verb of a format, or why the format does not have it.
pub(crate) enum Can<A> {
    Do(fn(&A) -> Outcome),
    Not(&'static str),
}

/// Refuses arguments that the format does not have.
pub(crate) type Check<'a> = &'a dyn Fn() -> Result<(), Failure>;

impl<A: VerbArgs> Can<A> {
    /// Runs the verb, if the format has it and the arguments are checked.
    pub(crate) fn run(&self, args: &A, format: Format, check: Check<'_>) -> Outcome {
        match self {
            Self::Do(run) => {
                check()?;
                run(args)
            }
            Self::Not(why) => {
                let text = format!("this verb does not support {}: {why}", format.files());
                Err(Failure::usage(args.path(), &text))
            }
        }
    }
}

/// Defines [`FileVerb`] and [`Row`] from a table with a row for each verb.
macro_rules! verbs {
    ($($field:ident: $verb:ident($args:ty),)+) => {
        /// A verb that works on an existing file.
        #[derive(Debug, Subcommand)]
        pub(crate) enum FileVerb {
            $($verb($args),)+
        }

        impl FileVerb {
            /// What the program has to know of the arguments.
            pub(crate) fn args(&self) -> &dyn VerbArgs {
                match self {
                    $(Self::$verb(args) => args,)+
                }
            }

            /// Splits a verb with several files into one verb for each file.
            pub(crate) fn each(self) -> Vec<Self> {
                match self {
                    $(Self::$verb(args) => args.each().into_iter().map(Self::$verb).collect(),)+
                }
            }

            /// Runs the verb of a format, if the arguments are checked.
            pub(crate) fn run(&self, row: &Row, format: Format, check: Check<'_>) -> Outcome {
                match self {
                    $(Self::$verb(args) => row.$field.run(args, format, check),)+
                }
            }
        }

        /// What the program does with files of a format, verb by verb.
        pub(crate) struct Row {
            $(pub(crate) $field: Can<$args>,)+
            pub(crate) pack: Can<PackArgs>,
        }
    };
}

verbs! {
    info: Info(InfoArgs),
    ls: Ls(LsArgs),
    dump: Dump(DumpArgs),
    cat: Cat(CatArgs),
    extract: Extract(ExtractArgs),
    convert: Convert(ConvertArgs),
    recover: Recover(RecoverArgs),
    map: Map(MapArgs),
    log: Log(LogArgs),
    verify: Verify(VerifyArgs),
    append: Append(AppendArgs),
}

/// Why files of most formats have no log.
pub(crate) const NO_LOG: Can<LogArgs> = Can::Not("only trajectories have logged quantities");

/// Why files of most formats are not appended to.
pub(crate) const NO_APPEND: Can<AppendArgs> = Can::Not("only tasks of SIONlib sets grow");

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    #[command(flatten)]
    File(FileVerb),
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
