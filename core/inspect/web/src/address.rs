//! Addresses, as `striae ls` prints them and `striae cat` takes them.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;

/// A thing in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Address {
    /// `task/N`, or `task/N/chunk/C`.
    Task(u64, Option<u64>),
    /// `frame/N/NAME`.
    Chunk(u64, Vec<u8>),
    /// `sample/N`.
    Sample(u64),
    /// `variable/NAME`.
    Variable(String),
}

impl Address {
    /// The thing with this address; `None` if it is none.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_once('/')?;
        match kind {
            "task" => match rest.split_once("/chunk/") {
                Some((task, chunk)) => {
                    Some(Self::Task(task.parse().ok()?, Some(chunk.parse().ok()?)))
                }
                None => Some(Self::Task(rest.parse().ok()?, None)),
            },
            "frame" => {
                let (frame, name) = rest.split_once('/')?;
                Some(Self::Chunk(frame.parse().ok()?, decoded(name)?))
            }
            "sample" => rest.parse().ok().map(Self::Sample),
            "variable" => String::from_utf8(decoded(rest)?).ok().map(Self::Variable),
            _ => None,
        }
    }
}

/// The address of a chunk of a GSD file.
pub(crate) fn of_chunk(frame: u64, name: &[u8]) -> String {
    format!("frame/{frame}/{}", encoded(name))
}

/// The address of a variable.
pub(crate) fn of_variable(name: &str) -> String {
    format!("variable/{}", encoded(name.as_bytes()))
}

/// A name without bytes that have a meaning in a shell, in a pattern or on a terminal.
fn encoded(name: &[u8]) -> String {
    let mut text = String::new();
    for &byte in name {
        let _ = match byte.is_ascii_alphanumeric() || b"/._-+,:@=".contains(&byte) {
            true => text.write_char(byte.into()),
            false => write!(text, "%{byte:02X}"),
        };
    }
    text
}

fn decoded(text: &str) -> Option<Vec<u8>> {
    let mut name = Vec::new();
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        name.push(match byte {
            b'%' => {
                let mut digit = || char::from(bytes.next()?).to_digit(16);
                let (high, low) = (digit()?, digit()?);
                u8::try_from(high << 4 | low).ok()?
            }
            plain => plain,
        });
    }
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_taken() {
        let name = b"log/a b%\xff\n".to_vec();
        assert_eq!(Address::parse(&of_chunk(3, &name)), Some(Address::Chunk(3, name)));
        let name = "T\u{e9} [0]".to_owned();
        assert_eq!(Address::parse(&of_variable(&name)), Some(Address::Variable(name)));
        assert_eq!(Address::parse("task/7"), Some(Address::Task(7, None)));
        assert_eq!(Address::parse("task/7/chunk/2"), Some(Address::Task(7, Some(2))));
        for wrong in ["", "task", "task/-1", "task/1/key/2", "frame/1", "variable/%f", "disk/1"] {
            assert_eq!(Address::parse(wrong), None, "{wrong}");
        }
    }

    use alloc::borrow::ToOwned;
}
