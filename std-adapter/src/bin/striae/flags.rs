//! Flags for some formats only. They are refused for a file of another format.

use crate::args::{Made, VerbArgs};
use crate::failure::Failure;
use clap::ArgMatches;
use clap::parser::ValueSource;
use std::path::Path;
use striae::Format::{self, Cdf, Map, Sion};

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

    /// Refuses flags and an output name that do not fit the format. `is` is the verb of the error
    /// text: the file is, or is to be, of this format.
    pub(crate) fn check(
        &self,
        args: &dyn VerbArgs,
        is: &str,
        format: Format,
    ) -> Result<(), Failure> {
        let is_foreign = |(flag, of): &&(&str, &[Format])| {
            !of.contains(&format) && self.0.iter().any(|given| given == flag)
        };
        if let Some((flag, of)) = args.flags().iter().find(is_foreign) {
            let text = format!("{is} {}; --{flag} is for {}", format.a_file(), files_of(of));
            return Err(Failure::usage(args.path(), &text));
        }
        match args.makes() {
            Made::File(out) => check_name(out, format),
            Made::Nothing | Made::Folder(_) | Made::Picture(_) => Ok(()),
        }
    }
}

/// The files of some formats, in words.
fn files_of(formats: &[Format]) -> String {
    match formats {
        [Sion] => format!("{Sion} sets"),
        [one] => format!("{one} files"),
        [first @ .., last] => {
            let first: Vec<_> = first.iter().map(Format::to_string).collect();
            format!("{} and {last} files", first.join(", "))
        }
        [] => "no files".to_owned(),
    }
}

/// Refuses an output name with the ending of another format. Two formats may have one ending.
fn check_name(out: &Path, format: Format) -> Result<(), Failure> {
    let is_map = |named: Format| format == Map && named.ending() == Cdf.ending();
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
