//! Names of the physical files of a set (`spec/sion.md#multi-file-sets`).

use core::fmt;

/// The suffix of the name of a physical file with this number: empty for file 0, `.000001` for file
/// 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sibling(pub u32);

impl fmt::Display for Sibling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => Ok(()),
            number => write!(f, ".{number:06}"),
        }
    }
}

impl Sibling {
    /// The number at the end of a file's name, or `Sibling(0)`.
    #[must_use]
    pub fn of_name(name: &str) -> Self {
        // Not rsplit_once: its searcher has a bounds check that can panic, as far as a compiler
        // knows.
        let dot = name.bytes().rposition(|byte| byte == b'.');
        let digits = dot.and_then(|dot| name.get(dot.checked_add(1)?..)).unwrap_or_default();
        let is_number = digits.len() >= 6 && digits.bytes().all(|byte| byte.is_ascii_digit());
        Self(digits.parse().ok().filter(|_| is_number).unwrap_or(0))
    }
}

/// The suffix of the name of a buddy set with this number: `_BUDDY_00`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buddy(pub u32);

impl fmt::Display for Buddy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "_BUDDY_{:02}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn siblings_are_numbered_with_six_digits() {
        assert_eq!(Sibling(0).to_string(), "");
        assert_eq!(Sibling(1).to_string(), ".000001");
        assert_eq!(Sibling(1_234_567).to_string(), ".1234567");
        assert_eq!(Buddy(3).to_string(), "_BUDDY_03");
    }

    #[test]
    fn a_name_says_its_number() {
        for (name, number) in [
            ("a.sion", 0),
            ("a.sion.000002", 2),
            ("a.1234567", 1_234_567),
            ("a.00001", 0),
            ("a.+00001", 0),
        ] {
            assert_eq!(Sibling::of_name(name), Sibling(number), "{name}");
        }
    }
}
