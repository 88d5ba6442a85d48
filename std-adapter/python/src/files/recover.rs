//! Saving what is left of a damaged file.

use super::{Row, dicts, output, recognize, unsupported};
use crate::error::raised;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::{Path, PathBuf};
use striae::finding::{Tally, Word};
use striae::format::Recognized;
use striae::{Error, Format, blob, cdf, gsd, sion};

/// What was saved.
struct Report {
    format: Format,
    tally: Tally,
    parts: Vec<Row>,
}

/// Saves what is left of a file in a new one.
#[pyfunction]
#[pyo3(signature = (path, out, format=None, force=false))]
pub(crate) fn recover<'py>(
    py: Python<'py>,
    path: PathBuf,
    out: PathBuf,
    format: Option<&str>,
    force: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let format = format.map(format_of).transpose()?;
    let report = py.detach(|| run(&path, &out, format, force)).map_err(raised)?;
    let dict = PyDict::new(py);
    let tally = report.tally;
    dict.set_item("path", &path)?;
    dict.set_item("out", &out)?;
    dict.set_item("format", report.format.name())?;
    dict.set_item("word", tally.word().as_str())?;
    dict.set_item("sound", tally.is_sound())?;
    let counts = PyDict::new(py);
    counts.set_item(Word::Exact.as_str(), tally.exact)?;
    counts.set_item(Word::AsFound.as_str(), tally.as_found)?;
    counts.set_item(Word::Guess.as_str(), tally.guesses)?;
    counts.set_item(Word::Lost.as_str(), tally.lost)?;
    dict.set_item("counts", counts)?;
    dict.set_item("data_bytes", tally.coverage.bytes)?;
    dict.set_item("checked_bytes", tally.coverage.checked)?;
    dict.set_item("parts", dicts(py, report.parts)?)?;
    Ok(dict)
}

fn format_of(name: &str) -> PyResult<Format> {
    let found = Format::ALL.into_iter().find(|format| format.name() == name);
    found.ok_or_else(|| {
        let names = Format::ALL.map(Format::name).join(", ");
        PyValueError::new_err(format!("{name} is no format: {names}"))
    })
}

fn run(path: &Path, out: &Path, format: Option<Format>, force: bool) -> Result<Report, Error> {
    let recognized = match format {
        Some(format) => Recognized::taken_for(format, path)?,
        None => recognize(path)?,
    };
    let format = recognized.format();
    let (tally, parts) = match format {
        Format::Sion => of_sion(path, out, force)?,
        Format::Gsd => of_gsd(path, out, force)?,
        Format::Cdf => of_cdf(path, out, force)?,
        Format::Blob => of_blob(path, out, force)?,
        Format::Map => of_map(path, out, force)?,
        Format::Ffrecord => {
            return Err(unsupported(path, &format!("{} are not recovered", format.files())));
        }
    };
    Ok(Report { format, tally, parts })
}

fn of_sion(path: &Path, out: &Path, force: bool) -> Result<(Tally, Vec<Row>), Error> {
    let recovery = sion::recover::Recover::new().output(output(force)).examine(path)?;
    recovery.write(out, &|_| {})?;
    let row = |task: sion::recover::RecoveredTask| {
        vec![
            ("part", format!("task/{}", task.task).into()),
            ("word", task.certainty().word().as_str().into()),
            ("why", task.certainty().why().to_string().into()),
            ("bytes", task.recovered.bytes.into()),
        ]
    };
    Ok((recovery.tally(), recovery.tasks().map(row).collect()))
}

fn of_gsd(path: &Path, out: &Path, force: bool) -> Result<(Tally, Vec<Row>), Error> {
    let recovery = gsd::recover::Recover::new().output(output(force)).examine(path)?;
    recovery.write(out, &|_| {})?;
    let row = |run: &gsd::recover::Run| {
        let (start, end) = (run.frames.start, run.frames.end);
        vec![
            ("part", format!("frame/{start}..{end}").into()),
            ("word", run.certainty.word().as_str().into()),
            ("why", run.certainty.why().to_string().into()),
            ("start", start.into()),
            ("stop", end.into()),
            ("first", run.first.into()),
        ]
    };
    Ok((recovery.tally(), recovery.runs().map(row).collect()))
}

fn of_cdf(path: &Path, out: &Path, force: bool) -> Result<(Tally, Vec<Row>), Error> {
    let recovery = cdf::recover::Recover::new().output(output(force)).examine(path)?;
    recovery.write(out, &|_| {})?;
    let rows = recovery.variables().map(|(variable, certainty)| {
        vec![
            ("part", format!("variable/{}", variable.name()).into()),
            ("word", certainty.word().as_str().into()),
            ("why", certainty.why().to_string().into()),
        ]
    });
    Ok((recovery.tally(), rows.collect()))
}

fn of_blob(path: &Path, out: &Path, force: bool) -> Result<(Tally, Vec<Row>), Error> {
    let recovery = blob::recover::Recover::new().output(output(force)).examine(path)?;
    recovery.write(out, &|_| {})?;
    let rows = recovery.lost_values().iter().map(|lost| {
        vec![
            ("part", format!("variable/{}", lost.name).into()),
            ("word", Word::Lost.as_str().into()),
            ("why", format!("{} values are lost", lost.values).into()),
        ]
    });
    Ok((recovery.tally(), rows.collect()))
}

fn of_map(path: &Path, out: &Path, force: bool) -> Result<(Tally, Vec<Row>), Error> {
    let recovery = blob::map::recover::Recover::new().output(output(force)).examine(path)?;
    recovery.write(out)?;
    let row = |found: &blob::map::recover::Found| {
        let part = found.rank.map_or_else(|| "lines".to_owned(), |rank| format!("rank/{rank}"));
        vec![
            ("part", part.into()),
            ("word", found.certainty.word().as_str().into()),
            ("why", found.certainty.why().to_string().into()),
            ("line", found.line.into()),
        ]
    };
    Ok((recovery.tally(), recovery.found().iter().map(row).collect()))
}
