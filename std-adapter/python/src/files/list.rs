//! What is in a file.

use super::{Row, dicts, recognize, unsupported};
use crate::error::raised;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::{Path, PathBuf};
use striae::address::{Address, Index};
use striae::striae_core::store::usize_to_u64;
use striae::{Error, Format, blob, cdf, ffrecord, gsd, sion};

/// Lists the tasks, chunks, samples or variables of a file.
#[pyfunction]
pub(crate) fn ls(py: Python<'_>, path: PathBuf) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let rows = py.detach(|| run(&path)).map_err(raised)?;
    dicts(py, rows)
}

fn run(path: &Path) -> Result<Vec<Row>, Error> {
    let recognized = recognize(path)?;
    match recognized.format() {
        Format::Sion => of_sion(path),
        Format::Gsd => of_gsd(path),
        Format::Ffrecord => of_ffrecord(path),
        Format::Cdf => {
            let file = cdf::File::open(path)?;
            Ok(file.header().variables().map(of_variable).collect())
        }
        Format::Map => Err(unsupported(path, "decomposition maps have no addresses")),
        Format::Blob => {
            let set = blob::Set::open(path)?;
            Ok(set.header().variables().map(of_variable).collect())
        }
    }
}

fn of_sion(path: &Path) -> Result<Vec<Row>, Error> {
    let file = sion::File::open(path)?;
    let row = |task: sion::TaskEntry| {
        vec![
            ("address", format!("task/{}", task.task).into()),
            ("bytes", task.bytes.into()),
            ("globalrank", super::Value::Integer(task.place.globalrank.into())),
            ("file", u64::from(task.file).into()),
            ("chunks", task.place.blockcount.into()),
        ]
    };
    file.tasks()?.map(|task| task.map(row)).collect()
}

fn of_gsd(path: &Path) -> Result<Vec<Row>, Error> {
    let file = gsd::File::open(path)?;
    let mut rows = Vec::new();
    for chunk in file.chunks() {
        let chunk = chunk?;
        let name = file.name(&chunk)?.as_bytes();
        rows.push(vec![
            ("address", Address::chunk(chunk.frame, name).to_string().into()),
            ("bytes", chunk.span.len().into()),
            ("offset", chunk.span.offset().into()),
            ("frame", chunk.frame.into()),
            ("name", String::from_utf8_lossy(name).into_owned().into()),
            ("type", chunk.kind.to_string().into()),
            ("n", chunk.n.into()),
            ("m", u64::from(chunk.m).into()),
        ]);
    }
    Ok(rows)
}

fn of_ffrecord(path: &Path) -> Result<Vec<Row>, Error> {
    let file = ffrecord::File::open(path)?;
    let mut rows = Vec::new();
    for sample in file.samples() {
        let sample = sample?;
        let address = Address::Sample(Index::FromStart(sample.number));
        rows.push(vec![
            ("address", address.to_string().into()),
            ("bytes", sample.span.len().into()),
            ("offset", sample.span.offset().into()),
            ("crc", u64::from(sample.crc).into()),
        ]);
    }
    Ok(rows)
}

fn of_variable(variable: cdf::Variable<'_>) -> Row {
    let shape: Vec<_> = variable.shape().iter().map(u64::to_string).collect();
    vec![
        ("address", Address::Variable(variable.name().into()).to_string().into()),
        ("bytes", variable.len().into()),
        ("name", variable.name().into()),
        ("type", variable.nc_type().to_string().into()),
        ("shape", shape.join(" x ").into()),
        ("dimensions", usize_to_u64(shape.len()).into()),
    ]
}
