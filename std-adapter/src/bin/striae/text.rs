//! Standard output for people and for programs.

use crate::failure::{Failure, Sound};
use serde::Serialize;
use std::io::{BufWriter, StdoutLock, Write};

/// Standard output with a buffer.
pub(crate) fn stdout() -> BufWriter<StdoutLock<'static>> {
    BufWriter::with_capacity(1 << 16, std::io::stdout().lock())
}

/// Prints `value` as one line of JSON.
pub(crate) fn print_json(value: &impl Serialize) -> Result<Sound, Failure> {
    let mut out = stdout();
    unless_gone(serde_json::to_writer(&mut out, value).map_err(Into::into))?;
    unless_gone(writeln!(out).and_then(|()| out.flush()))?;
    Ok(Sound::Yes)
}

/// Text from a file or a name, without characters that a terminal would obey.
pub(crate) fn printable(text: &str) -> String {
    let mut printable = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_control() {
            true => printable.extend(c.escape_default()),
            false => printable.push(c),
        }
    }
    printable
}

/// Whoever reads the output may go, and the verdict still counts.
pub(crate) fn unless_gone(printed: std::io::Result<()>) -> Result<(), Failure> {
    match printed {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        printed => printed.map_err(Failure::stdout),
    }
}
