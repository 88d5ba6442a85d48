//! Logged quantities over all frames.

use super::source::AnyFile;
use crate::buffer::BytesMut;
use crate::error::raised;
use crate::numpy::numpy;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;
use striae::Error;
use striae::striae_hoomd::{Fault, NameList, Series, Source, Trajectory, Values};

/// A file that others have, too.
struct Shared(Arc<AnyFile>);

impl Source for Shared {
    type Error = Error;

    fn head(&self) -> &striae::gsd::Head {
        self.0.head()
    }

    fn names(&self) -> Result<&NameList, Error> {
        self.0.names()
    }

    fn chunks_of_frames(
        &self,
        frames: std::ops::Range<u64>,
    ) -> Result<impl Iterator<Item = Result<striae::gsd::Chunk, Error>>, Error> {
        self.0.chunks_of_frames(frames)
    }

    fn read_chunk(&self, chunk: &striae::gsd::Chunk, bytes: &mut [u8]) -> Result<(), Error> {
        self.0.read_chunk(chunk, bytes)
    }

    fn error(&self, fault: Fault) -> Error {
        self.0.error(fault)
    }
}

/// The quantities whose names match `pattern`: an array of each, with one row for each frame.
pub(super) fn read<'py>(
    py: Python<'py>,
    file: Arc<AnyFile>,
    pattern: &str,
    scalars: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let series = py.detach(|| {
        let trajectory = Trajectory::new(Shared(file))?;
        let logs = trajectory.logs().matching(pattern);
        if scalars { logs.scalars() } else { logs }.read()
    });
    let all = PyDict::new(py);
    for series in series.map_err(raised)? {
        all.set_item(&series.name, array(py, &series)?)?;
    }
    Ok(all)
}

/// A series as an array: of frames; or of frames and rows; or of frames, rows and columns.
fn array<'py>(py: Python<'py>, series: &Series) -> PyResult<Bound<'py, PyAny>> {
    let quantity = &series.quantity;
    if let Values::Text(texts) = &quantity.values {
        let module = py.import("numpy")?;
        let dtype = module.getattr("dtypes")?.getattr("StringDType")?.call0()?;
        return module.getattr("array")?.call1((texts, dtype));
    }
    let shape = [series.frames, quantity.n, quantity.m.into()];
    let dimensions = match (quantity.n, quantity.m) {
        (1, 1) => 1,
        (_, 1) => 2,
        _ => 3,
    };
    let shape = shape.get(..dimensions).unwrap_or(&shape);
    let array = numpy(py)?.empty(py, quantity.values.kind(), shape)?;
    let mut bytes = BytesMut::of(&array)?;
    let (to, from) = (bytes.as_mut_slice(), quantity.values.bytes());
    if to.len() == from.len() {
        to.copy_from_slice(&from);
    }
    Ok(array)
}
