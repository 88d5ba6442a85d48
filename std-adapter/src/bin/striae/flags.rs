//! Options that are for files of some formats only: given for a file of another, they are refused.

use crate::args::{CatArgs, ConvertArgs, ExtractArgs, FileVerb, Layout, LsArgs, PackArgs};
use crate::failure::Failure;
use std::path::Path;
use striae::Format;

/// Options, whether one of them is given, and the format that they are for.
type Flags = (&'static str, bool, Format);

use Format::{Gsd, Sion};

/// Refuses what a file of this format does not have.
pub(crate) fn check(verb: &FileVerb, format: Format) -> Result<(), Failure> {
    let alone = |alone| ("--alone", alone, Sion);
    let given: Vec<Flags> = match verb {
        FileVerb::Info(args) => vec![alone(args.file.alone)],
        FileVerb::Ls(args) => of_ls(args),
        FileVerb::Dump(_) | FileVerb::Verify(_) => Vec::new(),
        FileVerb::Cat(args) => of_cat(args),
        FileVerb::Extract(args) => of_extract(args),
        FileVerb::Convert(args) => of_convert(args),
        FileVerb::Recover(args) => vec![alone(args.alone)],
        FileVerb::Map(args) => vec![alone(args.file.alone)],
    };
    refuse((verb.path(), "is"), format, &given)?;
    match verb {
        // Of these files there is none: what there is instead comes first.
        FileVerb::Convert(_) | FileVerb::Recover(_) if format == Format::Ffrecord => Ok(()),
        FileVerb::Convert(args) => check_name(&args.out, format),
        FileVerb::Recover(args) => check_name(&args.out, format),
        _ => Ok(()),
    }
}

/// Refuses what a new file of this format cannot have.
pub(crate) fn check_pack(args: &PackArgs, format: Format) -> Result<(), Failure> {
    let mut given = of_layout(&args.layout);
    given.push(("--chunksize", args.chunksize.is_some(), Sion));
    given.push(("--seal", args.seal, Sion));
    refuse((&args.out, "is to be"), format, &given)?;
    check_name(&args.out, format)
}

/// Refuses a name that promises a file of another format than the one that is made.
fn check_name(out: &Path, format: Format) -> Result<(), Failure> {
    match Format::of_name(out).filter(|&named| named != format) {
        Some(named) => {
            let text = format!(
                "ends as the name of {} does, and what is written is {}: it needs another name",
                article(named),
                article(format)
            );
            Err(Failure::usage(out, &text))
        }
        None => Ok(()),
    }
}

fn of_ls(args: &LsArgs) -> Vec<Flags> {
    let frames = ("--frames", args.frames.is_some(), Gsd);
    vec![("--alone", args.file.alone, Sion), ("--keys", args.keys, Sion), frames]
}

fn of_cat(args: &CatArgs) -> Vec<Flags> {
    vec![
        ("--alone", args.file.alone, Sion),
        ("--key", args.key.is_some(), Sion),
        ("--rows", args.rows.is_some(), Gsd),
        ("--text", args.text, Gsd),
    ]
}

fn of_extract(args: &ExtractArgs) -> Vec<Flags> {
    vec![
        ("--alone", args.file.alone, Sion),
        ("--threads", args.threads.is_some(), Sion),
        ("--frames", args.frames.is_some(), Gsd),
        ("--chunk", !args.chunk.is_empty(), Gsd),
    ]
}

fn of_convert(args: &ConvertArgs) -> Vec<Flags> {
    let mut given = of_layout(&args.layout);
    given.push(("--alone", args.file.alone, Sion));
    given.push(("--frames", args.gsd.frames.is_some(), Gsd));
    given.push(("--align", args.gsd.align.is_some(), Gsd));
    given.push(("--upgrade", args.gsd.upgrade, Gsd));
    given
}

fn of_layout(layout: &Layout) -> Vec<Flags> {
    let Layout { nfiles, fsblksize, order, force: _, threads, direct: _ } = layout;
    vec![
        ("--nfiles", nfiles.get() > 1, Sion),
        ("--fsblksize", fsblksize.is_some(), Sion),
        ("--order", order.is_some(), Sion),
        ("--threads", threads.is_some(), Sion),
    ]
}

fn refuse((path, verb): (&Path, &str), format: Format, given: &[Flags]) -> Result<(), Failure> {
    let foreign = given.iter().find(|(_, given, of)| *given && *of != format);
    let Some((flag, _, of)) = foreign else { return Ok(()) };
    let others = if *of == Sion { "sets" } else { "files" };
    let text = format!("{verb} {}; {flag} is for {of} {others}", article(format));
    Err(Failure::usage(path, &text))
}

/// A file of this format, with its article.
fn article(format: Format) -> String {
    match format {
        Format::Ffrecord => format!("an {format} file"),
        Sion | Gsd => format!("a {format} file"),
    }
}
