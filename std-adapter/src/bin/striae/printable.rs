//! Text that is safe to print.

use std::path::Path;
use striae::shown;

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
