//! Text and JSON on standard output.

use crate::failure::{Failure, Sound};
use serde::Serialize;
use std::borrow::Cow;
use std::io::{BufWriter, StdoutLock, Write};
use std::path::Path;

/// Standard output with a buffer.
pub(crate) fn stdout() -> BufWriter<StdoutLock<'static>> {
    BufWriter::with_capacity(1 << 16, std::io::stdout().lock())
}

/// Prints what `write` writes. A closed pipe is no failure.
pub(crate) fn print(
    write: impl FnOnce(&mut BufWriter<StdoutLock<'static>>) -> std::io::Result<()>,
) -> Result<Sound, Failure> {
    let mut out = stdout();
    unless_gone(write(&mut out).and_then(|()| out.flush()))?;
    Ok(Sound::Yes)
}

/// Prints `value` as one line of JSON.
pub(crate) fn print_json(value: &impl Serialize) -> Result<Sound, Failure> {
    print(|out| {
        serde_json::to_writer(&mut *out, value)?;
        writeln!(out)
    })
}

/// What was found, with the path of the file.
#[derive(Serialize)]
struct Of<'a, T> {
    path: Cow<'a, str>,
    #[serde(flatten)]
    found: &'a T,
}

/// Prints `found` as one line of JSON, with the path of the file.
pub(crate) fn print_json_of(path: &Path, found: &impl Serialize) -> Result<Sound, Failure> {
    print_json(&Of { path: path.to_string_lossy(), found })
}

/// `found` as JSON, with the path of the file.
pub(crate) fn json_of(path: &Path, found: &impl Serialize) -> std::io::Result<String> {
    Ok(serde_json::to_string(&Of { path: path.to_string_lossy(), found })?)
}

/// Ignores a closed pipe: without a reader of the output, the exit status still counts.
pub(crate) fn unless_gone(printed: std::io::Result<()>) -> Result<(), Failure> {
    match printed {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        printed => printed.map_err(Failure::stdout),
    }
}
