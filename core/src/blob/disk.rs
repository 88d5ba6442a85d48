//! What is on the disk, checked: values made of bytes, and bytes made of values.

pub mod seal;
pub mod tie;
