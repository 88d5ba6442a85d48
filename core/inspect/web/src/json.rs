//! Values, printed as JSON.

use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::{self, Write};

/// A value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Json {
    /// Nobody knows, or it does not apply.
    #[default]
    Null,
    /// Yes or no.
    Bool(bool),
    /// A number, as printed: with more than 15 digits, as a text.
    Number(String),
    /// Text.
    Text(String),
    /// A list.
    List(Vec<Json>),
    /// Values with names, in order.
    Row(Vec<(&'static str, Json)>),
}

impl Json {
    /// The row, with a value more.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Self>) -> Self {
        if let Self::Row(values) = &mut self {
            values.push((name, value.into()));
        }
        self
    }

    /// The row, with a value more if there is one.
    #[must_use]
    pub fn with_some(self, name: &'static str, value: Option<impl Into<Self>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// The row, with the values of another one.
    #[must_use]
    pub fn and(mut self, more: Self) -> Self {
        if let (Self::Row(values), Self::Row(more)) = (&mut self, more) {
            values.extend(more);
        }
        self
    }

    /// A name of a GSD file: text, or `{"hex": ".."}` if it is not UTF-8.
    #[must_use]
    pub fn name(bytes: &[u8]) -> Self {
        match core::str::from_utf8(bytes) {
            Ok(text) => text.into(),
            Err(_) => row().with("hex", hex(bytes)),
        }
    }
}

/// A row without values.
#[must_use]
pub const fn row() -> Json {
    Json::Row(Vec::new())
}

/// A list of values.
pub fn list<T: Into<Json>>(values: impl IntoIterator<Item = T>) -> Json {
    Json::List(values.into_iter().map(Into::into).collect())
}

/// Bytes in hexadecimal digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    let mut hex = String::new();
    for byte in bytes {
        let _ = write!(hex, "{byte:02x}"); // writing to a String cannot fail
    }
    hex
}

impl From<bool> for Json {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl<T: Into<Self>> From<Option<T>> for Json {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl<T: Into<Self>> From<Vec<T>> for Json {
    fn from(values: Vec<T>) -> Self {
        list(values)
    }
}

macro_rules! numbers {
    ($($T:ty),+) => {
        $(impl From<$T> for Json {
            fn from(number: $T) -> Self {
                Self::Number(number.to_string())
            }
        })+
    };
}

numbers!(u8, u16, u32, u64, usize, i64, i128);

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            // JavaScript rounds larger integers: it gets their digits.
            Self::Number(number) if is_large(number) => write_text(f, number),
            Self::Number(number) => f.write_str(number),
            Self::Text(text) => write_text(f, text),
            Self::List(values) => {
                f.write_char('[')?;
                for (index, value) in values.iter().enumerate() {
                    f.write_str(if index > 0 { "," } else { "" })?;
                    value.fmt(f)?;
                }
                f.write_char(']')
            }
            Self::Row(values) => {
                f.write_char('{')?;
                for (index, (name, value)) in values.iter().enumerate() {
                    f.write_str(if index > 0 { "," } else { "" })?;
                    write_text(f, name)?;
                    f.write_char(':')?;
                    value.fmt(f)?;
                }
                f.write_char('}')
            }
        }
    }
}

/// Whether a number is an integer that has more digits than JavaScript keeps.
fn is_large(number: &str) -> bool {
    const DIGITS: usize = 15;
    let digits = number.strip_prefix('-').unwrap_or(number);
    digits.len() > DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn write_text(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_char('"')?;
    for character in text.chars() {
        match character {
            '"' | '\\' => write!(f, "\\{character}")?,
            '\0'..='\x1f' => write!(f, "\\u{:04x}", u32::from(character))?,
            _ => f.write_char(character)?,
        }
    }
    f.write_char('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_printed_as_json() {
        let text = row()
            .with("n", u64::MAX)
            .with("text", "a\"b\\\n\u{e9}")
            .with("none", None::<u32>)
            .with_some("absent", None::<u32>)
            .with("list", list([true, false]))
            .and(row().with("name", Json::name(b"\xff\x01")));
        let expected = r#"{"n":"18446744073709551615","text":"a\"b\\\u000aé","none":null,"#;
        let rest = r#""list":[true,false],"name":{"hex":"ff01"}}"#;
        assert_eq!(text.to_string(), [expected, rest].concat());
    }
}
