//! Making a frame of Python from its chunks, and from what it takes from frame 0.

use super::assembler::{Assembler, Classes, First, Held};
use super::parts::{Attribute, Class, Form, Own, PARTS, Part, Roles};
use super::source::AnyFile;
use super::values::{empty_for, is_text, memory, text};
use crate::buffer::BytesMut;
use crate::error::raised;
use crate::numpy::{freeze, numpy};
use pyo3::exceptions::PyRuntimeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::sync::Arc;
use striae::gsd::Chunk;
use striae::striae_core::gsd::ChunkType;
use striae::striae_hoomd::room::Room;

/// A frame that was read.
pub(super) struct Read<'py> {
    pub(super) frame: Bound<'py, PyAny>,
    /// Number of members of each part.
    pub(super) counts: Vec<u64>,
}

/// A chunk that is read into memory of Python or of Rust.
struct Job<'py> {
    chunk: Chunk,
    array: Option<(Bound<'py, PyAny>, BytesMut)>,
    bytes: Vec<u8>,
}

impl<'py> Job<'py> {
    fn new(py: Python<'py>, chunk: Chunk, is_array: bool) -> PyResult<Self> {
        if !is_array {
            let bytes = memory(chunk.span.len())?;
            return Ok(Self { chunk, array: None, bytes });
        }
        let array = empty_for(py, &chunk)?;
        let bytes = BytesMut::of(&array)?;
        Ok(Self { chunk, array: Some((array, bytes)), bytes: Vec::new() })
    }

    fn bytes(&mut self) -> (Chunk, &mut [u8]) {
        match &mut self.array {
            Some((_, bytes)) => (self.chunk, bytes.as_mut_slice()),
            None => (self.chunk, &mut self.bytes),
        }
    }

    /// What an array or a text is in Python.
    fn value(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.array {
            Some((array, _)) => Ok(array),
            None => text(py, &self.bytes),
        }
    }
}

/// Reads a frame. `first` is frame 0, unless this is frame 0.
pub(super) fn read<'py>(
    py: Python<'py>,
    assembler: &Assembler,
    file: &Arc<AnyFile>,
    roles: &Roles,
    own: &Own,
    first: Option<&First>,
) -> PyResult<Read<'py>> {
    // Chunks of a damaged file may claim the same bytes.
    let mut room = Room::new(file.file_len());
    let mut admit = |chunk: &Chunk| {
        room.take(chunk).map_err(|error| PyRuntimeError::new_err(error.to_string()))
    };
    let mut jobs = Vec::new();
    let mut of_attribute = vec![None; own.attributes.len()];
    for attribute in PARTS.iter().flat_map(|part| &part.attributes) {
        if let Some(Some(chunk)) = own.attributes.get(attribute.place) {
            if let Some(slot) = of_attribute.get_mut(attribute.place) {
                *slot = Some(jobs.len());
            }
            admit(chunk)?;
            let is_array = matches!(attribute.form, Form::Array | Form::Box);
            jobs.push(Some(Job::new(py, *chunk, is_array)?));
        }
    }
    let logs = jobs.len();
    for chunk in &own.logs {
        admit(chunk)?;
        jobs.push(Some(Job::new(py, *chunk, !is_text(chunk))?));
    }
    let mut parts: Vec<_> = jobs.iter_mut().flatten().map(Job::bytes).collect();
    py.detach(|| file.read_chunks(&mut parts)).map_err(raised)?;
    drop(parts);

    let mut making = Making { py, assembler, file, first, jobs, of_attribute };
    let frame = making.instance(&assembler.classes.frame)?;
    let mut counts = Vec::new();
    for (part, (name, names)) in PARTS.iter().zip(&assembler.classes.names) {
        let (made, count) = making.part(part, names, counts.len())?;
        counts.push(count);
        frame.setattr(name, made)?;
    }
    let log = making.logs(roles, own, logs)?;
    frame.setattr(intern!(py, "log"), log)?;
    Ok(Read { frame, counts })
}

/// A frame that is being made.
struct Making<'a, 'py> {
    py: Python<'py>,
    assembler: &'a Assembler,
    file: &'a AnyFile,
    first: Option<&'a First>,
    /// What was read; `None` if it was used.
    jobs: Vec<Option<Job<'py>>>,
    /// The number of the job of an attribute, by its place.
    of_attribute: Vec<Option<usize>>,
}

impl<'py> Making<'_, 'py> {
    /// A new object of a class, without a call of its `__init__`.
    fn instance(&self, class: &Py<PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.assembler.classes.new.bind(self.py).call1((class,))
    }

    /// The job of an attribute.
    fn job(&mut self, attribute: &Attribute) -> Option<Job<'py>> {
        let number = self.of_attribute.get(attribute.place).copied().flatten()?;
        self.jobs.get_mut(number)?.take()
    }

    fn part(
        &mut self,
        part: &Part,
        names: &[Py<pyo3::types::PyString>],
        number: usize,
    ) -> PyResult<(Bound<'py, PyAny>, u64)> {
        let classes: &Classes = &self.assembler.classes;
        let made = match part.class {
            Class::Configuration => self.instance(&classes.configuration)?,
            Class::Particles => self.instance(&classes.particles)?,
            Class::Bonds(_) => self.instance(&classes.bonds)?,
            Class::Constraints => self.instance(&classes.constraints)?,
        };
        if let Class::Bonds(columns) = part.class {
            made.setattr(intern!(self.py, "M"), columns)?;
        } else if part.class == Class::Constraints {
            made.setattr(intern!(self.py, "M"), 2)?;
        }
        let first_count = self.first.map(|first| first.counts.get(number).copied().unwrap_or(0));
        let mut count = first_count.unwrap_or(0);
        for (attribute, name) in part.attributes.iter().zip(names) {
            let value = match self.job(attribute) {
                Some(job) if attribute.form == Form::Count => {
                    let (value, scalar) = self.scalar(&job)?;
                    count = value;
                    scalar
                }
                Some(job) => self.value(attribute, job)?,
                None => self.fallback(attribute, count, first_count)?,
            };
            made.setattr(name, value)?;
        }
        Ok((made, count))
    }

    /// The first value of a chunk of whole numbers.
    fn scalar(&self, job: &Job<'_>) -> PyResult<(u64, Bound<'py, PyAny>)> {
        let size = usize::try_from(job.chunk.kind.size().get()).unwrap_or(8);
        let mut value = [0; 8];
        let bytes = job.bytes.get(..size).filter(|_| !is_float(job.chunk.kind));
        let Some(bytes) = bytes else {
            let Chunk { frame, kind, n, .. } = job.chunk;
            let text = format!("a number of frame {frame} has type {kind} and {n} rows");
            return Err(PyRuntimeError::new_err(text));
        };
        for (to, from) in value.iter_mut().zip(bytes) {
            *to = *from;
        }
        let value = u64::from_le_bytes(value);
        Ok((value, numpy(self.py)?.scalar(self.py, job.chunk.kind, value)?))
    }

    /// A value that the frame has itself.
    fn value(&self, attribute: &Attribute, job: Job<'py>) -> PyResult<Bound<'py, PyAny>> {
        match attribute.form {
            Form::Count | Form::Scalar => Ok(self.scalar(&job)?.1),
            Form::Box | Form::Array => job.value(self.py),
            Form::Types | Form::Shapes => {
                let width = usize::try_from(job.chunk.m).unwrap_or(usize::MAX).max(1);
                let rows = job.bytes.chunks(width).map(|row| text(self.py, row));
                let rows = rows.collect::<PyResult<Vec<_>>>()?;
                if attribute.form == Form::Types {
                    return Ok(PyList::new(self.py, rows)?.into_any());
                }
                let loads = self.py.import("json")?.getattr("loads")?;
                let rows = rows.into_iter().map(|row| loads.call1((row,)));
                let rows = rows.collect::<PyResult<Vec<_>>>()?;
                Ok(PyList::new(self.py, rows)?.into_any())
            }
        }
    }

    /// A value that the frame takes from frame 0, or that is a default. `count` is the number of
    /// members of the part, `first_count` that of frame 0.
    fn fallback(
        &self,
        attribute: &Attribute,
        count: u64,
        first_count: Option<u64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        let is_taken = attribute.form != Form::Array || first_count == Some(count);
        let taken = self.first.filter(|_| is_taken);
        if let Some(held) = taken.and_then(|first| first.values.get(attribute.place)) {
            let value = held.get(py, self.file)?;
            return match attribute.form {
                Form::Box | Form::Types | Form::Shapes => value.call_method0(intern!(py, "copy")),
                _ => Ok(value),
            };
        }
        self.default(attribute, count)
    }

    fn default(&self, attribute: &Attribute, count: u64) -> PyResult<Bound<'py, PyAny>> {
        let (py, numpy) = (self.py, numpy(self.py)?);
        match attribute.form {
            Form::Count => return Ok(0_u64.into_pyobject(py)?.into_any()),
            Form::Types if attribute.field.name == "particles/types" => {
                return Ok(PyList::new(py, ["A"])?.into_any());
            }
            Form::Types => return Ok(PyList::empty(py).into_any()),
            Form::Shapes => return Ok(PyList::new(py, [PyDict::new(py)])?.into_any()),
            _ => {}
        }
        let none = || PyRuntimeError::new_err(format!("{} has no default", attribute.field.name));
        let (kind, columns, row) = attribute.field.default_row().ok_or_else(none)?;
        if attribute.form == Form::Scalar {
            let value = row.iter().rev().fold(0_u64, |sum, &byte| (sum << 8) | u64::from(byte));
            return numpy.scalar(py, kind, value);
        }
        if attribute.form == Form::Box {
            return numpy.filled(py, kind, &[6], &row);
        }
        self.check_claim(attribute, count)?;
        let shape = [count, columns.into()];
        let shape = if columns == 1 { shape.get(..1) } else { None }.unwrap_or(&shape);
        let array = numpy.filled(py, kind, shape, &row)?;
        freeze(&array)?;
        Ok(array)
    }

    /// Refuses a number of members that takes no bytes in the file, and much memory.
    fn check_claim(&self, attribute: &Attribute, count: u64) -> PyResult<()> {
        let most = self.file.file_len().max(1 << 20);
        if count <= most {
            return Ok(());
        }
        let name = attribute.field.name;
        let text = format!("{name} would have {count} rows, in a file of {most} bytes");
        Err(PyRuntimeError::new_err(text))
    }

    /// The logged quantities of the frame, and those of frame 0 that it lacks.
    fn logs(&mut self, roles: &Roles, own: &Own, jobs: usize) -> PyResult<Bound<'py, PyDict>> {
        let log = PyDict::new(self.py);
        let mut own = own.logs.iter().map(|chunk| chunk.id).zip(jobs..).peekable();
        let taken = self.first.map(|first| first.logs.as_slice()).unwrap_or_default();
        let mut taken = taken.iter().peekable();
        for (id, name) in &roles.logs {
            while taken.next_if(|(of, _)| of < id).is_some() {}
            let from_first = taken.next_if(|(of, _)| of == id);
            if let Some((_, job)) = own.next_if(|(of, _)| of == id) {
                if let Some(job) = self.jobs.get_mut(job).and_then(Option::take) {
                    log.set_item(name, job.value(self.py)?)?;
                }
            } else if let Some((_, held)) = from_first {
                log.set_item(name, held.get(self.py, self.file)?)?;
            }
        }
        Ok(log)
    }
}

const fn is_float(kind: ChunkType) -> bool {
    matches!(kind, ChunkType::F32 | ChunkType::F64)
}

impl First {
    /// What other frames take from frame 0, which was read.
    pub(super) fn of(classes: &Classes, read: &Read<'_>, own: Own) -> PyResult<Self> {
        let py = read.frame.py();
        let mut values = Vec::new();
        for (part, (name, names)) in PARTS.iter().zip(&classes.names) {
            let object = read.frame.getattr(name)?;
            for (attribute, name) in part.attributes.iter().zip(names) {
                let chunk = own.attributes.get(attribute.place).copied().flatten();
                let held = match (attribute.form, chunk) {
                    (Form::Array, Some(chunk)) => Held::chunk(chunk),
                    (Form::Box | Form::Types | Form::Shapes, _) => {
                        let deepcopy = py.import("copy")?.getattr("deepcopy")?;
                        Held::Value(deepcopy.call1((object.getattr(name)?,))?.unbind())
                    }
                    _ => Held::Value(object.getattr(name)?.unbind()),
                };
                values.push(held);
            }
        }
        let logs = own.logs.iter().map(|chunk| (chunk.id, Held::chunk(*chunk))).collect();
        Ok(Self { values, counts: read.counts.clone(), own, logs })
    }
}
