//! `striae dump`.

use crate::args::DumpArgs;
use crate::failure::{Failure, Sound};
use crate::printable::printable;
use crate::text::stdout;
use serde::Serialize;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;
use striae::Error;
use striae::sion::dump::Line;

/// Number of bytes of a field that are shown in a line.
const SHOWN: usize = 8;

#[derive(Serialize)]
#[serde(untagged)]
enum Row<'a> {
    Field {
        offset: u64,
        len: u64,
        bytes: String,
        name: &'a str,
        value: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        position: Option<u64>,
    },
    Derived {
        name: &'a str,
        value: &'a str,
    },
}

/// Calls the function for each line of the dump of a file.
pub(crate) type Dump = fn(&Path, &mut dyn FnMut(Line) -> io::Result<()>) -> Result<(), Error>;

pub(crate) fn dump(args: &DumpArgs, dump: Dump) -> Result<Sound, Failure> {
    let mut out = stdout();
    let mut lines = 0u64;
    let mut unprinted = None;
    let dumped = dump(&args.file, &mut |line| {
        let printed = match args.json {
            true => write_json(&mut out, &line, lines == 0),
            false => write_text(&mut out, &line),
        };
        lines = lines.saturating_add(1);
        printed.map_err(|error| {
            let kind = error.kind();
            unprinted = Some(error);
            kind.into()
        })
    });
    if let Some(error) = unprinted {
        return Err(Failure::Stdout(error));
    }
    if args.json {
        out.write_all(if lines == 0 { b"[]\n" } else { b"]\n" }).map_err(Failure::stdout)?;
    }
    out.flush().map_err(Failure::stdout)?;
    dumped?;
    Ok(Sound::Yes)
}

fn write_json(out: &mut impl Write, line: &Line, is_first: bool) -> io::Result<()> {
    let row = match line {
        Line::Field { name, offset, len, bytes, value, position } => Row::Field {
            offset: *offset,
            len: *len,
            bytes: hex(bytes, ""),
            name,
            value,
            position: *position,
        },
        Line::Derived { name, value } => Row::Derived { name, value },
    };
    out.write_all(if is_first { b"[" } else { b",\n" })?;
    Ok(serde_json::to_writer(out, &row)?)
}

fn write_text(out: &mut impl Write, line: &Line) -> io::Result<()> {
    match line {
        Line::Field { name, offset, bytes, value, .. } => {
            let mut shown = hex(bytes.get(..SHOWN).unwrap_or(bytes), " ");
            if bytes.len() > SHOWN {
                shown.push_str(" ..");
            }
            let value = printable(value); // a name of netCDF may have any characters
            writeln!(out, "{offset:>12}  {shown:<26}  {name:<32}  {value}")
        }
        Line::Derived { name, value } => {
            writeln!(out, "{:>12}  {:<26}  {name:<32}  {value}", "-", "")
        }
    }
}

fn hex(bytes: &[u8], between: &str) -> String {
    let mut hex = String::new();
    for (index, byte) in bytes.iter().enumerate() {
        let between = if index == 0 { "" } else { between };
        let _ = write!(hex, "{between}{byte:02x}"); // writing to a String cannot fail
    }
    hex
}
