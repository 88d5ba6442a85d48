//! The basis of the judgement of a file.

/// The basis of the judgement of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Basis {
    /// There is no commit record: all slots up to the first empty one count.
    Plain,
    /// gsd has appended since the commit record was written: as [`Basis::Plain`].
    Appended,
    /// The commit record is valid; the number of its commit.
    Committed(u32),
    /// This commit was interrupted; the shadow has the whole header.
    Torn(u32),
    /// The header is that of the previous commit; a shadow proves this commit.
    Ahead(u32),
    /// Bytes of the commit record, or bytes that it covers, have changed; the right ones are a
    /// guess.
    Damaged,
}

impl core::fmt::Display for Basis {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Plain => f.write_str("no commit record"),
            Self::Appended => f.write_str("appended to by gsd"),
            Self::Committed(number) => write!(f, "commit {number}"),
            Self::Torn(number) => write!(f, "commit {number}, cut off while it was published"),
            Self::Ahead(number) => write!(f, "commit {number}, one ahead of the header"),
            Self::Damaged => f.write_str("commit record damaged"),
        }
    }
}
