//! NumPy, imported when it is first needed: nothing of it is needed to build this.

use crate::buffer::BytesMut;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};
use striae::striae_core::gsd::ChunkType;

/// What is used of NumPy.
pub(crate) struct NumPy {
    pub(crate) ndarray: Py<PyAny>,
    empty: Py<PyAny>,
    zeros: Py<PyAny>,
    ascontiguousarray: Py<PyAny>,
    /// The types of arrays and of scalars, in the order of the types of GSD.
    types: [(Py<PyAny>, Py<PyAny>); NAMES.len()],
}

/// The types of GSD by their numbers, from 1; text is read as bytes.
const NAMES: [&str; 11] = [
    "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float32", "float64",
    "int8",
];

/// Bytes of rows that are copied together into an array.
const BLOCK: usize = 1 << 12;

static NUMPY: PyOnceLock<NumPy> = PyOnceLock::new();

/// NumPy.
///
/// # Errors
/// `ImportError` if it is not installed.
pub(crate) fn numpy(py: Python<'_>) -> PyResult<&NumPy> {
    NUMPY.get_or_try_init(py, || NumPy::import(py))
}

impl NumPy {
    fn import(py: Python<'_>) -> PyResult<Self> {
        let numpy = py.import("numpy")?;
        let get = |name: &str| numpy.getattr(name).map(Bound::unbind);
        let dtype = numpy.getattr("dtype")?;
        let mut types = Vec::new();
        for name in NAMES {
            let dtype = dtype.call1((name,))?;
            let scalar = dtype.getattr("type")?.unbind();
            types.push((dtype.unbind(), scalar));
        }
        let types = types.try_into().map_err(|_| pyo3::exceptions::PyImportError::new_err(()))?;
        let (ndarray, empty, zeros) = (get("ndarray")?, get("empty")?, get("zeros")?);
        Ok(Self { ndarray, empty, zeros, ascontiguousarray: get("ascontiguousarray")?, types })
    }

    fn types_of(&self, kind: ChunkType) -> &(Py<PyAny>, Py<PyAny>) {
        let [first, ..] = &self.types;
        self.types.get(usize::from(kind.number()).saturating_sub(1)).unwrap_or(first)
    }

    /// A new array, whose values are not set.
    pub(crate) fn empty<'py>(
        &self,
        py: Python<'py>,
        kind: ChunkType,
        shape: &[u64],
    ) -> PyResult<Bound<'py, PyAny>> {
        self.made(py, &self.empty, kind, shape)
    }

    fn made<'py>(
        &self,
        py: Python<'py>,
        how: &Py<PyAny>,
        kind: ChunkType,
        shape: &[u64],
    ) -> PyResult<Bound<'py, PyAny>> {
        let (how, dtype) = (how.bind(py), &self.types_of(kind).0);
        match shape {
            [len] => how.call1((len, dtype)),
            shape => how.call1((PyTuple::new(py, shape)?, dtype)),
        }
    }

    /// A new array whose rows are filled with `row`, as in a file.
    pub(crate) fn filled<'py>(
        &self,
        py: Python<'py>,
        kind: ChunkType,
        shape: &[u64],
        row: &[u8],
    ) -> PyResult<Bound<'py, PyAny>> {
        if row.iter().all(|&byte| byte == 0) {
            return self.made(py, &self.zeros, kind, shape); // takes memory when it is used
        }
        let array = self.empty(py, kind, shape)?;
        let mut bytes = BytesMut::of(&array)?;
        let block = row.repeat(BLOCK.div_ceil(row.len().max(1)));
        for to in bytes.as_mut_slice().chunks_mut(block.len().max(1)) {
            let len = to.len();
            to.copy_from_slice(block.get(..len).unwrap_or_default());
        }
        Ok(array)
    }

    /// A scalar of this type.
    pub(crate) fn scalar<'py>(
        &self,
        py: Python<'py>,
        kind: ChunkType,
        value: u64,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.types_of(kind).1.bind(py).call1((value,))
    }

    /// `value` as a contiguous array, of this type if there is one: itself if it is one already.
    pub(crate) fn contiguous<'py>(
        &self,
        value: &Bound<'py, PyAny>,
        kind: Option<ChunkType>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let function = self.ascontiguousarray.bind(value.py());
        match kind {
            Some(kind) => function.call1((value, &self.types_of(kind).0)),
            None => function.call1((value,)),
        }
    }

    pub(crate) fn is_array(&self, value: &Bound<'_, PyAny>) -> bool {
        value.get_type().is(self.ndarray.bind(value.py()))
    }
}

/// Makes an array read-only.
pub(crate) fn freeze(array: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = array.py();
    let how = PyDict::new(py);
    how.set_item(intern!(py, "write"), false)?;
    array.call_method(intern!(py, "setflags"), (), Some(&how)).map(drop)
}

/// The type in GSD of the elements of a buffer; `None` if GSD has none.
pub(crate) fn kind_of(format: &[u8], size: usize) -> Option<ChunkType> {
    // NumPy says it of arrays that are not aligned.
    let format = format.strip_prefix(b"=").unwrap_or(format);
    Some(match (format, size) {
        (b"B", 1) => ChunkType::U8,
        (b"H", 2) => ChunkType::U16,
        (b"I" | b"L", 4) => ChunkType::U32,
        (b"L" | b"Q", 8) => ChunkType::U64,
        (b"b", 1) => ChunkType::I8,
        (b"h", 2) => ChunkType::I16,
        (b"i" | b"l", 4) => ChunkType::I32,
        (b"l" | b"q", 8) => ChunkType::I64,
        (b"f", 4) => ChunkType::F32,
        (b"d", 8) => ChunkType::F64,
        _ => return None,
    })
}
