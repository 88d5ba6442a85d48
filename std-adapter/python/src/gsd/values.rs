//! Chunks as arrays and texts, and back.

use super::source::AnyFile;
use super::{FL, Level};
use crate::buffer::{Bytes, BytesMut};
use crate::error::raised;
use crate::numpy::{kind_of, numpy};
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use striae::gsd::Chunk;
use striae::striae_core::gsd::ChunkType;

/// The shape of the array that a chunk is read into.
pub(super) fn shape_of(chunk: &Chunk) -> ([u64; 2], usize) {
    match (chunk.kind, chunk.m) {
        (_, 1) => ([chunk.n, 1], 1),
        (ChunkType::Character, m) => ([m.into(), chunk.n], 2), // as gsd has it
        (_, m) => ([chunk.n, m.into()], 2),
    }
}

/// Whether gsd gives the chunk as a text.
pub(super) const fn is_text(chunk: &Chunk) -> bool {
    matches!(chunk.kind, ChunkType::Character) && chunk.m == 1
}

/// A new array for a chunk.
pub(super) fn empty_for<'py>(py: Python<'py>, chunk: &Chunk) -> PyResult<Bound<'py, PyAny>> {
    let (shape, dimensions) = shape_of(chunk);
    numpy(py)?.empty(py, chunk.kind, shape.get(..dimensions).unwrap_or(&shape))
}

/// Memory for bytes of a file, which says how many.
pub(super) fn memory(len: u64) -> PyResult<Vec<u8>> {
    let mut bytes = Vec::new();
    let room = usize::try_from(len).unwrap_or(usize::MAX);
    let none = |_| PyMemoryError::new_err(format!("there is no memory for {len} bytes"));
    bytes.try_reserve_exact(room).map_err(none)?;
    bytes.resize(room, 0);
    Ok(bytes)
}

/// The text of a chunk, from its bytes.
pub(super) fn text<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let len = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last.saturating_add(1));
    let bytes = PyBytes::new(py, bytes.get(..len).unwrap_or_default());
    bytes.call_method1(intern!(py, "decode"), (intern!(py, "utf-8"),))
}

/// Reads a chunk: an array of its rows, without columns if there is only one; or a text.
pub(super) fn read<'py>(
    py: Python<'py>,
    file: &AnyFile,
    chunk: &Chunk,
) -> PyResult<Bound<'py, PyAny>> {
    if is_text(chunk) {
        let mut bytes = memory(chunk.span.len())?;
        py.detach(|| file.read_chunks(&mut [(*chunk, &mut bytes)])).map_err(raised)?;
        return text(py, &bytes);
    }
    let array = empty_for(py, chunk)?;
    if !chunk.span.is_empty() {
        let mut bytes = BytesMut::of(&array)?;
        let bytes = bytes.as_mut_slice();
        py.detach(|| file.read_chunks(&mut [(*chunk, bytes)])).map_err(raised)?;
    }
    Ok(array)
}

/// The values of a chunk that is to be written.
pub(super) enum Data {
    Text(Vec<u8>),
    Array(Bytes),
    Raw(Vec<u8>),
}

/// A chunk that is to be written.
pub(super) struct Written {
    pub(super) kind: ChunkType,
    pub(super) m: u32,
    pub(super) data: Data,
}

impl Written {
    pub(super) fn bytes(&self) -> &[u8] {
        match &self.data {
            Data::Text(bytes) | Data::Raw(bytes) => bytes,
            Data::Array(bytes) => bytes.as_slice(),
        }
    }

    /// What is written for `data`: a text, or anything that NumPy makes an array of one or two
    /// dimensions of.
    pub(super) fn of(name: &str, data: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = data.py();
        if let Ok(text) = data.cast_exact::<PyString>() {
            let mut bytes = text.to_cow()?.into_owned().into_bytes();
            if bytes.is_empty() {
                bytes.push(0); // gsd cannot read a text of no bytes
            }
            return Ok(Self { kind: ChunkType::Character, m: 1, data: Data::Text(bytes) });
        }
        let numpy = numpy(py)?;
        let whole = numpy.is_array(data).then(|| Bytes::of(data).ok()).flatten();
        let bytes = match whole.filter(|bytes| !bytes.shape().is_empty()) {
            Some(bytes) => bytes,
            None => {
                let array = numpy.contiguous(data, None)?;
                if !array.is(data) {
                    let text = || format!("implicit data copy when writing chunk: {name}");
                    FL.log(py, Level::Warning, text)?;
                }
                let invalid = |_| PyValueError::new_err(format!("invalid type for chunk: {name}"));
                Bytes::of(&array).map_err(invalid)?
            }
        };
        let m = match bytes.shape() {
            [_] => 1,
            [_, m] => u32::try_from(*m).unwrap_or(u32::MAX),
            _ => {
                let text = format!("GSD can only write 1 or 2 dimensional arrays: {name}");
                return Err(PyValueError::new_err(text));
            }
        };
        let (format, size) = bytes.format();
        let Some(kind) = kind_of(format, size) else {
            return Err(PyValueError::new_err(format!("invalid type for chunk: {name}")));
        };
        Ok(Self { kind, m, data: Data::Array(bytes) })
    }
}
