//! The parts of a file, which share no bytes.

use striae_core::texts;

texts! {
    /// A part of a file that shares no bytes with another part.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum Part;

    /// The header.
    Header => "the header";
    /// The shadows of the header.
    Shadow => "the shadow";
    /// The index block, with the slots that are not shown yet.
    Index => "the index";
    /// The name list.
    Names => "the name list";
    /// The chunk whose entry is in this slot.
    Chunk(slot: u64) => "the chunk of slot {slot}";
}
