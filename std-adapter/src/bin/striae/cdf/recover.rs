//! `striae recover` of a netCDF file.

use crate::args::RecoverArgs;
use crate::failure::{Failure, Sound};
use crate::progress::with_bar;
use crate::text::{count, print_json, printable, printable_path, stdout, unless_gone};
use serde::Serialize;
use std::io::Write;
use striae::cdf::recover::{Recover, Recovery};

#[derive(Serialize)]
struct Report<'a> {
    /// Whether everything that the header says is saved.
    complete: bool,
    variables: usize,
    lost_variables: u64,
    records: u64,
    /// The number in the damaged header; left out if it is that of a stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    claimed_records: Option<u64>,
    bytes: u64,
    /// The first damage in the header.
    #[serde(skip_serializing_if = "Option::is_none")]
    damage: Option<String>,
    /// The bytes of a record, if the records overlap.
    #[serde(skip_serializing_if = "Option::is_none")]
    overlapping_record: Option<u64>,
    filled: Vec<Filled<'a>>,
}

/// A variable with missing values.
#[derive(Serialize)]
struct Filled<'a> {
    name: &'a str,
    bytes: u64,
}

pub(super) fn recover(args: &RecoverArgs) -> Result<Sound, Failure> {
    let nothing = |error| Failure::nothing_made(&error);
    let output = args.output();
    let recovery = Recover::new().output(output).examine(&args.path).map_err(nothing)?;
    let written =
        with_bar(recovery.bytes(), |progress| recovery.write(&args.out, &|bytes| progress(bytes)));
    written.map_err(nothing)?;
    if args.json {
        print_json(&Report::new(&recovery))?;
    } else {
        unless_gone(report_text(args, &Report::new(&recovery)))?;
    }
    Ok(if recovery.is_complete() { Sound::Yes } else { Sound::No })
}

impl<'a> Report<'a> {
    fn new(recovery: &'a Recovery) -> Self {
        let records = recovery.records();
        let filled = recovery.filled().iter();
        Self {
            complete: recovery.is_complete(),
            variables: recovery.header().variables().len(),
            lost_variables: recovery.lost_variables(),
            records: records.saved,
            claimed_records: records.claimed,
            bytes: recovery.bytes(),
            damage: recovery.damage().map(ToString::to_string),
            overlapping_record: recovery.overlap().map(|first| first.len()),
            filled: filled.map(|one| Filled { name: &one.name, bytes: one.bytes }).collect(),
        }
    }
}

fn report_text(args: &RecoverArgs, report: &Report<'_>) -> std::io::Result<()> {
    let mut out = stdout();
    if let Some(damage) = &report.damage {
        writeln!(out, "{}: {damage}", printable_path(&args.path))?;
    }
    if report.lost_variables > 0 {
        writeln!(out, "{} lost", count(report.lost_variables, "variable"))?;
    }
    match report.claimed_records {
        Some(claimed) if claimed != report.records => {
            writeln!(out, "{} in the header, {} saved", count(claimed, "record"), report.records)?;
        }
        _ => {}
    }
    if let Some(bytes) = report.overlapping_record {
        writeln!(out, "records of {bytes} bytes overlap: values of one are those of the next")?;
    }
    for Filled { name, bytes } in &report.filled {
        writeln!(out, "variable {}: the last {bytes} bytes are fill values", printable(name))?;
    }
    let verdict = if report.complete { "complete" } else { "not complete, or a guess" };
    let variables = count(striae_core::store::usize_to_u64(report.variables), "variable");
    let (records, bytes) = (count(report.records, "record"), report.bytes);
    let path = printable_path(&args.out);
    writeln!(out, "{path}: {verdict}: {variables}, {records}, {bytes} bytes")?;
    out.flush()
}
