//! A GSD file in any Python object that can be read and sought: `GSDFile` of `gsd.pygsd`.

use super::source::AnyFile;
use super::values;
use crate::error::raised;
use pyo3::exceptions::{PyKeyError, PyNotImplementedError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::sync::MutexExt;
use pyo3::types::PyTuple;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, RwLock};
use striae::striae_core::store::usize_to_u64;
use striae::striae_hoomd::{self, Open, Source};
use striae::{Error, ReadAt};

/// A Python object with the methods `read` and `seek`, as a store.
#[derive(Debug)]
pub(crate) struct Store {
    object: Py<PyAny>,
    len: u64,
    /// Held from a seek to the read after it.
    turn: Mutex<()>,
}

impl Store {
    fn new(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = object.py();
        let end = object.call_method1(intern!(py, "seek"), (0, 2))?;
        let end = if end.is_none() { object.call_method0(intern!(py, "tell"))? } else { end };
        let (object, turn) = (object.clone().unbind(), Mutex::new(()));
        Ok(Self { object, len: end.extract()?, turn })
    }
}

impl ReadAt for Store {
    type Error = io::Error;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let wanted = u64::min(usize_to_u64(buf.len()), self.len.saturating_sub(offset));
        if wanted == 0 {
            return Ok(0);
        }
        Python::attach(|py| {
            let object = self.object.bind(py);
            let _turn = self.turn.lock_py_attached(py);
            object.call_method1(intern!(py, "seek"), (offset,))?;
            let bytes = object.call_method1(intern!(py, "read"), (wanted,))?;
            let bytes: PyBackedBytes = bytes.extract().map_err(PyErr::from)?;
            let read = bytes.len().min(buf.len());
            for (to, from) in buf.iter_mut().zip(&*bytes) {
                *to = *from;
            }
            Ok(read)
        })
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.len)
    }
}

/// A GSD file in `file`: any object with `read` and `seek` that gives bytes.
#[pyclass(frozen, subclass, weakref, module = "striae.gsd.pygsd", name = "GSDFile")]
#[derive(Debug)]
pub(crate) struct ObjectFile {
    object: Py<PyAny>,
    open: RwLock<Option<Arc<AnyFile>>>,
    labels: Labels,
}

/// What the header of a file says of it.
#[derive(Debug, Clone)]
pub(super) struct Labels {
    pub(super) gsd_version: (u16, u16),
    pub(super) schema_version: (u16, u16),
    pub(super) schema: String,
    pub(super) application: String,
}

impl Labels {
    pub(super) fn of(file: &AnyFile) -> Self {
        let header = &file.head().header;
        let text = |label: &[u8]| String::from_utf8_lossy(label).into_owned();
        Self {
            gsd_version: (header.version.major, header.version.minor),
            schema_version: (header.schema_version.major, header.schema_version.minor),
            schema: text(header.schema.as_bytes()),
            application: text(header.application.as_bytes()),
        }
    }
}

impl ObjectFile {
    pub(super) fn file(&self) -> PyResult<Arc<AnyFile>> {
        let open = self.open.read().ok().and_then(|open| open.clone());
        open.ok_or_else(|| PyValueError::new_err("File is not open"))
    }

    fn shown(&self, py: Python<'_>) -> String {
        self.object.bind(py).str().map_or_else(|_| String::new(), |text| text.to_string())
    }
}

#[pymethods]
impl ObjectFile {
    #[new]
    fn new(py: Python<'_>, file: Bound<'_, PyAny>) -> PyResult<Self> {
        let path = file.getattr("name").and_then(|name| name.str()).or_else(|_| file.str())?;
        let path = PathBuf::from(path.to_string());
        let store = Store::new(&file)?;
        let opened = py.detach(|| striae_hoomd::File::open(store));
        let opened = opened.map_err(|error| raised(Error::new(&path, error)))?;
        let opened = AnyFile::Object(Box::new(opened), path);
        let (labels, object) = (Labels::of(&opened), file.unbind());
        Ok(Self { object, open: RwLock::new(Some(Arc::new(opened))), labels })
    }

    /// Closes the file. It may be called more than once.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let open = self.open.write().ok().and_then(|mut open| open.take());
        match open {
            Some(_) => self.object.bind(py).call_method0(intern!(py, "close")).map(drop),
            None => Ok(()),
        }
    }

    /// Whether a frame has a chunk.
    fn chunk_exists(&self, py: Python<'_>, frame: i64, name: &str) -> PyResult<bool> {
        let file = self.file()?;
        let found = py.detach(|| file.find(frame, name.as_bytes()));
        Ok(found.map_err(raised)?.is_some())
    }

    /// The values of a chunk: N rows of M columns, or N values if M is 1.
    fn read_chunk<'py>(
        &self,
        py: Python<'py>,
        frame: i64,
        name: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let file = self.file()?;
        let found = py.detach(|| file.find(frame, name.as_bytes())).map_err(raised)?;
        let Some(chunk) = found else {
            let of = self.shown(py);
            let text = format!("frame {frame} / chunk {name} not found in: {of}");
            return Err(PyKeyError::new_err(text));
        };
        values::read(py, &file, &chunk)
    }

    /// The names of chunks that start with `match`.
    #[pyo3(signature = (r#match))]
    fn find_matching_chunk_names(&self, r#match: &str) -> PyResult<Vec<String>> {
        self.file()?.names_with(r#match).map_err(raised)
    }

    /// Not possible: the file is only read.
    fn truncate(&self) -> PyResult<()> {
        Err(PyNotImplementedError::new_err("the file is only read"))
    }

    /// Not possible: the file is only read.
    fn end_frame(&self) -> PyResult<()> {
        Err(PyNotImplementedError::new_err("the file is only read"))
    }

    /// Not possible: the file is only read.
    fn write_chunk(&self, name: &str, data: Bound<'_, PyAny>) -> PyResult<()> {
        let of = data.get_type().name()?.to_string();
        let text = format!("the file is only read: chunk {name} of type {of}");
        Err(PyNotImplementedError::new_err(text))
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_args))]
    fn __exit__(&self, py: Python<'_>, _args: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close(py)
    }

    /// The name of the Python object.
    #[getter]
    fn name(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.object.getattr(py, "name")
    }

    /// Pickled by its name, by which it is opened again.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Py<PyAny>,))> {
        let open = py.import("striae.gsd.pygsd")?.getattr("_reopened")?;
        Ok((open, (self.name(py)?,)))
    }

    /// The Python object.
    #[getter(file)]
    fn file_object(&self, py: Python<'_>) -> Py<PyAny> {
        self.object.clone_ref(py)
    }

    /// Always `r`.
    #[getter]
    fn mode(&self) -> &'static str {
        "r"
    }

    /// Version of the file layer: (major, minor).
    #[getter]
    fn gsd_version(&self) -> (u16, u16) {
        self.labels.gsd_version
    }

    /// Version of the schema: (major, minor).
    #[getter]
    fn schema_version(&self) -> (u16, u16) {
        self.labels.schema_version
    }

    /// Name of the schema.
    #[getter]
    fn schema(&self) -> &str {
        &self.labels.schema
    }

    /// Name of the program that made the file.
    #[getter]
    fn application(&self) -> &str {
        &self.labels.application
    }

    /// Number of frames.
    #[getter]
    fn nframes(&self) -> PyResult<u64> {
        Ok(self.file()?.frames())
    }
}
