//! A file of the file layer: `GSDFile` of `gsd.fl`.

mod open;
mod state;

use super::object::Labels;
use super::source::AnyFile;
use super::values::{self, Written};
use super::{FL, Level};
use crate::error::raised;
use open::Mode;
use pyo3::exceptions::{PyKeyError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};
use state::State;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use striae::gsd::FileWriter;

/// A GSD file, open for reading, or for reading and writing.
///
/// The methods may be called by several threads; other threads run while a file is read or written.
#[pyclass(frozen, subclass, weakref, module = "striae.gsd.fl", name = "GSDFile")]
pub(crate) struct GsdFile {
    name: String,
    mode: String,
    debug: AtomicBool,
    /// The file as it was flushed last; `None` after the close.
    reader: RwLock<Option<Arc<AnyFile>>>,
    /// Whether more was committed than the reader sees.
    is_stale: AtomicBool,
    /// The number of frames of the last flush.
    frames: AtomicU64,
    /// What is written.
    state: Mutex<State>,
    labels: Mutex<Labels>,
    /// The process that opened the file.
    owner: u32,
}

impl GsdFile {
    /// The file as it was flushed last.
    pub(super) fn file(&self) -> PyResult<Arc<AnyFile>> {
        if self.is_stale.swap(false, Ordering::AcqRel)
            && let Err(error) = self.refresh()
        {
            self.is_stale.store(true, Ordering::Release);
            return Err(error);
        }
        self.reader()
    }

    fn reader(&self) -> PyResult<Arc<AnyFile>> {
        let reader = self.reader.read().ok().and_then(|reader| reader.clone());
        reader.ok_or_else(|| PyValueError::new_err("File is not open"))
    }

    fn check_open(&self) -> PyResult<()> {
        self.reader().map(drop)
    }

    pub(super) fn path(&self) -> &str {
        &self.name
    }

    /// Logs what is done if `debug` is set.
    fn debugging(&self, py: Python<'_>, text: impl FnOnce() -> String) -> PyResult<()> {
        match self.debug.load(Ordering::Relaxed) {
            true => FL.log(py, Level::Debug, text),
            false => Ok(()),
        }
    }

    /// Does something with the writer while other threads run.
    pub(super) fn with_writer<T: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut State, &mut FileWriter) -> Result<T, striae::Error> + Send,
    ) -> PyResult<T> {
        self.check_open()?;
        let done = py.detach(|| {
            let mut state = self.state.lock().map_err(|_| None)?;
            let Some(mut writer) = state.take_writer() else { return Err(None) };
            let done = match writer.is_forked() {
                true => Err(None),
                false => act(&mut state, &mut writer).map_err(Some),
            };
            state.put_writer(writer);
            done
        });
        done.map_err(|error| match error {
            Some(error) => raised(error),
            None if self.owner != std::process::id() => PyRuntimeError::new_err(format!(
                "File was opened by another process, which forked this one: {}",
                self.name
            )),
            None => PyRuntimeError::new_err(format!("File must be writable: {}", self.name)),
        })
    }

    /// Ends a frame by `end`, and flushes the file if enough chunks wait for it. No other thread
    /// writes meanwhile.
    pub(super) fn end_frame_with<T: Send>(
        &self,
        py: Python<'_>,
        end: impl FnOnce(&mut State, &mut FileWriter) -> Result<T, striae::Error> + Send,
    ) -> PyResult<T> {
        self.check_open()?;
        self.debugging(py, || format!("end frame: {}", self.name))?;
        let (ended, is_full) = self.with_writer(py, |state, writer| {
            state.has_changed = true;
            Ok((end(state, writer)?, state.is_full()))
        })?;
        if is_full {
            self.flush(py)?;
        }
        Ok(ended)
    }

    /// Lets the reader see what was committed, as soon as anything is read.
    fn flushed(&self, frames: u64) {
        self.frames.store(frames, Ordering::Relaxed);
        self.is_stale.store(true, Ordering::Release);
    }

    fn refresh(&self) -> PyResult<()> {
        let old = self.reader()?;
        let AnyFile::Disk(file) = &*old else { return Ok(()) };
        let mut file = file.clone();
        file.refresh().map_err(raised)?;
        let new = AnyFile::Disk(file);
        if let Ok(mut labels) = self.labels.lock() {
            *labels = Labels::of(&new);
        }
        if let Ok(mut reader) = self.reader.write() {
            *reader = Some(Arc::new(new));
        }
        Ok(())
    }

    fn labels(&self) -> PyResult<Labels> {
        if self.check_open().is_ok() {
            self.file()?; // which may have been upgraded
        }
        let labels = self.labels.lock().map(|labels| labels.clone());
        labels.map_err(|_| PyRuntimeError::new_err("a thread failed"))
    }

    /// Ends all use of the file. What was written is committed, except an open frame; but a forked
    /// process changes nothing.
    fn end(&self) -> Result<(), striae::Error> {
        let reader = self.reader.write().ok().and_then(|mut reader| reader.take());
        drop(reader);
        let is_forked = self.owner != std::process::id();
        let writer = match is_forked {
            // Another thread may have had the lock when the process was forked.
            true => self.state.try_lock().ok().and_then(|mut state| state.take_writer()),
            false => self.state.lock().ok().and_then(|mut state| state.take_writer()),
        };
        let Some(mut writer) = writer.filter(|_| !is_forked) else { return Ok(()) };
        let Ok(mut state) = self.state.lock() else { return Ok(()) };
        if !state.has_changed {
            return Ok(());
        }
        writer.discard_frame();
        let closed = writer.close();
        if closed.as_ref().is_err_and(|error| !error.is_removed()) {
            state.put_writer(writer); // it may be closed again
        }
        closed
    }
}

#[pymethods]
impl GsdFile {
    #[new]
    #[pyo3(signature = (name, mode, application, schema, schema_version, debug=true))]
    fn new(
        py: Python<'_>,
        name: Bound<'_, PyAny>,
        mode: &str,
        application: Option<&str>,
        schema: Option<&str>,
        schema_version: Option<Bound<'_, PyAny>>,
        debug: bool,
    ) -> PyResult<Self> {
        let (path, name) = (name.extract::<PathBuf>()?, name.str()?.to_string());
        let made = open::Made::of(application, schema, schema_version.as_ref())?;
        let mode_ = Mode::of(mode, &path)?;
        let (reader, writer) = open::open(py, &path, mode_, mode, &made)?;
        let reader = AnyFile::Disk(Box::new(reader));
        let labels = Labels::of(&reader);
        open::check_schema(&name, &labels.schema, schema)?;
        Ok(Self {
            name,
            mode: mode.to_owned(),
            debug: AtomicBool::new(debug),
            reader: RwLock::new(Some(Arc::new(reader))),
            is_stale: AtomicBool::new(false),
            frames: AtomicU64::new(0),
            state: Mutex::new(State::new(writer, mode_ != Mode::Append)),
            labels: Mutex::new(labels),
            owner: std::process::id(),
        })
    }

    /// Closes the file. What was written is part of it, except a frame that was not ended. It may
    /// be called more than once.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        if self.check_open().is_ok() {
            FL.log(py, Level::Info, || format!("closing file: {}", self.name))?;
        }
        py.detach(|| self.end()).map_err(raised)
    }

    /// Removes all frames and names.
    fn truncate(&self, py: Python<'_>) -> PyResult<()> {
        self.check_open()?;
        FL.log(py, Level::Info, || format!("truncating file: {}", self.name))?;
        self.with_writer(py, |state, writer| {
            (state.pending, state.has_changed) = (0, true);
            writer.truncate()
        })?;
        self.flushed(0);
        Ok(())
    }

    /// Ends the frame. It is part of the file after `flush` or `close`.
    fn end_frame(&self, py: Python<'_>) -> PyResult<()> {
        self.end_frame_with(py, |_, writer| writer.end_frame().map(drop))
    }

    /// Makes all ended frames part of the file: they survive a crash, and can be read.
    pub(super) fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.check_open()?;
        FL.log(py, Level::Debug, || format!("flush: {}", self.name))?;
        let frames = self.with_writer(py, |state, writer| {
            state.pending = 0;
            writer.commit()?;
            Ok(writer.frames())
        })?;
        self.flushed(frames);
        Ok(())
    }

    /// Writes a chunk of the open frame.
    ///
    /// `data` is a text, or an array of N values or of N rows of M columns, of `uint8` to `uint64`,
    /// `int8` to `int64`, `float32` or `float64`.
    pub(super) fn write_chunk(
        &self,
        py: Python<'_>,
        name: &str,
        data: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        self.check_open()?;
        let written = Written::of(name, data)?;
        self.debugging(py, || format!("write chunk: {} - {name}", self.name))?;
        self.with_writer(py, |state, writer| state.write(writer, name, &written))
    }

    /// Whether a frame has a chunk.
    fn chunk_exists(&self, py: Python<'_>, frame: i64, name: &str) -> PyResult<bool> {
        if self.check_open().is_err() {
            return Ok(false);
        }
        let file = self.file()?;
        let found = py.detach(|| file.find(frame, name.as_bytes()));
        Ok(found.map_err(raised)?.is_some())
    }

    /// The values of a chunk: an array of N values, or of N rows of M columns; or a text.
    fn read_chunk<'py>(
        &self,
        py: Python<'py>,
        frame: i64,
        name: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let file = self.file()?;
        let found = py.detach(|| file.find(frame, name.as_bytes())).map_err(raised)?;
        let Some(chunk) = found else {
            let text = format!("frame {frame} / chunk {name} not found in: {}", self.name);
            return Err(PyKeyError::new_err(text));
        };
        self.debugging(py, || format!("read chunk: {} - {frame} - {name}", self.name))?;
        values::read(py, &file, &chunk)
    }

    /// The names of chunks that start with `match`.
    #[pyo3(signature = (r#match))]
    fn find_matching_chunk_names(&self, r#match: &str) -> PyResult<Vec<String>> {
        self.file()?.names_with(r#match).map_err(raised)
    }

    /// Turns a file of layer 1 into one of the newest layer.
    fn upgrade(&self, py: Python<'_>) -> PyResult<()> {
        self.check_open()?;
        FL.log(py, Level::Info, || format!("upgrading file: {}", self.name))?;
        let frames = self.with_writer(py, |state, writer| {
            state.has_changed = true;
            writer.upgrade()?;
            Ok(writer.frames())
        })?;
        self.flushed(frames);
        self.file().map(drop) // the version is known after a close, too
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_args))]
    fn __exit__(&self, py: Python<'_>, _args: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close(py)
    }

    /// Files that are only read can be pickled: by their name.
    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyType>, Bound<'py, PyTuple>)> {
        let (py, this) = (slf.py(), slf.get());
        if this.mode != "r" {
            let error = py.import("pickle")?.getattr("PickleError")?;
            let error = error.call1(("Only read only GSDFiles can be pickled.",))?;
            return Err(PyErr::from_value(error));
        }
        let labels = this.labels()?;
        let (application, schema) = (labels.application, labels.schema);
        let arguments = (&this.name, &this.mode, application, schema, labels.schema_version);
        Ok((slf.get_type(), arguments.into_pyobject(py)?))
    }

    /// The name that the file was opened by.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// The mode that the file was opened in.
    #[getter]
    fn mode(&self) -> &str {
        &self.mode
    }

    /// Whether each read and write is logged, by the logger `gsd.fl` at the level `DEBUG`.
    #[getter]
    fn debug(&self) -> bool {
        self.debug.load(Ordering::Relaxed)
    }

    #[setter]
    fn set_debug(&self, debug: bool) {
        self.debug.store(debug, Ordering::Relaxed);
    }

    /// Version of the file layer: (major, minor).
    #[getter]
    fn gsd_version(&self) -> PyResult<(u16, u16)> {
        Ok(self.labels()?.gsd_version)
    }

    /// Version of the schema: (major, minor).
    #[getter]
    fn schema_version(&self) -> PyResult<(u16, u16)> {
        Ok(self.labels()?.schema_version)
    }

    /// Name of the schema.
    #[getter]
    fn schema(&self) -> PyResult<String> {
        Ok(self.labels()?.schema)
    }

    /// Name of the program that made the file.
    #[getter]
    fn application(&self) -> PyResult<String> {
        Ok(self.labels()?.application)
    }

    /// Number of frames that are part of the file, and of those without chunks after them that this
    /// handle has flushed.
    #[getter]
    pub(super) fn nframes(&self) -> PyResult<u64> {
        Ok(self.file()?.frames().max(self.frames.load(Ordering::Relaxed)))
    }

    /// Bytes that are gathered in memory before they are written.
    #[getter]
    fn maximum_write_buffer_size(&self, py: Python<'_>) -> PyResult<u64> {
        self.check_open()?;
        Ok(py.detach(|| self.state.lock().map_or(0, |state| state.buffer)))
    }

    #[setter]
    fn set_maximum_write_buffer_size(&self, py: Python<'_>, size: u64) -> PyResult<()> {
        self.check_open()?;
        let invalid = || PyRuntimeError::new_err(format!("Invalid gsd argument: {}", self.name));
        let bytes = usize::try_from(size).ok().filter(|&bytes| bytes > 0).ok_or_else(invalid)?;
        if self.mode == "r" {
            py.detach(|| self.state.lock().map_or((), |mut state| state.buffer = size));
            return Ok(());
        }
        self.with_writer(py, |state, writer| {
            state.buffer = size;
            writer.set_buffer(bytes);
            Ok(())
        })
    }

    /// Number of chunks after which the end of a frame flushes the file, as in gsd before 4.0. Not
    /// limited unless it is set.
    #[getter]
    fn index_entries_to_buffer(&self, py: Python<'_>) -> PyResult<u64> {
        self.check_open()?;
        Ok(py.detach(|| self.state.lock().map_or(0, |state| state.entries)))
    }

    #[setter]
    fn set_index_entries_to_buffer(&self, py: Python<'_>, number: u64) -> PyResult<()> {
        self.check_open()?;
        if number == 0 {
            return Err(PyRuntimeError::new_err(format!("Invalid gsd argument: {}", self.name)));
        }
        self.with_writer(py, |state, _| {
            state.entries = number;
            Ok(())
        })
    }
}

impl Drop for GsdFile {
    /// Closes a file that was not closed, as gsd does when it is collected.
    fn drop(&mut self) {
        // Nobody is left to hear of an error.
        let _ = self.end();
    }
}
