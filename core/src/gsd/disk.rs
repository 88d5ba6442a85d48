//! What is on the disk, checked: values made of bytes, and bytes made of values.

pub mod checksums;
pub mod chunk;
pub mod header;
pub mod names;
pub mod record;
pub mod shadow;
