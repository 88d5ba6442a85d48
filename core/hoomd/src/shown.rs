//! Names in messages.

use core::fmt::{self, Write};

/// The longest name in bytes that a message shows in full.
const MOST: usize = 512;

/// Bytes shown of the start and of the end of a longer name.
const EACH: usize = 200;

/// A name as messages show it, on one line. Of a name longer than 512 bytes it shows start, end and
/// length. Bytes that are not UTF-8 are shown as `\xc3`, control characters as `\n`, `\u{1b}`.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a>(&'a [u8]);

impl<'a> Shown<'a> {
    /// Wraps a name of any type.
    #[must_use]
    pub fn new(name: &'a (impl AsRef<[u8]> + ?Sized)) -> Self {
        Self(name.as_ref())
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(name) = *self;
        if name.len() <= MOST {
            return OneLine(name).fmt(f);
        }
        // A character that is cut at one of the two places is left out.
        let head = name.get(..EACH).unwrap_or_default();
        let tail = name.get(name.len().saturating_sub(EACH)..).unwrap_or_default();
        let cut = head.utf8_chunks().last().filter(|last| is_cut(last.invalid()));
        let head = head.get(..head.len().saturating_sub(cut.map_or(0, |cut| cut.invalid().len())));
        let rest = tail.iter().take(3).take_while(|&&byte| is_rest(byte)).count();
        let (head, tail) = (head.unwrap_or_default(), tail.get(rest..).unwrap_or_default());
        write!(f, "{}...{} ({} bytes)", OneLine(head), OneLine(tail), name.len())
    }
}

/// Text with escaped control characters, which could otherwise break or fake a message.
struct OneLine<'a>(&'a [u8]);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            for character in chunk.valid().chars() {
                match character.is_control() {
                    true => write!(f, "{}", character.escape_default())?,
                    false => f.write_char(character)?,
                }
            }
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        Ok(())
    }
}

/// Whether these bytes are the start of a character that is cut.
fn is_cut(bytes: &[u8]) -> bool {
    core::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

/// Whether a byte is a continuation byte of UTF-8.
const fn is_rest(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::ToString;

    #[test]
    fn a_long_name_keeps_its_ends_and_whole_characters() {
        let whole = "a".repeat(MOST);
        assert_eq!(Shown::new(&whole).to_string(), whole);
        for character in ["a", "é", "€", "🙂"] {
            for shift in 0..4 {
                let name = format!("{}{}end", "x".repeat(shift), character.repeat(7000));
                let shown = Shown::new(&name).to_string();
                assert!(shown.len() <= 2 * EACH + 30, "{shown}");
                assert!(!shown.contains("\\x"), "{shown}");
                assert!(shown.starts_with(&format!("{}{character}", "x".repeat(shift))), "{shown}");
                assert!(shown.ends_with(&format!("end ({} bytes)", name.len())), "{shown}");
            }
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_shown_as_numbers() {
        let name = [b'\xff'; 1000];
        let shown = Shown::new(&name).to_string();
        assert_eq!(shown.matches("\\xff").count(), 2 * EACH, "{shown}");
    }

    #[test]
    fn a_name_is_shown_in_one_line() {
        assert_eq!(
            Shown::new("a\nb\x1b[1mc\u{85}d\0é").to_string(),
            "a\\nb\\u{1b}[1mc\\u{85}d\\u{0}é"
        );
    }
}
