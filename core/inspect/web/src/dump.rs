//! What `dump` says, a part at a time.

use crate::file::{Named, Store, Wrong};
use crate::format::Format;
use crate::json::{Json, hex, row};
use alloc::vec::Vec;
use core::fmt;
use embedded_io::ErrorKind;
use striae_core::sion::recover::Sparse;
use striae_core::step::DriveError;
use striae_core::store::ReadAt;
use striae_inspect::dump::Line;
use striae_inspect::subject::Subject;
use striae_inspect::{blob, cdf, ffrecord, gsd, sion};

/// Why a dump ends.
#[derive(Debug)]
enum End<E> {
    /// The lines that were asked for are there.
    Enough,
    /// The store failed.
    Store(E),
}

impl<E: fmt::Display> fmt::Display for End<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Enough => f.write_str("there are more lines"),
            Self::Store(error) => error.fmt(f),
        }
    }
}

impl<E: fmt::Display + fmt::Debug> core::error::Error for End<E> {}

impl<E: embedded_io::Error> embedded_io::Error for End<E> {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Enough => ErrorKind::Interrupted,
            Self::Store(error) => error.kind(),
        }
    }
}

/// A store whose dump can be ended.
struct Ending<'a, S>(&'a S);

impl<S: ReadAt> ReadAt for Ending<'_, S> {
    type Error = End<S::Error>;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Self::Error> {
        self.0.read_at(offset, buf).map_err(End::Store)
    }

    fn size(&self) -> Result<u64, Self::Error> {
        self.0.size().map_err(End::Store)
    }
}

impl<S: ReadAt> Subject for Ending<'_, S> {}

impl<S: ReadAt> Sparse for Ending<'_, S> {}

/// The lines from number `from` on, at most `count` of them, and whether these are the last ones.
pub(crate) fn dump<S: Store>(
    file: &Named<S>,
    format: Format,
    (from, count): (u64, u64),
) -> Result<Json, Wrong> {
    let store = Ending(&file.store);
    let (mut number, mut rows) = (0_u64, Vec::new());
    let end = from.saturating_add(count);
    let mut each = |line: Line| {
        if number >= end {
            return Err(End::Enough);
        }
        if number >= from {
            rows.push(of_line(&line));
        }
        number = number.saturating_add(1);
        Ok(())
    };
    let done = match format {
        Format::Sion => ended(&file.name, sion::dump(&store, &mut each)),
        Format::Gsd => ended(&file.name, gsd::dump(&store, &mut each))
            .and_then(|()| crate::gsd::first_refusal(file).map_err(Some)),
        Format::Ffrecord => ended(&file.name, ffrecord::dump(&store, &mut each)),
        Format::Cdf => ended(&file.name, cdf::dump(&store, &mut each)),
        Format::Blob => ended(&file.name, blob::dump(&store, &mut each)),
        Format::Map => ended(&file.name, blob::map::dump(&store, &mut each)),
    };
    let row = row().with("path", file.name.as_str()).with("lines", rows);
    Ok(match done {
        Ok(()) => row.with("whole", true),
        Err(None) => row.with("whole", false),
        Err(Some(wrong)) => row.with("whole", true).with("error", alloc::format!("{wrong}")),
    })
}

/// `None` in place of an error if there are enough lines.
fn ended<E: fmt::Display, F: fmt::Display>(
    name: &str,
    done: Result<(), DriveError<End<E>, F>>,
) -> Result<(), Option<Wrong>> {
    match done {
        Ok(()) => Ok(()),
        Err(DriveError::Store(End::Enough)) => Err(None),
        Err(error) => Err(Some(Wrong::of(name)(error))),
    }
}

fn of_line(line: &Line) -> Json {
    match line {
        Line::Field { name, offset, len, bytes, value, position } => row()
            .with("offset", *offset)
            .with("len", *len)
            .with("bytes", hex(bytes))
            .with("name", name.as_str())
            .with("value", value.as_str())
            .with_some("position", *position),
        Line::Derived { name, value } => row().with("name", *name).with("value", value.as_str()),
    }
}
