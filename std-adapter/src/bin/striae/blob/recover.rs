//! `striae recover` of a set of blob files.

use crate::args::RecoverArgs;
use crate::failure::{Failure, Sound};
use crate::progress::with_bar;
use crate::text::{count, print_json, printable, printable_path, stdout, unless_gone};
use serde::Serialize;
use std::io::Write;
use striae::blob::Request;
use striae::blob::recover::{Recover, Recovery};

/// The most ranges of elements in a line.
const RANGES: usize = 3;

#[derive(Serialize)]
struct Report<'a> {
    /// Whether all subfiles are there and sound.
    complete: bool,
    variables: u64,
    records: u64,
    bytes: u64,
    missing: Vec<u32>,
    damaged: Vec<Damaged>,
    /// Elements of all variables of a decomposition: lost, or never written.
    uncovered: Vec<Uncovered<'a>>,
    lost: Vec<Lost<'a>>,
}

#[derive(Serialize)]
struct Damaged {
    subfile: u32,
    error: String,
}

#[derive(Serialize)]
struct Uncovered<'a> {
    decomposition: usize,
    elements: u64,
    /// Elements that the maps name twice, or outside of the array.
    surplus: u64,
    /// Whether it is certain that nobody wrote them.
    hole: bool,
    ranges: Vec<Range<'a>>,
}

#[derive(Serialize)]
struct Lost<'a> {
    variable: &'a str,
    /// The first record, and how many.
    #[serde(skip_serializing_if = "Option::is_none")]
    records: Option<[u64; 2]>,
    values: u64,
    ranges: Vec<Range<'a>>,
}

struct Range<'a>(&'a Request);

impl Serialize for Range<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        [self.0.offset, self.0.len].serialize(serializer)
    }
}

pub(super) fn recover(args: &RecoverArgs) -> Result<Sound, Failure> {
    let nothing = |error| Failure::nothing_made(&error);
    let output = args.output();
    let recovery = Recover::new().output(output).examine(&args.path).map_err(nothing)?;
    let written = with_bar(recovery.bytes(), |progress| recovery.write(&args.out, progress));
    written.map_err(nothing)?;
    let report = Report::new(&recovery);
    if args.json {
        print_json(&report)?;
    } else {
        unless_gone(report_text(args, &recovery, &report))?;
    }
    Ok(if report.complete { Sound::Yes } else { Sound::No })
}

impl<'a> Report<'a> {
    fn new(recovery: &'a Recovery) -> Self {
        let set = recovery.set();
        let damaged = recovery.damaged().into_iter();
        let damaged = damaged.map(|lost| {
            let error = lost.error.to_string();
            Damaged { subfile: lost.number, error }
        });
        let uncovered =
            recovery.uncovered().iter().filter(|one| one.elements > 0 || one.surplus > 0);
        let uncovered = uncovered.map(|one| Uncovered {
            decomposition: one.id,
            elements: one.elements,
            surplus: one.surplus,
            hole: one.is_hole,
            ranges: one.ranges.iter().map(Range).collect(),
        });
        let lost = recovery.lost_values().iter().map(|one| Lost {
            variable: &one.name,
            records: one.records.as_ref().map(|r| [r.start, r.end.saturating_sub(r.start)]),
            values: one.values,
            ranges: one.ranges.iter().map(Range).collect(),
        });
        Self {
            complete: recovery.is_complete(),
            variables: recovery.variables(),
            records: set.header().numrecs(),
            bytes: recovery.bytes(),
            missing: set.missing().collect(),
            damaged: damaged.collect(),
            uncovered: uncovered.collect(),
            lost: lost.collect(),
        }
    }
}

/// Ranges of elements in words: the first of them.
fn ranges(all: &[Range<'_>]) -> String {
    let few = all.iter().take(RANGES).map(|Range(one)| match one.len {
        1 => one.offset.to_string(),
        _ => format!("{} to {}", one.offset, one.end().saturating_sub(1)),
    });
    let text = few.collect::<Vec<_>>().join(", ");
    if all.len() > RANGES { format!("{text}, ...") } else { text }
}

fn report_text(
    args: &RecoverArgs,
    recovery: &Recovery,
    report: &Report<'_>,
) -> std::io::Result<()> {
    let mut out = stdout();
    for &number in &report.missing {
        let path = recovery.set().subfile_path(number);
        writeln!(out, "{}: is missing", printable_path(&path))?;
    }
    for Damaged { error, .. } in &report.damaged {
        writeln!(out, "{}", printable(error))?;
    }
    for Uncovered { decomposition, elements, surplus, hole, ranges: all } in &report.uncovered {
        if *surplus > 0 {
            let surplus = count(*surplus, "element");
            writeln!(
                out,
                "D{decomposition}: the maps name {surplus} twice, or outside of the array: values \
                 of the first rank are taken; striae verify says where"
            )?;
        }
        if *elements == 0 {
            continue;
        }
        let what = match hole {
            true => "nobody wrote them",
            false => "lost, or never written",
        };
        let elements = count(*elements, "element");
        writeln!(out, "D{decomposition}: {elements} of each variable: {what}: {}", ranges(all))?;
    }
    for Lost { variable, records, values, ranges: all } in &report.lost {
        let (records, each) = match *records {
            None => (String::new(), ""),
            Some([first, 1]) => (format!(", record {first}"), ""),
            Some([first, n]) => {
                let last = first.saturating_add(n).saturating_sub(1);
                (format!(", records {first} to {last}"), "in each ")
            }
        };
        let values = count(*values, "value");
        let variable = printable(variable);
        writeln!(out, "variable {variable}{records}: {values} lost: {each}{}", ranges(all))?;
    }
    let verdict = if report.complete { "complete" } else { "not complete" };
    let variables = count(report.variables, "variable");
    let (records, bytes) = (count(report.records, "record"), report.bytes);
    let path = printable_path(&args.out);
    writeln!(out, "{path}: {verdict}: {variables}, {records}, {bytes} bytes")?;
    out.flush()
}
