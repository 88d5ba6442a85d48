//! What stands on the disk, checked: values made of bytes, and bytes of values.

pub mod seal;
pub mod tie;
