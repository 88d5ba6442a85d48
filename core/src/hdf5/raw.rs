//! The structures of an HDF5 file as stored, one for each table of `spec/blob.md`.
//!
//! Only files whose addresses and lengths have 8 bytes are read. All integers are little-endian.

use crate::field::{Table, spec_table};
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

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

/// The start of a file, version 0 (`spec/blob.md#superblock`).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Superblock0 {
    /// `\x89HDF\r\n\x1a\n`.
    pub signature: [u8; 8],
    /// Version, 0.
    pub version: u8,
    /// Version of the free space storage, 0.
    pub free_space_version: u8,
    /// Version of the root group's entry, 0.
    pub root_version: u8,
    /// 0.
    pub reserved_11: u8,
    /// Version of shared messages, 0.
    pub shared_version: u8,
    /// Bytes of an address.
    pub size_of_offsets: u8,
    /// Bytes of a length.
    pub size_of_lengths: u8,
    /// 0.
    pub reserved_15: u8,
    /// Half of the most entries of a symbol node.
    pub group_leaf_k: U16,
    /// Half of the most entries of a tree node.
    pub group_internal_k: U16,
    /// Not used.
    pub consistency_flags: U32,
    /// Offset that all addresses count from.
    pub base_address: U64,
    /// Not used.
    pub free_space_address: U64,
    /// End of the file.
    pub end_address: U64,
    /// Address of the driver's block, or all bits set.
    pub driver_address: U64,
    /// The root group.
    pub root: SymbolEntry,
}
spec_table!(Superblock0 = 0 in "superblock", 96,
    0: signature: [u8; 8],
    8: version: u8,
    9: free_space_version: u8,
    10: root_version: u8,
    11: reserved_11: u8,
    12: shared_version: u8,
    13: size_of_offsets: u8,
    14: size_of_lengths: u8,
    15: reserved_15: u8,
    16: group_leaf_k: U16,
    18: group_internal_k: U16,
    20: consistency_flags: U32,
    24: base_address: U64,
    32: free_space_address: U64,
    40: end_address: U64,
    48: driver_address: U64,
    56: root: SymbolEntry,
);

/// The start of a file, versions 2 and 3 (`spec/blob.md#superblock`).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Superblock2 {
    /// `\x89HDF\r\n\x1a\n`.
    pub signature: [u8; 8],
    /// Version, 2 or 3.
    pub version: u8,
    /// Bytes of an address.
    pub size_of_offsets: u8,
    /// Bytes of a length.
    pub size_of_lengths: u8,
    /// Bits that say that a writer has the file open.
    pub consistency_flags: u8,
    /// Offset that all addresses count from.
    pub base_address: U64,
    /// Address of the superblock's extension, or all bits set.
    pub extension_address: U64,
    /// End of the file.
    pub end_address: U64,
    /// Address of the root group's object header.
    pub root_address: U64,
    /// Checksum of the bytes before.
    pub checksum: U32,
}
spec_table!(Superblock2 = 1 in "superblock", 48,
    0: signature: [u8; 8],
    8: version: u8,
    9: size_of_offsets: u8,
    10: size_of_lengths: u8,
    11: consistency_flags: u8,
    12: base_address: U64,
    20: extension_address: U64,
    28: end_address: U64,
    36: root_address: U64,
    44: checksum: U32,
);

/// The start of an object header, version 1 (`spec/blob.md#object-headers`).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Header1 {
    /// Version, 1.
    pub version: u8,
    /// 0.
    pub reserved_1: u8,
    /// Number of messages.
    pub messages: U16,
    /// Number of links to the object.
    pub references: U32,
    /// Bytes of the messages that follow.
    pub chunk_size: U32,
    /// 0.
    pub reserved_12: U32,
}
spec_table!(Header1 = 2 in "object header", 16,
    0: version: u8,
    1: reserved_1: u8,
    2: messages: U16,
    4: references: U32,
    8: chunk_size: U32,
    12: reserved_12: U32,
);

/// The start of a message in an object header, version 1.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Message1 {
    /// Kind of the message.
    pub kind: U16,
    /// Bytes of the message after this structure.
    pub size: U16,
    /// Flags.
    pub flags: u8,
    /// 0.
    pub reserved_5: [u8; 3],
}
spec_table!(Message1 = 3 in "message", 8,
    0: kind: U16,
    2: size: U16,
    4: flags: u8,
    5: reserved_5: [u8; 3],
);

/// The start of an object header, version 2 (`spec/blob.md#object-headers`).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Header2 {
    /// `OHDR`.
    pub signature: [u8; 4],
    /// Version, 2.
    pub version: u8,
    /// Which fields follow, and their sizes.
    pub flags: u8,
}
spec_table!(Header2 = 4 in "object header", 6,
    0: signature: [u8; 4],
    4: version: u8,
    5: flags: u8,
);

/// The start of a message in an object header, version 2.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Message2 {
    /// Kind of the message.
    pub kind: u8,
    /// Bytes of the message after this structure.
    pub size: U16,
    /// Flags.
    pub flags: u8,
}
spec_table!(Message2 = 5 in "message", 4,
    0: kind: u8,
    1: size: U16,
    3: flags: u8,
);

/// The message that leads to more messages, kind 16.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Continuation {
    /// Address of the messages.
    pub address: U64,
    /// Their bytes.
    pub length: U64,
}
spec_table!(Continuation = 6 in "continuation", 16,
    0: address: U64,
    8: length: U64,
);

/// The start of a dataspace, version 1; the lengths of the dimensions follow, kind 1.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Dataspace1 {
    /// Version, 1.
    pub version: u8,
    /// Number of dimensions.
    pub rank: u8,
    /// Whether largest lengths follow.
    pub flags: u8,
    /// 0.
    pub reserved_3: [u8; 5],
}
spec_table!(Dataspace1 = 7 in "dataspace", 8,
    0: version: u8,
    1: rank: u8,
    2: flags: u8,
    3: reserved_3: [u8; 5],
);

/// The start of a dataspace, version 2; the lengths of the dimensions follow, kind 1.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Dataspace2 {
    /// Version, 2.
    pub version: u8,
    /// Number of dimensions.
    pub rank: u8,
    /// Whether largest lengths follow.
    pub flags: u8,
    /// 0 one value, 1 an array, 2 no value.
    pub kind: u8,
}
spec_table!(Dataspace2 = 8 in "dataspace", 4,
    0: version: u8,
    1: rank: u8,
    2: flags: u8,
    3: kind: u8,
);

/// The start of a datatype, kind 3.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Datatype {
    /// Class in the low 4 bits, version in the high ones.
    pub class: u8,
    /// Bits of the class.
    pub bits: [u8; 3],
    /// Bytes of a value.
    pub size: U32,
}
spec_table!(Datatype = 9 in "datatype", 8,
    0: class: u8,
    1: bits: [u8; 3],
    4: size: U32,
);

/// The layout of a contiguous dataset, versions 3 and 4, kind 8.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Layout3 {
    /// Version, 3 or 4.
    pub version: u8,
    /// 0 compact, 1 contiguous, 2 chunked, 3 virtual.
    pub class: u8,
    /// Address of the values, or all bits set.
    pub address: U64,
    /// Bytes of the values.
    pub size: U64,
}
spec_table!(Layout3 = 10 in "layout", 18,
    0: version: u8,
    1: class: u8,
    2: address: U64,
    10: size: U64,
);

/// The start of a link, kind 6.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct LinkHead {
    /// Version, 1.
    pub version: u8,
    /// Which fields follow, and their sizes.
    pub flags: u8,
}
spec_table!(LinkHead = 11 in "link", 2,
    0: version: u8,
    1: flags: u8,
);

/// The message of a group with a symbol table, kind 17.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct SymbolTable {
    /// Address of the tree.
    pub tree_address: U64,
    /// Address of the heap with the names.
    pub heap_address: U64,
}
spec_table!(SymbolTable = 12 in "symbol table", 16,
    0: tree_address: U64,
    8: heap_address: U64,
);

/// The start of a node of a tree; keys and children follow.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct TreeNode {
    /// `TREE`.
    pub signature: [u8; 4],
    /// 0: a group's tree.
    pub node_type: u8,
    /// Levels below; 0: children are symbol nodes.
    pub level: u8,
    /// Number of children.
    pub entries: U16,
    /// Address of the node before, or all bits set.
    pub left_address: U64,
    /// Address of the node after, or all bits set.
    pub right_address: U64,
}
spec_table!(TreeNode = 13 in "tree node", 24,
    0: signature: [u8; 4],
    4: node_type: u8,
    5: level: u8,
    6: entries: U16,
    8: left_address: U64,
    16: right_address: U64,
);

/// The start of a symbol node; entries follow.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct SymbolNode {
    /// `SNOD`.
    pub signature: [u8; 4],
    /// Version, 1.
    pub version: u8,
    /// 0.
    pub reserved_5: u8,
    /// Number of entries.
    pub symbols: U16,
}
spec_table!(SymbolNode = 14 in "symbol node", 8,
    0: signature: [u8; 4],
    4: version: u8,
    5: reserved_5: u8,
    6: symbols: U16,
);

/// An entry of a symbol node, and the root group in superblock 0.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct SymbolEntry {
    /// Offset of the name in the heap.
    pub name_offset: U64,
    /// Address of the object header.
    pub header_address: U64,
    /// What `scratch` holds; 2: a soft link.
    pub cache_type: U32,
    /// 0.
    pub reserved_20: U32,
    /// Copies of fields of the object.
    pub scratch: [u8; 16],
}
spec_table!(SymbolEntry = 15 in "symbol", 40,
    0: name_offset: U64,
    8: header_address: U64,
    16: cache_type: U32,
    20: reserved_20: U32,
    24: scratch: [u8; 16],
);

/// A local heap, which holds the names of a group.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct LocalHeap {
    /// `HEAP`.
    pub signature: [u8; 4],
    /// Version, 0.
    pub version: u8,
    /// 0.
    pub reserved_5: [u8; 3],
    /// Bytes of the names.
    pub data_size: U64,
    /// Offset of the first free byte.
    pub free_offset: U64,
    /// Address of the names.
    pub data_address: U64,
}
spec_table!(LocalHeap = 16 in "heap", 32,
    0: signature: [u8; 4],
    4: version: u8,
    5: reserved_5: [u8; 3],
    8: data_size: U64,
    16: free_offset: U64,
    24: data_address: U64,
);

/// The start of an attribute, kind 12; name, datatype, dataspace and values follow.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct AttributeHead {
    /// Version, 1 to 3.
    pub version: u8,
    /// Whether datatype or dataspace are shared.
    pub flags: u8,
    /// Bytes of the name with its null byte.
    pub name_size: U16,
    /// Bytes of the datatype.
    pub datatype_size: U16,
    /// Bytes of the dataspace.
    pub dataspace_size: U16,
}
spec_table!(AttributeHead = 17 in "attribute", 8,
    0: version: u8,
    1: flags: u8,
    2: name_size: U16,
    4: datatype_size: U16,
    6: dataspace_size: U16,
);
