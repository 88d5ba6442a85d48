//! `striae recover`.

use super::{PartOfSet, complain_of_part};
use crate::args::RecoverArgs;
use crate::failure::{Failure, Sound};
use crate::progress::with_bar;
use crate::text::{print_json, printable_path, unless_gone};
use anstyle::AnsiColor;
use serde::Serialize;
use std::io::{BufWriter, Write};
use striae::sion::recover::{Certainty, OfSet, Recover, RecoveredTask, Recovery};

#[derive(Serialize)]
struct Report {
    exact: bool,
    files: usize,
    bytes: u64,
    guesses: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    part_of_set: Option<PartOfSet>,
    #[serde(skip_serializing_if = "Option::is_none")]
    set_commit: Option<SetCommit>,
    tasks: Vec<Row>,
}

/// The commit of the whole set that the files are of.
#[derive(Serialize)]
#[serde(untagged)]
enum SetCommit {
    Same { number: u32, brought: Vec<u32> },
    Apart { newest: u32, without: Vec<u32> },
}

impl SetCommit {
    fn of(recovery: &Recovery) -> Option<Self> {
        match recovery.of_set().clone() {
            OfSet::Same { number, brought } => Some(Self::Same { number, brought }),
            OfSet::Apart { newest, without } => Some(Self::Apart { newest, without }),
            _ => None,
        }
    }
}

#[derive(Serialize)]
struct Row {
    task: u64,
    file: u32,
    globalrank: i64,
    chunks: u64,
    bytes: u64,
    exact: bool,
    why: String,
}

pub(super) fn recover(args: &RecoverArgs) -> Result<Sound, Failure> {
    let nothing = |error| Failure::nothing_made(&error);
    let output = args.output();
    let recover = Recover::new().alone(args.alone).output(output);
    let recovery = recover.examine(&args.path).map_err(nothing)?;
    let written = with_bar(recovery.bytes(), |progress| recovery.write(&args.out, progress));
    written.map_err(nothing)?;
    if args.json {
        report_json(args, &recovery)?
    } else {
        report_text(args, &recovery)?
    }
    Ok(if recovery.is_exact() { Sound::Yes } else { Sound::No })
}

fn guesses(recovery: &Recovery) -> usize {
    recovery.tasks().filter(|task| !task.recovered.certainty.is_exact()).count()
}

fn report_json(args: &RecoverArgs, recovery: &Recovery) -> Result<(), Failure> {
    let row = |task: RecoveredTask| Row {
        task: task.task,
        file: task.file,
        globalrank: task.globalrank,
        chunks: task.recovered.blockcount,
        bytes: task.recovered.bytes,
        exact: task.recovered.certainty.is_exact(),
        why: why(&task),
    };
    print_json(&Report {
        exact: recovery.is_exact(),
        files: recovery.files().len(),
        bytes: recovery.bytes(),
        guesses: guesses(recovery),
        part_of_set: recovery.part_of_set().map(|part| PartOfSet::new(part, &args.path)),
        set_commit: SetCommit::of(recovery),
        tasks: recovery.tasks().map(row).collect(),
    })?;
    Ok(())
}

fn why(task: &RecoveredTask) -> String {
    match task.recovered.certainty {
        Certainty::Exact(proof) => proof.to_string(),
        Certainty::Guess(doubt) => doubt.to_string(),
    }
}

fn report_text(args: &RecoverArgs, recovery: &Recovery) -> Result<(), Failure> {
    let out = anstream::AutoStream::auto(std::io::stdout().lock());
    let mut lines = BufWriter::with_capacity(1 << 16, out);
    let style = AnsiColor::Yellow.on_default();
    let mut write = || -> std::io::Result<()> {
        for task in recovery.tasks() {
            let (number, bytes, why) = (task.task, task.recovered.bytes, why(&task));
            match task.recovered.certainty.is_exact() {
                true => writeln!(lines, "task {number}: {bytes} bytes, exact: {why}")?,
                false => {
                    writeln!(lines, "task {number}: {bytes} bytes, {style}a guess{style:#}: {why}")?
                }
            }
        }
        if recovery.files().len() > 1 {
            writeln!(lines, "{}", recovery.of_set())?;
        }
        writeln!(
            lines,
            "{}: {} physical files, {} tasks, {} bytes, {} guesses",
            printable_path(&args.out),
            recovery.files().len(),
            recovery.tasks().count(),
            recovery.bytes(),
            guesses(recovery),
        )?;
        lines.flush()
    };
    unless_gone(write())?;
    let part = recovery.part_of_set().filter(|_| !args.alone);
    complain_of_part(part, &args.path, "recovered");
    Ok(())
}
