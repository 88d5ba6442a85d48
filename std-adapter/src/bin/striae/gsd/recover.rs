//! `striae recover`.

use crate::args::RecoverArgs;
use crate::certainty::{Told, style};
use crate::failure::{Failure, Sound};
use crate::printable::{count, printable_path};
use crate::progress::with_bar;
use crate::text::{print_json, unless_gone};
use serde::Serialize;
use std::io::{BufWriter, Write};
use striae::gsd::Name;
use striae::gsd::recover::{Recover, Recovery, Run};

#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    told: Told,
    /// Frames of the new file.
    frames: u64,
    /// Number of lost index entries; left out if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    lost_entries: Option<u64>,
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
    word: &'static str,
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
        word: run.certainty.word().as_str(),
        why: run.certainty.why().to_string(),
    };
    let invented = recovery.invented();
    let invented = invented.map(|(id, name)| Invented { id, name: Name(name).to_string() });
    print_json(&Report {
        told: recovery.tally().into(),
        frames: recovery.frames(),
        lost_entries: recovery.lost_entries(),
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
            Some(1) => writeln!(lines, "1 entry of the index is lost")?,
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
        let (tally, frames) = (recovery.tally(), count(recovery.frames(), "frame"));
        let (guessed, lost) = (tally.guesses, tally.lost);
        let out = printable_path(&args.out);
        writeln!(lines, "{out}: {tally}; {frames}, {guessed} guessed, {lost} lost")?;
        lines.flush()
    };
    unless_gone(write())
}

fn write_run(lines: &mut impl Write, run: &Run) -> std::io::Result<()> {
    let (start, last) = (run.frames.start, run.frames.end.saturating_sub(1));
    match last > start {
        true => write!(lines, "frames {start} to {last}: ")?,
        false => write!(lines, "frame {start}: ")?,
    }
    let (word, why) = (run.certainty.word(), run.certainty.why());
    let style = style(word);
    write!(lines, "{style}{word}{style:#}: {why}")?;
    match run.first.filter(|&first| first != start) {
        Some(first) => writeln!(lines, "; from {first} on in the new file"),
        None => writeln!(lines),
    }
}
