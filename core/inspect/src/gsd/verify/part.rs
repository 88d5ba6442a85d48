//! The parts of a file, which have no bytes in common.

use core::fmt;

/// A part of a file that has its bytes for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// The header.
    Header,
    /// What the header was before the last commit.
    Shadow,
    /// The index block, with slots that nothing shows yet.
    Index,
    /// The name list.
    Names,
    /// The chunk whose entry is in this slot.
    Chunk(u64),
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header => f.write_str("the header"),
            Self::Shadow => f.write_str("the shadow"),
            Self::Index => f.write_str("the index"),
            Self::Names => f.write_str("the name list"),
            Self::Chunk(slot) => write!(f, "the chunk of slot {slot}"),
        }
    }
}
