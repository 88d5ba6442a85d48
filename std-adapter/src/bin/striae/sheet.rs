//! Lists: rows of typed cells under the headings of their columns.

use crate::printable::printable;
use std::io::{self, Write};

/// A column of a list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    head: &'static str,
    /// The least number of characters.
    width: usize,
    is_left: bool,
}

/// A column of numbers, aligned at their end.
pub(crate) const fn right(head: &'static str, width: usize) -> Column {
    Column { head, width, is_left: false }
}

/// A column of words, aligned at their start.
pub(crate) const fn left(head: &'static str, width: usize) -> Column {
    Column { head, width, is_left: true }
}

/// The value of a column in a row.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cell<'a> {
    Number(u64),
    /// A number that may be negative.
    Signed(i64),
    /// A checksum.
    Hex(u32),
    Text(&'a str),
    /// Nobody knows.
    Unknown,
    /// Why the rest of the row cannot be listed.
    Wrong(&'a str),
}

/// How a list is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// In columns, for people.
    Text,
    /// Values separated by commas, as spreadsheets take them. A row that cannot be listed is left
    /// out: the exit status and standard error tell of it.
    Csv,
}

/// A list that is printed row by row, since there may be millions of rows.
pub(crate) struct Sheet<'o, W> {
    columns: &'static [Column],
    form: Form,
    out: &'o mut W,
    line: Vec<u8>,
}

impl<'o, W: Write> Sheet<'o, W> {
    /// Prints the headings.
    pub(crate) fn new(columns: &'static [Column], form: Form, out: &'o mut W) -> io::Result<Self> {
        let mut sheet = Self { columns, form, out, line: Vec::new() };
        let heads: Vec<_> = columns.iter().map(|column| Cell::Text(column.head)).collect();
        sheet.row(&heads)?;
        Ok(sheet)
    }

    /// Prints a row, with a cell for each column unless one of them is [`Cell::Wrong`].
    pub(crate) fn row(&mut self, cells: &[Cell<'_>]) -> io::Result<()> {
        self.row_and(cells, |_| Ok(()))
    }

    /// Prints a row whose last column is what `rest` writes, which may be long.
    pub(crate) fn row_and(
        &mut self,
        cells: &[Cell<'_>],
        rest_of_line: impl FnOnce(&mut W) -> io::Result<()>,
    ) -> io::Result<()> {
        if self.form == Form::Csv {
            return self.values(cells);
        }
        self.line.clear();
        let mut rest = cells.iter().zip(self.columns).peekable();
        let mut is_first = true;
        while let Some((cell, column)) = rest.next() {
            let gap = if column.is_left { "  " } else { " " };
            self.line.write_all(if is_first { b"" } else { gap.as_bytes() })?;
            is_first = false;
            let is_last = rest.peek().is_none();
            let width = if is_last && column.is_left { 0 } else { column.width };
            cell.write(&mut self.line, width, column.is_left)?;
        }
        self.out.write_all(&self.line)?;
        rest_of_line(self.out)?;
        self.out.write_all(b"\n")
    }

    /// Prints the values of a row, separated by commas.
    fn values(&mut self, cells: &[Cell<'_>]) -> io::Result<()> {
        if cells.iter().any(|cell| matches!(cell, Cell::Wrong(_))) {
            return Ok(());
        }
        self.line.clear();
        for (number, cell) in cells.iter().enumerate() {
            self.line.write_all(if number > 0 { b"," } else { b"" })?;
            match cell {
                Cell::Text(text) if text.contains([',', '"', '\n', '\r']) => {
                    write!(self.line, "\"{}\"", text.replace('"', "\"\""))?;
                }
                Cell::Unknown => {}
                cell => cell.write(&mut self.line, 0, true)?,
            }
        }
        self.line.push(b'\n');
        self.out.write_all(&self.line)
    }
}

impl Cell<'_> {
    fn write(self, line: &mut Vec<u8>, width: usize, is_left: bool) -> io::Result<()> {
        match self {
            Self::Number(number) if is_left => write!(line, "{number:<width$}"),
            Self::Number(number) => write!(line, "{number:>width$}"),
            Self::Signed(number) => write!(line, "{number:>width$}"),
            Self::Hex(number) => write!(line, "{number:08x}"),
            Self::Text(text) if is_left => write!(line, "{text:<width$}"),
            Self::Text(text) => write!(line, "{text:>width$}"),
            Self::Unknown => write!(line, "{:>width$}", "?"),
            Self::Wrong(error) => write!(line, "{}", printable(error)),
        }
    }
}
