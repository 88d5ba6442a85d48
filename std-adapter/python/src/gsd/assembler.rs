//! Frames of `gsd.hoomd`, each read and written by one call: `Assembler`.

use super::handle::GsdFile;
use super::object::ObjectFile;
use super::parts::{Own, PARTS, Roles, roles};
use super::source::AnyFile;
use super::{append, frame, logs, values};
use crate::error::raised;
use crate::numpy::{freeze, numpy};
use pyo3::exceptions::{PyIndexError, PyRuntimeError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString};
use std::sync::{Arc, Mutex};
use striae::gsd::Chunk;

/// Reads and writes the frames of a file of the schema `hoomd`.
#[pyclass(frozen, module = "striae._striae")]
pub(crate) struct Assembler {
    file: FileObject,
    pub(super) classes: Classes,
    /// Frame 0, once it was read.
    first: Mutex<Option<Arc<First>>>,
    /// What was last found out of the file.
    known: Mutex<Option<Known>>,
}

/// A file of either kind.
enum FileObject {
    Disk(Py<GsdFile>),
    Object(Py<ObjectFile>),
}

/// The Python classes of a frame and its parts, and the names of their attributes.
pub(super) struct Classes {
    pub(super) frame: Py<PyAny>,
    pub(super) configuration: Py<PyAny>,
    pub(super) particles: Py<PyAny>,
    pub(super) bonds: Py<PyAny>,
    pub(super) constraints: Py<PyAny>,
    /// `object.__new__`.
    pub(super) new: Py<PyAny>,
    /// The names of parts, each with those of its attributes.
    pub(super) names: Vec<(Py<PyString>, Vec<Py<PyString>>)>,
}

/// Frame 0, which other frames take values from.
pub(super) struct First {
    /// The values of its attributes, by place.
    pub(super) values: Vec<Held>,
    /// Number of members of each part.
    pub(super) counts: Vec<u64>,
    /// The chunks that it has itself.
    pub(super) own: Own,
    /// Its logged quantities, by the ids of their names.
    pub(super) logs: Vec<(u16, Held)>,
}

/// A value of frame 0 that nobody can change.
pub(super) enum Held {
    Value(Py<PyAny>),
    /// The values of a chunk, which are read when a frame takes them: most frames have positions.
    Chunk(Box<Chunk>, PyOnceLock<Py<PyAny>>),
}

impl Held {
    pub(super) fn chunk(chunk: Chunk) -> Self {
        Self::Chunk(Box::new(chunk), PyOnceLock::new())
    }

    pub(super) fn get<'py>(&self, py: Python<'py>, file: &AnyFile) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Self::Value(value) => Ok(value.bind(py).clone()),
            Self::Chunk(chunk, value) => {
                let value = value.get_or_try_init(py, || {
                    let value = values::read(py, file, chunk)?;
                    if numpy(py)?.is_array(&value) {
                        freeze(&value)?;
                    }
                    Ok::<_, PyErr>(value.unbind())
                });
                Ok(value?.bind(py).clone())
            }
        }
    }
}

/// A state of the file, with the roles of its names and some chunks that were read ahead.
struct Known {
    file: Arc<AnyFile>,
    roles: Arc<Roles>,
    ahead: Ahead,
}

/// The chunks of some frames, read together as frames are asked for one after another.
#[derive(Default)]
struct Ahead {
    /// Of frames from `start` on.
    start: u64,
    frames: Vec<Vec<Chunk>>,
}

/// The most frames, and about the most chunks, that are read ahead.
const FRAMES: u64 = 256;
const CHUNKS: u64 = 4096;

impl Ahead {
    fn get(&self, frame: u64) -> Option<&[Chunk]> {
        let place = usize::try_from(frame.checked_sub(self.start)?).ok()?;
        self.frames.get(place).map(Vec::as_slice)
    }

    /// How many frames to read from this one on.
    fn wanted(&self, frame: u64) -> u64 {
        let count = u64::try_from(self.frames.len()).unwrap_or(u64::MAX);
        if count == 0 || self.start.saturating_add(count) != frame {
            return 1;
        }
        let chunks = self.frames.iter().map(Vec::len).sum::<usize>();
        let each = u64::try_from(chunks).unwrap_or(u64::MAX).checked_div(count).unwrap_or(0);
        let most = CHUNKS.checked_div(each.max(1)).unwrap_or(1).clamp(1, FRAMES);
        count.saturating_mul(2).min(most)
    }

    fn read(file: &AnyFile, start: u64, count: u64) -> Result<Self, striae::Error> {
        let end = start.saturating_add(count).min(file.frames());
        let frames = (start..end).map(|_| Vec::new()).collect();
        let mut ahead = Self { start, frames };
        for chunk in file.chunks_in(start..end)? {
            let place = chunk.frame.checked_sub(start).and_then(|at| usize::try_from(at).ok());
            if let Some(frame) = place.and_then(|at| ahead.frames.get_mut(at)) {
                frame.push(chunk);
            }
        }
        Ok(ahead)
    }
}

impl Classes {
    fn of(py: Python<'_>, module: &Bound<'_, PyAny>) -> PyResult<Self> {
        let get = |name: &str| module.getattr(name).map(Bound::unbind);
        let new = py.import("builtins")?.getattr("object")?.getattr("__new__")?.unbind();
        let intern = |name: &str| PyString::intern(py, name).unbind();
        let names = PARTS.iter().map(|part| {
            let attributes = part.attributes.iter();
            // The property `box` sets the dimensions, too.
            let names = attributes.map(|of| if of.name == "box" { "_box" } else { of.name });
            (intern(part.name), names.map(intern).collect())
        });
        Ok(Self {
            frame: get("Frame")?,
            configuration: get("ConfigurationData")?,
            particles: get("ParticleData")?,
            bonds: get("BondData")?,
            constraints: get("ConstraintData")?,
            new,
            names: names.collect(),
        })
    }
}

impl Assembler {
    pub(super) fn file(&self) -> PyResult<Arc<AnyFile>> {
        match &self.file {
            FileObject::Disk(file) => file.get().file(),
            FileObject::Object(file) => file.get().file(),
        }
    }

    /// The file as it can be written.
    fn writable(&self, py: Python<'_>) -> PyResult<Py<GsdFile>> {
        match &self.file {
            FileObject::Disk(file) => Ok(file.clone_ref(py)),
            FileObject::Object(_) => Err(PyRuntimeError::new_err("File must be writable")),
        }
    }

    /// The roles of the names of this file, and the chunks of a frame.
    fn look_up(
        &self,
        py: Python<'_>,
        file: &Arc<AnyFile>,
        frame: u64,
    ) -> PyResult<(Arc<Roles>, Own)> {
        let looked = py.detach(|| {
            let mut known = self.known.lock().unwrap_or_else(|lock| lock.into_inner());
            if known.as_ref().is_none_or(|known| !Arc::ptr_eq(&known.file, file)) {
                let roles = Arc::new(roles(&**file)?);
                let (file, ahead) = (Arc::clone(file), Ahead::default());
                *known = Some(Known { file, roles, ahead });
            }
            let Some(Known { roles, ahead, .. }) = &mut *known else { return Ok(None) };
            if ahead.get(frame).is_none() {
                *ahead = Ahead::read(file, frame, ahead.wanted(frame))?;
            }
            let own = Own::of(ahead.get(frame).unwrap_or_default(), roles);
            Ok(Some((Arc::clone(roles), own)))
        });
        let looked = looked.map_err(raised)?;
        looked.ok_or_else(|| PyRuntimeError::new_err("a thread failed"))
    }

    /// Frame 0, which is read if it was not.
    pub(super) fn first(&self, py: Python<'_>) -> PyResult<Arc<First>> {
        let first = self.first.lock().ok().and_then(|first| first.clone());
        if let Some(first) = first {
            return Ok(first);
        }
        let file = self.file()?;
        let (roles, own) = self.look_up(py, &file, 0)?;
        let read = frame::read(py, self, &file, &roles, &own, None)?;
        self.keep(&read, own)
    }

    /// Keeps what frames take from frame 0.
    fn keep(&self, read: &frame::Read<'_>, own: Own) -> PyResult<Arc<First>> {
        let first = Arc::new(First::of(&self.classes, read, own)?);
        if let Ok(mut kept) = self.first.lock() {
            *kept = Some(Arc::clone(&first));
        }
        Ok(first)
    }
}

#[pymethods]
impl Assembler {
    /// `module` has the classes `Frame`, `ConfigurationData` and so on.
    #[new]
    fn new(py: Python<'_>, file: Bound<'_, PyAny>, module: Bound<'_, PyAny>) -> PyResult<Self> {
        let file = match file.cast::<GsdFile>() {
            Ok(file) => FileObject::Disk(file.clone().unbind()),
            Err(_) => match file.cast::<ObjectFile>() {
                Ok(file) => FileObject::Object(file.clone().unbind()),
                Err(_) => {
                    let text = "file must be a GSDFile of striae.gsd.fl or striae.gsd.pygsd";
                    return Err(PyTypeError::new_err(text));
                }
            },
        };
        let (first, known) = (Mutex::new(None), Mutex::new(None));
        Ok(Self { file, classes: Classes::of(py, &module)?, first, known })
    }

    /// The frame of this number.
    fn read<'py>(&self, py: Python<'py>, number: u64) -> PyResult<Bound<'py, PyAny>> {
        let file = self.file()?;
        let frames = match &self.file {
            FileObject::Disk(file) => file.get().nframes()?,
            FileObject::Object(_) => file.frames(),
        };
        if number >= frames {
            return Err(PyIndexError::new_err(format!("there is no frame {number}")));
        }
        let first = if number == 0 { None } else { Some(self.first(py)?) };
        let (roles, own) = self.look_up(py, &file, number)?;
        let read = frame::read(py, self, &file, &roles, &own, first.as_deref())?;
        if number == 0 && self.first.lock().is_ok_and(|first| first.is_none()) {
            self.keep(&read, own)?;
        }
        Ok(read.frame)
    }

    /// Adds a frame; `double` is whether floats have 64 bits.
    fn append(&self, py: Python<'_>, frame: &Bound<'_, PyAny>, double: bool) -> PyResult<()> {
        let writable = self.writable(py)?;
        let file = writable.get();
        let append = |is_alone| {
            let first = if file.file()?.frames() > 0 { Some(self.first(py)?) } else { None };
            let first = first.map(|first| file.file().map(|file| (first, file))).transpose()?;
            append::append(py, self, file, frame, first, is_alone, double)
        };
        if append(false)? {
            return Ok(());
        }
        // Another thread has appended the first frame meanwhile, from which this one takes values.
        file.flush(py)?;
        append(true).map(drop)
    }

    /// Forgets frame 0, because the file was truncated.
    fn forget(&self, py: Python<'_>) {
        if let Ok(mut first) = self.first.lock() {
            *first = None;
        }
        // Who has this lock may be waiting for that of the interpreter, to read a Python object.
        py.detach(|| *self.known.lock().unwrap_or_else(|lock| lock.into_inner()) = None);
    }

    /// What frames take from frame 0, as a frame; `None` if it was not read.
    #[getter]
    fn first_frame<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let first = self.first.lock().ok().and_then(|first| first.clone());
        let Some(first) = first else { return Ok(None) };
        let file = self.file()?;
        let (roles, _) = self.look_up(py, &file, 0)?;
        let read = frame::read(py, self, &file, &roles, &Own::none(), Some(&first))?;
        Ok(Some(read.frame))
    }

    /// The logged quantities that match a pattern, over all frames.
    fn logs<'py>(
        &self,
        py: Python<'py>,
        pattern: &str,
        scalars: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        logs::read(py, self.file()?, pattern, scalars)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let name = match &self.file {
            FileObject::Disk(file) => file.get().path().to_owned(),
            FileObject::Object(file) => file.bind(py).getattr(intern!(py, "name"))?.to_string(),
        };
        Ok(format!("<frames of {name}>"))
    }
}
