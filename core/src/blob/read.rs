//! Reading: the elements that a process wants, in the blobs that have them.

pub mod find;
pub mod walk;
