//! A row of functions for each format: what the program does with its files, verb by verb.

use crate::args::{
    AppendArgs, CatArgs, ConvertArgs, DumpArgs, ExtractArgs, FileVerb, InfoArgs, LogArgs, LsArgs,
    MapArgs, PackArgs, RecoverArgs, VerifyArgs,
};
use crate::failure::{Failure, Sound};
use crate::flags::{self, Given};
use crate::{blob, cdf, decomposition, ffrecord, gsd, sion};
use std::path::Path;
use striae::Format;

/// How a verb ends.
pub(crate) type Outcome = Result<Sound, Failure>;

/// A verb of a format, or why the format does not have it.
pub(crate) enum Can<A> {
    Do(fn(&A) -> Outcome),
    Not(&'static str),
}

use Can::Not;

/// The verbs of a format. A verb that needs a `Can` is one that some formats do not have.
pub(crate) struct Row {
    pub(crate) info: Can<InfoArgs>,
    pub(crate) ls: Can<LsArgs>,
    pub(crate) dump: Can<DumpArgs>,
    pub(crate) cat: Can<CatArgs>,
    pub(crate) extract: Can<ExtractArgs>,
    pub(crate) convert: Can<ConvertArgs>,
    pub(crate) recover: Can<RecoverArgs>,
    pub(crate) verify: Can<VerifyArgs>,
    pub(crate) map: Can<MapArgs>,
    pub(crate) log: Can<LogArgs>,
    pub(crate) append: Can<AppendArgs>,
    pub(crate) pack: Can<PackArgs>,
}

/// Why files of most formats have no log.
pub(crate) const NO_LOG: Can<LogArgs> = Not("only trajectories have logged quantities");

/// Why files of most formats are not appended to.
pub(crate) const NO_APPEND: Can<AppendArgs> = Not("only tasks of SIONlib sets grow");

impl Row {
    const fn of(format: Format) -> &'static Self {
        match format {
            Format::Sion => &sion::ROW,
            Format::Gsd => &gsd::ROW,
            Format::Ffrecord => &ffrecord::ROW,
            Format::Cdf => &cdf::ROW,
            Format::Blob => &blob::ROW,
            Format::Map => &decomposition::ROW,
        }
    }
}

/// Runs the verb for a file of this format.
pub(crate) fn run(verb: &FileVerb, given: &Given, format: Format) -> Outcome {
    let (row, path) = (Row::of(format), verb.path());
    let check = || flags::check(verb, given, format);
    match verb {
        FileVerb::Info(args) => row.info.run(args, path, format, check),
        FileVerb::Ls(args) => row.ls.run(args, path, format, check),
        FileVerb::Dump(args) => row.dump.run(args, path, format, check),
        FileVerb::Cat(args) => row.cat.run(args, path, format, check),
        FileVerb::Extract(args) => row.extract.run(args, path, format, check),
        FileVerb::Convert(args) => row.convert.run(args, path, format, check),
        FileVerb::Recover(args) => row.recover.run(args, path, format, check),
        FileVerb::Verify(args) => row.verify.run(args, path, format, check),
        FileVerb::Map(args) => row.map.run(args, path, format, check),
        FileVerb::Log(args) => row.log.run(args, path, format, check),
        FileVerb::Append(args) => row.append.run(args, path, format, check),
    }
}

/// Makes a file or set of this format.
pub(crate) fn pack(args: &PackArgs, given: &Given, format: Format) -> Outcome {
    let check = || flags::check_pack(args, given, format);
    Row::of(format).pack.run(args, &args.out, format, check)
}

impl<A> Can<A> {
    fn run(
        &self,
        args: &A,
        path: &Path,
        format: Format,
        check: impl FnOnce() -> Result<(), Failure>,
    ) -> Outcome {
        match self {
            Self::Do(run) => {
                check()?;
                run(args)
            }
            Self::Not(why) => {
                let text = format!("this verb does not support {}: {why}", format.files());
                Err(Failure::usage(path, &text))
            }
        }
    }
}
