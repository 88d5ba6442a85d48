//! What is on the disk, checked: values made of bytes, and bytes made of values.

pub mod filegroups;
pub(super) mod head;
pub mod mapping;
pub mod meta1;
pub mod meta2;
pub mod varheader;
