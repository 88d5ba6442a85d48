//! Versions of the file format, and kinds of streams.

/// The version of the file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum FormatVersion {
    /// META1 without filenumber and flags.
    V2,
    /// Chunksizes are stored as requested.
    V3,
    /// Chunksizes are stored as they are laid out.
    V4,
    /// Streams may be key-value records.
    V5,
}

impl FormatVersion {
    /// The number in `fileformat_version`.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::V2 => 2,
            Self::V3 => 3,
            Self::V4 => 4,
            Self::V5 => 5,
        }
    }
}

/// Whether streams are key-value records (`spec/sion.md#key-value`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum KeyvalMode {
    /// Plain streams.
    None,
    /// Every stream is a sequence of records.
    Inline,
    /// A mode that SIONlib never implemented, with a name in SIONlib (52 meta, 53 hash, 54 unknown)
    /// or without: streams are read as plain ones.
    Other(i32),
}

impl KeyvalMode {
    pub(super) const fn from_flag1(flag1: i64) -> Self {
        match flag1 >> 32 {
            0 | 50 => Self::None,
            51 => Self::Inline,
            #[allow(clippy::as_conversions, reason = "the upper half of an i64 is an i32")]
            other => Self::Other(other as i32),
        }
    }
}

impl core::fmt::Display for KeyvalMode {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Inline => f.write_str("inline"),
            Self::Other(52) => f.write_str("meta"),
            Self::Other(53) => f.write_str("hash"),
            Self::Other(mode) => write!(f, "unknown ({mode})"),
        }
    }
}
