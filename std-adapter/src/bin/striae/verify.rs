//! `striae verify`.

use crate::args::VerifyArgs;
use crate::failure::{Failure, Sound};
use crate::progress::with_bar;
use crate::sion::{PartOfSet, complain_of_part};
use crate::text::{count, print_json_of, printable, printable_path, unless_gone};
use anstyle::{AnsiColor, Style};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
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

/// What was examined.
#[derive(Serialize)]
#[serde(untagged)]
enum Counts {
    Sion {
        format: &'static str,
        files: u32,
        tasks: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        set_commit: Option<u32>,
    },
    Gsd {
        format: &'static str,
        gsd_version: Option<String>,
        state: Option<String>,
        frames: u64,
        chunks: u64,
        checked: u64,
        names: u32,
    },
    Ffrecord {
        format: &'static str,
        samples: u64,
        checked: u64,
    },
    Map {
        format: &'static str,
        decompositions: u64,
        ranks: u64,
        requests: u64,
    },
    Blob {
        format: &'static str,
        container: Option<&'static str>,
        subfiles: u64,
        /// Of the whole set.
        of: u64,
        blobs: u64,
        decompositions: u64,
        requests: u64,
        variables: u64,
        numrecs: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        map: Option<ByMap>,
    },
    Cdf {
        format: &'static str,
        version: Option<u8>,
        variables: u64,
        numrecs: u64,
    },
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

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Sion { files, tasks, set_commit, .. } => {
                let (files, tasks) =
                    (count((*files).into(), "physical file"), count(*tasks, "task"));
                write!(f, "{files}, {tasks}")?;
                match set_commit {
                    Some(number) => write!(f, ", commit {number} of the set"),
                    None => Ok(()),
                }
            }
            Self::Gsd { state, frames, chunks, checked, names, .. } => {
                if let Some(state) = state {
                    write!(f, "{state}, ")?;
                }
                let (frames, chunks) = (count(*frames, "frame"), count(*chunks, "chunk"));
                write!(f, "{frames}, {chunks}, {checked} with checksums, ")?;
                f.write_str(&count((*names).into(), "name"))
            }
            Self::Cdf { version, variables, numrecs, .. } => {
                if let Some(version) = version {
                    write!(f, "CDF-{version}, ")?;
                }
                write!(f, "{}, {}", count(*variables, "variable"), count(*numrecs, "record"))
            }
            Self::Blob { container, subfiles, of, blobs, variables, numrecs, map, .. } => {
                if let Some(container) = container {
                    write!(f, "{container}, ")?;
                }
                write!(f, "{subfiles} of {}, {}, ", count(*of, "subfile"), count(*blobs, "blob"))?;
                write!(f, "{}, {}", count(*variables, "variable"), count(*numrecs, "record"))?;
                let Some(ByMap { rule, sorted, matching_blobs }) = map else { return Ok(()) };
                let order = if *sorted { "sorted" } else { "in the order of the map" };
                let blobs = count(*blobs, "blob");
                write!(f, ", {matching_blobs} of {blobs} as in the map by {rule}, {order}")
            }
            Self::Map { decompositions, ranks, requests, .. } => {
                let decompositions = count(*decompositions, "decomposition");
                let (ranks, requests) = (count(*ranks, "rank"), count(*requests, "request"));
                write!(f, "map, {decompositions}, {ranks}, {requests}")
            }
            Self::Ffrecord { samples, checked, .. } => {
                write!(f, "{}, {checked} compared with checksums", count(*samples, "sample"))
            }
        }
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
    if args.json { verify_json(args, how) } else { verify_text(args, how) }
}

impl From<sion::verify::Summary> for Summary {
    fn from(sum: sion::verify::Summary) -> Self {
        let (format, files, tasks) = (Format::Sion.name(), sum.files, sum.tasks);
        let counts = Counts::Sion { format, files, tasks, set_commit: sum.set_commit };
        let (data, part) = (sum.data, sum.part_of_set);
        Self { counts, data, part, damage: sum.damage, notes: sum.notes }
    }
}

impl From<gsd::verify::Summary> for Summary {
    fn from(sum: gsd::verify::Summary) -> Self {
        let counts = Counts::Gsd {
            format: Format::Gsd.name(),
            gsd_version: sum.version.map(|version| version.to_string()),
            state: sum.basis.map(|basis| basis.to_string()),
            frames: sum.frames,
            chunks: sum.chunks,
            checked: sum.checked,
            names: sum.names,
        };
        Self { counts, data: sum.data, part: None, damage: sum.damage, notes: sum.notes }
    }
}

impl From<ffrecord::verify::Summary> for Summary {
    fn from(sum: ffrecord::verify::Summary) -> Self {
        let counts = Counts::Ffrecord {
            format: Format::Ffrecord.name(),
            samples: sum.samples,
            checked: sum.checked,
        };
        Self { counts, data: sum.data, part: None, damage: sum.damage, notes: sum.notes }
    }
}

impl From<cdf::verify::Summary> for Summary {
    fn from(sum: cdf::verify::Summary) -> Self {
        let counts = Counts::Cdf {
            format: Format::Cdf.name(),
            version: sum.version.map(cdf::Version::number),
            variables: sum.variables,
            numrecs: sum.numrecs,
        };
        Self { counts, data: sum.data, part: None, damage: sum.damage, notes: sum.notes }
    }
}

impl From<blob::verify::Summary> for Summary {
    fn from(sum: blob::verify::Summary) -> Self {
        let counts = Counts::Blob {
            format: Format::Blob.name(),
            container: sum.container.map(blob::Container::name),
            subfiles: sum.subfiles,
            of: sum.nsubfiles,
            blobs: sum.blobs,
            decompositions: sum.decompositions,
            requests: sum.requests,
            variables: sum.variables,
            numrecs: sum.numrecs,
            map: sum.origin.map(ByMap::from),
        };
        Self { counts, data: sum.data, part: None, damage: sum.damage, notes: sum.notes }
    }
}

impl From<map::Summary> for Summary {
    fn from(sum: map::Summary) -> Self {
        let counts = Counts::Map {
            format: "map",
            decompositions: sum.decompositions,
            ranks: sum.nprocs,
            requests: sum.requests,
        };
        Self { counts, data: sum.data, part: None, damage: sum.damage, notes: sum.notes }
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

pub(crate) const SION: Verifier = Verifier {
    verify: |how, path, each| Ok(how.sion(path, &mut |finding| each(finding.into()))?.into()),
    total: sion::verify::sealed_bytes,
};
pub(crate) const GSD: Verifier = Verifier {
    verify: |how, path, each| Ok(how.gsd(path, &mut |finding| each(finding.into()))?.into()),
    total: gsd::verify::sealed_bytes,
};
pub(crate) const FFRECORD: Verifier = Verifier {
    verify: |how, path, each| Ok(how.ffrecord(path, &mut |finding| each(finding.into()))?.into()),
    total: ffrecord::verify::checked_bytes,
};

pub(crate) const CDF: Verifier = Verifier { verify: verify_cdf, total: |_| 0 };

pub(crate) const BLOB: Verifier = Verifier {
    verify: |how, path, each| Ok(how.blob(path, &mut |finding| each(finding.into()))?.into()),
    total: blob::verify::sealed_bytes,
};

pub(crate) const MAP: Verifier = Verifier {
    verify: |how, path, each| Ok(how.map(path, &mut |finding| each(finding.into()))?.into()),
    total: |_| 0,
};

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

fn write_finding(out: &mut impl Write, row: &Row) -> std::io::Result<()> {
    let style: Style = match row.severity {
        Severity::Damage => AnsiColor::Red.on_default().bold(),
        Severity::Note => AnsiColor::Yellow.on_default(),
    };
    let text = printable(&format!("{}: {}", Shown::new(&row.file), row.text));
    writeln!(out, "{style}{:<6}{style:#} {text}", row.severity)
}

fn write_summary(out: &mut impl Write, args: &VerifyArgs, sum: &Summary) -> std::io::Result<()> {
    let found = sum.damage.saturating_add(sum.notes);
    if let Some(more @ 1..) = found.checked_sub(args.limit) {
        writeln!(out, "... and {more} more")?;
    }
    writeln!(
        out,
        "{}: {}: {}, {}, {} damage, {}",
        printable_path(&args.file),
        sum.verdict(),
        sum.counts,
        sum.data,
        sum.damage,
        count(sum.notes, "note")
    )
}
