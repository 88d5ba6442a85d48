//! Text and JSON on standard output.

use crate::args::InfoArgs;
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

/// Prints what `write` writes. A closed pipe is no failure.
pub(crate) fn print(
    write: impl FnOnce(&mut BufWriter<StdoutLock<'static>>) -> std::io::Result<()>,
) -> Result<Sound, Failure> {
    let mut out = stdout();
    unless_gone(write(&mut out).and_then(|()| out.flush()))?;
    Ok(Sound::Yes)
}

/// Properties of a file in words, with their names.
pub(crate) type Lines = Vec<(&'static str, String)>;

/// Prints what `info` says of a file: JSON, or a line for each property.
pub(crate) fn print_info(
    args: &InfoArgs,
    info: &impl Serialize,
    lines: impl FnOnce() -> Result<Lines, Failure>,
) -> Result<Sound, Failure> {
    if args.json {
        return print_json_of(&args.file.path, info);
    }
    let lines = lines()?;
    print(|out| lines.iter().try_for_each(|(name, value)| writeln!(out, "{name:<20}{value}")))
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

/// A number with its noun: 1 frame, 2 frames.
pub(crate) fn count(n: u64, thing: &str) -> String {
    format!("{n} {thing}{}", if n == 1 { "" } else { "s" })
}

/// Text with all characters escaped that could control a terminal.
pub(crate) fn printable(text: &str) -> String {
    printable_but(text, &[])
}

/// The path of a file, as printed for people.
pub(crate) fn printable_path(path: &Path) -> String {
    printable(&shown::path(path).to_string())
}

/// Like [`printable`], but the characters `allowed` are not escaped.
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

/// Whether a character changes how others are displayed: control characters, line separators, and
/// those that change the writing direction, so that one name looks like another.
fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}')
        || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Ignores a closed pipe: without a reader of the output, the exit status still counts.
pub(crate) fn unless_gone(printed: std::io::Result<()>) -> Result<(), Failure> {
    match printed {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        printed => printed.map_err(Failure::stdout),
    }
}
