//! Checking a file.

use super::{Row, Value, dicts, fill, recognize};
use crate::error::raised;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::{Path, PathBuf};
use striae::blob::map;
use striae::finding::{Coverage, Finding, Found, Value as Fact};
use striae::{Error, Format, Verify};

/// What was found.
struct Report {
    format: &'static str,
    counts: Row,
    data: Coverage,
    damage: u64,
    notes: u64,
    findings: Vec<Row>,
}

/// Checks everything that can be checked of a file.
#[pyfunction]
#[pyo3(signature = (path, map=None))]
pub(crate) fn verify(
    py: Python<'_>,
    path: PathBuf,
    map: Option<PathBuf>,
) -> PyResult<Bound<'_, PyDict>> {
    let report = py.detach(|| run(&path, map.as_deref())).map_err(raised)?;
    let dict = PyDict::new(py);
    dict.set_item("path", &path)?;
    dict.set_item("format", report.format)?;
    dict.set_item("sound", report.damage == 0)?;
    dict.set_item("verdict", report.data.verdict(report.damage))?;
    dict.set_item("damage", report.damage)?;
    dict.set_item("notes", report.notes)?;
    dict.set_item("data_bytes", report.data.bytes)?;
    dict.set_item("checked_bytes", report.data.checked)?;
    let counts = PyDict::new(py);
    fill(&counts, report.counts)?;
    dict.set_item("counts", counts)?;
    dict.set_item("findings", dicts(py, report.findings)?)?;
    Ok(dict)
}

fn run(path: &Path, of_map: Option<&Path>) -> Result<Report, Error> {
    let mut findings = Vec::new();
    let how = Verify::new().against(of_map);
    let recognized = recognize(path)?;
    let (counts, data, damage, notes): (Row, _, _, _) = match recognized.format() {
        Format::Sion => {
            let sum = how.sion(path, &mut |finding| findings.push(row(&finding)))?;
            let counts = vec![
                ("files", u64::from(sum.files).into()),
                ("tasks", sum.tasks.into()),
                ("set_commit", sum.set_commit.map(u64::from).into()),
            ];
            (counts, sum.data, sum.damage, sum.notes)
        }
        Format::Gsd => {
            let sum = how.gsd(path, &mut |finding| findings.push(row(&finding)))?;
            let counts = vec![
                ("gsd_version", sum.version.map(|version| version.to_string()).into()),
                ("state", sum.basis.map(|basis| basis.to_string()).into()),
                ("frames", sum.frames.into()),
                ("chunks", sum.chunks.into()),
                ("checked", sum.checked.into()),
                ("names", u64::from(sum.names).into()),
            ];
            (counts, sum.data, sum.damage, sum.notes)
        }
        Format::Ffrecord => {
            let sum = how.ffrecord(path, &mut |finding| findings.push(row(&finding)))?;
            let counts = vec![("samples", sum.samples.into()), ("checked", sum.checked.into())];
            (counts, sum.data, sum.damage, sum.notes)
        }
        Format::Cdf => {
            let sum = how.cdf(path, &mut |finding| findings.push(row(&finding)))?;
            if map::is_map(path)? {
                let of_map = how.map(path, &mut |finding| findings.push(row(&finding)))?;
                let mut report = of_a_map(of_map, findings);
                report.damage = report.damage.saturating_add(sum.damage);
                report.notes = report.notes.saturating_add(sum.notes);
                return Ok(report);
            }
            let counts = vec![("variables", sum.variables.into()), ("records", sum.numrecs.into())];
            (counts, sum.data, sum.damage, sum.notes)
        }
        Format::Map => {
            let sum = how.map(path, &mut |finding| findings.push(row(&finding)))?;
            return Ok(of_a_map(sum, findings));
        }
        Format::Blob => {
            let sum = how.blob(path, &mut |finding| findings.push(row(&finding)))?;
            let counts = vec![
                ("subfiles", sum.subfiles.into()),
                ("of", sum.nsubfiles.into()),
                ("blobs", sum.blobs.into()),
                ("variables", sum.variables.into()),
                ("records", sum.numrecs.into()),
            ];
            (counts, sum.data, sum.damage, sum.notes)
        }
    };
    Ok(Report { format: recognized.format().name(), counts, data, damage, notes, findings })
}

fn of_a_map(sum: map::Summary, findings: Vec<Row>) -> Report {
    let counts = vec![
        ("decompositions", sum.decompositions.into()),
        ("ranks", sum.nprocs.into()),
        ("requests", sum.requests.into()),
    ];
    let (data, damage, notes) = (sum.data, sum.damage, sum.notes);
    Report { format: "map", counts, data, damage, notes, findings }
}

fn row<W: Found>(finding: &Finding<W>) -> Row {
    let facts = finding.facts();
    let mut row: Row = vec![
        ("severity", finding.severity.to_string().into()),
        ("kind", facts.kind.into()),
        ("file", finding.file.to_string_lossy().into_owned().into()),
        ("text", finding.what.to_string().into()),
    ];
    facts.each(|name, value| {
        let value = match value {
            Fact::Integer(number) => Value::Integer(number),
            Fact::Text(text) => Value::Text(text),
        };
        row.push((name, value));
    });
    row
}
