//! Ranks that are processes, and the program that starts them.

pub(crate) mod differ_sample;
pub(crate) mod goes_on;
pub(crate) mod kills;
pub(crate) mod launcher;
pub(crate) mod passed;
