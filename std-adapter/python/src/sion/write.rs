//! Writing a set.

use crate::buffer::Bytes;
use crate::error::raised;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Mutex;
use striae::Error;
use striae::error::ErrorKind;
use striae::sion::{Builder, FileWriter, Reopen, TaskWriter};

/// A SIONlib set that is written.
#[pyclass(frozen, module = "striae._striae")]
pub(crate) struct SionWriter(Open<FileWriter>);

/// A task that is written.
#[pyclass(frozen, module = "striae._striae")]
pub(crate) struct SionTask(Open<TaskWriter>);

/// A writer until it is closed.
struct Open<W> {
    writer: Mutex<Option<W>>,
    path: PathBuf,
}

impl<W: Send> Open<W> {
    const fn new(writer: W, path: PathBuf) -> Self {
        Self { writer: Mutex::new(Some(writer)), path }
    }

    fn with<T: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut W) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let done = py.detach(|| {
            let mut writer = self.writer.lock().unwrap_or_else(|lock| lock.into_inner());
            act(writer.as_mut().ok_or_else(|| Error::new(&self.path, ErrorKind::Closed))?)
        });
        done.map_err(raised)
    }
}

#[pymethods]
impl SionWriter {
    #[staticmethod]
    #[pyo3(signature = (
        path, ntasks, *, chunksize=None, globalranks=None, nfiles=1, fsblksize=None, keyval=false,
        checksums=false, force=false
    ))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments in Python")]
    fn create(
        py: Python<'_>,
        path: PathBuf,
        ntasks: u64,
        chunksize: Option<u64>,
        globalranks: Option<Vec<i64>>,
        nfiles: u32,
        fsblksize: Option<u32>,
        keyval: bool,
        checksums: bool,
        force: bool,
    ) -> PyResult<Self> {
        let mut builder = Builder::new(ntasks).nfiles(nfiles).keyval(keyval);
        builder = builder.sealed(checksums).force(force);
        if let Some(bytes) = chunksize {
            builder = builder.chunksize(bytes);
        }
        if let Some(ranks) = globalranks {
            builder = builder.globalranks(ranks);
        }
        if let Some(bytes) = fsblksize {
            builder = builder.fsblksize(bytes);
        }
        let writer = py.detach(|| builder.create(&path)).map_err(raised)?;
        Ok(Self(Open::new(writer, path)))
    }

    /// Opens a closed set to append to its streams.
    #[staticmethod]
    fn reopen(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let writer = py.detach(|| Reopen::new().open(&path)).map_err(raised)?;
        Ok(Self(Open::new(writer, path)))
    }

    #[getter]
    fn ntasks(&self, py: Python<'_>) -> PyResult<u64> {
        self.0.with(py, |writer| Ok(writer.ntasks()))
    }

    /// The writer of a task, which one caller has at a time.
    fn task(&self, py: Python<'_>, task: u64) -> PyResult<SionTask> {
        let writer = self.0.with(py, |writer| writer.task(task))?;
        Ok(SionTask(Open::new(writer, self.0.path.clone())))
    }

    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        self.0.with(py, |writer| writer.commit())
    }

    /// Closes the set. It may be called more than once.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let closed = py.detach(|| {
            let mut writer = self.0.writer.lock().unwrap_or_else(|lock| lock.into_inner());
            let Some(open) = writer.as_mut() else { return Ok(()) };
            open.close()?;
            *writer = None;
            Ok(())
        });
        closed.map_err(raised)
    }
}

/// Writes all bytes or, if not all find room, the first ones: at least one.
fn write_some(writer: &mut impl Write, bytes: &[u8]) -> io::Result<usize> {
    let mut done: usize = 0;
    while let Some(rest) = bytes.get(done..).filter(|rest| !rest.is_empty()) {
        match writer.write(rest) {
            Ok(0) if done == 0 => return Err(io::ErrorKind::WriteZero.into()),
            Ok(0) => break,
            Ok(len) => done = done.saturating_add(len),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if done == 0 => return Err(error),
            Err(_) => break,
        }
    }
    Ok(done)
}

#[pymethods]
impl SionTask {
    /// Writes the bytes of a buffer, and returns how many the set has taken: an error of later ones
    /// is that of the next call.
    fn write(&self, py: Python<'_>, buffer: &Bound<'_, PyAny>) -> PyResult<usize> {
        let bytes = Bytes::of(buffer)?;
        let bytes = bytes.as_slice();
        self.0.with(py, |writer| {
            let written = write_some(writer, bytes);
            written.map_err(|error| Error::new(&self.0.path, ErrorKind::from(error)))
        })
    }

    /// Writes a record of a key.
    fn write_key(&self, py: Python<'_>, key: u64, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let bytes = Bytes::of(value)?;
        let bytes = bytes.as_slice();
        self.0.with(py, |writer| writer.write_key(key, bytes))
    }

    /// Writes bytes that are not divided between chunks.
    fn write_record(&self, py: Python<'_>, record: &Bound<'_, PyAny>) -> PyResult<()> {
        let bytes = Bytes::of(record)?;
        let bytes = bytes.as_slice();
        self.0.with(py, |writer| writer.write_record(bytes))
    }

    /// Chunk, and used bytes of it.
    #[getter]
    fn location(&self, py: Python<'_>) -> PyResult<(u32, u64)> {
        self.0.with(py, |writer| Ok(writer.location()))
    }

    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        self.0.with(py, |writer| writer.commit())
    }

    /// Gives the task back, so that it can be taken again.
    fn close(&self) {
        if let Ok(mut writer) = self.0.writer.lock() {
            *writer = None;
        }
    }

    fn __repr__(&self) -> PyResult<String> {
        match self.0.writer.lock() {
            Ok(writer) => Ok(writer.as_ref().map_or_else(
                || format!("<closed task of {}>", self.0.path.display()),
                |writer| format!("<task {} of {}>", writer.task(), self.0.path.display()),
            )),
            Err(_) => Err(PyValueError::new_err("a thread failed")),
        }
    }
}
