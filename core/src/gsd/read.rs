//! Reading: machines that say what to read next, and the reader of a whole file.

pub mod entries;
pub mod find;
pub mod name_table;
pub(super) mod names;
pub mod open;
pub(super) mod order;
pub mod reader;
