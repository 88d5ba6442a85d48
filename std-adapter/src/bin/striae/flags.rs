//! Flags for some formats only. They are refused for a file of another format.

use crate::args::{FileVerb, PackArgs};
use crate::failure::Failure;
use clap::ArgMatches;
use clap::parser::ValueSource;
use std::path::Path;
use striae::Format;

use Format::{Blob, Cdf, Ffrecord, Gsd, Sion};

/// The verbs that have flags of formats.
#[derive(Clone, Copy)]
pub(crate) enum Word {
    Info,
    Ls,
    Dump,
    Cat,
    Extract,
    Convert,
    Recover,
    Verify,
    Map,
    Log,
    Append,
    Pack,
}

/// The flags of a verb that only some formats have, with these formats. All formats have the other
/// flags.
fn table(verb: Word) -> &'static [(&'static str, &'static [Format])] {
    match verb {
        Word::Info | Word::Recover | Word::Map => &[("alone", &[Sion])],
        Word::Ls => {
            &[("alone", &[Sion]), ("keys", &[Sion]), ("frames", &[Gsd]), ("summary", &[Gsd])]
        }
        Word::Cat => &[
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
        ],
        Word::Extract => &[
            ("alone", &[Sion]),
            ("threads", &[Sion]),
            ("frames", &[Gsd]),
            ("hoomd", &[Gsd]),
            ("no_seal", &[Blob]),
            ("fill", &[Blob]),
        ],
        Word::Convert => &[
            ("alone", &[Sion]),
            ("seal", &[Sion, Gsd]),
            ("no_seal", &[Sion, Gsd, Blob]),
            ("frames", &[Gsd]),
            ("align", &[Gsd]),
            ("upgrade", &[Gsd]),
            ("nfiles", &[Sion]),
            ("fsblksize", &[Sion]),
            ("order", &[Sion]),
            ("threads", &[Sion, Blob]),
            ("fill", &[Blob]),
        ],
        Word::Pack => &[
            ("nfiles", &[Sion]),
            ("fsblksize", &[Sion]),
            ("order", &[Sion]),
            ("threads", &[Sion]),
            ("chunksize", &[Sion]),
            ("seal", &[Sion, Blob]),
            ("identity", &[Sion]),
            ("map", &[Blob]),
            ("append", &[Blob]),
            ("subfiles", &[Blob]),
            ("grouping", &[Blob]),
            ("processes", &[Blob]),
            ("container", &[Blob]),
            ("unsorted", &[Blob]),
            ("decomposition", &[Blob]),
            ("like", &[Blob]),
        ],
        Word::Dump => &[("cdl", &[Cdf]), ("max_size", &[Cdf])],
        Word::Verify => &[("map", &[Blob])],
        Word::Append | Word::Log => &[],
    }
}

/// The names of the flags on the command line.
#[derive(Debug)]
pub(crate) struct Given(Vec<String>);

impl Given {
    /// The flags of the verb in `matches`.
    pub(crate) fn of(matches: &ArgMatches) -> Self {
        let Some((_, verb)) = matches.subcommand() else { return Self(Vec::new()) };
        let is_given = |id: &str| verb.value_source(id) == Some(ValueSource::CommandLine);
        let ids = verb.ids().map(|id| id.as_str());
        Self(ids.filter(|id| is_given(id)).map(str::to_owned).collect())
    }

    /// Refuses a flag that this format does not have. `is` is the verb of the error text: the file
    /// is, or is to be, of this format.
    fn check(&self, verb: Word, path: &Path, is: &str, format: Format) -> Result<(), Failure> {
        let is_foreign = |(flag, of): &&(&str, &[Format])| {
            !of.contains(&format) && self.0.iter().any(|given| given == flag)
        };
        let Some((flag, of)) = table(verb).iter().find(is_foreign) else { return Ok(()) };
        let of = match of {
            [Sion] => format!("{Sion} sets"),
            [one] => format!("{one} files"),
            [first @ .., last] => {
                let first: Vec<_> = first.iter().map(Format::to_string).collect();
                format!("{} and {last} files", first.join(", "))
            }
            [] => "no files".to_owned(),
        };
        Err(Failure::usage(path, &format!("{is} {}; --{flag} is for {of}", format.a_file())))
    }
}

/// Refuses flags and output names that do not fit the format of the input file.
pub(crate) fn check(verb: &FileVerb, given: &Given, format: Format) -> Result<(), Failure> {
    given.check(verb.word(), verb.path(), "is", format)?;
    match verb {
        FileVerb::Convert(args) => check_name(&args.out, format),
        FileVerb::Recover(args) => check_name(&args.out, format),
        FileVerb::Info(_)
        | FileVerb::Ls(_)
        | FileVerb::Dump(_)
        | FileVerb::Cat(_)
        | FileVerb::Extract(_)
        | FileVerb::Map(_)
        | FileVerb::Log(_)
        | FileVerb::Verify(_)
        | FileVerb::Append(_) => Ok(()),
    }
}

/// Refuses flags and an output name that do not fit the format of the new file.
pub(crate) fn check_pack(args: &PackArgs, given: &Given, format: Format) -> Result<(), Failure> {
    given.check(Word::Pack, &args.out, "is to be", format)?;
    check_name(&args.out, format)
}

/// Refuses an output name with the ending of another format. Two formats may have one ending.
fn check_name(out: &Path, format: Format) -> Result<(), Failure> {
    let is_map = |named: Format| format == Format::Map && named.ending() == Cdf.ending();
    let other = |named: &Format| named.ending() != format.ending() && !is_map(*named);
    match Format::of_name(out).filter(other) {
        Some(named) => {
            let text = format!(
                "has the ending of {}, but the new file is {}: choose another name",
                named.a_file(),
                format.a_file()
            );
            Err(Failure::usage(out, &text))
        }
        None => Ok(()),
    }
}
