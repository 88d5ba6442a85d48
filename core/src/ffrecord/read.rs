//! Reading: machines that say what to read next, and the reader of a whole file.

pub mod find;
pub mod meta_crc;
pub mod open;
pub mod reader;
pub mod sample;
pub mod samples;
