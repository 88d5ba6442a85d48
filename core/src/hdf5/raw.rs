//! The structures of an HDF5 file as stored, one for each table of `spec/blob.md`.
//!
//! Only files whose addresses and lengths have 8 bytes are read. All integers are little-endian.

use crate::field::{Table, spec_table};
use zerocopy::little_endian::{U16, U32, U64};

/// The tables of this format by number.
pub const TABLES: &[&Table] = &[
    Superblock0::TABLE,
    Superblock2::TABLE,
    Header1::TABLE,
    Message1::TABLE,
    Header2::TABLE,
    Message2::TABLE,
    Continuation::TABLE,
    Dataspace1::TABLE,
    Dataspace2::TABLE,
    Datatype::TABLE,
    Layout3::TABLE,
    LinkHead::TABLE,
    SymbolTable::TABLE,
    TreeNode::TABLE,
    SymbolNode::TABLE,
    SymbolEntry::TABLE,
    LocalHeap::TABLE,
    AttributeHead::TABLE,
];

/// The first bytes of every file.
pub const SIGNATURE: [u8; 8] = *b"\x89HDF\r\n\x1a\n";

spec_table! {
    /// The start of a file, version 0 (`spec/blob.md#superblock`).
    pub struct Superblock0 = 0 in "superblock", 96;
    /// `\x89HDF\r\n\x1a\n`.
    0: pub signature: [u8; 8],
    /// Version, 0.
    8: pub version: u8,
    /// Version of the free space storage, 0.
    9: pub free_space_version: u8,
    /// Version of the root group's entry, 0.
    10: pub root_version: u8,
    /// 0.
    11: pub reserved_11: u8,
    /// Version of shared messages, 0.
    12: pub shared_version: u8,
    /// Bytes of an address.
    13: pub size_of_offsets: u8,
    /// Bytes of a length.
    14: pub size_of_lengths: u8,
    /// 0.
    15: pub reserved_15: u8,
    /// Half of the most entries of a symbol node.
    16: pub group_leaf_k: U16,
    /// Half of the most entries of a tree node.
    18: pub group_internal_k: U16,
    /// Not used.
    20: pub consistency_flags: U32,
    /// Offset that all addresses count from.
    24: pub base_address: U64,
    /// Not used.
    32: pub free_space_address: U64,
    /// End of the file.
    40: pub end_address: U64,
    /// Address of the driver's block, or all bits set.
    48: pub driver_address: U64,
    /// The root group.
    56: pub root: SymbolEntry,
}

spec_table! {
    /// The start of a file, versions 2 and 3 (`spec/blob.md#superblock`).
    pub struct Superblock2 = 1 in "superblock", 48;
    /// `\x89HDF\r\n\x1a\n`.
    0: pub signature: [u8; 8],
    /// Version, 2 or 3.
    8: pub version: u8,
    /// Bytes of an address.
    9: pub size_of_offsets: u8,
    /// Bytes of a length.
    10: pub size_of_lengths: u8,
    /// Bits that say that a writer has the file open.
    11: pub consistency_flags: u8,
    /// Offset that all addresses count from.
    12: pub base_address: U64,
    /// Address of the superblock's extension, or all bits set.
    20: pub extension_address: U64,
    /// End of the file.
    28: pub end_address: U64,
    /// Address of the root group's object header.
    36: pub root_address: U64,
    /// Checksum of the bytes before.
    44: pub checksum: U32,
}

spec_table! {
    /// The start of an object header, version 1 (`spec/blob.md#object-headers`).
    pub struct Header1 = 2 in "object header", 16;
    /// Version, 1.
    0: pub version: u8,
    /// 0.
    1: pub reserved_1: u8,
    /// Number of messages.
    2: pub messages: U16,
    /// Number of links to the object.
    4: pub references: U32,
    /// Bytes of the messages that follow.
    8: pub chunk_size: U32,
    /// 0.
    12: pub reserved_12: U32,
}

spec_table! {
    /// The start of a message in an object header, version 1.
    pub struct Message1 = 3 in "message", 8;
    /// Kind of the message.
    0: pub kind: U16,
    /// Bytes of the message after this structure.
    2: pub size: U16,
    /// Flags.
    4: pub flags: u8,
    /// 0.
    5: pub reserved_5: [u8; 3],
}

spec_table! {
    /// The start of an object header, version 2 (`spec/blob.md#object-headers`).
    pub struct Header2 = 4 in "object header", 6;
    /// `OHDR`.
    0: pub signature: [u8; 4],
    /// Version, 2.
    4: pub version: u8,
    /// Which fields follow, and their sizes.
    5: pub flags: u8,
}

spec_table! {
    /// The start of a message in an object header, version 2.
    pub struct Message2 = 5 in "message", 4;
    /// Kind of the message.
    0: pub kind: u8,
    /// Bytes of the message after this structure.
    1: pub size: U16,
    /// Flags.
    3: pub flags: u8,
}

spec_table! {
    /// The message that leads to more messages, kind 16.
    pub struct Continuation = 6 in "continuation", 16;
    /// Address of the messages.
    0: pub address: U64,
    /// Their bytes.
    8: pub length: U64,
}

spec_table! {
    /// The start of a dataspace, version 1; the lengths of the dimensions follow, kind 1.
    pub struct Dataspace1 = 7 in "dataspace", 8;
    /// Version, 1.
    0: pub version: u8,
    /// Number of dimensions.
    1: pub rank: u8,
    /// Whether largest lengths follow.
    2: pub flags: u8,
    /// 0.
    3: pub reserved_3: [u8; 5],
}

spec_table! {
    /// The start of a dataspace, version 2; the lengths of the dimensions follow, kind 1.
    pub struct Dataspace2 = 8 in "dataspace", 4;
    /// Version, 2.
    0: pub version: u8,
    /// Number of dimensions.
    1: pub rank: u8,
    /// Whether largest lengths follow.
    2: pub flags: u8,
    /// 0 one value, 1 an array, 2 no value.
    3: pub kind: u8,
}

spec_table! {
    /// The start of a datatype, kind 3.
    pub struct Datatype = 9 in "datatype", 8;
    /// Class in the low 4 bits, version in the high ones.
    0: pub class: u8,
    /// Bits of the class.
    1: pub bits: [u8; 3],
    /// Bytes of a value.
    4: pub size: U32,
}

spec_table! {
    /// The layout of a contiguous dataset, versions 3 and 4, kind 8.
    pub struct Layout3 = 10 in "layout", 18;
    /// Version, 3 or 4.
    0: pub version: u8,
    /// 0 compact, 1 contiguous, 2 chunked, 3 virtual.
    1: pub class: u8,
    /// Address of the values, or all bits set.
    2: pub address: U64,
    /// Bytes of the values.
    10: pub size: U64,
}

spec_table! {
    /// The start of a link, kind 6.
    pub struct LinkHead = 11 in "link", 2;
    /// Version, 1.
    0: pub version: u8,
    /// Which fields follow, and their sizes.
    1: pub flags: u8,
}

spec_table! {
    /// The message of a group with a symbol table, kind 17.
    pub struct SymbolTable = 12 in "symbol table", 16;
    /// Address of the tree.
    0: pub tree_address: U64,
    /// Address of the heap with the names.
    8: pub heap_address: U64,
}

spec_table! {
    /// The start of a node of a tree; keys and children follow.
    pub struct TreeNode = 13 in "tree node", 24;
    /// `TREE`.
    0: pub signature: [u8; 4],
    /// 0: a group's tree.
    4: pub node_type: u8,
    /// Levels below; 0: children are symbol nodes.
    5: pub level: u8,
    /// Number of children.
    6: pub entries: U16,
    /// Address of the node before, or all bits set.
    8: pub left_address: U64,
    /// Address of the node after, or all bits set.
    16: pub right_address: U64,
}

spec_table! {
    /// The start of a symbol node; entries follow.
    pub struct SymbolNode = 14 in "symbol node", 8;
    /// `SNOD`.
    0: pub signature: [u8; 4],
    /// Version, 1.
    4: pub version: u8,
    /// 0.
    5: pub reserved_5: u8,
    /// Number of entries.
    6: pub symbols: U16,
}

spec_table! {
    /// An entry of a symbol node, and the root group in superblock 0.
    pub struct SymbolEntry = 15 in "symbol", 40;
    /// Offset of the name in the heap.
    0: pub name_offset: U64,
    /// Address of the object header.
    8: pub header_address: U64,
    /// What `scratch` holds; 2: a soft link.
    16: pub cache_type: U32,
    /// 0.
    20: pub reserved_20: U32,
    /// Copies of fields of the object.
    24: pub scratch: [u8; 16],
}

spec_table! {
    /// A local heap, which holds the names of a group.
    pub struct LocalHeap = 16 in "heap", 32;
    /// `HEAP`.
    0: pub signature: [u8; 4],
    /// Version, 0.
    4: pub version: u8,
    /// 0.
    5: pub reserved_5: [u8; 3],
    /// Bytes of the names.
    8: pub data_size: U64,
    /// Offset of the first free byte.
    16: pub free_offset: U64,
    /// Address of the names.
    24: pub data_address: U64,
}

spec_table! {
    /// The start of an attribute, kind 12; name, datatype, dataspace and values follow.
    pub struct AttributeHead = 17 in "attribute", 8;
    /// Version, 1 to 3.
    0: pub version: u8,
    /// Whether datatype or dataspace are shared.
    1: pub flags: u8,
    /// Bytes of the name with its null byte.
    2: pub name_size: U16,
    /// Bytes of the datatype.
    4: pub datatype_size: U16,
    /// Bytes of the dataspace.
    6: pub dataspace_size: U16,
}

/// An address that leads nowhere.
pub(crate) const UNDEFINED: u64 = u64::MAX;
