//! `striae recover` of a set of blob files.

use crate::args::RecoverArgs;
use crate::certainty::Told;
use crate::failure::{Failure, Sound};
use crate::printable::{count, printable, printable_path};
use crate::progress::with_bar;
use crate::text::{print_json, stdout, unless_gone};
use serde::Serialize;
use std::io::Write;
use striae::blob::recover::{Recover, Recovery};
use striae::blob::{Request, Set};
use striae::finding::Word;

/// The most ranges of elements in a line.
const RANGES: usize = 3;

#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    told: Told,
    records: u64,
    bytes: u64,
    /// The first missing subfile of each range, and how many.
    missing: Vec<[u32; 2]>,
    damaged: Vec<Damaged>,
    /// The damage that verify finds.
    damage: Vec<String>,
    /// Elements of all variables of a decomposition: lost, or never written.
    uncovered: Vec<Uncovered<'a>>,
    lost: Vec<Lost<'a>>,
    variables: Vec<Variable<'a>>,
}

#[derive(Serialize)]
struct Variable<'a> {
    name: &'a str,
    word: &'static str,
    why: &'static str,
}

#[derive(Serialize)]
struct Damaged {
    subfile: u32,
    error: String,
}

#[derive(Serialize)]
struct Uncovered<'a> {
    decomposition: usize,
    word: &'static str,
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
    word: &'static str,
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
    Ok(if recovery.is_complete() { Sound::Yes } else { Sound::No })
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
            word: word_of(one).as_str(),
            elements: one.elements,
            surplus: one.surplus,
            hole: one.is_hole,
            ranges: one.ranges.iter().map(Range).collect(),
        });
        let lost = recovery.lost_values().iter().map(|one| Lost {
            variable: &one.name,
            word: Word::Lost.as_str(),
            records: one.records.as_ref().map(|r| [r.start, r.end.saturating_sub(r.start)]),
            values: one.values,
            ranges: one.ranges.iter().map(Range).collect(),
        });
        let variables = recovery.words().map(|(variable, word)| Variable {
            name: variable.name(),
            word: word.as_str(),
            why: why(word),
        });
        Self {
            told: recovery.tally().into(),
            records: set.header().numrecs(),
            bytes: recovery.bytes(),
            missing: missing(set),
            damaged: damaged.collect(),
            damage: recovery.damage().iter().map(ToString::to_string).collect(),
            uncovered: uncovered.collect(),
            lost: lost.collect(),
            variables: variables.collect(),
        }
    }
}

/// Why a variable has a word.
const fn why(word: Word) -> &'static str {
    match word {
        Word::Exact => "all values are saved, and were compared with seals",
        Word::AsFound => "all values are saved; headers, tables and maps agree",
        Word::Guess => {
            "maps name elements of it twice or outside of the array, or a header contradicts itself \
             in where it or its map is"
        }
        Word::Lost => "values are lost",
    }
}

/// The word for elements that no subfile has, or that are named twice.
const fn word_of(one: &striae::blob::recover::Uncovered) -> Word {
    match (one.elements > 0 && !one.is_hole, one.surplus > 0) {
        (true, _) => Word::Lost,
        (false, true) => Word::Guess,
        (false, false) => Word::AsFound,
    }
}

/// The ranges of subfiles that are missing. A header may claim any number of them.
fn missing(set: &Set) -> Vec<[u32; 2]> {
    let end = u32::try_from(set.nsubfiles()).unwrap_or(u32::MAX);
    let there = set.subfiles().map(|(number, _)| number).chain([end]);
    let (mut ranges, mut next) = (Vec::new(), 0);
    for number in there {
        if let Some(count @ 1..) = number.checked_sub(next) {
            ranges.push([next, count]);
        }
        next = number.saturating_add(1);
    }
    ranges
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
    for &[first, count] in &report.missing {
        let path = |number| recovery.set().subfile_path(number);
        let (from, last) = (path(first), path(first.saturating_add(count).saturating_sub(1)));
        match count {
            1 => writeln!(out, "{}: is missing", printable_path(&from))?,
            _ => writeln!(
                out,
                "{} to {}: {count} subfiles are missing",
                printable_path(&from),
                printable_path(&last)
            )?,
        }
    }
    for Damaged { error, .. } in &report.damaged {
        writeln!(out, "{}", printable(error))?;
    }
    if report.damaged.is_empty() {
        // Missing subfiles are named above.
        let all = recovery.damage().iter().filter(|one| one.facts().kind != "missing");
        all.take(RANGES).try_for_each(|one| writeln!(out, "{one}"))?;
    }
    if report.damage.len() > RANGES {
        writeln!(out, "striae verify lists the damage: {} findings", report.damage.len())?;
    }
    for row in &report.uncovered {
        let Uncovered { decomposition, elements, surplus, hole, ranges: all, .. } = row;
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
    for Lost { variable, records, values, ranges: all, .. } in &report.lost {
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
    let variables = count(recovery.variables(), "variable");
    let records = count(report.records, "record");
    let (path, tally) = (printable_path(&args.out), recovery.tally());
    writeln!(out, "{path}: {tally}; {variables}, {records}, {} bytes", report.bytes)?;
    out.flush()
}
