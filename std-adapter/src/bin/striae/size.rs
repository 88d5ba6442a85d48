//! Sizes in bytes on the command line.

/// Units as in coreutils: `K` and `KiB` are 1024 bytes, `KB` is 1000 bytes, and so on.
const UNITS: [(&str, u64); 14] = [
    ("", 1),
    ("B", 1),
    ("K", 1 << 10),
    ("KiB", 1 << 10),
    ("KB", 1_000),
    ("M", 1 << 20),
    ("MiB", 1 << 20),
    ("MB", 1_000_000),
    ("G", 1 << 30),
    ("GiB", 1 << 30),
    ("GB", 1_000_000_000),
    ("T", 1 << 40),
    ("TiB", 1 << 40),
    ("TB", 1_000_000_000_000),
];

/// Parses a size in bytes: `512`, `4k`, `64KiB`, `1MiB`, `2G`.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = text.strip_prefix(digits).unwrap_or_default();
    let unit = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit));
    let Some((_, of)) = unit else {
        return Err(format!("{text}: must be a number, or one with a unit: 4096, 4k, 4KiB, 1MiB"));
    };
    let number = digits.parse::<u64>().map_err(|error| format!("{text}: {error}"))?;
    number.checked_mul(*of).ok_or_else(|| format!("{text}: too large"))
}

/// Parses a size of at least 1.
pub(crate) fn some_size(text: &str) -> Result<u64, String> {
    size(text).and_then(|bytes| match bytes {
        0 => Err("must be at least 1".to_owned()),
        bytes => Ok(bytes),
    })
}

/// Parses a size of at least 1 that fits a field of 32 bits.
pub(crate) fn short_size(text: &str) -> Result<u32, String> {
    some_size(text)?.try_into().map_err(|_| format!("{text}: must be at most {}", u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_multiplies_whatever_its_case() {
        let pairs = [("0", 0), ("7", 7), ("4k", 4096), ("4K", 4096), ("1MiB", 1 << 20)];
        let more = [("64KiB", 65536), ("2kB", 2000), ("3g", 3 << 30), ("1tib", 1 << 40), ("5b", 5)];
        let more = more.into_iter().chain([("7T", 7 << 40), ("7TB", 7_000_000_000_000)]);
        for (text, bytes) in pairs.into_iter().chain(more) {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for wrong in ["", "k", "1.5k", "-1", "4q", "4 k", "1Mi", "17179869184G", "0x10"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
        assert!(some_size("0k").is_err() && short_size("4G").is_err());
    }
}
