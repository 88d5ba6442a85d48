//! Reading: machines that say what to read next, and the reader of a whole file.

pub mod cursor;
pub mod open;
pub mod reader;
