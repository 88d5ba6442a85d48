//! Writing a frame of Python.

use super::assembler::{Assembler, First};
use super::handle::GsdFile;
use super::parts::{Attribute, Form, PARTS};
use super::source::AnyFile;
use super::values::{Data, Written};
use crate::buffer::Bytes;
use crate::numpy::{kind_of, numpy};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};
use std::sync::Arc;
use striae::striae_core::gsd::ChunkType;
use striae::striae_core::store::usize_to_u64;
use striae::striae_hoomd::schema::{Kind, STEP};

/// Writes the chunks that a frame needs besides those of frame 0, and ends it. Returns whether it
/// did: without frame 0, only if it is the first frame, or if nobody else appends.
pub(super) fn append(
    py: Python<'_>,
    assembler: &Assembler,
    file: &GsdFile,
    frame: &Bound<'_, PyAny>,
    first: Option<(Arc<First>, Arc<AnyFile>)>,
    is_alone: bool,
    double: bool,
) -> PyResult<bool> {
    let may_follow = first.is_some() || is_alone;
    let first = first.as_ref().map(|(first, file)| (&**first, &**file));
    let mut chunks = Vec::new();
    for (part, (name, names)) in PARTS.iter().zip(&assembler.classes.names) {
        let object = frame.getattr(name)?;
        let mut writing = Writing { py, first, double, count: 0 };
        for (attribute, name) in part.attributes.iter().zip(names) {
            let value = match attribute.form {
                Form::Box => object.getattr(intern!(py, "box"))?,
                _ => object.getattr(name)?,
            };
            if value.is_none() {
                continue;
            }
            if let Some(written) = writing.chunk(attribute, &value)? {
                chunks.push((attribute.field.name.to_owned(), written));
            }
        }
    }
    let log = frame.getattr(intern!(py, "log"))?;
    for item in log.call_method0(intern!(py, "items"))?.try_iter()? {
        let (name, value): (String, Bound<'_, PyAny>) = item?.extract()?;
        let name = format!("log/{name}");
        let written = Written::of(&name, &value)?;
        chunks.push((name, written));
    }
    if chunks.is_empty() {
        // A frame without chunks is lost if it is the last one.
        chunks.push((STEP.name.to_owned(), step_of(frame, first)?));
    }
    let is_first = first.is_none();
    let is_added = file.end_frame_with(py, |state, writer| {
        if !may_follow && writer.frames() > 0 {
            return Ok(false);
        }
        let mut chunks = chunks.iter();
        let written = chunks.try_for_each(|(name, written)| state.write(writer, name, written));
        let ended = written.and_then(|()| writer.end_frame());
        ended.map(|_| true).inspect_err(|_| writer.discard_frame()) // the whole frame, or nothing
    })?;
    // Later frames are compared with frame 0 as it can be read.
    if is_first && file.file()?.frames() == 0 {
        file.flush(py)?;
    }
    Ok(is_added)
}

/// The step of a frame; if it has none, that of frame 0, which a reader would give it.
fn step_of(frame: &Bound<'_, PyAny>, first: Option<(&First, &AnyFile)>) -> PyResult<Written> {
    let step = frame.getattr("configuration")?.getattr("step")?;
    let mut attributes = PARTS.iter().flat_map(|part| &part.attributes);
    let place = attributes.find(|one| one.field.name == STEP.name).map(|one| one.place);
    let held = first.and_then(|(first, file)| Some((first.values.get(place?)?, file)));
    let step = match (step.extract::<Option<u64>>()?, held) {
        (Some(step), _) => step,
        (None, Some((held, file))) => held.get(frame.py(), file)?.extract()?,
        (None, None) => 0,
    };
    let data = Data::Raw(step.to_le_bytes().to_vec());
    Ok(Written { kind: ChunkType::U64, m: 1, data })
}

/// A part that is being written.
struct Writing<'a, 'py> {
    py: Python<'py>,
    /// Frame 0, and the file that it is in.
    first: Option<(&'a First, &'a AnyFile)>,
    double: bool,
    /// Its number of members.
    count: u64,
}

impl<'py> Writing<'_, 'py> {
    /// The chunk of an attribute, if readers would get another value without it.
    fn chunk(
        &mut self,
        attribute: &Attribute,
        value: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Written>> {
        let written = match attribute.form {
            Form::Count | Form::Scalar => return self.number(attribute, value),
            Form::Types | Form::Shapes => return self.texts(attribute, value),
            Form::Box | Form::Array => self.array(attribute, value)?,
        };
        if let Some(first) = self.first_value(attribute)?
            && is_same(&first, &written, value)?
        {
            return Ok(None);
        }
        let is_default = is_default(attribute, &written);
        Ok((!is_default || self.has_first(attribute)).then_some(written.into()))
    }

    fn first_value(&self, attribute: &Attribute) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some((first, file)) = self.first else { return Ok(None) };
        let held = first.values.get(attribute.place);
        held.map(|held| held.get(self.py, file)).transpose()
    }

    /// Whether frame 0 has a chunk of the attribute, so that a default is not read without one.
    fn has_first(&self, attribute: &Attribute) -> bool {
        let chunk = self.first.and_then(|(first, _)| first.own.attributes.get(attribute.place));
        chunk.is_some_and(Option::is_some)
    }

    fn number(
        &mut self,
        attribute: &Attribute,
        value: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Written>> {
        let number = match value.extract::<u64>() {
            Ok(number) => number,
            Err(_) => {
                let int = self.py.import("builtins")?.getattr("int")?;
                // Also of an array of one number, as a chunk of it is read.
                let item = value.call_method0(intern!(self.py, "item"));
                int.call1((item.unwrap_or_else(|_| value.clone()),))?.extract()?
            }
        };
        if attribute.form == Form::Count {
            self.count = number;
        }
        let first = self.first_value(attribute)?;
        let first = first.map(|first| first.extract::<u64>()).transpose()?;
        let default = if attribute.name == "dimensions" { 3 } else { 0 };
        if first == Some(number) || (number == default && !self.has_first(attribute)) {
            return Ok(None);
        }
        let kind = kind_in_file(attribute, false);
        let size = usize::try_from(kind.size().get()).unwrap_or(8);
        let bytes = number.to_le_bytes();
        let (bytes, rest) = bytes.split_at_checked(size).unwrap_or((&bytes, &[]));
        if rest.iter().any(|&byte| byte != 0) {
            let text = format!("{} is {number}, too large for {kind}", attribute.field.name);
            return Err(PyValueError::new_err(text));
        }
        Ok(Some(Written { kind, m: 1, data: Data::Raw(bytes.to_vec()) }))
    }

    fn texts(&self, attribute: &Attribute, value: &Bound<'py, PyAny>) -> PyResult<Option<Written>> {
        let py = self.py;
        let list = match value.cast::<PyList>() {
            Ok(list) => list.clone(),
            Err(_) => PyList::new(py, value.try_iter()?.collect::<PyResult<Vec<_>>>()?)?,
        };
        let is_types = attribute.form == Form::Types;
        if is_types && py.import("builtins")?.getattr("set")?.call1((&list,))?.len()? != list.len()
        {
            return Err(PyValueError::new_err("Type names must be unique."));
        }
        if let Some(first) = self.first_value(attribute)?
            && list.eq(first)?
        {
            return Ok(None);
        }
        let is_default = match is_types {
            true if attribute.field.name == "particles/types" => list.eq(["A"])?,
            true => list.is_empty(),
            false => list.iter().try_fold(true, |all, of| Ok::<_, PyErr>(all && is_empty(&of)?))?,
        };
        if is_default && !self.has_first(attribute) {
            return Ok(None);
        }
        let mut texts = Vec::new();
        for item in list {
            let text = match is_types {
                true => item,
                false => py.import("json")?.call_method1("dumps", (item,))?,
            };
            texts.push(text.cast::<PyString>()?.to_cow()?.into_owned());
        }
        let longest = texts.iter().map(String::len).max().unwrap_or(0);
        let width = longest.saturating_add(1).max(2); // gsd cannot read texts of width 1
        let mut bytes = Vec::new();
        for text in texts {
            let end = bytes.len().saturating_add(width);
            bytes.extend_from_slice(text.as_bytes());
            bytes.resize(end, 0);
        }
        let m = u32::try_from(width).unwrap_or(u32::MAX);
        Ok(Some(Written { kind: ChunkType::I8, m, data: Data::Raw(bytes) }))
    }

    /// The values of an array, in the type and the shape of the schema.
    fn array(&self, attribute: &Attribute, value: &Bound<'py, PyAny>) -> PyResult<Ready> {
        let kind = kind_in_file(attribute, self.double);
        let columns = attribute.field.columns.unwrap_or(1);
        let rows = if attribute.form == Form::Box { 6 } else { self.count };
        let numpy = numpy(self.py)?;
        let is_ready = |bytes: &Bytes| {
            let (format, size) = bytes.format();
            kind_of(format, size) == Some(kind)
        };
        let bytes = numpy.is_array(value).then(|| Bytes::of(value).ok()).flatten();
        let bytes = match bytes.filter(is_ready) {
            Some(bytes) => bytes,
            None => Bytes::of(&numpy.contiguous(value, Some(kind))?)?,
        };
        let wanted = rows.checked_mul(columns.into());
        let count = bytes.shape().iter().copied().fold(1, usize::saturating_mul);
        if wanted != Some(usize_to_u64(count)) {
            let shape = bytes.shape();
            let name = attribute.field.name;
            let text = format!("{name} has shape {shape:?}, must be {rows} rows of {columns}");
            return Err(PyValueError::new_err(text));
        }
        Ok(Ready { kind, columns, bytes })
    }
}

/// An array in the form in which it is written.
struct Ready {
    kind: ChunkType,
    columns: u32,
    bytes: Bytes,
}

impl From<Ready> for Written {
    fn from(ready: Ready) -> Self {
        Self { kind: ready.kind, m: ready.columns, data: Data::Array(ready.bytes) }
    }
}

/// The type in which an attribute is written.
fn kind_in_file(attribute: &Attribute, double: bool) -> ChunkType {
    match (attribute.field.kind, attribute.field.kind.types()) {
        (Kind::Float, _) if double => ChunkType::F64,
        (_, [kind, ..]) => *kind,
        (_, []) => ChunkType::U8,
    }
}

/// Whether frame 0 has the same values: the same bytes, or the numbers of `value` if its chunk has
/// another type, as in files of other versions of the schema or of double precision.
fn is_same(first: &Bound<'_, PyAny>, ready: &Ready, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let Ok(bytes) = Bytes::of(first) else { return Ok(false) };
    let (format, size) = bytes.format();
    if kind_of(format, size) == Some(ready.kind) {
        return Ok(bytes.as_slice() == ready.bytes.as_slice());
    }
    let numpy = first.py().import("numpy")?;
    numpy.call_method1(intern!(first.py(), "array_equal"), (first, value))?.extract()
}

/// Whether all rows are the default.
fn is_default(attribute: &Attribute, ready: &Ready) -> bool {
    let Some((kind, _, row)) = attribute.field.default_row() else { return false };
    let bytes = ready.bytes.as_slice();
    let row = match (kind, ready.kind) {
        (ChunkType::F32, ChunkType::F64) => widened(&row),
        _ => row,
    };
    bytes.chunks(row.len().max(1)).all(|one| *one == *row)
}

/// Numbers of 32 bits as numbers of 64.
fn widened(row: &[u8]) -> Vec<u8> {
    let numbers = row.chunks_exact(4).filter_map(|number| number.try_into().ok());
    let wide = numbers.map(|number| f64::from(f32::from_le_bytes(number)).to_le_bytes());
    wide.flatten().collect()
}

fn is_empty(shape: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(shape.len()? == 0)
}
