//! The program `striae`: it turns arguments into library calls, and prints text or JSON.
//!
//! Exit status 0: done, and sound as far as it was looked at. 1: the file is damaged, or the answer
//! is no or a guess. 2: usage or I/O error; a file of no format that the program knows is one.

mod args;
mod bench;
mod blob;
mod cdf;
mod certainty;
mod decomposition;
mod dump;
mod failure;
mod ffrecord;
mod files;
mod flags;
mod gsd;
mod leftovers;
mod log;
mod map;
mod part;
mod printable;
mod progress;
mod quick;
mod rows;
mod sheet;
mod signals;
mod sion;
mod size;
mod text;
mod verify;

use args::{Args, FileVerb, PackArgs, Verb};
use clap::{CommandFactory, FromArgMatches};
use failure::{Failure, Sound};
use flags::Given;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use striae::format::Recognized;
use striae::shown::Shown;
use text::unless_gone;

fn main() -> ExitCode {
    let args = || std::env::args_os();
    let quick = quick::matches(args()).map(Ok);
    let matches = match quick.unwrap_or_else(|| Args::command().try_get_matches_from(args())) {
        Ok(matches) => matches,
        // The help is an answer, which may not reach its reader.
        Err(help) if !help.use_stderr() => {
            let printed = help.print().and_then(|()| std::io::stdout().flush());
            let done = unless_gone(printed).map(|()| Sound::Yes);
            return ExitCode::from(status(done));
        }
        Err(error) => error.exit(),
    };
    let args = Args::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let given = Given::of(&matches);
    log::start(args.common.verbose);
    if let Some(folder) = leftovers::folder_of(&args.verb) {
        signals::start();
        leftovers::name_those_in(&folder);
    }
    let outcome = run(args.verb, &given);
    signals::hold();
    ExitCode::from(status(outcome))
}

/// Reports a failure, and returns the exit status.
fn status(outcome: Result<Sound, Failure>) -> u8 {
    match outcome {
        Ok(Sound::Yes) => 0,
        Ok(Sound::No) => 1,
        Err(failure) => failure.report(),
    }
}

fn run(verb: Verb, given: &Given) -> Result<Sound, Failure> {
    match verb {
        Verb::File(verb) => match verb.each().as_slice() {
            [verb] => of_format(verb, given),
            verbs => of_several(verbs, given),
        },
        Verb::Pack(args) => pack(&args, given),
        Verb::Bench { verb } => bench::run(&verb),
        Verb::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Args::command(), "striae", &mut script);
            print(&script)
        }
        Verb::Man { verb } => man(verb.as_deref()),
    }
}

/// Runs the verbs one after another, with headings between them like those of `head`.
fn of_several(verbs: &[FileVerb], given: &Given) -> Result<Sound, Failure> {
    let mut worst = 0;
    for (verb, line) in verbs.iter().zip(std::iter::once("").chain(std::iter::repeat("\n"))) {
        if !verb.args().is_for_programs() {
            let heading =
                format!("{line}==> {} <==\n", printable::printable_path(verb.args().path()));
            unless_gone(write(heading.as_bytes()))?;
        }
        worst = worst.max(status(of_format(verb, given)));
    }
    match worst {
        0 => Ok(Sound::Yes),
        1 => Ok(Sound::No),
        _ => Err(Failure::Reported),
    }
}

/// Runs the verb for the format of the file.
fn of_format(verb: &FileVerb, given: &Given) -> Result<Sound, Failure> {
    let outcome = recognized(verb, given);
    if let (FileVerb::Verify(args), Err(failure)) = (verb, &outcome) {
        verify::unverified(args, failure)?;
    }
    outcome
}

/// Recognizes the format of the file, and runs the verb for this format.
fn recognized(verb: &FileVerb, given: &Given) -> Result<Sound, Failure> {
    let path = verb.args().path();
    if path == Path::new("-") {
        let text = "standard input is not read, because files are read at offsets: give the name \
                    of a file, which is ./- if it is -";
        return Err(Failure::usage(path, text));
    }
    let found = match verb.args().format() {
        Some(format) => Recognized::taken_for(format, path),
        None => Recognized::new(path),
    };
    let recognized = match found {
        Ok(recognized) => recognized,
        // For recover, status 1 says that a copy was made; without a copy, the status is 2.
        Err(error) if matches!(verb, FileVerb::Recover(_)) => {
            return Err(Failure::nothing_made(&error));
        }
        Err(error) => return Err(error.into()),
    };
    // `recognized` lives until the verb has ended, so that the recognized file is the one read.
    rows::run(verb, given, recognized.format())
}

fn pack(args: &PackArgs, given: &Given) -> Result<Sound, Failure> {
    if args.is_of_maps() {
        check_sources(args)?;
    }
    rows::pack(args, given, args.format())
}

/// Refuses to replace a map by the new map.
fn check_sources(args: &PackArgs) -> Result<(), Failure> {
    match args.sources.iter().find(|source| files::is_same(source, &args.out)) {
        Some(source) => Err(Failure::usage(source, "is a source, and would be replaced")),
        None => Ok(()),
    }
}

/// Prints the manual page of the program or of a verb.
fn man(verb: Option<&str>) -> Result<Sound, Failure> {
    let mut command = Args::command();
    if let Some(verb) = verb {
        for word in verb.split('-') {
            let found = command.find_subcommand(word).cloned();
            let none = || Failure::Usage(format!("there is no verb {}", Shown::new(verb)));
            command = found.ok_or_else(none)?;
        }
        let words = verb.replace('-', " ");
        command =
            command.bin_name(format!("striae {words}")).display_name(format!("striae-{verb}"));
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page).map_err(Failure::stdout)?;
    print(&page)
}

fn print(text: &[u8]) -> Result<Sound, Failure> {
    write(text).map_err(Failure::stdout)?;
    Ok(Sound::Yes)
}

fn write(text: &[u8]) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text).and_then(|()| out.flush())
}
