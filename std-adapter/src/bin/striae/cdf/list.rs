//! `striae ls` of a netCDF file.

use crate::args::LsArgs;
use crate::failure::{Failure, Sound};
use crate::printable::printable;
use crate::sheet::{Cell, Column, Sheet, left, right};
use crate::text::{print, print_json_of};
use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};
use std::io::{self, Write};
use striae::address::Address;
use striae::cdf::{Attribute, Dimension, File, Header, OwnedValues, Variable};

/// The output of `ls --json`.
#[derive(Serialize)]
struct Listing<'a> {
    format: &'static str,
    version: u8,
    numrecs: u64,
    dims: Vec<Dim<'a>>,
    attributes: Vec<Attr<'a>>,
    variables: Vec<Var<'a>>,
}

/// A dimension; the length of the record dimension is the number of records.
#[derive(Serialize)]
pub(crate) struct Dim<'a> {
    name: &'a str,
    length: u64,
    unlimited: bool,
}

/// An attribute: the value of one of type char is a string, every other one a list of numbers.
#[derive(Serialize)]
pub(crate) struct Attr<'a> {
    name: &'a str,
    r#type: &'static str,
    count: u64,
    value: Value,
}

#[derive(Serialize)]
struct Var<'a> {
    address: String,
    name: &'a str,
    r#type: &'static str,
    dims: Vec<&'a str>,
    shape: &'a [u64],
    record: bool,
    begin: u64,
    vsize: u64,
    attributes: Vec<Attr<'a>>,
}

/// The values of an attribute. JSON has no number for NaN and infinities: they become the strings
/// `NaN`, `inf` and `-inf`.
struct Value(OwnedValues);

/// A number, or its name if JSON has no such number.
#[derive(Serialize)]
#[serde(untagged)]
enum Number<T> {
    Finite(T),
    Name(String),
}

impl<'a> From<Dimension<'a>> for Dim<'a> {
    fn from(Dimension { name, length, is_record }: Dimension<'a>) -> Self {
        Self { name, length, unlimited: is_record }
    }
}

impl<'a> From<Attribute<'a>> for Attr<'a> {
    fn from(attribute: Attribute<'a>) -> Self {
        Self {
            name: attribute.name(),
            r#type: attribute.nc_type().name(),
            count: attribute.count(),
            value: Value(attribute.values()),
        }
    }
}

impl<'a> From<Variable<'a>> for Var<'a> {
    fn from(variable: Variable<'a>) -> Self {
        Self {
            address: Address::variable(variable.name()).to_string(),
            name: variable.name(),
            r#type: variable.nc_type().name(),
            dims: variable.dims().map(|dim| dim.name).collect(),
            shape: variable.shape(),
            record: variable.is_record(),
            begin: variable.begin(),
            vsize: variable.vsize(),
            attributes: variable.attributes().map(Attr::from).collect(),
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Some(text) = self.0.text() {
            return text.serialize(serializer);
        }
        macro_rules! floats {
            ($values:ident) => {{
                let mut list = serializer.serialize_seq(Some($values.len()))?;
                for value in $values {
                    list.serialize_element(&match value.is_finite() {
                        true => Number::Finite(value),
                        false => Number::Name(value.to_string()),
                    })?;
                }
                list.end()
            }};
        }
        match &self.0 {
            OwnedValues::Char(_) => serializer.serialize_none(), // never: it has a text
            OwnedValues::Byte(values) => values.serialize(serializer),
            OwnedValues::Short(values) => values.serialize(serializer),
            OwnedValues::Int(values) => values.serialize(serializer),
            OwnedValues::Float(values) => floats!(values),
            OwnedValues::Double(values) => floats!(values),
            OwnedValues::Ubyte(values) => values.serialize(serializer),
            OwnedValues::Ushort(values) => values.serialize(serializer),
            OwnedValues::Uint(values) => values.serialize(serializer),
            OwnedValues::Int64(values) => values.serialize(serializer),
            OwnedValues::Uint64(values) => values.serialize(serializer),
        }
    }
}

const COLUMNS: &[Column] =
    &[right("begin", 12), right("bytes", 14), left("type", 6), left("variable", 0)];

pub(super) fn ls(args: &LsArgs) -> Result<Sound, Failure> {
    let file = File::open(&args.file.path)?;
    let header = file.header();
    if args.json {
        let listing = Listing {
            format: "cdf",
            version: header.version().number(),
            numrecs: header.numrecs(),
            dims: header.dims().map(Dim::from).collect(),
            attributes: header.attributes().map(Attr::from).collect(),
            variables: header.variables().map(Var::from).collect(),
        };
        return print_json_of(&args.file.path, &listing);
    }
    print(|out| match args.addresses {
        true => write_addresses(header, out),
        false => write_text(args, header, out),
    })
}

pub(crate) fn write_addresses(header: &Header, out: &mut impl Write) -> io::Result<()> {
    header
        .variables()
        .try_for_each(|variable| writeln!(out, "{}", Address::variable(variable.name())))
}

fn write_text(args: &LsArgs, header: &Header, out: &mut impl Write) -> io::Result<()> {
    let mut sheet = Sheet::new(COLUMNS, args.form(), out)?;
    for variable in header.variables() {
        let (begin, bytes) = (Cell::Number(variable.begin()), Cell::Number(variable.len()));
        let (nc_type, name) = (Cell::Text(variable.nc_type().name()), with_shape(variable));
        sheet.row(&[begin, bytes, nc_type, Cell::Text(&name)])?;
    }
    Ok(())
}

/// The name of a variable with its dimensions: `T(time=2, lev=3)`.
pub(crate) fn with_shape(variable: Variable<'_>) -> String {
    let dim = |dim: Dimension<'_>| format!("{}={}", printable(dim.name), dim.length);
    let dims = variable.dims().map(dim).collect::<Vec<_>>().join(", ");
    let shape = if dims.is_empty() { String::new() } else { format!("({dims})") };
    format!("{}{shape}", printable(variable.name()))
}
