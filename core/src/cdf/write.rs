//! Writing: what a writer knows, the text of its steps, and the writers.

pub mod book;
pub mod define;
pub mod encode;
pub mod plan;
pub mod writer;
