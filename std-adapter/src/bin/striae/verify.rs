//! `striae verify`.

use crate::args::VerifyArgs;
use crate::failure::{Failure, Sound, complain};
use crate::part::{PartOfSet, complain_of_part};
use crate::printable::{count, printable, printable_path};
use crate::progress::with_bar;
use crate::sheet::{Cell, Column, Form, Sheet, left};
use crate::text::{print_json_of, stdout, unless_gone};
use anstyle::{AnsiColor, Style};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value as Json;
use std::io::Write;
use std::path::Path;
use striae::blob::map;
use striae::finding::{Coverage, Facts, Finding, Found, Severity, Value};
use striae::format::Format;
use striae::shown::Shown;
use striae::{Error, Verify};
use striae::{blob, cdf, ffrecord, gsd, sion};

#[derive(Serialize)]
struct Report {
    sound: bool,
    verdict: &'static str,
    #[serde(flatten)]
    counts: Counts,
    data_bytes: u64,
    checked_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    part_of_set: Option<PartOfSet>,
    damage: u64,
    notes: u64,
    findings: Vec<Row>,
}

/// What was examined: numbers with their names in JSON, and the same in words.
struct Counts {
    format: &'static str,
    numbers: Vec<(&'static str, Json)>,
    by_map: Option<ByMap>,
    words: String,
}

impl Counts {
    fn new(format: Format, numbers: Vec<(&'static str, Json)>, words: String) -> Self {
        Self { format: format.name(), numbers, by_map: None, words }
    }
}

impl Serialize for Counts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut row = serializer.serialize_map(None)?;
        row.serialize_entry("format", self.format)?;
        for (name, number) in &self.numbers {
            row.serialize_entry(name, number)?;
        }
        if let Some(by_map) = &self.by_map {
            row.serialize_entry("map", by_map)?;
        }
        row.end()
    }
}

/// How a blob set was written by a map.
#[derive(Serialize)]
struct ByMap {
    rule: &'static str,
    sorted: bool,
    matching_blobs: usize,
}

impl From<map::Origin> for ByMap {
    fn from(origin: map::Origin) -> Self {
        let rule = match origin.rule {
            map::Rule::Nreqs => "nreqs",
            map::Rule::FillStarts => "fill_starts",
        };
        let sorted = origin.order == map::Order::Merged;
        Self { rule, sorted, matching_blobs: origin.matching }
    }
}

/// The result of verifying a file.
struct Summary {
    counts: Counts,
    data: Coverage,
    part: Option<sion::PartOfSet>,
    damage: u64,
    notes: u64,
}

impl Summary {
    const fn is_sound(&self) -> bool {
        self.damage == 0
    }

    const fn verdict(&self) -> &'static str {
        self.data.verdict(self.damage)
    }
}

/// A finding in a file of any format, only with the fields that apply.
struct Row {
    severity: Severity,
    file: String,
    facts: Facts,
    text: String,
}

impl<W: Found> From<Finding<W>> for Row {
    fn from(finding: Finding<W>) -> Self {
        Self {
            severity: finding.severity,
            file: finding.file.to_string_lossy().into_owned(),
            facts: finding.facts(),
            text: finding.what.to_string(),
        }
    }
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { severity, file, facts, text } = self;
        let mut row = serializer.serialize_map(None)?;
        row.serialize_entry("severity", &severity.to_string())?;
        row.serialize_entry("kind", facts.kind)?;
        row.serialize_entry("file", file)?;
        let mut done = Ok(());
        facts.each(|name, value| {
            if done.is_ok() {
                done = match value {
                    Value::Integer(value) => row.serialize_entry(name, &value),
                    Value::Text(value) => row.serialize_entry(name, &value),
                };
            }
        });
        done?;
        row.serialize_entry("finding", text)?; // the whole finding in words
        row.end()
    }
}

pub(crate) fn verify(args: &VerifyArgs, how: Verifier) -> Result<Sound, Failure> {
    match (args.json, args.csv) {
        (true, _) => verify_json(args, how),
        (_, true) => verify_csv(args, how),
        _ => verify_text(args, how),
    }
}

/// A number of things, in JSON and in words.
fn counted(things: u64, thing: &str) -> (Json, String) {
    (things.into(), count(things, thing))
}

/// Makes a [`Summary`] of the summary of a format, which has these fields in all formats.
macro_rules! summary {
    ($sum:ident, $counts:expr) => {
        Summary {
            counts: $counts,
            data: $sum.data,
            part: None,
            damage: $sum.damage,
            notes: $sum.notes,
        }
    };
}

impl From<sion::verify::Summary> for Summary {
    fn from(sum: sion::verify::Summary) -> Self {
        let files = counted(sum.files.into(), "physical file");
        let tasks = counted(sum.tasks, "task");
        let mut words = format!("{}, {}", files.1, tasks.1);
        let mut numbers = vec![("files", files.0), ("tasks", tasks.0)];
        if let Some(number) = sum.set_commit {
            numbers.push(("set_commit", number.into()));
            words.push_str(&format!(", commit {number} of the set"));
        }
        let part = sum.part_of_set;
        Self { part, ..summary!(sum, Counts::new(Format::Sion, numbers, words)) }
    }
}

impl From<gsd::verify::Summary> for Summary {
    fn from(sum: gsd::verify::Summary) -> Self {
        let state = sum.basis.map(|basis| basis.to_string());
        let frames = counted(sum.frames, "frame");
        let chunks = counted(sum.chunks, "chunk");
        let names = counted(sum.names.into(), "name");
        let mut words = state.as_ref().map_or_else(String::new, |state| format!("{state}, "));
        let checked = sum.checked;
        words += &format!("{}, {}, {checked} with checksums, {}", frames.1, chunks.1, names.1);
        let numbers = vec![
            ("gsd_version", sum.version.map(|version| version.to_string()).into()),
            ("state", state.into()),
            ("frames", frames.0),
            ("chunks", chunks.0),
            ("checked", checked.into()),
            ("names", names.0),
        ];
        summary!(sum, Counts::new(Format::Gsd, numbers, words))
    }
}

impl From<ffrecord::verify::Summary> for Summary {
    fn from(sum: ffrecord::verify::Summary) -> Self {
        let samples = counted(sum.samples, "sample");
        let words = format!("{}, {} compared with checksums", samples.1, sum.checked);
        let numbers = vec![("samples", samples.0), ("checked", sum.checked.into())];
        summary!(sum, Counts::new(Format::Ffrecord, numbers, words))
    }
}

impl From<cdf::verify::Summary> for Summary {
    fn from(sum: cdf::verify::Summary) -> Self {
        let version = sum.version.map(cdf::Version::number);
        let variables = counted(sum.variables, "variable");
        let records = counted(sum.numrecs, "record");
        let mut words = version.map_or_else(String::new, |version| format!("CDF-{version}, "));
        words += &format!("{}, {}", variables.1, records.1);
        let numbers =
            vec![("version", version.into()), ("variables", variables.0), ("numrecs", records.0)];
        summary!(sum, Counts::new(Format::Cdf, numbers, words))
    }
}

impl From<blob::verify::Summary> for Summary {
    fn from(sum: blob::verify::Summary) -> Self {
        let container = sum.container.map(blob::Container::name);
        let of = counted(sum.nsubfiles, "subfile");
        let blobs = counted(sum.blobs, "blob");
        let variables = counted(sum.variables, "variable");
        let records = counted(sum.numrecs, "record");
        let by_map = sum.origin.map(ByMap::from);
        let mut words = container.map_or_else(String::new, |container| format!("{container}, "));
        words += &format!("{} of {}, {}, ", sum.subfiles, of.1, blobs.1);
        words += &format!("{}, {}", variables.1, records.1);
        if let Some(ByMap { rule, sorted, matching_blobs }) = &by_map {
            let order = if *sorted { "sorted" } else { "in the order of the map" };
            let of = &blobs.1;
            words += &format!(", {matching_blobs} of {of} as in the map by {rule}, {order}");
        }
        let numbers = vec![
            ("container", container.into()),
            ("subfiles", sum.subfiles.into()),
            ("of", of.0), // of the whole set
            ("blobs", blobs.0),
            ("decompositions", sum.decompositions.into()),
            ("requests", sum.requests.into()),
            ("variables", variables.0),
            ("numrecs", records.0),
        ];
        summary!(sum, Counts { by_map, ..Counts::new(Format::Blob, numbers, words) })
    }
}

impl From<map::Summary> for Summary {
    fn from(sum: map::Summary) -> Self {
        let decompositions = counted(sum.decompositions, "decomposition");
        let (ranks, requests) = (counted(sum.nprocs, "rank"), counted(sum.requests, "request"));
        let words = format!("map, {}, {}, {}", decompositions.1, ranks.1, requests.1);
        let numbers = vec![
            ("decompositions", decompositions.0),
            ("ranks", ranks.0),
            ("requests", requests.0),
        ];
        summary!(sum, Counts::new(Format::Map, numbers, words))
    }
}

/// Verifies a netCDF file, and its contents if it is a map.
fn verify_cdf(how: &Verify<'_>, path: &Path, each: &mut dyn FnMut(Row)) -> Result<Summary, Error> {
    let mut sum: Summary = how.cdf(path, &mut |finding| each(finding.into()))?.into();
    if map::is_map(path)? {
        let of_map = how.map(path, &mut |finding| each(finding.into()))?;
        sum.damage = sum.damage.saturating_add(of_map.damage);
        sum.notes = sum.notes.saturating_add(of_map.notes);
    }
    Ok(sum)
}

/// Verifies a file, and calls the function for each finding.
type Run = fn(&Verify<'_>, &Path, &mut dyn FnMut(Row)) -> Result<Summary, Error>;

/// How files of a format are verified.
#[derive(Clone, Copy)]
pub(crate) struct Verifier {
    verify: Run,
    /// Number of data bytes that will be checked, for the progress bar.
    total: fn(&Path) -> u64,
}

/// The [`Verifier`] with this method of [`Verify`], and the total of its progress.
macro_rules! verifier {
    ($method:ident, $total:expr) => {
        Verifier {
            verify: |how, path, each| {
                Ok(how.$method(path, &mut |finding| each(finding.into()))?.into())
            },
            total: $total,
        }
    };
}

pub(crate) const SION: Verifier = verifier!(sion, sion::verify::sealed_bytes);
pub(crate) const GSD: Verifier = verifier!(gsd, gsd::verify::sealed_bytes);
pub(crate) const FFRECORD: Verifier = verifier!(ffrecord, ffrecord::verify::checked_bytes);
pub(crate) const CDF: Verifier = Verifier { verify: verify_cdf, total: |_| 0 };
pub(crate) const BLOB: Verifier = verifier!(blob, blob::verify::sealed_bytes);
pub(crate) const MAP: Verifier = verifier!(map, |_| 0);

/// Verifies a file, with a progress bar if there is data to check, and calls `each` for findings up
/// to the limit. If there is a bar, this happens after the bar is gone.
fn verify_shown(
    args: &VerifyArgs,
    how: Verifier,
    each: &mut dyn FnMut(Row),
) -> Result<Summary, Failure> {
    let (path, options) = (&args.file, Verify::new().direct(args.direct.options()));
    let options = options.against(args.map.as_deref());
    let total = (how.total)(path);
    let (mut held, mut left) = (Vec::new(), args.limit);
    let mut tell = |row| {
        let Some(less) = left.checked_sub(1) else { return };
        left = less;
        if total == 0 { each(row) } else { held.push(row) }
    };
    let summary = match total {
        0 => (how.verify)(&options, path, &mut tell),
        _ => with_bar(total, |progress| (how.verify)(&options.progress(progress), path, &mut tell)),
    };
    held.into_iter().for_each(each);
    let map = args.map.as_deref();
    summary.map_err(|error| Failure::from(error).of_option("map", map, "a decomposition map"))
}

fn verify_json(args: &VerifyArgs, how: Verifier) -> Result<Sound, Failure> {
    let mut findings = Vec::new();
    let summary = verify_shown(args, how, &mut |row| findings.push(row))?;
    let (sound, verdict) = (summary.is_sound(), summary.verdict());
    let Summary { counts, data, part, damage, notes } = summary;
    let (data_bytes, checked_bytes) = (data.bytes, data.checked);
    let part_of_set = part.map(|part| PartOfSet::new(part, &args.file));
    print_json_of(
        &args.file,
        &Report {
            sound,
            verdict,
            counts,
            data_bytes,
            checked_bytes,
            part_of_set,
            damage,
            notes,
            findings,
        },
    )?;
    Ok(if sound { Sound::Yes } else { Sound::No })
}

/// Prints the JSON line of a file that could not be verified: nobody knows whether it is sound.
pub(crate) fn unverified(args: &VerifyArgs, failure: &Failure) -> Result<(), Failure> {
    #[derive(Serialize)]
    struct Unverified {
        sound: Option<bool>,
        error: String,
    }
    if let Some(error) = failure.of_input().filter(|_| args.json) {
        print_json_of(&args.file, &Unverified { sound: None, error })?;
    }
    Ok(())
}

fn verify_text(args: &VerifyArgs, how: Verifier) -> Result<Sound, Failure> {
    let mut out = anstream::stdout().lock();
    let mut printed = Ok(());
    let summary = verify_shown(args, how, &mut |row| {
        if printed.is_ok() {
            printed = write_finding(&mut out, &row);
        }
    })?;
    unless_gone(printed.and_then(|()| write_summary(&mut out, args, &summary)))?;
    complain_of_part(summary.part, &args.file, "checked");
    Ok(if summary.is_sound() { Sound::Yes } else { Sound::No })
}

const COLUMNS: &[Column] =
    &[left("severity", 0), left("kind", 0), left("file", 0), left("finding", 0)];

/// Prints a row for each finding. The exit status has the verdict.
fn verify_csv(args: &VerifyArgs, how: Verifier) -> Result<Sound, Failure> {
    let mut out = stdout();
    let mut sheet = Sheet::new(COLUMNS, Form::Csv(None), &mut out);
    let summary = verify_shown(args, how, &mut |row| {
        let severity = row.severity.to_string();
        let texts = [&severity, row.facts.kind, &row.file, &row.text];
        if let Ok(rows) = &mut sheet {
            let printed = rows.row(&texts.map(Cell::Text));
            printed.unwrap_or_else(|error| sheet = Err(error));
        }
    })?;
    unless_gone(sheet.map(drop).and_then(|()| out.flush()))?;
    if let Some(more) = more_than_shown(args, &summary) {
        complain(&format!(
            "{}: {more} more findings; --limit N prints them",
            printable_path(&args.file)
        ));
    }
    complain_of_part(summary.part, &args.file, "checked");
    Ok(if summary.is_sound() { Sound::Yes } else { Sound::No })
}

fn write_finding(out: &mut impl Write, row: &Row) -> std::io::Result<()> {
    let style: Style = match row.severity {
        Severity::Damage => AnsiColor::Red.on_default().bold(),
        Severity::Note => AnsiColor::Yellow.on_default(),
    };
    let text = printable(&format!("{}: {}", Shown::new(&row.file), row.text));
    writeln!(out, "{style}{:<6}{style:#} {text}", row.severity)
}

/// The number of findings past the limit, if there are any.
fn more_than_shown(args: &VerifyArgs, sum: &Summary) -> Option<u64> {
    let found = sum.damage.saturating_add(sum.notes);
    found.checked_sub(args.limit).filter(|&more| more > 0)
}

fn write_summary(out: &mut impl Write, args: &VerifyArgs, sum: &Summary) -> std::io::Result<()> {
    if let Some(more) = more_than_shown(args, sum) {
        writeln!(out, "... and {more} more")?;
    }
    writeln!(
        out,
        "{}: {}: {}, {}, {} damage, {}",
        printable_path(&args.file),
        sum.verdict(),
        sum.counts.words,
        sum.data,
        sum.damage,
        count(sum.notes, "note")
    )
}
