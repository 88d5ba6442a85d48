//! `striae verify`.

use crate::args::VerifyArgs;
use crate::failure::{Failure, Sound};
use crate::progress::with_bar;
use crate::text::{print_json, printable, unless_gone};
use anstyle::{AnsiColor, Style};
use serde::Serialize;
use std::io::Write;
use striae::Error;
use striae::sion::verify::{Finding, Severity, Summary, Value, sealed_bytes, verify_seen};

#[derive(Serialize)]
struct Report {
    sound: bool,
    files: u32,
    tasks: u64,
    damage: u64,
    notes: u64,
    findings: Vec<Row>,
}

/// A finding. What does not apply is left out.
#[derive(Serialize)]
struct Row {
    severity: String,
    kind: &'static str,
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    len: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chunk: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<AnyValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min: Option<i128>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<i128>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<i128>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usual: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stored: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    computed: Option<u32>,
    /// The same in words.
    finding: String,
}

#[derive(Serialize)]
#[serde(untagged)]
enum AnyValue {
    Integer(i128),
    Text(String),
}

impl Row {
    fn new(finding: &Finding) -> Self {
        let facts = finding.facts();
        let value = facts.value.map(|value| match value {
            Value::Integer(value) => AnyValue::Integer(value),
            Value::Text(value) => AnyValue::Text(value),
        });
        Self {
            severity: finding.severity.to_string(),
            kind: facts.kind,
            file: finding.file.to_string_lossy().into_owned(),
            field: facts.field,
            offset: facts.offset,
            len: facts.len,
            task: facts.task,
            chunk: facts.chunk,
            value,
            min: facts.min,
            max: facts.max,
            expected: facts.expected,
            usual: facts.usual,
            stored: facts.stored,
            computed: facts.computed,
            finding: finding.what.to_string(),
        }
    }
}

pub(crate) fn verify(args: &VerifyArgs) -> Result<Sound, Failure> {
    let summary = if args.json { verify_json(args)? } else { verify_text(args)? };
    Ok(if summary.is_sound() { Sound::Yes } else { Sound::No })
}

/// Verifies, with a bar if there are data to be checked. Findings are not printed through the bar.
fn verify_shown(args: &VerifyArgs, each: &mut dyn FnMut(Finding)) -> Result<Summary, Error> {
    let total = sealed_bytes(&args.file);
    if total == 0 {
        return verify_seen(&args.file, each, &|_| {});
    }
    let mut held = Vec::new();
    let limit = usize::try_from(args.limit).unwrap_or(usize::MAX);
    let hold = &mut |finding| {
        if held.len() < limit {
            held.push(finding);
        }
    };
    let summary = with_bar(total, |progress| verify_seen(&args.file, hold, progress));
    held.into_iter().for_each(each);
    summary
}

fn verify_json(args: &VerifyArgs) -> Result<Summary, Failure> {
    let mut findings = Vec::new();
    let limit = usize::try_from(args.limit).unwrap_or(usize::MAX);
    let summary = verify_shown(args, &mut |finding| {
        if findings.len() < limit {
            findings.push(Row::new(&finding));
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
    let summary = verify_shown(args, &mut |finding| {
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
