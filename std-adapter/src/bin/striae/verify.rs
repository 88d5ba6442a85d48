//! `striae verify`.

use crate::args::VerifyArgs;
use crate::failure::{Failure, Sound};
use crate::text::{print_json, printable, unless_gone};
use anstyle::{AnsiColor, Style};
use serde::Serialize;
use std::io::Write;
use striae::sion::verify::{Finding, Severity, Summary, verify as verify_sion};

#[derive(Serialize)]
struct Report {
    sound: bool,
    files: u32,
    tasks: u64,
    damage: u64,
    notes: u64,
    findings: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    severity: String,
    file: String,
    finding: String,
}

pub(crate) fn verify(args: &VerifyArgs) -> Result<Sound, Failure> {
    let summary = if args.json { verify_json(args)? } else { verify_text(args)? };
    Ok(if summary.is_sound() { Sound::Yes } else { Sound::No })
}

fn verify_json(args: &VerifyArgs) -> Result<Summary, Failure> {
    let mut findings = Vec::new();
    let limit = usize::try_from(args.limit).unwrap_or(usize::MAX);
    let summary = verify_sion(&args.file, &mut |finding| {
        if findings.len() < limit {
            findings.push(Row {
                severity: finding.severity.to_string(),
                file: finding.file.to_string_lossy().into_owned(),
                finding: finding.what.to_string(),
            });
        }
    })?;
    let Summary { files, tasks, damage, notes } = summary;
    print_json(&Report { sound: summary.is_sound(), files, tasks, damage, notes, findings })?;
    Ok(summary)
}

fn verify_text(args: &VerifyArgs) -> Result<Summary, Failure> {
    let mut out = anstream::stdout().lock();
    let mut printed = Ok(());
    let mut left = args.limit;
    let summary = verify_sion(&args.file, &mut |finding| {
        if left > 0 && printed.is_ok() {
            left = left.saturating_sub(1);
            printed = write_finding(&mut out, &finding);
        }
    })?;
    unless_gone(printed.and_then(|()| write_summary(&mut out, args, &summary)))?;
    Ok(summary)
}

fn write_finding(out: &mut impl Write, finding: &Finding) -> std::io::Result<()> {
    let style: Style = match finding.severity {
        Severity::Damage => AnsiColor::Red.on_default().bold(),
        Severity::Note => AnsiColor::Yellow.on_default(),
    };
    let text = printable(&finding.to_string());
    writeln!(out, "{style}{:<6}{style:#} {text}", finding.severity)
}

fn write_summary(out: &mut impl Write, args: &VerifyArgs, sum: &Summary) -> std::io::Result<()> {
    let found = sum.damage.saturating_add(sum.notes);
    if let Some(more @ 1..) = found.checked_sub(args.limit) {
        writeln!(out, "... and {more} more")?;
    }
    let verdict = if sum.is_sound() { "sound" } else { "damaged" };
    writeln!(
        out,
        "{}: {verdict}: {} physical files, {} tasks, {} damage, {} notes",
        printable(&args.file.to_string_lossy()),
        sum.files,
        sum.tasks,
        sum.damage,
        sum.notes
    )
}
