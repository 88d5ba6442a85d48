//! The native half of the Python package `striae`: files of GSD, SIONlib, ffrecord, E3SM-IO blobs
//! and classic netCDF, as Python objects.
//!
//! Arrays are made by NumPy, which is imported at run time, and filled here through the buffer
//! protocol. Files are read and written while other Python threads run.

mod arrays;
mod buffer;
mod direct;
mod error;
mod files;
mod gsd;
mod numpy;
mod sion;

use pyo3::prelude::*;

#[pymodule]
mod _striae {
    use super::{Bound, PyModule, PyResult};
    use pyo3::types::PyModuleMethods;

    #[pymodule_export]
    use crate::gsd::{assembler::Assembler, handle::GsdFile};

    #[pymodule_export]
    use crate::files::{
        convert::{convert, pack},
        list::ls,
        recover::recover,
        verify::verify,
    };

    #[pymodule_export]
    use crate::sion::{SionFile, SionStream, SionTask, SionWriter};

    #[pymodule_export]
    use crate::{arrays::Arrays, direct::SampleFiles};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        // Two classes are called GSDFile, in two modules.
        let object_file = module.py().get_type::<crate::gsd::object::ObjectFile>();
        module.add("ObjectGSDFile", object_file)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
