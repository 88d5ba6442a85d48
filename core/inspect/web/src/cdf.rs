//! Classic netCDF files.

use crate::address;
use crate::file::{Named, Store, Wrong};
use crate::json::{Json, list, row};
use alloc::format;
use alloc::vec::Vec;
use striae_core::span::Span;
use striae_inspect::blob::map::{Decomposition, Map, is_netcdf};
use striae_inspect::cdf::{Attribute, Dimension, Header, OwnedValues, Variable};

fn open<S: Store>(file: &Named<S>) -> Result<Header, Wrong> {
    Header::read(&file.store).map_err(Wrong::of(&file.name))
}

pub(crate) fn info<S: Store>(file: &Named<S>) -> Result<Json, Wrong> {
    let header = open(file)?;
    let head = header.head();
    let records = header.variables().filter(|variable| variable.is_record()).count();
    let data = header.variables().map(|one| one.len()).fold(0, u64::saturating_add);
    let is_map = is_netcdf(&file.store).unwrap_or(false);
    let map = Some(()).filter(|()| is_map).and_then(|()| Map::read(&file.store).ok());
    let map = map.map(|map| {
        let requests = map.decompositions().iter().map(Decomposition::count);
        row()
            .with("decompositions", map.decompositions().len())
            .with("nprocs", map.nprocs())
            .with("requests", requests.fold(0, u64::saturating_add))
    });
    Ok(row()
        .with("path", file.name.as_str())
        .with("format", "cdf")
        .with("version", head.version.number())
        .with("numrecs", head.numrecs)
        .with("streaming", head.is_streaming)
        .with("recsize", head.recsize)
        .with("dims", head.ndims)
        .with("attributes", head.ngatts)
        .with("variables", head.nvars)
        .with("record_variables", records)
        .with("header_bytes", head.header_len)
        .with("data_bytes", data)
        .with("bytes", head.file_len)
        .with_some("map", map))
}

pub(crate) fn ls<S: Store>(file: &Named<S>, (from, count): (u64, u64)) -> Result<Json, Wrong> {
    let header = open(file)?;
    let skip = usize::try_from(from).unwrap_or(usize::MAX);
    let take = usize::try_from(count).unwrap_or(usize::MAX);
    let variables = header.variables().skip(skip).take(take).map(of_variable);
    Ok(row()
        .with("path", file.name.as_str())
        .with("format", "cdf")
        .with("version", header.version().number())
        .with("numrecs", header.numrecs())
        .with("dims", list(header.dims().map(of_dim)))
        .with("attributes", list(header.attributes().map(of_attribute)))
        .with("variables", list(variables)))
}

pub(crate) fn of_dim(dim: Dimension<'_>) -> Json {
    row().with("name", dim.name).with("length", dim.length).with("unlimited", dim.is_record)
}

pub(crate) fn of_attribute(attribute: Attribute<'_>) -> Json {
    row()
        .with("name", attribute.name())
        .with("type", attribute.nc_type().name())
        .with("count", attribute.count())
        .with("value", of_values(&attribute.values()))
}

fn of_variable(variable: Variable<'_>) -> Json {
    row()
        .with("address", address::of_variable(variable.name()))
        .and(name_and_shape(variable))
        .with("begin", variable.begin())
        .with("vsize", variable.vsize())
        .with("attributes", list(variable.attributes().map(of_attribute)))
}

pub(crate) fn name_and_shape(variable: Variable<'_>) -> Json {
    let dims: Vec<&str> = variable.dims().map(|dim| dim.name).collect();
    row()
        .with("name", variable.name())
        .with("type", variable.nc_type().name())
        .with("dims", dims)
        .with("shape", variable.shape().to_vec())
        .with("record", variable.is_record())
}

/// A text, or numbers; JSON has no number for NaN and infinities, which are texts.
fn of_values(values: &OwnedValues) -> Json {
    if let Some(text) = values.text() {
        return text.into();
    }
    let is_number = |text: &str| !matches!(text, "NaN" | "inf" | "-inf");
    list(values.texts().into_iter().map(|text| match is_number(&text) {
        true => Json::Number(text),
        false => text.into(),
    }))
}

/// The most records of a variable that are saved as one file.
const MOST_RECORDS: u64 = 1 << 20;

/// The places of the values of a variable, as stored: big-endian.
pub(crate) fn places<S: Store>(file: &Named<S>, name: &str) -> Result<Vec<Span>, Wrong> {
    let header = open(file)?;
    let wrong = |text| Wrong::new(&file.name, text);
    let none = || wrong(format!("has no variable {name}"));
    let variable = header.variable(name).ok_or_else(none)?;
    let layout = variable.layout();
    let records = if variable.is_record() { header.numrecs() } else { 1 };
    if records > MOST_RECORDS {
        return Err(wrong(format!("{name} has {records} records; striae extract saves them")));
    }
    let spans = (0..records).map(|number| header.head().record(layout, number));
    spans.collect::<Result<_, _>>().map_err(|error| Wrong::new(&file.name, error))
}
