//! `striae recover` of a netCDF file.

use crate::args::RecoverArgs;
use crate::certainty::Told;
use crate::failure::{Failure, Sound};
use crate::printable::{count, printable, printable_path};
use crate::progress::with_bar;
use crate::text::{print_json, stdout, unless_gone};
use serde::Serialize;
use std::io::Write;
use striae::cdf::recover::{Loss, Recover, Recovery};
use striae_core::store::usize_to_u64;
use striae_inspect::certainty::{Certainty, Word};

#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    told: Told,
    bytes: u64,
    /// What contradicts the file, as `verify` says it.
    damage: Vec<String>,
    /// The number of variables whose definition is lost.
    lost_variables: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    records: Option<Records>,
    variables: Vec<Variable<'a>>,
}

#[derive(Serialize)]
struct Records {
    saved: u64,
    /// The number in the damaged header; left out if it is that of a stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    claimed: Option<u64>,
    word: &'static str,
    why: String,
}

/// A variable of the damaged file.
#[derive(Serialize)]
struct Variable<'a> {
    name: &'a str,
    word: &'static str,
    why: String,
    #[serde(skip)]
    is_claimed: bool,
}

pub(super) fn recover(args: &RecoverArgs) -> Result<Sound, Failure> {
    let nothing = |error| Failure::nothing_made(&error);
    let output = args.output();
    let recovery = Recover::new().output(output).examine(&args.path).map_err(nothing)?;
    let written =
        with_bar(recovery.bytes(), |progress| recovery.write(&args.out, &|bytes| progress(bytes)));
    written.map_err(nothing)?;
    let report = Report::new(&recovery);
    if args.json {
        print_json(&report)?;
    } else {
        unless_gone(report_text(args, &recovery, &report))?;
    }
    Ok(if recovery.tally().is_sound() { Sound::Yes } else { Sound::No })
}

impl<'a> Report<'a> {
    fn new(recovery: &'a Recovery) -> Self {
        let tally = recovery.tally();
        let mut damage: Vec<String> =
            recovery.contradictions().iter().map(ToString::to_string).collect();
        damage.extend(recovery.rest().map(|rest| {
            let (len, offset) = (rest.len(), rest.offset());
            format!(
                "{len} bytes at offset {offset} belong to no variable or record that the header \
                 counts, and are not saved"
            )
        }));
        let variables = recovery.variables().map(|(variable, certainty)| Variable {
            name: variable.name(),
            word: certainty.word().as_str(),
            why: certainty.why().to_string(),
            is_claimed: matches!(certainty, Certainty::Lost(Loss::Claimed { .. })),
        });
        let records = recovery.of_records().map(|certainty| Records {
            saved: recovery.records().saved,
            claimed: recovery.records().claimed,
            word: certainty.word().as_str(),
            why: certainty.why().to_string(),
        });
        Self {
            told: tally.into(),
            bytes: recovery.bytes(),
            damage,
            lost_variables: recovery.lost_variables(),
            records,
            variables: variables.collect(),
        }
    }
}

fn report_text(
    args: &RecoverArgs,
    recovery: &Recovery,
    report: &Report<'_>,
) -> std::io::Result<()> {
    let mut out = stdout();
    for damage in &report.damage {
        writeln!(out, "{}: {damage}", printable_path(&args.path))?;
    }
    if report.lost_variables > 0 {
        writeln!(out, "{} lost: the header is damaged", count(report.lost_variables, "variable"))?;
    }
    let found = Word::AsFound.as_str();
    let all = report.variables.iter().filter(|one| one.word == found);
    if let (count @ 1.., Some(first)) = (all.clone().count(), all.clone().next()) {
        let variables = self::count(usize_to_u64(count), "variable");
        writeln!(out, "{variables}: {found}: {}", first.why)?;
    }
    let others = report.variables.iter().filter(|one| one.word != found);
    for Variable { name, word, why, is_claimed } in others {
        let way = if *is_claimed { "; --max-size BYTES allows more" } else { "" };
        writeln!(out, "variable {}: {word}: {why}{way}", printable(name))?;
    }
    if let Some(Records { saved, word, why, .. }) = &report.records {
        writeln!(out, "{}: {word}: {why}", count(*saved, "record"))?;
    }
    let variables = count(usize_to_u64(recovery.header().variables().len()), "variable");
    let (path, bytes) = (printable_path(&args.out), report.bytes);
    writeln!(out, "{path}: {variables}, {bytes} bytes: {}", recovery.tally())?;
    out.flush()
}
