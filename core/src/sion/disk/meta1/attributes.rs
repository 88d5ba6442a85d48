//! What the writer of a file chooses.

use crate::endian::ByteOrder;

/// Properties of a new physical file that its writer chooses, besides its tasks.
///
/// A later version may add fields: end a literal with `..Default::default()`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Attributes {
    /// The byte order of all metadata.
    pub order: ByteOrder,
    /// The byte order that META1 states for the user's data.
    pub data_order: ByteOrder,
    /// The unit in bytes that the start of the data is rounded up to; 1 to 2^31 - 1.
    pub fsblksize: u32,
    /// The number of physical files in the set; 1 to 2^31 - 1.
    pub nfiles: u32,
    /// The number of this file. In a set of one file, SIONlib's serial writers store 1 and its
    /// parallel writers 0.
    pub filenumber: u32,
    /// Whether streams are key-value records.
    pub keyval: bool,
}

impl Attributes {
    /// A set of one file with plain streams, in the host's byte order, with an fsblksize of 512
    /// bytes and the filenumber of a serial writer.
    pub const DEFAULT: Self = Self {
        order: ByteOrder::HOST,
        data_order: ByteOrder::HOST,
        fsblksize: 512,
        nfiles: 1,
        filenumber: 1,
        keyval: false,
    };
}

impl Default for Attributes {
    /// [`Attributes::DEFAULT`].
    fn default() -> Self {
        Self::DEFAULT
    }
}
