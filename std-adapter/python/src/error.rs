//! Errors as Python's exceptions: those that gsd raises, with the file, the field and the offset.

use pyo3::exceptions::{
    PyFileExistsError, PyKeyError, PyMemoryError, PyOSError, PyRuntimeError, PyValueError,
};
use pyo3::{PyErr, Python};
use std::io;
use striae::error::{Error, ErrorKind};
use striae::gsd::ErrorKind as Gsd;
use striae::striae_core::gsd::Error as Core;

/// The exception for an error of the library.
pub(crate) fn raised(error: Error) -> PyErr {
    let path = error.path().display().to_string();
    match error.kind() {
        ErrorKind::Io(io) => of_system(io, &path),
        ErrorKind::Exists => {
            PyFileExistsError::new_err((libc::EEXIST, text_of(libc::EEXIST), path))
        }
        ErrorKind::Address(_) => PyKeyError::new_err(error.to_string()),
        ErrorKind::Gsd(kind) => of_gsd(kind, &error),
        ErrorKind::Closed => PyValueError::new_err(error.to_string()),
        _ => PyRuntimeError::new_err(error.to_string()),
    }
}

/// An error of the operating system: the subclass of `OSError` for its number, if it has one.
fn of_system(error: &io::Error, path: &str) -> PyErr {
    // What a Python object has raised that was read, such as KeyboardInterrupt.
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<PyErr>());
    if let Some(raised) = inner {
        return Python::attach(|py| raised.clone_ref(py));
    }
    let number = match error.kind() {
        io::ErrorKind::NotFound => Some(libc::ENOENT),
        io::ErrorKind::PermissionDenied => Some(libc::EACCES),
        io::ErrorKind::IsADirectory => Some(libc::EISDIR),
        _ => None,
    };
    match (error.raw_os_error().or(number), error.kind()) {
        (Some(number), _) => PyOSError::new_err((number, text_of(number), path.to_owned())),
        (None, io::ErrorKind::OutOfMemory) => {
            PyMemoryError::new_err(format!("Memory allocation failed: {path}"))
        }
        (None, _) => PyOSError::new_err(format!("{path}: {error}")),
    }
}

/// The text of an error number, without Rust's addition of the number.
fn text_of(number: i32) -> String {
    let text = io::Error::from_raw_os_error(number).to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

fn of_gsd(kind: &Gsd, error: &Error) -> PyErr {
    let words = match kind {
        Gsd::NoChunk { .. } | Gsd::NoName { .. } => return PyKeyError::new_err(error.to_string()),
        Gsd::Format(Core::NotGsd { .. } | Core::Cut { .. }) => "Not a GSD file",
        Gsd::Format(Core::Version { .. }) => "Unsupported GSD file version",
        Gsd::Format(Core::NamesFull) | Gsd::Chunk { error: Core::NamesFull, .. } => {
            "GSD namelist is full"
        }
        Gsd::Format(core) | Gsd::Chunk { error: core, .. } if core.blames_caller() => {
            "Invalid gsd argument"
        }
        Gsd::Hoomd(_) => return PyRuntimeError::new_err(error.to_string()),
        _ => "Corrupt GSD file",
    };
    PyRuntimeError::new_err(format!("{words}: {error}"))
}
