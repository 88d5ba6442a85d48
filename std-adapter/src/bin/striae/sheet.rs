//! Lists: rows of typed cells under the headings of their columns.

use crate::printable::printable;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// A column of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
pub(crate) enum Form<'a> {
    /// In columns, for people.
    Text,
    /// Values separated by commas, as spreadsheets take them. A row that cannot be listed is left
    /// out: the exit status and standard error tell of it. Each row begins with its path, if there
    /// is one here: files with the same columns make one table.
    Csv(Option<&'a Path>),
}

/// The columns of the table of values that was begun last.
static BEGUN: Mutex<&[Column]> = Mutex::new(&[]);

/// A list that is printed row by row, since there may be millions of rows.
pub(crate) struct Sheet<'o, W> {
    columns: &'static [Column],
    is_csv: bool,
    /// What each row of values begins with: the file and a comma, or nothing.
    start: Vec<u8>,
    out: &'o mut W,
    line: Vec<u8>,
}

impl<'o, W: Write> Sheet<'o, W> {
    /// Prints the headings, unless they are those of the table before it.
    pub(crate) fn new(
        columns: &'static [Column],
        form: Form<'_>,
        out: &'o mut W,
    ) -> io::Result<Self> {
        let (is_csv, start) = (form != Form::Text, Vec::new());
        let mut sheet = Self { columns, is_csv, start, out, line: Vec::new() };
        let heads: Vec<_> = columns.iter().map(|column| Cell::Text(column.head)).collect();
        let Form::Csv(file) = form else {
            sheet.row(&heads)?;
            return Ok(sheet);
        };
        let mut begun = BEGUN.lock().unwrap_or_else(PoisonError::into_inner);
        if *begun != columns {
            sheet.start.extend_from_slice(if file.is_some() { b"path," } else { b"" });
            sheet.row(&heads)?;
            *begun = columns;
        }
        sheet.start.clear();
        if let Some(file) = file {
            Cell::Text(&file.to_string_lossy()).write_value(&mut sheet.start)?;
            sheet.start.push(b',');
        }
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
        if self.is_csv {
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
        self.line.clone_from(&self.start);
        for (number, cell) in cells.iter().enumerate() {
            self.line.write_all(if number > 0 { b"," } else { b"" })?;
            cell.write_value(&mut self.line)?;
        }
        self.line.push(b'\n');
        self.out.write_all(&self.line)
    }
}

impl Cell<'_> {
    /// Writes a value of a row of values separated by commas.
    fn write_value(self, line: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Self::Text(text) if text.contains([',', '"', '\n', '\r']) => {
                write!(line, "\"{}\"", text.replace('"', "\"\""))
            }
            Self::Unknown => Ok(()),
            cell => cell.write(line, 0, true),
        }
    }

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
