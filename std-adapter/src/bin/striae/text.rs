//! Standard output for people and for programs.

use crate::failure::{Failure, Sound};
use serde::Serialize;
use std::borrow::Cow;
use std::io::{BufWriter, StdoutLock, Write};
use std::path::Path;
use striae::shown;

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

/// Prints what is found in a file as one line of JSON, with the file's name.
pub(crate) fn print_json_of(path: &Path, found: &impl Serialize) -> Result<Sound, Failure> {
    #[derive(Serialize)]
    struct Of<'a, T> {
        path: Cow<'a, str>,
        #[serde(flatten)]
        found: &'a T,
    }
    print_json(&Of { path: path.to_string_lossy(), found })
}

/// So many things, in words: 1 frame, 2 frames.
pub(crate) fn count(n: u64, thing: &str) -> String {
    format!("{n} {thing}{}", if n == 1 { "" } else { "s" })
}

/// Text from a file or a name, without characters that a terminal would obey.
pub(crate) fn printable(text: &str) -> String {
    printable_but(text, &[])
}

/// The name of a file, in words that people read.
pub(crate) fn printable_path(path: &Path) -> String {
    printable(&shown::path(path).to_string())
}

/// The text with what a terminal would obey escaped, but for some characters that may stay.
pub(crate) fn printable_but(text: &str, allowed: &[char]) -> String {
    let mut printable = String::with_capacity(text.len());
    for c in text.chars() {
        match is_obeyed(c) && !allowed.contains(&c) {
            true => printable.extend(c.escape_default()),
            false => printable.push(c),
        }
    }
    printable
}

/// Whether it changes what others look like: control characters, breaks of lines, and those that
/// turn the direction of writing, so that a name reads as another.
fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}')
        || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whoever reads the output may go, and the verdict still counts.
pub(crate) fn unless_gone(printed: std::io::Result<()>) -> Result<(), Failure> {
    match printed {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        printed => printed.map_err(Failure::stdout),
    }
}
