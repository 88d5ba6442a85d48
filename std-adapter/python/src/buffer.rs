//! Memory of Python objects, by the buffer protocol.
#![allow(unsafe_code, reason = "memory that a Python object owns has no lifetime in Rust")]

use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::prelude::*;
use std::slice;

/// The bytes of an object that exports a contiguous buffer. They stay where they are, and the
/// object keeps its size, as long as this lives.
#[derive(Debug)]
pub(crate) struct Bytes(PyUntypedBuffer);

impl Bytes {
    /// The bytes of `object`, row by row.
    ///
    /// # Errors
    /// `BufferError` if it has no buffer or is not contiguous.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let buffer = PyUntypedBuffer::get(object)?;
        match buffer.is_c_contiguous() {
            true => Ok(Self(buffer)),
            false => Err(PyBufferError::new_err("the buffer is not contiguous")),
        }
    }

    pub(crate) fn shape(&self) -> &[usize] {
        self.0.shape()
    }

    /// The format of an element, as in Python's `struct`, and its size in bytes.
    pub(crate) fn format(&self) -> (&[u8], usize) {
        (self.0.format().to_bytes(), self.0.item_size())
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        if self.0.len_bytes() == 0 {
            return &[]; // the pointer may be null
        }
        // SAFETY: "buf: a pointer to the start of the logical structure described by the buffer
        // fields", of `len` bytes, valid until PyBuffer_Release, which `self.0` calls when it is
        // dropped. The caller of a method of this package must not change an argument meanwhile,
        // as with every function that reads an array without the interpreter's lock.
        unsafe { slice::from_raw_parts(self.0.buf_ptr().cast(), self.0.len_bytes()) }
    }
}

/// The bytes of an object that are filled here.
#[derive(Debug)]
pub(crate) struct BytesMut(Bytes);

impl BytesMut {
    /// The bytes of `object`, to write to.
    ///
    /// # Errors
    /// `BufferError` if it has no buffer or is not contiguous; `ValueError` if it is read-only.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let bytes = Bytes::of(object)?;
        match bytes.0.readonly() {
            true => Err(PyValueError::new_err("the buffer is read-only")),
            false => Ok(Self(bytes)),
        }
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [u8] {
        if self.0.0.len_bytes() == 0 {
            return &mut [];
        }
        // SAFETY: as above, and the exporter said that it is not read-only. Either the array was
        // made by the same call and nobody else has it, or the caller passed it to be filled.
        unsafe { slice::from_raw_parts_mut(self.0.0.buf_ptr().cast(), self.0.0.len_bytes()) }
    }
}
