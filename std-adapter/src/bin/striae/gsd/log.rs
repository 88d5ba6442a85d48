//! `striae log`: logged quantities of a trajectory.

mod plot;

use crate::args::{LogArgs, Rows};
use crate::failure::{Failure, Sound};
use crate::map::save;
use crate::printable::printable;
use crate::text::{print_json_of, stdout, unless_gone};
use serde::Serialize;
use serde_json::Value;
use std::io::Write;
use striae::Error;
use striae::gsd::ErrorKind;
use striae::gsd::hoomd::{Series, Trajectory, Values};
use striae_core::store::usize_to_u64;
use striae_hoomd::glob::matches;

#[derive(Serialize)]
struct Report<'a> {
    /// The number of the first frame.
    first: u64,
    frames: u64,
    quantities: Vec<Row<'a>>,
}

/// A quantity in JSON.
#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    /// Rows and columns of each frame.
    shape: [u64; 2],
    /// A value for each frame, or a list of them.
    values: Vec<Value>,
}

pub(super) fn log(args: &LogArgs) -> Result<Sound, Failure> {
    let trajectory = Trajectory::open(&args.file)?;
    Rows::check(args.frames, &args.file, trajectory.len())?;
    let frames = Rows::of(args.frames, trajectory.len());
    trajectory.file().check_frames(&frames)?;
    let logs = trajectory.logs().frames(frames.clone());
    let logs = args.names.iter().fold(logs, |logs, name| logs.matching(format!("log/{name}")));
    let logs = if args.plot.is_some() { logs.scalars() } else { logs };
    let series = logs.read()?;
    check_names(args, &trajectory, &series)?;
    if let Some(out) = &args.plot {
        save(&plot::svg(&args.file, &series)?, out, args.force, [&*args.file].into_iter())?;
    } else if args.json {
        let frames_read = series.first().map_or(0, |of| of.frames);
        let quantities = series.iter().map(Row::of).collect();
        let report = Report { first: frames.start, frames: frames_read, quantities };
        print_json_of(&args.file, &report)?;
    } else {
        unless_gone(write(&series, args.csv))?;
    }
    Ok(Sound::Yes)
}

/// Each name must select something.
fn check_names(args: &LogArgs, trajectory: &Trajectory, series: &[Series]) -> Result<(), Failure> {
    let is_of = |name: &str, of: &str| matches(&format!("log/{name}"), of);
    let has = |name: &&String| series.iter().any(|of| is_of(name, &of.name));
    let Some(name) = args.names.iter().find(|name| !has(name)) else { return Ok(()) };
    // For a plot, arrays and texts were not read.
    for of in trajectory.file().names()?.iter().filter(|_| args.plot.is_some()) {
        let is_there = || trajectory.file().find(0, of.as_bytes());
        if is_of(name, &String::from_utf8_lossy(of.as_bytes())) && is_there()?.is_some() {
            let text = format!("{} is no quantity of one number", printable(name));
            return Err(Failure::usage(&args.file, &text));
        }
    }
    let name = format!("log/{name}").into_bytes().into();
    Err(Error::new(&args.file, ErrorKind::NoChunk { frame: 0, name }).into())
}

impl<'a> Row<'a> {
    fn of(series: &'a Series) -> Self {
        let quantity = &series.quantity;
        let (stride, is_list) = (stride(series), quantity.n != 1 || quantity.m != 1);
        let is_list = is_list && !matches!(quantity.values, Values::Text(_));
        let values = frames(series).map(|frame| {
            let start = frame.saturating_mul(stride);
            let mut values = (0..stride).map(|at| json(&quantity.values, start.saturating_add(at)));
            match is_list {
                true => values.collect(),
                false => values.next().unwrap_or_default(),
            }
        });
        Self {
            name: series.name.strip_prefix("log/").unwrap_or(&series.name),
            shape: [quantity.n, quantity.m.into()],
            values: values.collect(),
        }
    }
}

fn frames(series: &Series) -> std::ops::Range<usize> {
    0..usize::try_from(series.frames).unwrap_or(usize::MAX)
}

/// Number of values of one frame.
fn stride(series: &Series) -> usize {
    let frames = usize::try_from(series.frames).unwrap_or(usize::MAX);
    series.quantity.values.len().checked_div(frames).unwrap_or(0)
}

/// Writes a line of names, and a line for each frame.
fn write(series: &[Series], is_csv: bool) -> std::io::Result<()> {
    let mut out = stdout();
    let mut columns = Vec::new();
    for of in series {
        let (name, stride) = (of.name.strip_prefix("log/").unwrap_or("step"), stride(of));
        for at in 0..stride {
            let title = if stride == 1 { name.to_owned() } else { format!("{name}[{at}]") };
            columns.push((of, stride, at, title));
        }
    }
    let titles = columns.iter().map(|(_, _, _, title)| title.clone());
    line(&mut out, titles, is_csv)?;
    for frame in series.first().map_or(0..0, frames) {
        let cells = columns.iter().map(|(of, stride, at, _)| {
            cell(&of.quantity.values, frame.saturating_mul(*stride).saturating_add(*at))
        });
        line(&mut out, cells, is_csv)?;
    }
    out.flush()
}

fn line(
    out: &mut impl Write,
    cells: impl Iterator<Item = String>,
    is_csv: bool,
) -> std::io::Result<()> {
    for (number, cell) in cells.enumerate() {
        let between = match (number, is_csv) {
            (0, _) => "",
            (_, true) => ",",
            (_, false) => "  ",
        };
        match is_csv {
            true => write!(out, "{between}{}", quoted(&cell))?,
            false => write!(out, "{between}{:>12}", printable(&cell))?,
        }
    }
    writeln!(out)
}

/// A cell of CSV, in quotes if it needs them (RFC 4180).
fn quoted(cell: &str) -> String {
    match cell.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.to_owned(),
    }
}

/// Does something with the value at a place, whatever its type.
macro_rules! with_value {
    ($values:expr, $at:expr, $value:ident => $number:expr, $text:expr) => {
        match $values {
            Values::U8(all) => all.get($at).map(|$value| $number),
            Values::U16(all) => all.get($at).map(|$value| $number),
            Values::U32(all) => all.get($at).map(|$value| $number),
            Values::U64(all) => all.get($at).map(|$value| $number),
            Values::I8(all) => all.get($at).map(|$value| $number),
            Values::I16(all) => all.get($at).map(|$value| $number),
            Values::I32(all) => all.get($at).map(|$value| $number),
            Values::I64(all) => all.get($at).map(|$value| $number),
            Values::F32(all) => all.get($at).map(|$value| $number),
            Values::F64(all) => all.get($at).map(|$value| $number),
            Values::Text(all) => all.get($at).map(|$value| $text),
        }
    };
}

/// A value as text, with as many digits as tell it from others.
fn cell(values: &Values, at: usize) -> String {
    with_value!(values, at, value => format!("{value:?}"), value.clone()).unwrap_or_default()
}

/// A value in JSON, which has no infinity and no NaN: they are null.
fn json(values: &Values, at: usize) -> Value {
    if let Values::F32(_) = values {
        return number(values, at).map_or(Value::Null, Value::from); // 0.1, not 0.10000000149
    }
    with_value!(values, at, value => Value::from(*value), Value::from(value.as_str()))
        .unwrap_or_default()
}

/// A value as a number, near enough to be drawn.
fn number(values: &Values, at: usize) -> Option<f64> {
    cell(values, at).parse().ok().filter(|value: &f64| value.is_finite())
}

/// Whether a series has one number for each frame.
fn is_plotted(series: &Series) -> bool {
    let is_number = !matches!(series.quantity.values, Values::Text(_));
    is_number && usize_to_u64(stride(series)) == 1
}
