//! The mode strings of `sion_open`: words with commas between them, some with a value.

use crate::boundary::remember;
use striae::sion::ByteOrder;

/// What a mode string and the environment ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mode {
    /// Whether the set is written.
    pub writes: bool,
    /// Whether the program gets descriptors in place of `FILE *`.
    pub posix: bool,
    /// Whether streams are key-value records; `None` if nobody says.
    pub keyval: Option<bool>,
    /// The byte order that is stated for the data.
    pub order: ByteOrder,
}

/// The words of a mode string, each with its value, which may be empty.
pub fn words(text: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    text.split(|&byte| byte == b',').map(|word| {
        let mut parts = word.splitn(2, |&byte| byte == b'=');
        (parts.next().unwrap_or_default(), parts.next().unwrap_or_default())
    })
}

impl Mode {
    /// Reads a mode string. As in SIONlib, unknown words are ignored, and no mode means reading.
    #[must_use]
    pub fn parse(text: &[u8]) -> Self {
        let mut mode = Self { writes: false, posix: false, keyval: None, order: ByteOrder::HOST };
        for (key, value) in words(text) {
            match key {
                b"w" | b"wb" | b"bw" => mode.writes = true,
                b"posix" => mode.posix = true,
                b"ansi" | b"sionfwd" => mode.posix = false,
                b"keyval" => mode.keyval = mode.keyval.or(keyval(value)),
                b"endianness" => {
                    mode.order = if value == b"big" { ByteOrder::Big } else { ByteOrder::Little };
                }
                _ => {}
            }
        }
        mode
    }

    /// The mode with what `LSION_KEYVALUE_MODE` of the environment says, unless the string said it.
    #[must_use]
    pub fn with_environment(mut self) -> Self {
        let value = std::env::var("LSION_KEYVALUE_MODE").unwrap_or_default();
        self.keyval = self.keyval.or(of_environment(&value));
        self
    }
}

/// What a value of the environment says. As SIONlib, it looks for words in it.
fn of_environment(value: &str) -> Option<bool> {
    let is_none = value.contains("none");
    (is_none || value.contains("inline")).then_some(!is_none)
}

/// Whether this value of `keyval` means records; `None` for one that SIONlib does not implement.
fn keyval(value: &[u8]) -> Option<bool> {
    match value {
        b"" | b"default" | b"inline" => Some(true),
        b"none" => Some(false),
        other => {
            remember(&format_args!("keyval={}: only inline is known", other.escape_ascii()));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_sionlib() {
        let read = Mode::parse(b"br");
        let nothing = Mode { writes: false, posix: false, keyval: None, order: ByteOrder::HOST };
        assert_eq!(read, nothing);
        assert_eq!(Mode::parse(b"b,unknown=3,,="), nothing);
        for write in ["w", "wb", "bw", "ansi,bw,collsize=4"] {
            assert_eq!(Mode::parse(write.as_bytes()), Mode { writes: true, ..nothing }, "{write}");
        }
        for inline in ["w,keyval", "w,keyval=inline", "keyval=default,w"] {
            assert_eq!(Mode::parse(inline.as_bytes()).keyval, Some(true), "{inline}");
        }
        assert_eq!(Mode::parse(b"w,keyval=hash").keyval, None);
        assert_eq!(Mode::parse(b"w,keyval=none").keyval, Some(false));
        assert_eq!(Mode::parse(b"w,endianness=big").order, ByteOrder::Big);
        assert_eq!(Mode::parse(b"w,endianness=little").order, ByteOrder::Little);
        let known = [("", None), ("default", None), ("inline", Some(true)), ("none", Some(false))];
        assert!(known.iter().all(|(value, expected)| of_environment(value) == *expected));
        assert!(Mode::parse(b"r,posix").posix && !Mode::parse(b"r,posix,ansi").posix);
    }
}
