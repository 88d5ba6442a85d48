//! Variables of netCDF files and of sets of blob files: regions of them, read into arrays.

use crate::buffer::BytesMut;
use crate::error::raised;
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::{Arc, RwLock};
use striae::Error;
use striae::blob::Set;
use striae::cdf::{Attribute, Element, File, Header, OwnedValues, Region, Type, Variable};
use zerocopy::FromBytes;

/// A netCDF file or a set of blob files.
enum Any {
    Cdf(File),
    Blob(Box<Set>),
}

/// A file of variables.
#[pyclass(frozen, module = "striae._striae")]
pub(crate) struct Arrays {
    open: RwLock<Option<Arc<Any>>>,
    path: PathBuf,
}

/// A variable: type of NumPy, shape, names of dimensions, attributes, and whether its first
/// dimension is that of records.
type Described<'py> = (&'static str, Vec<u64>, Vec<String>, Bound<'py, PyDict>, bool);

/// Numbers of subfiles that are missing; numbers and errors of those that could not be read.
type Lost = (Vec<u32>, Vec<(u32, String)>);

impl Any {
    fn header(&self) -> &Header {
        match self {
            Self::Cdf(file) => file.header(),
            Self::Blob(set) => set.header(),
        }
    }

    fn variable(&self, name: &str) -> PyResult<Variable<'_>> {
        let found = self.header().variable(name);
        found.ok_or_else(|| PyKeyError::new_err(format!("there is no variable {name}")))
    }

    fn read(
        &self,
        variable: Variable<'_>,
        region: Region<'_>,
        bytes: &mut [u8],
    ) -> Result<(), Error> {
        match variable.nc_type() {
            Type::Byte => self.read_as::<i8>(variable, region, bytes),
            Type::Char | Type::Ubyte => self.read_as::<u8>(variable, region, bytes),
            Type::Short => self.read_as::<i16>(variable, region, bytes),
            Type::Ushort => self.read_as::<u16>(variable, region, bytes),
            Type::Int => self.read_as::<i32>(variable, region, bytes),
            Type::Uint => self.read_as::<u32>(variable, region, bytes),
            Type::Int64 => self.read_as::<i64>(variable, region, bytes),
            Type::Uint64 => self.read_as::<u64>(variable, region, bytes),
            Type::Float => self.read_as::<f32>(variable, region, bytes),
            Type::Double => self.read_as::<f64>(variable, region, bytes),
        }
    }

    fn read_as<T: Element>(
        &self,
        variable: Variable<'_>,
        region: Region<'_>,
        bytes: &mut [u8],
    ) -> Result<(), Error> {
        // NumPy's memory is aligned, and its length is that of the region.
        let values = <[T]>::mut_from_bytes(bytes).unwrap_or_default();
        match self {
            Self::Cdf(file) => file.read_into(variable, region, values),
            Self::Blob(set) => set.read_into(variable, region, values),
        }
    }
}

impl Arrays {
    fn file(&self) -> PyResult<Arc<Any>> {
        let open = self.open.read().ok().and_then(|open| open.clone());
        open.ok_or_else(|| {
            PyValueError::new_err(format!("{}: the file is closed", self.path.display()))
        })
    }

    fn new(path: PathBuf, any: Any) -> Self {
        Self { open: RwLock::new(Some(Arc::new(any))), path }
    }
}

#[pymethods]
impl Arrays {
    /// Opens a classic netCDF file.
    #[staticmethod]
    fn cdf(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let file = py.detach(|| File::open(&path)).map_err(raised)?;
        Ok(Self::new(path, Any::Cdf(file)))
    }

    /// Opens a set of blob files, by its name or by that of a subfile.
    #[staticmethod]
    fn blob(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let set = py.detach(|| Set::open(&path)).map_err(raised)?;
        Ok(Self::new(path, Any::Blob(Box::new(set))))
    }

    fn close(&self) {
        if let Ok(mut open) = self.open.write() {
            *open = None;
        }
    }

    /// The names of the variables, in the order of the file.
    fn names(&self) -> PyResult<Vec<String>> {
        Ok(self.file()?.header().variables().map(|of| of.name().to_owned()).collect())
    }

    /// Lengths of the dimensions, by their names.
    fn dimensions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (file, all) = (self.file()?, PyDict::new(py));
        for dimension in file.header().dims() {
            all.set_item(dimension.name, dimension.length)?;
        }
        Ok(all)
    }

    /// Attributes of the file.
    fn attributes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        attributes(py, self.file()?.header().attributes())
    }

    /// What a variable is.
    fn describe<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Described<'py>> {
        let file = self.file()?;
        let variable = file.variable(name)?;
        let dims = variable.dims().map(|dimension| dimension.name.to_owned()).collect();
        let (shape, attributes) =
            (variable.shape().to_vec(), attributes(py, variable.attributes())?);
        Ok((numpy_type(variable.nc_type()), shape, dims, attributes, variable.is_record()))
    }

    /// Reads a region of a variable into an array, which has its values one after another.
    fn read(
        &self,
        py: Python<'_>,
        name: &str,
        start: Vec<u64>,
        count: Vec<u64>,
        stride: Vec<u64>,
        out: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let file = self.file()?;
        let variable = file.variable(name)?;
        let mut bytes = BytesMut::of(out)?;
        let bytes = bytes.as_mut_slice();
        let region = Region { start: &start, count: &count, stride: Some(&stride) };
        py.detach(|| file.read(variable, region, bytes)).map_err(raised)
    }

    /// The numbers of subfiles that are missing, and numbers and errors of those that could not be
    /// read so far.
    fn lost(&self) -> PyResult<Lost> {
        let file = self.file()?;
        let Any::Blob(set) = &*file else { return Ok((Vec::new(), Vec::new())) };
        let lost = set.lost().into_iter().map(|lost| (lost.number, lost.error.to_string()));
        Ok((set.missing().collect(), lost.collect()))
    }
}

/// The type of NumPy's arrays for values of a type, in the order of the machine.
const fn numpy_type(nc_type: Type) -> &'static str {
    match nc_type {
        Type::Byte => "int8",
        Type::Char => "S1",
        Type::Short => "int16",
        Type::Int => "int32",
        Type::Float => "float32",
        Type::Double => "float64",
        Type::Ubyte => "uint8",
        Type::Ushort => "uint16",
        Type::Uint => "uint32",
        Type::Int64 => "int64",
        Type::Uint64 => "uint64",
    }
}

/// Attributes by their names: texts; numbers, or lists of them if there are several.
fn attributes<'a, 'py>(
    py: Python<'py>,
    attributes: impl Iterator<Item = Attribute<'a>>,
) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    for attribute in attributes {
        let name = attribute.name();
        match attribute.values() {
            OwnedValues::Char(bytes) => {
                all.set_item(name, String::from_utf8_lossy(&bytes).trim_end_matches('\0'))?;
            }
            OwnedValues::Byte(values) => put(&all, name, &values)?,
            OwnedValues::Ubyte(values) => {
                let values: Vec<u16> = values.into_iter().map(u16::from).collect();
                put(&all, name, &values)?; // not as bytes
            }
            OwnedValues::Short(values) => put(&all, name, &values)?,
            OwnedValues::Ushort(values) => put(&all, name, &values)?,
            OwnedValues::Int(values) => put(&all, name, &values)?,
            OwnedValues::Uint(values) => put(&all, name, &values)?,
            OwnedValues::Int64(values) => put(&all, name, &values)?,
            OwnedValues::Uint64(values) => put(&all, name, &values)?,
            OwnedValues::Float(values) => put(&all, name, &values)?,
            OwnedValues::Double(values) => put(&all, name, &values)?,
        }
    }
    Ok(all)
}

fn put<'py, T>(all: &Bound<'py, PyDict>, name: &str, values: &[T]) -> PyResult<()>
where
    T: IntoPyObject<'py> + Copy,
{
    match values {
        [value] => all.set_item(name, *value),
        values => all.set_item(name, values.to_vec()),
    }
}
