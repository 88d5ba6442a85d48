//! The parts of a file, which share no bytes.

use core::fmt;

/// A part of a file that shares no bytes with another part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// The header.
    Header,
    /// The shadows of the header.
    Shadow,
    /// The index block, with the slots that are not shown yet.
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
