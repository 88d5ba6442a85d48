//! Reading a set.

use crate::buffer::BytesMut;
use crate::error::raised;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, RwLock};
use striae::error::ErrorKind;
use striae::sion::{File, KeyvalMode, TaskStream};
use striae::striae_core::store::usize_to_u64;
use striae::{Error, sion};

/// A SIONlib set that was closed.
#[pyclass(frozen, module = "striae._striae")]
pub(crate) struct SionFile {
    open: RwLock<Option<Arc<File>>>,
    path: PathBuf,
}

/// The stream of a task.
#[pyclass(frozen, module = "striae._striae")]
pub(crate) struct SionStream {
    stream: Mutex<TaskStream>,
    path: PathBuf,
    len: u64,
}

/// A task: number, global rank, bytes, number of its physical file, used chunks.
type Task = (u64, i64, u64, u32, u64);

impl SionFile {
    fn file(&self) -> PyResult<Arc<File>> {
        let open = self.open.read().ok().and_then(|open| open.clone());
        open.ok_or_else(|| {
            PyValueError::new_err(format!("{}: the set is closed", self.path.display()))
        })
    }
}

#[pymethods]
impl SionFile {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let file = py.detach(|| File::open(&path)).map_err(raised)?;
        Ok(Self { open: RwLock::new(Some(Arc::new(file))), path })
    }

    fn close(&self) {
        if let Ok(mut open) = self.open.write() {
            *open = None;
        }
    }

    #[getter]
    fn ntasks(&self) -> PyResult<u64> {
        Ok(self.file()?.ntasks())
    }

    #[getter]
    fn keyval(&self) -> PyResult<bool> {
        Ok(self.file()?.keyval() == KeyvalMode::Inline)
    }

    /// The paths of the physical files.
    fn files(&self) -> PyResult<Vec<PathBuf>> {
        Ok(self.file()?.files().map(|(path, _)| path.to_owned()).collect())
    }

    /// The files of older commits of the set than another file: the path, the number of the commit,
    /// and that of the newest one.
    fn older(&self, py: Python<'_>) -> PyResult<Vec<(PathBuf, u32, u32)>> {
        let file = self.file()?;
        let older = py.detach(|| {
            let older = file.older()?.into_iter();
            Ok(older.map(|older| (older.path.to_owned(), older.number, older.newest)).collect())
        });
        older.map_err(raised)
    }

    fn task(&self, py: Python<'_>, task: u64) -> PyResult<Task> {
        let file = self.file()?;
        let entry = py.detach(|| file.task(task)).map_err(raised)?;
        Ok(of_entry(&entry))
    }

    fn tasks(&self, py: Python<'_>) -> PyResult<Vec<Task>> {
        let file = self.file()?;
        let tasks = py.detach(|| {
            let tasks = file.tasks()?.map(|task| task.map(|entry| of_entry(&entry)));
            tasks.collect::<Result<Vec<_>, _>>()
        });
        tasks.map_err(raised)
    }

    /// The task with this global rank.
    fn find_globalrank(&self, py: Python<'_>, globalrank: i64) -> PyResult<u64> {
        let file = self.file()?;
        py.detach(|| file.find_globalrank(globalrank)).map_err(raised)
    }

    fn stream(&self, py: Python<'_>, task: u64) -> PyResult<SionStream> {
        let file = self.file()?;
        let stream = py.detach(|| file.stream(task)).map_err(raised)?;
        let (len, path) = (stream.len(), self.path.clone());
        Ok(SionStream { stream: Mutex::new(stream), path, len })
    }

    /// The keys of a task with the lengths of their values, in the order of their first records.
    fn keys(&self, py: Python<'_>, task: u64) -> PyResult<Vec<(u64, u64)>> {
        let file = self.file()?;
        let keys = py.detach(|| {
            let mut keys: Vec<(u64, u64)> = Vec::new();
            for record in file.stream(task)?.records()? {
                let record = record?;
                match keys.iter_mut().find(|(key, _)| *key == record.key) {
                    Some((_, len)) => *len = len.saturating_add(record.len),
                    None => keys.push((record.key, record.len)),
                }
            }
            Ok(keys)
        });
        keys.map_err(raised)
    }

    /// The value of a key of a task.
    fn value<'py>(&self, py: Python<'py>, task: u64, key: u64) -> PyResult<Bound<'py, PyBytes>> {
        let file = self.file()?;
        let read = py.detach(|| {
            let (mut value, mut bytes) = (file.value(task, key)?, Vec::new());
            let at = |error: std::io::Error| Error::new(&self.path, ErrorKind::from(error));
            value.read_to_end(&mut bytes).map_err(at)?;
            Ok(bytes)
        });
        Ok(PyBytes::new(py, &read.map_err(raised)?))
    }
}

const fn of_entry(entry: &sion::TaskEntry) -> Task {
    (entry.task, entry.place.globalrank, entry.bytes, entry.file, entry.place.blockcount)
}

impl SionStream {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut TaskStream) -> std::io::Result<T> + Send,
    ) -> PyResult<T> {
        let done = py.detach(|| {
            let mut stream = self.stream.lock().unwrap_or_else(|lock| lock.into_inner());
            act(&mut stream).map_err(|error| Error::new(&self.path, ErrorKind::from(error)))
        });
        done.map_err(raised)
    }
}

#[pymethods]
impl SionStream {
    #[getter]
    const fn len(&self) -> u64 {
        self.len
    }

    /// Reads bytes into a buffer and returns their number: as many as fit, fewer at the end.
    fn readinto(&self, py: Python<'_>, buffer: &Bound<'_, PyAny>) -> PyResult<usize> {
        let mut bytes = BytesMut::of(buffer)?;
        let mut rest = bytes.as_mut_slice();
        self.with(py, |stream| {
            let mut done: usize = 0;
            while !rest.is_empty() {
                let read = stream.read(rest)?;
                if read == 0 {
                    break;
                }
                done = done.saturating_add(read);
                rest = std::mem::take(&mut rest).get_mut(read..).unwrap_or_default();
            }
            Ok(done)
        })
    }

    /// Moves to a position, counted from the start, from here, or from the end, as in `io`.
    fn seek(&self, py: Python<'_>, offset: i64, whence: u8) -> PyResult<u64> {
        let to = match whence {
            0 => match u64::try_from(offset) {
                Ok(offset) => SeekFrom::Start(offset),
                Err(_) => return Err(PyValueError::new_err("negative seek position")),
            },
            1 => SeekFrom::Current(offset),
            2 => SeekFrom::End(offset),
            _ => return Err(PyValueError::new_err("whence must be 0, 1 or 2")),
        };
        self.with(py, |stream| stream.seek(to))
    }

    /// Moves to an offset in a chunk, as users of SIONlib store them, and returns the position.
    fn seek_chunk(&self, py: Python<'_>, chunk: u64, offset: u64) -> PyResult<u64> {
        let position = py.detach(|| {
            let mut stream = self.stream.lock().unwrap_or_else(|lock| lock.into_inner());
            let position = stream.position_of(chunk, offset)?;
            let at = |error: std::io::Error| Error::new(&self.path, ErrorKind::from(error));
            stream.seek(SeekFrom::Start(position)).map_err(at)
        });
        position.map_err(raised)
    }

    fn __len__(&self) -> usize {
        usize::try_from(self.len).unwrap_or(usize::MAX)
    }

    fn __repr__(&self) -> String {
        format!("<stream of {} bytes in {}>", usize_to_u64(self.__len__()), self.path.display())
    }
}
