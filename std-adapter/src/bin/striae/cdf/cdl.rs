//! `striae dump --cdl`: a file as text that `ncgen` takes back.
//!
//! `ncgen` makes a file of the same version, as the attribute `_Format` says: `ncdump -s` prints
//! it, too, and it is none of the file.

use crate::args::DumpArgs;
use crate::failure::{Failure, Sound};
use crate::text::{stdout, unless_gone};
use std::fmt::Write as _;
use std::io::{self, Write};
use striae::Error;
use striae::cdf::{Attribute, File, Header, OwnedValues, Type, Variable, Version, whole};

/// The longest line of numbers.
const WIDTH: usize = 78;

pub(super) fn cdl(args: &DumpArgs) -> Result<Sound, Failure> {
    let file = File::open(&args.file)?;
    let all = file.header().variables();
    file.admit(&args.max_size.output(), all.map(|variable| (variable, variable.len())))?;
    let mut out = stdout();
    let stem = args.file.file_stem().unwrap_or_default().to_string_lossy();
    unless_gone(write_header(&stem, file.header(), &mut out))?;
    for variable in file.header().variables().filter(|variable| !variable.is_empty()) {
        let mut printed = Ok(());
        write_values(&file, variable, &mut out, &mut printed)?;
        unless_gone(printed)?;
    }
    unless_gone(out.write_all(b"}\n").and_then(|()| out.flush()))?;
    Ok(Sound::Yes)
}

fn write_header(stem: &str, header: &Header, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "netcdf {} {{", escaped(stem))?;
    if header.dims().len() > 0 {
        writeln!(out, "dimensions:")?;
    }
    for dim in header.dims() {
        let name = escaped(dim.name);
        match dim.is_record {
            true => writeln!(out, "\t{name} = UNLIMITED ; // ({} currently)", dim.length)?,
            false => writeln!(out, "\t{name} = {} ;", dim.length)?,
        }
    }
    if header.variables().len() > 0 {
        writeln!(out, "variables:")?;
    }
    for variable in header.variables() {
        let name = escaped(variable.name());
        let dims: Vec<_> = variable.dims().map(|dim| escaped(dim.name)).collect();
        let dims = if dims.is_empty() { String::new() } else { format!("({})", dims.join(", ")) };
        writeln!(out, "\t{} {name}{dims} ;", variable.nc_type().name())?;
        for attribute in variable.attributes() {
            write_attribute(&name, attribute, out)?;
        }
    }
    writeln!(out, "\n// global attributes:")?;
    for attribute in header.attributes() {
        write_attribute("", attribute, out)?;
    }
    let format = match header.version() {
        Version::Cdf1 => "classic",
        Version::Cdf2 => "64-bit offset",
        Version::Cdf5 => "cdf5",
    };
    writeln!(out, "\t\t:_Format = \"{format}\" ;")?;
    match header.variables().all(Variable::is_empty) {
        true => Ok(()),
        false => writeln!(out, "data:"),
    }
}

fn write_attribute(of: &str, attribute: Attribute<'_>, out: &mut impl Write) -> io::Result<()> {
    let name = escaped(attribute.name());
    let values = match attribute.values() {
        OwnedValues::Char(text) => quoted(&text),
        values => numbers(&values, true).join(", "),
    };
    writeln!(out, "\t\t{of}:{name} = {values} ;")
}

/// Prints the values of a variable. An error of the output is in `printed`.
fn write_values(
    file: &File,
    variable: Variable<'_>,
    out: &mut impl Write,
    printed: &mut io::Result<()>,
) -> Result<(), Error> {
    let start = vec![0; variable.shape().len()];
    let mut list = List { row: variable.shape().last().copied().unwrap_or(1), ..List::default() };
    *printed = write!(out, "\n {} =", escaped(variable.name()));
    file.read_pieces(variable, whole(variable, &start), &mut |bytes| {
        if printed.is_ok() {
            let values = OwnedValues::from_be(variable.nc_type(), bytes);
            *printed = list.write(&values, out);
        }
        printed.is_ok()
    })?;
    if printed.is_ok() {
        *printed = writeln!(out, " ;");
    }
    Ok(())
}

/// A list of values, with line breaks.
#[derive(Default)]
struct List {
    /// The number of characters of a string.
    row: u64,
    /// The columns that are used on the line.
    column: usize,
    count: u64,
    chars: Vec<u8>,
}

impl List {
    fn write(&mut self, values: &OwnedValues, out: &mut impl Write) -> io::Result<()> {
        let OwnedValues::Char(chars) = values else {
            return numbers(values, false).iter().try_for_each(|number| self.item(number, out));
        };
        for &c in chars {
            self.chars.push(c);
            if u64::try_from(self.chars.len()).unwrap_or(u64::MAX) == self.row {
                let text = quoted(&std::mem::take(&mut self.chars));
                self.item(&text, out)?;
            }
        }
        Ok(())
    }

    fn item(&mut self, text: &str, out: &mut impl Write) -> io::Result<()> {
        let comma = if self.count == 0 { "" } else { "," };
        let is_long = self.column.saturating_add(text.len()) > WIDTH || self.count == 0;
        let before = if is_long { "\n  " } else { " " };
        self.column = if is_long { 2 } else { self.column };
        self.column = self.column.saturating_add(text.len()).saturating_add(2);
        self.count = self.count.saturating_add(1);
        write!(out, "{comma}{before}{text}")
    }
}

/// Numbers in CDL. Those of an attribute have suffixes that tell their type.
fn numbers(values: &OwnedValues, is_typed: bool) -> Vec<String> {
    let suffix = match values.nc_type() {
        _ if !is_typed => "",
        Type::Byte => "b",
        Type::Short => "s",
        Type::Float => "f",
        Type::Ubyte => "ub",
        Type::Ushort => "us",
        Type::Uint => "u",
        Type::Int64 => "ll",
        Type::Uint64 => "ull",
        Type::Char | Type::Int | Type::Double => "",
    };
    let is_float = values.nc_type() == Type::Float;
    let number = |text: String| match text.as_str() {
        "NaN" | "inf" | "-inf" => {
            let name = text.replace("inf", "Infinity");
            if is_float { format!("{name}f") } else { name }
        }
        _ => format!("{text}{suffix}"),
    };
    values.texts().into_iter().map(number).collect()
}

/// A text in quotes; bytes that are not printed as they are become octal escapes.
fn quoted(text: &[u8]) -> String {
    let mut quoted = String::from("\"");
    for part in text.utf8_chunks() {
        for c in part.valid().chars() {
            match c {
                '\n' => quoted.push_str("\\n"),
                '\t' => quoted.push_str("\\t"),
                '\r' => quoted.push_str("\\r"),
                '"' | '\\' => quoted.extend(['\\', c]),
                c if c.is_ascii_control() => push_octal(&mut quoted, c.encode_utf8(&mut [0; 4])),
                c => quoted.push(c),
            }
        }
        push_octal(&mut quoted, part.invalid());
    }
    quoted.push('"');
    quoted
}

fn push_octal(text: &mut String, bytes: impl AsRef<[u8]>) {
    for byte in bytes.as_ref() {
        let _ = write!(text, "\\{byte:03o}"); // writing to a String cannot fail
    }
}

/// A name in CDL: special characters, and a digit at the start, follow a backslash.
fn escaped(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len());
    for (place, c) in name.char_indices() {
        let is_plain = c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '@' | '+' | '-');
        if (place == 0 && c.is_ascii_digit()) || (c.is_ascii() && !is_plain) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}
