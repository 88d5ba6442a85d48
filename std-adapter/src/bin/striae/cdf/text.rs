//! The values of a variable as text.

use crate::printable::printable;
use std::io::{self, Write};
use striae::cdf::{OwnedValues, Type};

/// Prints values, one line for each row: the values that differ only in the last index.
pub(crate) struct Rows {
    nc_type: Type,
    /// The number of values in a row.
    len: u64,
    column: u64,
    /// The characters of the row, for text.
    chars: Vec<u8>,
}

impl Rows {
    /// Rows of `len` values; of a single one for a scalar.
    pub(crate) fn new(nc_type: Type, len: Option<u64>) -> Self {
        Self { nc_type, len: len.unwrap_or(1), column: 0, chars: Vec::new() }
    }

    /// Prints big-endian values.
    pub(crate) fn write(&mut self, bytes: &[u8], out: &mut impl Write) -> io::Result<()> {
        macro_rules! print {
            ($values:ident, $format:literal) => {
                for value in $values {
                    let before = if self.column == 0 { "" } else { " " };
                    write!(out, concat!("{}", $format), before, value)?;
                    self.next(out)?;
                }
            };
        }
        match OwnedValues::from_be(self.nc_type, bytes) {
            OwnedValues::Char(chars) => {
                for c in chars {
                    self.chars.push(c);
                    self.next(out)?;
                }
            }
            OwnedValues::Byte(values) => print!(values, "{}"),
            OwnedValues::Short(values) => print!(values, "{}"),
            OwnedValues::Int(values) => print!(values, "{}"),
            // The shortest text that parses back.
            OwnedValues::Float(values) => print!(values, "{:?}"),
            OwnedValues::Double(values) => print!(values, "{:?}"),
            OwnedValues::Ubyte(values) => print!(values, "{}"),
            OwnedValues::Ushort(values) => print!(values, "{}"),
            OwnedValues::Uint(values) => print!(values, "{}"),
            OwnedValues::Int64(values) => print!(values, "{}"),
            OwnedValues::Uint64(values) => print!(values, "{}"),
        }
        Ok(())
    }

    /// Moves to the next column, and ends the line after the last one.
    fn next(&mut self, out: &mut impl Write) -> io::Result<()> {
        self.column = self.column.saturating_add(1);
        if self.column < self.len {
            return Ok(());
        }
        self.column = 0;
        if self.nc_type == Type::Char {
            let text = String::from_utf8_lossy(&self.chars);
            write!(out, "{}", printable(text.trim_end_matches('\0')))?;
            self.chars.clear();
        }
        out.write_all(b"\n")
    }

    /// Flushes the output.
    pub(crate) fn finish(self, out: &mut impl Write) -> io::Result<()> {
        out.flush()
    }
}
