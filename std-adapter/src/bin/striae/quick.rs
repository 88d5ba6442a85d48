//! The arguments of verbs that look at files, parsed by a parser of one verb. To make the parser of
//! all verbs, with the texts of their help, takes a quarter of the instructions of listing a small
//! file.

use crate::args::{Common, InfoArgs, LsArgs, VerifyArgs};
use clap::{ArgMatches, Args as _, Command};
use std::ffi::OsString;

/// The arguments, if they are those of such a verb, and correct. Help, and errors with their
/// advice, are left to the parser of all verbs.
pub(crate) fn matches(args: impl IntoIterator<Item = OsString>) -> Option<ArgMatches> {
    let args: Vec<OsString> = args.into_iter().collect();
    let name = args.get(1)?.to_str()?;
    let verb = match name {
        "info" => InfoArgs::augment_args(Command::new("info")),
        "ls" => LsArgs::augment_args(Command::new("ls")),
        "verify" => VerifyArgs::augment_args(Command::new("verify")),
        _ => return None,
    };
    let command = Common::augment_args(Command::new("striae")).subcommand(verb);
    command.try_get_matches_from(args).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Args;
    use crate::flags::Given;
    use clap::{CommandFactory, FromArgMatches};

    fn args(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    /// What the program takes from the arguments.
    fn seen(matches: &ArgMatches) -> String {
        let given = Given::of(matches);
        format!("{:?} {given:?}", Args::from_arg_matches(matches).unwrap())
    }

    #[test]
    fn both_parsers_see_the_same() {
        for line in [
            "striae ls a",
            "striae ls a b -v",
            "striae ls --json --keys a",
            "striae ls --csv --frames -3.. a",
            "striae ls --frames 1..2 --summary --verbose a",
            "striae ls --addresses --alone a",
            "striae ls -- --json",
            "striae info --json a -v",
            "striae info --alone a b",
            "striae verify a b --limit 3 --direct",
            "striae verify --map m --json a",
        ] {
            let all = Args::command().try_get_matches_from(args(line)).unwrap();
            assert_eq!(seen(&matches(args(line)).unwrap()), seen(&all), "{line}");
        }
    }

    #[test]
    fn what_is_not_for_this_parser_is_left_to_the_other() {
        for line in [
            "striae",
            "striae ls",
            "striae ls --help",
            "striae ls -h a",
            "striae ls --nonsense a",
            "striae ls --json --csv a",
            "striae verify --limit many a",
            "striae -v ls a",
            "striae --version",
            "striae help ls",
            "striae cat a task/0",
        ] {
            assert!(matches(args(line)).is_none(), "{line}");
        }
    }
}
