//! Reading: structures that point at each other, and the reader of a whole file.

pub mod array;
pub mod links;
pub(super) mod list;
pub mod object;
pub mod reader;
pub mod superblock;
