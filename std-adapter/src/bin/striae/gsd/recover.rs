//! `striae recover`.

use crate::args::RecoverArgs;
use crate::failure::{Failure, Sound};
use crate::progress::with_bar;
use crate::text::{print_json, printable_path, unless_gone};
use anstyle::AnsiColor;
use serde::Serialize;
use std::io::{BufWriter, Write};
use striae::gsd::Name;
use striae::gsd::recover::{Certainty, Recover, Recovery, Run};

#[derive(Serialize)]
struct Report {
    /// Whether everything that the file shows is saved.
    complete: bool,
    /// Whether it is also certain.
    exact: bool,
    frames: u64,
    guesses: u64,
    lost: u64,
    /// Number of lost index entries; left out if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    lost_entries: Option<u64>,
    bytes: u64,
    /// Something in the file that the schema forbids.
    #[serde(skip_serializing_if = "Option::is_none")]
    forbidden: Option<String>,
    invented: Vec<Invented>,
    runs: Vec<Row>,
}

/// An invented name that replaces a lost one.
#[derive(Serialize)]
struct Invented {
    id: u16,
    name: String,
}

/// Consecutive frames with one result.
#[derive(Serialize)]
struct Row {
    /// Their numbers in the damaged file: the first, and one more than the last.
    from: u64,
    to: u64,
    /// The number of the first of them in the new file.
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<u64>,
    result: &'static str,
    why: String,
}

pub(super) fn recover(args: &RecoverArgs) -> Result<Sound, Failure> {
    let nothing = |error| Failure::nothing_made(&error);
    let recovery = Recover::new().output(args.output()).examine(&args.path).map_err(nothing)?;
    let written = with_bar(recovery.bytes(), |progress| recovery.write(&args.out, progress));
    written.map_err(nothing)?;
    if args.json {
        report_json(&recovery)?;
    } else {
        report_text(args, &recovery)?;
    }
    Ok(if recovery.is_complete() { Sound::Yes } else { Sound::No })
}

fn report_json(recovery: &Recovery) -> Result<(), Failure> {
    let row = |run: &Run| Row {
        from: run.frames.start,
        to: run.frames.end,
        first: run.first,
        result: match run.certainty {
            Certainty::Certain(_) => "certain",
            Certainty::AsFound => "as_found",
            Certainty::Guess(_) => "guess",
            _ => "lost",
        },
        why: split(&run.certainty).1,
    };
    let invented = recovery.invented();
    let invented = invented.map(|(id, name)| Invented { id, name: Name(name).to_string() });
    print_json(&Report {
        complete: recovery.is_complete(),
        exact: recovery.is_exact(),
        frames: recovery.frames(),
        guesses: recovery.guesses(),
        lost: recovery.lost(),
        lost_entries: recovery.lost_entries(),
        bytes: recovery.bytes(),
        forbidden: recovery.forbidden().map(|finding| finding.to_string()),
        invented: invented.collect(),
        runs: recovery.runs().map(row).collect(),
    })?;
    Ok(())
}

fn report_text(args: &RecoverArgs, recovery: &Recovery) -> Result<(), Failure> {
    let out = anstream::AutoStream::auto(std::io::stdout().lock());
    let mut lines = BufWriter::with_capacity(1 << 16, out);
    let mut write = || -> std::io::Result<()> {
        for run in recovery.runs() {
            write_run(&mut lines, run)?;
        }
        for (id, name) in recovery.invented() {
            writeln!(lines, "name {id}: lost, now {}", Name(name))?;
        }
        match recovery.lost_entries() {
            Some(0) => {}
            Some(count) => writeln!(lines, "{count} entries of the index are lost")?,
            None => writeln!(
                lines,
                "the end of the index is not known: there may have been more frames"
            )?,
        }
        let is_all = (recovery.guesses(), recovery.lost(), recovery.lost_entries());
        if !recovery.is_whole() && is_all == (0, 0, Some(0)) {
            writeln!(lines, "header, names or index are damaged, as verify says")?;
        }
        if let Some(finding) = recovery.forbidden() {
            writeln!(lines, "forbidden by the schema: {}", finding)?;
        }
        let verdict = match (recovery.is_exact(), recovery.is_complete()) {
            (true, _) => "complete",
            (false, true) => "complete, as found",
            (false, false) => "not complete, or a guess",
        };
        writeln!(
            lines,
            "{}: {verdict}: {} frames, {} bytes, {} guesses; {} lost",
            printable_path(&args.out),
            recovery.frames(),
            recovery.bytes(),
            recovery.guesses(),
            recovery.lost(),
        )?;
        lines.flush()
    };
    unless_gone(write())
}

/// How certain frames are, and the reason.
fn split(certainty: &Certainty) -> (String, String) {
    let text = certainty.to_string();
    let (what, why) = text.split_once(": ").unwrap_or((&text, ""));
    (what.to_owned(), why.to_owned())
}

fn write_run(lines: &mut impl Write, run: &Run) -> std::io::Result<()> {
    let style = match run.certainty {
        Certainty::Certain(_) | Certainty::AsFound => AnsiColor::Green.on_default(),
        Certainty::Guess(_) => AnsiColor::Yellow.on_default(),
        _ => AnsiColor::Red.on_default(),
    };
    let (start, last) = (run.frames.start, run.frames.end.saturating_sub(1));
    match last > start {
        true => write!(lines, "frames {start} to {last}: ")?,
        false => write!(lines, "frame {start}: ")?,
    }
    let (what, why) = split(&run.certainty);
    write!(lines, "{style}{what}{style:#}: {why}")?;
    match run.first.filter(|&first| first != start) {
        Some(first) => writeln!(lines, "; from {first} on in the new file"),
        None => writeln!(lines),
    }
}
