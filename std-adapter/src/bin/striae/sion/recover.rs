//! `striae recover`.

use super::complain_of_copy;
use crate::args::RecoverArgs;
use crate::certainty::{Told, style};
use crate::failure::{Failure, Sound};
use crate::part::{PartOfSet, complain_of_part};
use crate::printable::{count, printable_path};
use crate::progress::with_bar;
use crate::text::{print_json, unless_gone};
use serde::Serialize;
use std::io::{BufWriter, Write};
use std::path::Path;
use striae::sion::recover::{OfSet, Recover, RecoveredTask, Recovery};
use striae_core::store::usize_to_u64;

#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    told: Told,
    files: usize,
    /// Physical files that are lost, and the files of buddy sets in their place.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    copies: Vec<Copied>,
    /// Files whose streams do not keep their places.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    placed_anew: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    part_of_set: Option<PartOfSet>,
    #[serde(skip_serializing_if = "Option::is_none")]
    set_commit: Option<SetCommit>,
    tasks: Vec<Row>,
}

/// A file of a buddy set in place of one that is lost.
#[derive(Serialize)]
struct Copied {
    lost: String,
    copy: String,
}

/// The commit of the whole set that the files are of.
#[derive(Serialize)]
#[serde(untagged)]
enum SetCommit {
    Same { number: u32, brought: Vec<u32> },
    Apart { newest: u32, without: Vec<Older> },
    Others { of_another_set: Vec<u32> },
}

/// A file without the newest commit of the set, and the number of its last one.
#[derive(Serialize)]
struct Older {
    file: u32,
    number: u32,
}

impl SetCommit {
    fn of(recovery: &Recovery) -> Option<Self> {
        match recovery.of_set().clone() {
            OfSet::Same { number, brought } => Some(Self::Same { number, brought }),
            OfSet::Apart { newest, without } => {
                let older = |(file, number)| Older { file, number };
                Some(Self::Apart { newest, without: without.into_iter().map(older).collect() })
            }
            OfSet::Others { files } => Some(Self::Others { of_another_set: files }),
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
    word: &'static str,
    why: String,
}

pub(super) fn recover(args: &RecoverArgs) -> Result<Sound, Failure> {
    let nothing = |error| Failure::nothing_made(&error);
    let output = args.output();
    let recover = Recover::new().alone(args.alone).output(output);
    let recovery = recover.examine(&args.path).map_err(nothing)?;
    for (lost, copy) in recovery.copies() {
        complain_of_copy(&lost, copy);
    }
    let written = with_bar(recovery.bytes(), |progress| recovery.write(&args.out, progress));
    written.map_err(nothing)?;
    if args.json {
        report_json(args, &recovery)?
    } else {
        report_text(args, &recovery)?
    }
    Ok(if recovery.is_sound() { Sound::Yes } else { Sound::No })
}

fn report_json(args: &RecoverArgs, recovery: &Recovery) -> Result<(), Failure> {
    let row = |task: RecoveredTask| Row {
        task: task.task,
        file: task.file,
        globalrank: task.globalrank,
        chunks: task.recovered.blockcount,
        bytes: task.recovered.bytes,
        word: task.certainty().word().as_str(),
        why: task.certainty().why().to_string(),
    };
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let copies =
        recovery.copies().map(|(lost, copy)| Copied { lost: text(&lost), copy: text(copy) });
    print_json(&Report {
        told: recovery.tally().into(),
        files: recovery.files().len(),
        copies: copies.collect(),
        placed_anew: recovery.placed_anew().map(text).collect(),
        part_of_set: recovery.part_of_set().map(|part| PartOfSet::new(part, &args.path)),
        set_commit: SetCommit::of(recovery),
        tasks: recovery.tasks().map(row).collect(),
    })?;
    Ok(())
}

fn report_text(args: &RecoverArgs, recovery: &Recovery) -> Result<(), Failure> {
    let out = anstream::AutoStream::auto(std::io::stdout().lock());
    let mut lines = BufWriter::with_capacity(1 << 16, out);
    let mut write = || -> std::io::Result<()> {
        for task in recovery.tasks() {
            let (number, bytes) = (task.task, count(task.recovered.bytes, "byte"));
            let (certainty, word) = (task.certainty(), task.certainty().word());
            let (style, why) = (style(word), certainty.why());
            writeln!(lines, "task {number}: {bytes}, {style}{word}{style:#}: {why}")?;
        }
        for path in recovery.placed_anew() {
            let path = printable_path(path);
            writeln!(lines, "{path}: its streams are placed anew, each in one chunk")?;
        }
        if recovery.files().len() > 1 {
            writeln!(lines, "{}", recovery.of_set())?;
        }
        let (tally, out) = (recovery.tally(), printable_path(&args.out));
        let files = count(usize_to_u64(recovery.files().len()), "physical file");
        let tasks = count(usize_to_u64(recovery.tasks().count()), "task");
        writeln!(lines, "{out}: {tally}; {files}, {tasks}, {} guessed", tally.guesses)?;
        lines.flush()
    };
    unless_gone(write())?;
    let part = recovery.part_of_set().filter(|_| !args.alone);
    complain_of_part(part, &args.path, "recovered");
    Ok(())
}
