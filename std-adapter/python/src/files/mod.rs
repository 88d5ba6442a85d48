//! Files of all formats: verify, recover, convert, list. Results are dictionaries, of which the
//! Python half makes objects.
//!
//! | module | holds |
//! |---|---|
//! | `verify` | what is wrong with a file, and how much of it was compared with checksums |
//! | `recover` | saving what is left of a damaged file |
//! | `convert` | rewriting files |
//! | `list` | what is in a file |

pub(crate) mod convert;
pub(crate) mod list;
pub(crate) mod recover;
pub(crate) mod verify;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::Path;
use striae::format::Recognized;
use striae::{Error, Output};

/// The format of a file.
fn recognize(path: &Path) -> Result<Recognized, Error> {
    Recognized::new(path)
}

/// Why a verb has nothing to do with a file.
fn unsupported(path: &Path, why: &str) -> Error {
    Error::new(path, std::io::Error::new(std::io::ErrorKind::Unsupported, why))
}

/// How a new file is made.
const fn output(force: bool) -> Output {
    Output::new().force(force)
}

/// A value of a dictionary.
#[derive(Debug, Clone)]
enum Value {
    Text(String),
    Number(u64),
    Integer(i128),
    Flag(bool),
    None,
}

/// A dictionary whose values are made while other threads run.
type Row = Vec<(&'static str, Value)>;

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Number(value)
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Flag(value)
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::None, Into::into)
    }
}

/// Adds the values of a row to a dictionary.
fn fill(dict: &Bound<'_, PyDict>, row: Row) -> PyResult<()> {
    for (name, value) in row {
        match value {
            Value::Text(text) => dict.set_item(name, text)?,
            Value::Number(number) => dict.set_item(name, number)?,
            Value::Integer(number) => dict.set_item(name, number)?,
            Value::Flag(flag) => dict.set_item(name, flag)?,
            Value::None => dict.set_item(name, None::<bool>)?,
        }
    }
    Ok(())
}

/// Rows as a list of dictionaries.
fn dicts<'py>(py: Python<'py>, rows: Vec<Row>) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let dict = |row| {
        let dict = PyDict::new(py);
        fill(&dict, row)?;
        Ok(dict)
    };
    rows.into_iter().map(dict).collect()
}
