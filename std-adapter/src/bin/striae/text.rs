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
    serde_json::to_writer(&mut out, value).map_err(|error| Failure::stdout(error.into()))?;
    writeln!(out).and_then(|()| out.flush()).map_err(Failure::stdout)?;
    Ok(Sound::Yes)
}
