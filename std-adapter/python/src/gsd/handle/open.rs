//! Opening a file in one of the modes of gsd.

use crate::error::raised;
use crate::gsd::{FL, Level};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::path::Path;
use striae::Error;
use striae::error::ErrorKind;
use striae::gsd::{Builder, File, FileWriter, Reopen, Version};

/// The most bytes of a label in a header; gsd cuts longer ones.
const LABEL: usize = 63;

/// What is done with a file of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Read,
    Append,
    /// Makes a file, or empties one.
    Create,
    /// Makes a file that does not exist.
    CreateNew,
}

impl Mode {
    pub(super) fn of(mode: &str, path: &Path) -> PyResult<Self> {
        Ok(match mode {
            "r" => Self::Read,
            "r+" => Self::Append,
            "w" => Self::Create,
            "x" => Self::CreateNew,
            "a" if path.exists() => Self::Append,
            "a" => Self::Create,
            _ => return Err(PyValueError::new_err(format!("Invalid mode: {mode}"))),
        })
    }
}

/// What a new file says of itself.
#[derive(Debug)]
pub(super) struct Made<'a> {
    application: Option<&'a str>,
    schema: Option<&'a str>,
    version: Option<(u16, u16)>,
}

impl<'a> Made<'a> {
    pub(super) fn of(
        application: Option<&'a str>,
        schema: Option<&'a str>,
        version: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let part = |at: usize| version.map(|of| of.get_item(at)?.extract::<u16>()).transpose();
        let version = part(0)?.zip(part(1)?);
        Ok(Self { application, schema, version })
    }

    /// How the file is made; all three are needed.
    fn builder(&self) -> PyResult<(Builder, String)> {
        let none =
            |what: &str| PyValueError::new_err(format!("Provide {what} when creating a file"));
        let application = self.application.ok_or_else(|| none("application"))?;
        let schema = self.schema.ok_or_else(|| none("schema"))?;
        let (major, minor) = self.version.ok_or_else(|| none("schema_version"))?;
        let builder = Builder::new()
            .application(cut(application))
            .schema(cut(schema), Version { major, minor });
        let text = format!(
            "application: {application}, schema: {schema}, and schema_version: [{major}, {minor}]"
        );
        Ok((builder, text))
    }
}

/// The start of a label that fits a header.
fn cut(label: &str) -> &str {
    let fits = |end: &usize| *end <= LABEL;
    let ends = label.char_indices().map(|(start, one)| start.saturating_add(one.len_utf8()));
    label.get(..ends.take_while(fits).last().unwrap_or(0)).unwrap_or(label)
}

/// Opens a file: a reader, and a writer unless it is only read.
pub(super) fn open(
    py: Python<'_>,
    path: &Path,
    mode: Mode,
    word: &str,
    made: &Made<'_>,
) -> PyResult<(File, Option<FileWriter>)> {
    let shown = path.display();
    let writer = match mode {
        Mode::Read | Mode::Append => {
            FL.log(py, Level::Info, || format!("opening file: {shown} with mode: {word}"))?;
            match mode {
                Mode::Append => Some(locked(py, path, |lock| Reopen::new().lock(lock).open(path))?),
                _ => None,
            }
        }
        Mode::Create | Mode::CreateNew => {
            let (builder, text) = made.builder()?;
            FL.log(py, Level::Info, || {
                format!("overwriting file: {shown} with mode: {word}, {text}")
            })?;
            let builder = builder.force(mode == Mode::Create).in_place(true);
            Some(locked(py, path, |lock| builder.clone().lock(lock).create(path))?)
        }
    };
    let reader = py.detach(|| File::open(path)).map_err(raised)?;
    Ok((reader, writer))
}

/// Opens a file to write, and locks it. gsd has no locks, so another writer is only warned of.
fn locked(
    py: Python<'_>,
    path: &Path,
    open: impl Fn(bool) -> Result<FileWriter, Error> + Sync,
) -> PyResult<FileWriter> {
    match py.detach(|| open(true)) {
        Err(error) if matches!(error.kind(), ErrorKind::Locked) => {
            let text = || format!("another program writes to this file: {}", path.display());
            FL.log(py, Level::Warning, text)?;
            py.detach(|| open(false)).map_err(raised)
        }
        opened => opened.map_err(raised),
    }
}

/// Fails if the file has another schema than the caller wants.
pub(super) fn check_schema(name: &str, found: &str, wanted: Option<&str>) -> PyResult<()> {
    match wanted {
        Some(wanted) if cut(wanted) != found => {
            let text = format!("file {name} has incorrect schema: {found}");
            Err(PyRuntimeError::new_err(text))
        }
        _ => Ok(()),
    }
}
